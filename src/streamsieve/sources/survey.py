"""What the columns of a table hold, by a look at them, and how they are to be read because of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from ..errors import DataError, UsageError, prefix
from .arrow_values import Where, days_of, is_text, levels_in, numbers_of, truth_of
from .base import Note
from .encoding import MOST_LEVELS, Column, Encoding
from .options import ReadOptions
from .text import is_number

if TYPE_CHECKING:
    import pyarrow as pa

Content = Literal["number", "boolean", "date", "text"]

LEAST_UNIQUE = 20  # rows: where all texts of so many differ, they name the rows
ID_NAMES = {"id", "index", "idx", "rowid", "row_id", "row", "rownum", "uuid", "guid", "unnamed: 0", ""}
MOST_SUSPECTS = 8  # columns that are looked at for numbers of rows
MOST_NAMED = 5  # columns in a message


@dataclass(slots=True)
class Facts:
    """What some rows of a column hold.

    ``as_is`` says that it is numbers which need no encoding. Of text, ``levels`` are the different ones, as long as
    they are not too many; ``repeats`` says whether one of them occurs twice. ``first`` is the first text and its row.
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
    def is_empty(self) -> bool:
        """Whether nothing was found that shows what it is."""
        return 0 < self.rows == self.missing

    @property
    def names_rows(self) -> bool:
        """Whether it is text that is another in every row."""
        there = self.rows - self.missing
        return not self.repeats and min(there, MOST_LEVELS) >= LEAST_UNIQUE and len(self.levels) > 0

    def add(self, values: pa.Array, where: Where) -> None:
        """Look at some more rows."""
        if self.content == "text":
            self._add_levels(values, where)
        else:
            numbers = READ_AS[self.content](values, self.name, where)
            there = numbers[~np.isnan(numbers)]
            self.missing += numbers.size - there.size
            self.total += float(there.sum())
        self.rows += len(values)

    def _add_levels(self, values: pa.Array, where: Where) -> None:
        levels, codes = levels_in(values, self.name, where)
        there = codes[codes >= 0]
        self.missing += codes.size - there.size
        if there.size:
            words = np.array([not is_number(level) for level in levels])
            rows = np.flatnonzero(words[codes] & (codes >= 0))
            row = int(rows[0] if rows.size else np.argmax(codes >= 0))
            self._note(self.rows + row, levels[codes[row]])
        if len(self.levels) <= MOST_LEVELS:
            found = {levels[code] for code in np.unique(there).tolist()}
            self._unite(found, there.size)

    def _note(self, row: int, text: str) -> None:
        """Keep the first text; one that is not a number shows more."""
        if self.first is None or (is_number(self.first[1]) and not is_number(text)):
            self.first = row, text

    def _unite(self, found: set[str], rows: int) -> None:
        self.repeats |= len(found) < rows or not self.levels.isdisjoint(found)
        self.levels |= found

    def join(self, other: Facts) -> None:
        """Take note of what is known of the rows after these."""
        if other.first is not None:
            self._note(self.rows + other.first[0], other.first[1])
        if len(self.levels) <= MOST_LEVELS:
            self.repeats |= other.repeats or not self.levels.isdisjoint(other.levels)
            self.levels |= other.levels
        self.as_is &= other.as_is
        self.rows, self.missing, self.total = (
            self.rows + other.rows,
            self.missing + other.missing,
            self.total + other.total,
        )


READ_AS = {"number": numbers_of, "boolean": truth_of, "date": days_of}


class Table(Protocol):
    """A table that can be looked at."""

    def survey(self, options: ReadOptions, known: dict[str, Content]) -> list[Facts]:
        """What its columns hold, ``known`` being what is clear already; text and, for a mean, numbers are counted."""


def content_of(kind: pa.DataType) -> Content:
    """What a column of a type holds; what cannot be used counts as numbers, and is refused when it is read."""
    import pyarrow.types as types

    if is_text(kind):
        return "text"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    return "boolean" if types.is_boolean(kind) else "number"


def kind_of_number(kind: pa.DataType) -> bool:
    """Whether values of a type are numbers as NumPy has them."""
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def may_be_id(name: str) -> bool:
    """Whether a column has the name of one that numbers the rows."""
    return name.strip().lower() in ID_NAMES or name.lower().endswith("_id")


def looks_like_id(name: str, values: Any) -> bool:
    """Whether a column numbers the rows: by its name, with all values different, or by counting up from 0 or 1."""
    found = np.asarray(values)
    if found.size < 2:
        return False
    if may_be_id(name):
        return np.unique(found).size == found.size
    counts = found.size >= LEAST_UNIQUE and found[0] in (0, 1)
    return bool(counts and (np.diff(found) == 1).all())


def survey_by_types(
    origin: str,
    types: Mapping[str, pa.DataType],
    batches_with: Callable[[list[str]], Iterator[pa.RecordBatch]],
    options: ReadOptions,
    known: Mapping[str, Content],
) -> list[Facts]:
    """What columns of some types hold: only those are read whose values must be known, and a few that may be ids."""
    facts = {name: Facts(name, known.get(name) or content_of(kind)) for name, kind in types.items()}
    for one in facts.values():
        one.as_is = one.content not in ("text", "date") and not is_text(types[one.name])
    wanted = [one for one in facts.values() if _must_be_known(one, options)]
    row = 0
    for batch in batches_with([one.name for one in wanted]) if wanted else ():
        for one in wanted:
            one.add(batch.column(one.name), Where(origin, row))
        row += batch.num_rows
    names = list(types)
    suspects = [name for name in names if may_be_id(name) or name == names[0]]
    suspects = [name for name in suspects if kind_of_number(types[name])][:MOST_SUSPECTS]
    for name, column in _first_rows(suspects, batches_with):
        facts[name].counts_up = not column.null_count and looks_like_id(name, np.from_dlpack(column))
    return list(facts.values())


def _first_rows(
    columns: list[str], batches_with: Callable[[list[str]], Iterator[pa.RecordBatch]]
) -> Iterator[tuple[str, pa.Array]]:
    """The first rows of some columns, if there are columns and rows."""
    for batch in islice(batches_with(columns) if columns else (), 1):
        yield from zip(columns, batch.columns, strict=True)


def _must_be_known(one: Facts, options: ReadOptions) -> bool:
    """Whether the values of a column must be known before it can be read."""
    if one.content == "text":
        return options.strings in ("onehot", "error")
    return options.missing == "mean"


def surveyed(tables: Sequence[Table], options: ReadOptions) -> list[Facts]:
    """What the columns of some tables hold, all of them together."""
    known: dict[str, Content] = {}
    while True:
        found = [table.survey(options, known) for table in tables]
        clashes = set[str]()
        for column in zip(*found, strict=True):
            clear = _content_of_all(column)
            if any(facts.content != clear for facts in column) and not all(facts.as_is for facts in column):
                clashes.add(column[0].name)
                known[column[0].name] = clear
        if not clashes:
            break
    first, *others = found
    for part in others:
        for mine, more in zip(first, part, strict=True):
            mine.join(more)
    return first


def _content_of_all(parts: Sequence[Facts]) -> Content:
    """What a column holds of which several tables have a part."""
    if all(part.as_is for part in parts):
        return parts[0].content  # numbers, or truth values that are read as such
    contents = {part.content for part in parts if not part.is_empty} or {parts[0].content}
    return contents.pop() if len(contents) == 1 else "text"


class Found(NamedTuple):
    """How the columns of tables are to be read: as numbers if there is no encoding.

    ``incomplete`` are columns that were seen to have missing values.
    """

    encoding: Encoding | None = None
    notes: tuple[Note, ...] = ()
    incomplete: tuple[str, ...] = ()


def find_encoding(tables: Sequence[Table], options: ReadOptions, origin: str) -> Found:
    """How the columns of tables are to be read, by a look at them."""
    facts = surveyed(tables, options)
    notes = tuple(_notes(facts, options))
    plain = all(one.as_is and one.content == "number" for one in facts)  # truth values may be words in later text
    if plain and options.missing not in ("zero", "mean"):
        return Found(notes=notes)
    return Found(encoding_of(facts, options, origin), notes, tuple(one.name for one in facts if one.missing))


def read_tables(
    tables: Sequence[Any], options: ReadOptions, encoding: Encoding | None, find: bool, origin: str
) -> None:
    """Have tables read by an encoding that is given, or that is found if ``find`` says so."""
    if find and not tables[0].columns:
        raise DataError(f"{prefix(origin)}there is no column but the target {tables[0].target!r}")
    found = find_encoding(tables, options, origin) if encoding is None and find else Found(encoding)
    for table in tables:
        table.notes, table.incomplete = found.notes, found.incomplete
        if found.encoding is not None:
            table.read_by(found.encoding)


def encoding_of(facts: Iterable[Facts], options: ReadOptions, origin: str) -> Encoding:
    """How columns are to be read, by what they hold and what a user wants."""
    columns, too_many = [], []
    for one in facts:
        if one.content != "text":
            mean = options.missing == "mean" and one.rows > one.missing
            columns.append(Column(one.name, one.content, fill=one.total / (one.rows - one.missing) if mean else 0.0))
        elif options.strings == "error":
            raise _text(one, origin)
        elif options.strings == "hash":
            columns.append(Column(one.name, "hash"))
        elif options.strings == "onehot":
            if one.names_rows or len(one.levels) > MOST_LEVELS:
                too_many.append(one)
            columns.append(Column(one.name, "onehot", tuple(sorted(one.levels))))
    if too_many:
        raise _too_many(too_many, origin)
    if not any(column.width for column in columns):
        raise DataError(f"{prefix(origin)}there is no column but the target and columns of text that are omitted")
    return Encoding(columns, options.missing)


def _text(one: Facts, origin: str) -> DataError:
    row, value = one.first or (0, "")
    return DataError(
        f"{prefix(origin)}row {row + 1}: column {one.name!r} is {value[:40]!r}, not a number; read its levels as "
        f"features (--strings onehot or hash), or omit it (--drop {one.name})"
    )


def _too_many(columns: list[Facts], origin: str) -> DataError:
    """What to say of text with more different values than there can be features."""
    one = columns[0]
    names = ",".join(column.name for column in columns[:MOST_NAMED])
    what = f"column {one.name!r} is text with more than {MOST_LEVELS:,} different values"
    if one.names_rows:
        what = f"column {one.name!r} is text that is another in every row, as names and ids are"
    more = f" (and {len(columns) - 1:,} more such columns)" if len(columns) > 1 else ""
    return DataError(f"{prefix(origin)}{what}{more}; omit what tells nothing (--drop {names}), or use --strings hash")


def _notes(facts: Sequence[Facts], options: ReadOptions) -> Iterable[Note]:
    """What a user should know of how columns are read."""
    dates = [one.name for one in facts if one.content == "date"]
    if dates:
        yield Note("dates", f"dates are read as days since 1970: {_listed(dates)}", "omit what is of no use: --drop")
    texts = [one.name for one in facts if one.content == "text"]
    if texts and options.strings == "drop":
        yield Note("text omitted", f"columns of text are omitted: {_listed(texts)}", "--strings onehot reads them")
    ids = [one.name for one in facts if one.counts_up]
    if ids:
        them = "them" if len(ids) > 1 else "it"
        what = "look like numbers of rows" if len(ids) > 1 else "looks like a number of the row"
        yield Note("row ids", f"{_listed(ids)} {what}", f"omit {them}: --drop {','.join(ids[:MOST_NAMED])}")


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:MOST_NAMED]))
    return f"column{'s' if len(names) > 1 else ''} {shown}" + (" and more" if len(names) > MOST_NAMED else "")


def picked(columns: list[str], options: ReadOptions, name: str) -> list[str]:
    """The columns that a user has not omitted, that of the weights last; a name that is not there is refused."""
    there, weight = set(columns), options.weight
    if weight is not None and weight not in there:
        raise UsageError(
            f"{prefix(name)}there is no column {weight!r} for the weights of rows; {hint(weight, columns)}"
        )
    for wanted in (*options.drop, *(options.only or ())):
        if wanted not in there:
            raise UsageError(f"{name}: there is no column {wanted!r} to omit or to keep; {hint(wanted, columns)}")
    kept = (there if options.only is None else set(options.only)) - {*options.drop, weight}
    left = [column for column in columns if column in kept]
    if columns and not left:
        raise UsageError(f"{name}: all columns are omitted; omit fewer")
    return left if weight is None else [*left, weight]


def refuse_repeated(names: list[str], origin: str) -> None:
    """Raise DataError if two columns have the same name."""
    counts = Counter(names)
    if len(counts) < len(names):
        twice = next(name for name in names if counts[name] > 1)
        raise DataError(f"{prefix(origin)}column {twice!r} appears twice; rename one of them")


def hint(wanted: str, names: list[str]) -> str:
    """The columns whose names are like one that is not there, else all of them, for a message."""
    near = get_close_matches(wanted, names, n=3)
    return f"did you mean {' or '.join(near)}?" if near else listing(names)


def listing(names: list[str]) -> str:
    """The columns there are, for a message."""
    shown = ", ".join(names[:8])
    return f"the columns are {shown}" + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
