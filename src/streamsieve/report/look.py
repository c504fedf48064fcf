"""A look at the data of a run, for what its record does not hold: correlations, and the names of features that left.

The folder of a run may come from a stranger, and the data may have changed: then there is no look, but a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock
from ..errors import DataError, UsageError
from ..runs import RunRequest, refuse_changed
from ..sources import open_with
from ..sources.base import ColumnSource, DataSource, Source
from ..sources.columns import RangedColumns

MOST_ROWS = 10_000
NOBODY: Mapping[int, str] = MappingProxyType({})


class Look(NamedTuple):
    """What was seen of the data: correlations of some features over ``n_rows``, or why there are none."""

    matrix: NDArray[np.float64] | None = None
    n_rows: int = 0
    names: Mapping[int, str] = NOBODY  # of all features, by id
    missing: str = ""


class AllNames(Mapping[int, str]):
    """The names of the features of a source, as a mapping from ids, without a copy."""

    def __init__(self, names: NDArray[np.object_]) -> None:
        self.names = names

    def __getitem__(self, feature: int) -> str:
        if not 0 <= feature < len(self.names):
            raise KeyError(feature)
        return str(self.names[feature])

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.names)))

    def __len__(self) -> int:
        return len(self.names)


def look_at_data(request: RunRequest | None, features: list[int], read_data: bool) -> Look:
    """Correlations of some features in the data that a run has read, if it is there and unchanged."""
    if not read_data:
        return Look(missing="the report was asked not to read the data again")
    if request is None:
        return Look(missing="the record is not that of a run folder, which knows how to read the data again")
    if request.data is None:
        return Look(missing="the data was in memory or came through a pipe")
    try:
        refuse_changed(request)
        source = open_with(request.data, request.read)
        names = NOBODY if source.feature_names is None else AllNames(source.feature_names)
        values = columns_of(source, np.array(features, np.int64))
    except (DataError, UsageError, OSError) as error:
        return Look(missing=str(error))
    if len(values) < 2:
        return Look(names=names, missing="there are no two rows to compare features by")
    return Look(correlations(values), len(values), names)


def columns_of(source: DataSource, features: NDArray[np.int64]) -> NDArray[np.float64]:
    """Some columns of the first rows of a source as a matrix, in the order that is asked for; NaN is missing."""
    if isinstance(source, Source):
        return _from_rows(source, features)
    if isinstance(source, ColumnSource):
        return _from_columns(source, features)
    raise UsageError(f"{source.name}: has neither rows nor columns")


def _from_rows(source: Source, features: NDArray[np.int64]) -> NDArray[np.float64]:
    order = np.argsort(features)
    ascending, parts, seen = features[order], [], 0
    for block in source.row_blocks("keep"):
        rows = block.rows(0, min(block.n_rows, MOST_ROWS - seen))
        part = np.zeros((rows.n_rows, features.size))
        begin, end = rows.indptr[0], rows.indptr[-1]
        ids, values = rows.indices[begin:end], rows.values[begin:end]
        at = np.minimum(np.searchsorted(ascending, ids), max(0, features.size - 1))
        here = np.flatnonzero(ascending[at] == ids) if features.size else np.empty(0, np.int64)
        row_of = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
        part[row_of[here], order[at[here]]] = values[here]
        parts.append(part)
        seen += rows.n_rows
        if seen == MOST_ROWS:
            break
    return np.concatenate(parts)


def _from_columns(source: ColumnSource, features: NDArray[np.int64]) -> NDArray[np.float64]:
    values = np.zeros((min(len(source.targets()), MOST_ROWS), features.size))
    place = {feature: at for at, feature in enumerate(features.tolist())}
    for block in _blocks_with(source, sorted(place)):
        for column in np.flatnonzero(np.isin(block.ids, features)).tolist():
            begin, end = block.indptr[column : column + 2]
            rows = block.indices[begin:end]
            first = rows < len(values)
            values[rows[first], place[int(block.ids[column])]] = block.values[begin:end][first]
    return values


def _blocks_with(source: ColumnSource, features: list[int]) -> Iterator[ColumnBlock]:
    """Blocks in which some columns are, and no others where columns can be read from the middle."""
    if not isinstance(source, RangedColumns):
        yield from source.column_blocks()
        return
    for feature in features:
        yield from islice(source.columns_between(feature, feature + 1), 1)


def correlations(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson's correlation of all pairs of columns, over the rows in which both have a value; NaN of constant ones."""
    there = ~np.isnan(values)
    centred = np.where(there, values - np.nanmean(np.where(there, values, np.nan), axis=0, keepdims=True), 0.0)
    present = there.astype(np.float64)
    count = present.T @ present
    sums = centred.T @ present  # of a column, over the rows in which the other has a value
    squares = (centred * centred).T @ present
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = centred.T @ centred - sums * sums.T / count
        variance = squares - sums * sums / count
        found = covariance / np.sqrt(variance * variance.T)
    found[~np.isfinite(found) | (variance <= 0) | (variance.T <= 0)] = np.nan
    return np.asarray(np.clip(found, -1.0, 1.0))
