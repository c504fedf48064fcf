"""What the columns of a table hold, by its first rows, and how they are read because of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from ..errors import DataError, UsageError, prefix, spell
from .arrow_values import Where, days_of, is_numeric, is_text, levels_in, numbers_of, truth_of
from .base import AbsentColumnError, Note
from .encoding import MAX_LEVELS, Column, Encoding, too_many_levels
from .options import ReadOptions
from .text import is_number

Content = Literal["number", "boolean", "date", "text"]
Known = dict[str, Content]  # what is clear already, by the name of a column
Infer = Callable[[ReadOptions, Known], "list[ColumnStats]"]  # what the first rows of a table hold

HEAD_ROWS = 1 << 16  # the first rows, which show what columns hold
MIN_UNIQUE_ROWS = 20  # rows: where all texts of so many differ, they name the rows
ID_NAMES = {
    "id",
    "index",
    "idx",
    "rowid",
    "row_id",
    "row",
    "rownum",
    "uuid",
    "guid",
    "unnamed: 0",
    "",
}
MAX_SUSPECTS = 8  # columns that are looked at for numbers of rows
MAX_NAMED = 5  # columns in a message
READ_AS = {"number": numbers_of, "boolean": truth_of, "date": days_of}


@dataclass(slots=True)
class ColumnStats:
    """What the first rows of a column hold.

    ``as_is`` says that it is numbers which need no encoding. Of text, ``levels`` are the different
    ones; ``repeats`` says whether one of them occurs twice. ``first`` is the first text and its
    row.
    """

    name: str
    content: Content
    as_is: bool = False
    rows: int = 0
    missing: int = 0
    total: float = 0.0
    levels: set[str] = field(default_factory=set)
    repeats: bool = False
    first: tuple[int, str] | None = None
    counts_up: bool = False

    @property
    def names_rows(self) -> bool:
        """Return True for text that is another in every row."""
        present = self.rows - self.missing
        return (
            not self.repeats
            and min(present, MAX_LEVELS) >= MIN_UNIQUE_ROWS
            and len(self.levels) > 0
        )

    def add(self, values: pa.Array, where: Where) -> None:
        """Take in some more rows."""
        if self.content != "text":
            self.add_numbers(READ_AS[self.content](values, self.name, where))
            return
        levels, codes = levels_in(values, self.name, where)
        present = codes[codes >= 0]
        more = ColumnStats(self.name, "text", self.as_is, codes.size, codes.size - present.size)
        if present.size:
            words = np.array([not is_number(level) for level in levels])
            rows = np.flatnonzero(words[codes] & (codes >= 0))
            row = int(rows[0] if rows.size else np.argmax(codes >= 0))
            more.first = row, levels[codes[row]]
        more.levels = {levels[code] for code in np.unique(present).tolist()}
        more.repeats = len(more.levels) < present.size
        self.join(more)

    def add_numbers(self, numbers: Any) -> None:
        """Take in some more rows of numbers, NaN for those that are missing."""
        present = numbers[~np.isnan(numbers)]
        self.rows, self.missing = (
            self.rows + numbers.size,
            self.missing + numbers.size - present.size,
        )
        self.total += float(present.sum(dtype=np.float64))

    def join(self, other: ColumnStats) -> None:
        """Take in the rows after these; as the first text, one that is not a number shows more."""
        if other.first is not None:
            row, text = other.first
            if self.first is None or (is_number(self.first[1]) and not is_number(text)):
                self.first = self.rows + row, text
        self.repeats |= other.repeats or not self.levels.isdisjoint(other.levels)
        self.levels |= other.levels
        self.as_is &= other.as_is
        self.rows, self.missing = self.rows + other.rows, self.missing + other.missing
        self.total += other.total


def content_of(kind: pa.DataType) -> Content:
    """Return what a column of a type holds; what cannot be used counts as numbers, and is refused when it is read."""
    if is_text(kind):
        return "text"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date"
    return "boolean" if pa.types.is_boolean(kind) else "number"


def may_be_id(name: str) -> bool:
    """Return True for the names of columns that number the rows."""
    return name.strip().lower() in ID_NAMES or name.lower().endswith("_id")


def looks_like_id(name: str, values: Any) -> bool:
    """Return True if a column numbers the rows: by its name, with all values different, or counting from 0 or 1."""
    if values.size < 2 or np.isnan(values).any():
        return False
    if may_be_id(name):
        return bool(np.unique(values).size == values.size)
    counts = values.size >= MIN_UNIQUE_ROWS and values[0] in (0, 1)
    return bool(counts and (np.diff(values) == 1).all())


def infer_by_types(
    origin: str,
    types: Mapping[str, pa.DataType],
    batches_with: Callable[[list[str]], Iterator[pa.RecordBatch]],
    options: ReadOptions,
    known: Known,
) -> list[ColumnStats]:
    """Return what columns of some types hold: the first rows are read of those alone whose values must be known."""
    stats = {
        name: ColumnStats(name, known.get(name) or content_of(kind)) for name, kind in types.items()
    }
    for one in stats.values():
        one.as_is = one.content not in ("text", "date") and not is_text(types[one.name])
    reads_text = options.strings in ("onehot", "error")
    wanted = [
        one
        for one in stats.values()
        if (reads_text if one.content == "text" else options.missing == "mean")
    ]
    row = 0
    for batch in batches_with([one.name for one in wanted]) if wanted else ():
        head = batch.slice(0, HEAD_ROWS - row)
        for one in wanted:
            one.add(head.column(one.name), Where(origin, row))
        row += head.num_rows
        if row == HEAD_ROWS:
            break
    numbers = [name for name, kind in types.items() if is_numeric(kind)]
    suspects = [name for name in numbers if may_be_id(name) or name == next(iter(types))][
        :MAX_SUSPECTS
    ]
    for batch in islice(batches_with(suspects) if suspects else (), 1):
        for name in suspects:
            column = batch.column(name)
            stats[name].counts_up = not column.null_count and looks_like_id(
                name, np.from_dlpack(column)
            )
    return list(stats.values())


def infer_all(tables: Sequence[Infer], options: ReadOptions) -> list[ColumnStats]:
    """Return what the columns of some tables hold, all of them together."""
    known: Known = {}
    while True:
        found, rows = [], 0
        for infer in tables:
            found.append(infer(options, known))
            rows += max((one.rows for one in found[-1]), default=0)
            if rows >= HEAD_ROWS:
                break
        clashes = set[str]()
        for column in zip(*found, strict=True):
            clear = _content_of_all(column)
            if any(part.content != clear for part in column) and not all(
                part.as_is for part in column
            ):
                clashes.add(column[0].name)
                known[column[0].name] = clear
        if not clashes:
            break
    first, *others = found
    for part in others:
        for stats, more in zip(first, part, strict=True):
            stats.join(more)
    return first


def _content_of_all(parts: Sequence[ColumnStats]) -> Content:
    """Return what a column holds of which several tables have a part."""
    if all(part.as_is for part in parts):
        return parts[0].content  # numbers, or truth values that are read as such
    is_shown = [
        part.content for part in parts if not 0 < part.rows == part.missing
    ]  # by a value that is there
    contents = set(is_shown) or {parts[0].content}
    return contents.pop() if len(contents) == 1 else "text"


class Inferred(NamedTuple):
    """How the columns of tables are to be read; ``incomplete`` are columns that were seen to have missing values."""

    encoding: Encoding
    notes: tuple[Note, ...] = ()
    incomplete: tuple[str, ...] = ()


def infer_encoding(tables: Sequence[Infer], options: ReadOptions, origin: str) -> Inferred:
    """Return how the columns of tables are to be read, by what their first rows hold and what a user wants."""
    stats = infer_all(tables, options)
    if options.weight is not None:
        weight = stats.pop()
        if not weight.as_is:
            raise DataError(
                f"{prefix(origin)}column {weight.name!r} is not a column of numbers, and weights"
                " must be numbers"
            )
    texts = [one for one in stats if one.content == "text"]
    if texts and options.strings == "error":
        raise _are_text(texts, origin)
    refused = [one for one in texts if one.names_rows or len(one.levels) > MAX_LEVELS]
    if refused and options.strings == "onehot":
        raise too_many_levels(origin, [one.name for one in refused], refused[0].names_rows)
    omits_text = bool(texts) and options.strings == "drop"
    columns = [_column_of(one, options) for one in stats if one.content != "text" or not omits_text]
    if not any(column.width for column in columns):
        raise DataError(
            f"{prefix(origin)}there is no column but the target and columns of text that are"
            " omitted"
        )
    incomplete = tuple(one.name for one in stats if one.missing)
    encoding = Encoding(columns, options.missing, omits_text=omits_text)
    return Inferred(encoding, tuple(_notes(stats, options)), incomplete)


def read_tables(
    tables: Sequence[Any], options: ReadOptions, encoding: Encoding | None, find: bool, origin: str
) -> None:
    """Have tables read by an encoding that is given, or that their first rows show if ``find`` says so."""
    if find and not tables[0].columns:
        raise DataError(
            f"{prefix(origin)}there is no column but the target {tables[0].facts.target!r}"
        )
    if encoding is None and not find:
        return
    asked = [table.infer for table in tables]
    inferred = infer_encoding(asked, options, origin) if encoding is None else Inferred(encoding)
    for table in tables:
        table.read_by(inferred.encoding, grows=find)
        table.facts = replace(table.facts, notes=inferred.notes, incomplete=inferred.incomplete)


def _column_of(one: ColumnStats, options: ReadOptions) -> Column:
    """Return how a column is read."""
    if one.content == "text":
        is_hashed = options.strings == "hash"
        return (
            Column(one.name, "hash")
            if is_hashed
            else Column(one.name, "onehot", tuple(sorted(one.levels)))
        )
    present = one.rows - one.missing
    return Column(
        one.name,
        one.content,
        fill=one.total / present if options.missing == "mean" and present else 0.0,
    )


def _are_text(texts: Sequence[ColumnStats], origin: str) -> DataError:
    """Return what to say of columns of text where none are wanted."""
    row, value = texts[0].first or (0, "")
    more = f" (nor are {len(texts) - 1:,} more)" if len(texts) > 1 else ""
    return DataError(
        f"{prefix(origin)}row {row + 1}: column {texts[0].name!r} is {value[:40]!r}, not a"
        f" number{more}; read its levels as features ({spell('strings', 'onehot')} or"
        f" {spell('strings', 'hash')}), or omit it: {spell('drop', [one.name for one in texts])}"
    )


def _notes(facts: Sequence[ColumnStats], options: ReadOptions) -> Iterable[Note]:
    """Return what a user should know of how columns are read."""
    dates = [one.name for one in facts if one.content == "date"]
    if dates:
        yield Note(
            "dates",
            f"dates are read as days since 1970: {_listed(dates)}",
            f"omit what is of no use: {spell('drop')}",
        )
    texts = [one.name for one in facts if one.content == "text"]
    if texts and options.strings == "drop":
        yield Note(
            "text omitted",
            f"columns of text are omitted: {_listed(texts)}",
            f"{spell('strings', 'onehot')} reads them",
        )
    ids = [one.name for one in facts if one.counts_up]
    if ids:
        them = "them" if len(ids) > 1 else "it"
        what = "look like numbers of rows" if len(ids) > 1 else "looks like a number of the row"
        yield Note(
            "row ids", f"{_listed(ids)} {what}", f"omit {them}: {spell('drop', ids[:MAX_NAMED])}"
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:MAX_NAMED]))
    return f"column{'s' if len(names) > 1 else ''} {shown}" + (
        " and more" if len(names) > MAX_NAMED else ""
    )


def picked(columns: list[str], options: ReadOptions, name: str) -> list[str]:
    """Return the columns that a user has not omitted; a name that is not there is refused."""
    there, weight = set(columns), options.weight
    if weight is not None and weight not in there:
        raise UsageError(
            f"{prefix(name)}there is no column {weight!r} for the weights of rows;"
            f" {hint(weight, columns)}"
        )
    for wanted in (*options.drop, *(options.only or ())):
        if wanted not in there:
            raise UsageError(
                f"{name}: there is no column {wanted!r} to omit or to keep; {hint(wanted, columns)}"
            )
    kept = (there if options.only is None else set(options.only)) - {*options.drop, weight}
    left = [column for column in columns if column in kept]
    if columns and not left:
        raise UsageError(f"{name}: all columns are omitted; omit fewer")
    return left


def refuse_repeated(names: list[str], origin: str) -> None:
    """Raise DataError if two columns have the same name."""
    counts = Counter(names)
    if len(counts) < len(names):
        twice = next(name for name in names if counts[name] > 1)
        raise DataError(f"{prefix(origin)}column {twice!r} appears twice; rename one of them")


def refuse_absent(wanted: Iterable[str], names: list[str], origin: str) -> None:
    """Raise AbsentColumnError if a table does not have all of these columns."""
    present = set(names)
    for name in wanted:
        if name not in present:
            raise AbsentColumnError(
                f"{prefix(origin)}the column {name!r} is not there; {listing(names)}", names
            )


def refuse_other_target(target: str | None, names: list[str], origin: str) -> None:
    """Raise DataError if a table does not have its target, or none is named."""
    if target is None:
        message = (
            f"{prefix(origin)}which column is the target? Say {spell('target', 'NAME')};"
            f" {listing(names)}"
        )
        raise AbsentColumnError(message, names)
    if target not in names:
        raise DataError(
            f"{prefix(origin)}there is no column {target!r} for the target; {hint(target, names)}"
        )


def hint(wanted: str, names: list[str]) -> str:
    """The columns whose names are like one that is not there, else all of them, for a message."""
    near = get_close_matches(wanted, names, n=3)
    return f"did you mean {' or '.join(near)}?" if near else listing(names)


def listing(names: list[str]) -> str:
    """The columns there are, for a message."""
    shown = ", ".join(names[:8])
    return f"the columns are {shown}" + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
