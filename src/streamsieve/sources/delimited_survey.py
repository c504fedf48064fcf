"""What the columns of text with columns hold: the first rows show it, or, where they hold more than numbers, all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..errors import DataError
from .arrow_values import Where, levels_in
from .options import ReadOptions
from .survey import Content, Facts, content_of, kind_of_number, looks_like_id

if TYPE_CHECKING:
    import pyarrow as pa

    from .delimited import DelimitedSource

HEAD_BYTES = 1 << 18  # of a file, which show whether its columns are numbers
TRUTH = {"true", "false"}


class OtherContentError(Exception):
    """Some columns hold something else than it seemed: text."""

    def __init__(self, columns: set[str]) -> None:
        super().__init__(*columns)
        self.columns = columns


def survey(source: DelimitedSource, options: ReadOptions, known: dict[str, Content]) -> list[Facts]:
    """What the columns of a file hold; all of it is read if its first rows hold something else than numbers."""
    head = source.head(HEAD_BYTES)
    if not head:
        return [Facts(name, "number", as_is=True) for name in source.columns]
    plain = None if known or options.missing == "mean" else _plain(source, head)
    if plain is not None:
        return plain
    try:
        contents: dict[str, Content] = {**_inferred(source, head), **known}
        while True:
            try:
                return _counted(source, contents)
            except OtherContentError as error:
                contents |= dict.fromkeys(error.columns, "text")
    except ValueError as error:
        raise error if isinstance(error, DataError) else source.located(error) from error


def _plain(source: DelimitedSource, head: bytes) -> list[Facts] | None:
    """Columns of numbers, if all are, and none of them is missing everywhere; and whether one numbers the rows."""
    import pyarrow as pa

    facts = [Facts(name, "number", as_is=True) for name in source.columns]
    try:
        if source.is_wide(head):
            return None if np.isnan(source.wide_values(head)).all(axis=0).any() else facts
        batch = source.parsed(head, dict.fromkeys(source.columns, pa.float64()), more_missing=False)
    except ValueError:
        return None
    if any(column.null_count == len(column) for column in batch.columns):
        return None
    for one, column in zip(facts, batch.columns, strict=True):
        one.counts_up = not column.null_count and looks_like_id(one.name, np.from_dlpack(column))
    return facts


def _inferred(source: DelimitedSource, head: bytes) -> dict[str, Content]:
    """What columns seem to hold, by the first rows."""
    batch = source.parsed(head, dict.fromkeys(source.columns))
    return {name: content_of(batch.column(name).type) for name in source.columns}


def _counted(source: DelimitedSource, contents: dict[str, Content]) -> list[Facts]:
    """What all rows hold of columns whose contents are known."""
    facts = {name: Facts(name, contents[name]) for name in source.columns}
    for part in source.mapped(lambda text: list(_part_of(source, text, contents))):
        for one in part:
            mine = facts[one.name]
            if not mine.rows:
                mine.counts_up = one.counts_up
            mine.join(one)
            mine.as_is = False
    return list(facts.values())


def _part_of(source: DelimitedSource, text: bytes, contents: dict[str, Content]) -> Iterator[Facts]:
    """What some records hold."""
    import pyarrow as pa

    types = {name: pa.float64() if contents[name] == "number" else pa.string() for name in source.columns}
    try:
        batch = source.parsed(text, types)
    except pa.ArrowInvalid:
        raise OtherContentError(_texts_in(source, text, contents)) from None
    where, others = Where(source.name), set[str]()
    for name, content in contents.items():
        one, values = Facts(name, content), batch.column(name)
        if content == "boolean" and not _are_truth(values, name, where):
            others.add(name)
            continue
        try:
            one.add(values, where)
        except DataError:  # not a date
            others.add(name)
        if kind_of_number(values.type):
            one.counts_up = not values.null_count and looks_like_id(name, np.from_dlpack(values))
        yield one
    if others:
        raise OtherContentError(others)


def _are_truth(values: pa.Array, name: str, where: Where) -> bool:
    levels, _ = levels_in(values, name, where)
    return {level.lower() for level in levels} <= TRUTH


def _texts_in(source: DelimitedSource, text: bytes, contents: dict[str, Content]) -> set[str]:
    """The columns that seemed to be numbers and are not, of some records; records that are damaged are refused."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = set[str]()
    batch = source.parsed(text, dict.fromkeys(source.columns, pa.string()))
    for name, content in contents.items():
        if content == "number":
            try:
                pc.utf8_trim_whitespace(batch.column(name)).cast(pa.float64())
            except pa.ArrowInvalid:
                found.add(name)
    if not found:
        raise DataError(f"{source.name}: a number is written in a way that cannot be read; write it plainly")
    return found
