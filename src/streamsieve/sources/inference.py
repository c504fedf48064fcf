"""Infer how the columns of a table are to be read from its first rows."""

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
from .arrow_values import (
    Where,
    cells_of,
    days_of,
    first_rows,
    is_numeric,
    is_text,
    levels_in,
    numbers_of,
    truth_of,
)
from .base import AbsentColumnError, Note
from .encoded_rows import codes_of
from .encoding import CALENDAR, MAX_LEVELS, Column, Encoding, Kind, too_many_levels_error
from .levels import NewCells
from .options import ReadOptions
from .text import is_number

Content = Literal["number", "boolean", "date", "text"]
Known = dict[str, Content]  # contents that are clear already, by column name
Infer = Callable[[ReadOptions, Known], "list[ColumnStats]"]  # infers from a table's first rows

HEAD_ROWS = 1 << 16  # the number of first rows from which contents are inferred
MIN_UNIQUE_ROWS = 20  # rows: if the texts of so many are all different, they name the rows
MIN_DIFFERENT, MIN_WORDS = 0.5, 3  # of text that is written freely: share of values, words each
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
MAX_SUSPECTS = 8  # columns that are checked for row numbers
MAX_NAMED = 5  # columns in a message
READ_AS = {"number": numbers_of, "boolean": truth_of, "date": days_of}


@dataclass(slots=True)
class ColumnStats:
    """Statistics of a column over the first rows of a table.

    ``as_is`` says that the column holds numbers which need no encoding. Of text, ``levels`` are the
    different values with the first row of each. ``first`` is the first text with its row.
    """

    name: str
    content: Content
    as_is: bool = False
    rows: int = 0
    missing: int = 0
    total: float = 0.0
    levels: dict[str, int] = field(default_factory=dict)
    words: int = 0  # of all texts together
    first: tuple[int, str] | None = None
    counts_up: bool = False

    @property
    def present(self) -> int:
        """Return the number of rows that have a value."""
        return self.rows - self.missing

    @property
    def names_rows(self) -> bool:
        """Return True for text that has a different value in every row, like an ID."""
        return self.present >= MIN_UNIQUE_ROWS and len(self.levels) == self.present

    @property
    def is_prose(self) -> bool:
        """Return True for text that is written freely: most values differ and have many words."""
        differs = len(self.levels) > MIN_DIFFERENT * max(self.present, MIN_UNIQUE_ROWS)
        return differs and self.words >= MIN_WORDS * self.present

    def add(self, values: pa.Array, where: Where) -> None:
        """Add some more rows."""
        if self.content != "text":
            self.add_numbers(READ_AS[self.content](values, self.name, where))
            return
        levels, codes = levels_in(values, self.name, where)
        counts = np.bincount(codes + 1, minlength=len(levels) + 1)
        added = ColumnStats(self.name, "text", self.as_is, codes.size, int(counts[0]))
        for level, row, count in zip(
            levels, first_rows(codes, len(levels)).tolist(), counts[1:].tolist(), strict=True
        ):
            if not count:
                continue  # a declared category may not occur
            added.levels[level] = min(row, added.levels.get(level, row))
            added.words += count * (1 + level.count(" "))
        texts = [(row, level) for level, row in added.levels.items()]
        words = [text for text in texts if not is_number(text[1])]
        added.first = min(words or texts, default=None)
        self.join(added)

    def add_numbers(self, numbers: Any) -> None:
        """Add some more rows of numbers, where NaN is a missing value."""
        present = numbers[~np.isnan(numbers)]
        self.rows, self.missing = (
            self.rows + numbers.size,
            self.missing + numbers.size - present.size,
        )
        self.total += float(present.sum(dtype=np.float64))

    def join(self, other: ColumnStats) -> None:
        """Add the rows that follow these; a text that is not a number is kept as the first one."""
        if other.first is not None:
            row, text = other.first
            if self.first is None or (is_number(self.first[1]) and not is_number(text)):
                self.first = self.rows + row, text
        for level, row in other.levels.items():
            self.levels.setdefault(level, self.rows + row)
        self.words += other.words
        self.as_is &= other.as_is
        self.rows, self.missing = self.rows + other.rows, self.missing + other.missing
        self.total += other.total


def content_of(kind: pa.DataType) -> Content:
    """Return the content of a column of a type.

    Types that cannot be used count as numbers; they are rejected when the column is read.
    """
    if is_text(kind):
        return "text"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date"
    return "boolean" if pa.types.is_boolean(kind) else "number"


def may_be_id(name: str) -> bool:
    """Return True if a column of this name may number the rows."""
    return name.strip().lower() in ID_NAMES or name.lower().endswith("_id")


def looks_like_id(name: str, values: Any) -> bool:
    """Return True if a column numbers the rows.

    It does if its name says so and all values differ, or if it counts from 0 or 1.
    """
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
    known_contents: Known,
) -> list[ColumnStats]:
    """Return the statistics of columns whose types are known.

    The first rows are read for those columns alone whose values must be known.
    """
    stats = {
        name: ColumnStats(name, known_contents.get(name) or content_of(kind))
        for name, kind in types.items()
    }
    for column_stats in stats.values():
        column_stats.as_is = column_stats.content not in ("text", "date") and not is_text(
            types[column_stats.name]
        )
    reads_text = options.strings != "drop"
    wanted = [
        column_stats
        for column_stats in stats.values()
        if (reads_text if column_stats.content == "text" else options.missing == "mean")
    ]
    row = 0
    for batch in batches_with([column_stats.name for column_stats in wanted]) if wanted else ():
        head = batch.slice(0, HEAD_ROWS - row)
        for column_stats in wanted:
            column_stats.add(head.column(column_stats.name), Where(origin, row))
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


def infer_all(
    tables: Sequence[Infer], options: ReadOptions
) -> tuple[list[ColumnStats], list[dict[str, int]]]:
    """Return the statistics of the columns of several tables together.

    The second result has the levels of the first table, as statistics have them.
    """
    known_contents: Known = {}
    while True:
        stats_of_tables, rows = [], 0
        for infer in tables:
            stats_of_tables.append(infer(options, known_contents))
            rows += max((column_stats.rows for column_stats in stats_of_tables[-1]), default=0)
            if rows >= HEAD_ROWS:
                break
        clashes = set[str]()
        for column in zip(*stats_of_tables, strict=True):
            content = _content_of_all(column)
            if any(part.content != content for part in column) and not all(
                part.as_is for part in column
            ):
                clashes.add(column[0].name)
                known_contents[column[0].name] = content
        if not clashes:
            break
    first, *others = stats_of_tables
    levels = [dict(stats.levels) for stats in first]
    for part in others:
        for stats, other_stats in zip(first, part, strict=True):
            stats.join(other_stats)
    return first, levels


def _content_of_all(parts: Sequence[ColumnStats]) -> Content:
    """Return the content of a column that has a part in each of several tables."""
    if all(part.as_is for part in parts):
        return parts[0].content  # numbers, or truth values that are read as numbers
    # a part whose values are all missing does not count
    shown = [part.content for part in parts if not 0 < part.rows == part.missing]
    contents = set(shown) or {parts[0].content}
    return contents.pop() if len(contents) == 1 else "text"


class Inferred(NamedTuple):
    """The encoding inferred for the columns of tables.

    ``incomplete`` are the columns in which missing values were seen.
    """

    encoding: Encoding
    notes: tuple[Note, ...] = ()
    incomplete: tuple[str, ...] = ()


def infer_encoding(tables: Sequence[Infer], options: ReadOptions, origin: str) -> Inferred:
    """Return the encoding of the columns of tables.

    It depends on the content of their first rows and on the options.
    """
    stats, levels = infer_all(tables, options)
    if options.weight is not None:
        weight = stats.pop()
        if not weight.as_is:
            raise DataError(
                f"{prefix(origin)}column {weight.name!r} is not numeric, and weights must be"
                " numbers"
            )
    texts = [part for part in stats if part.content == "text"]
    if texts and options.strings == "error":
        raise _text_error(texts, origin)
    refused = [part for part in texts if part.names_rows or len(part.levels) > MAX_LEVELS]
    if refused and options.strings == "onehot":
        raise too_many_levels_error(origin, [part.name for part in refused], refused[0].names_rows)
    omitted = {part.name for part in texts if _is_omitted(part, options)}
    kept = [part for part in stats if part.name not in omitted]
    if not kept:
        raise DataError(
            f"{prefix(origin)}the target and omitted columns of text are the only columns; there"
            " are no features"
        )
    encoding = Encoding(
        [column for part in kept for column in _columns_of(part, options)],
        options.missing,
        omits_text=bool(omitted),
        n_buckets=options.n_buckets,
    )
    names = [part.name for part in stats]
    _add_levels(encoding, dict(zip(names, levels, strict=False)), origin)
    incomplete = tuple(part.name for part in kept if part.missing)
    return Inferred(encoding, tuple(_notes(stats, omitted, options)), incomplete)


def _is_omitted(stats: ColumnStats, options: ReadOptions) -> bool:
    """Return True for a column of text that does not become features."""
    if options.strings == "auto":
        return (stats.names_rows or stats.is_prose) and stats.name not in (options.only or ())
    return options.strings == "drop"


def _add_levels(encoding: Encoding, levels: Mapping[str, dict[str, int]], origin: str) -> None:
    """Add the levels of the first rows, given with their rows, to an encoding."""
    parts = []
    for column, position in enumerate(encoding.texts):
        name = encoding.columns[position].table_column
        cells = cells_of(pa.array(list(levels[name]), pa.string()), name, Where(origin))
        _, new = codes_of(encoding, column, cells, Where(origin, grows=True), keep_missing=True)
        if new is not None:
            rows = np.array(list(levels[name].values()), np.int64)
            parts.append(new._replace(rows=rows[new.rows]))
    if parts:
        encoding.levels.add(NewCells.joined(parts))


def read_tables(
    tables: Sequence[Any], options: ReadOptions, encoding: Encoding | None, find: bool, origin: str
) -> None:
    """Set how tables are read: by a given encoding, or by one inferred from their first rows.

    The encoding is inferred only with ``find``.
    """
    if find and not tables[0].columns:
        raise DataError(
            f"{prefix(origin)}the target {tables[0].facts.target!r} is the only column; there are"
            " no features"
        )
    if encoding is None and not find:
        return
    asked = [table.infer for table in tables]
    inferred = infer_encoding(asked, options, origin) if encoding is None else Inferred(encoding)
    for table in tables:
        table.use_encoding(inferred.encoding, grows=find)
        table.facts = replace(table.facts, notes=inferred.notes, incomplete=inferred.incomplete)


def _columns_of(stats: ColumnStats, options: ReadOptions) -> list[Column]:
    """Return how a column is read."""
    if stats.content == "text":
        kind: Kind = "text"
        if options.strings in ("onehot", "hash"):
            kind = options.strings
        return [Column(stats.name, kind)]
    if stats.content == "date" and options.dates == "auto":
        return [Column(f"{stats.name}.{kind}", kind) for kind in CALENDAR]
    fills_in = options.missing == "mean" and stats.present
    return [Column(stats.name, stats.content, stats.total / stats.present if fills_in else 0.0)]


def _text_error(texts: Sequence[ColumnStats], origin: str) -> DataError:
    """Return the error for columns of text where text is not allowed."""
    row, value = texts[0].first or (0, "")
    others = f" (nor are {len(texts) - 1:,} more)" if len(texts) > 1 else ""
    return DataError(
        f"{prefix(origin)}row {row + 1}: column {texts[0].name!r} is {value[:40]!r}, not a"
        f" number{others}; read its levels as features ({spell('strings', 'auto')}), or omit it:"
        f" {spell('drop', [stats.name for stats in texts])}"
    )


def _notes(
    columns: Sequence[ColumnStats], omitted: set[str], options: ReadOptions
) -> Iterable[Note]:
    """Yield notes for the user on how columns are read."""
    dates = [stats.name for stats in columns if stats.content == "date"]
    if dates and options.dates == "days":
        yield Note(
            "dates",
            f"dates are read as days since 1970: {_listed(dates)}",
            f"read hours and weekdays instead: {spell('dates', 'auto')}; or omit them:"
            f" {spell('drop', dates[:MAX_NAMED])}",
        )
    texts = [stats.name for stats in columns if stats.name in omitted]
    if texts and options.strings == "drop":
        yield Note(
            "text omitted",
            f"columns of text are omitted: {_listed(texts)}",
            f"{spell('strings', 'auto')} reads them",
        )
    elif texts:
        yield Note(
            "text omitted",
            "columns of text with a different value in almost every row, like IDs or sentences, are"
            f" omitted: {', '.join(map(repr, texts))}",
            f"to read some of them, name all columns to read: {spell('only', ['A', 'B'])}",
        )
    ids = [stats.name for stats in columns if stats.counts_up]
    if ids:
        them = "them" if len(ids) > 1 else "it"
        what = "look like row numbers" if len(ids) > 1 else "looks like a row number"
        yield Note(
            "row ids", f"{_listed(ids)} {what}", f"omit {them}: {spell('drop', ids[:MAX_NAMED])}"
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:MAX_NAMED]))
    return f"column{'s' if len(names) > 1 else ''} {shown}" + (
        " and more" if len(names) > MAX_NAMED else ""
    )


def pick_columns(columns: list[str], options: ReadOptions, name: str) -> list[str]:
    """Return the columns that the options do not omit.

    Raise UsageError if the options name a column that the table does not have.
    """
    available, weight = set(columns), options.weight
    if weight is not None and weight not in available:
        raise UsageError(
            f"{prefix(name)}there is no column {weight!r} for the row weights;"
            f" {hint(weight, columns)}"
        )
    for wanted in (*options.drop, *(options.only or ())):
        if wanted not in available:
            raise UsageError(
                f"{name}: there is no column {wanted!r} to omit or to keep; {hint(wanted, columns)}"
            )
    kept = (available if options.only is None else set(options.only)) - {*options.drop, weight}
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


def check_columns_exist(wanted: Iterable[str], names: list[str], origin: str) -> None:
    """Raise AbsentColumnError if a table does not have all of the given columns."""
    present = set(names)
    for name in wanted:
        if name not in present:
            raise AbsentColumnError(
                f"{prefix(origin)}there is no column {name!r}; {listing(names)}", names
            )


def check_target_column(target: str | None, names: list[str], origin: str) -> None:
    """Raise DataError if a table does not have its target, or if no target is given."""
    if target is None:
        message = (
            f"{prefix(origin)}the target column is not given; name it: {spell('target', 'NAME')};"
            f" {listing(names)}"
        )
        raise AbsentColumnError(message, names)
    if target not in names:
        raise DataError(
            f"{prefix(origin)}there is no column {target!r} for the target; {hint(target, names)}"
        )


def hint(wanted: str, names: list[str]) -> str:
    """Return a hint for a column that does not exist, for a message.

    It lists the columns with similar names, or all columns if none is similar.
    """
    near = get_close_matches(wanted, names, n=3)
    return f"did you mean {' or '.join(near)}?" if near else listing(names)


def listing(names: list[str]) -> str:
    """Return the list of columns, for a message."""
    shown = ", ".join(names[:8])
    return f"the columns are {shown}" + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
