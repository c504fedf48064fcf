"""Some features of data that has ids: the others are not read, and those that are keep their ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock
from ..errors import UsageError
from ..values import is_sparse
from .arrays import ArraySource
from .base import LARGEST_INDEX, ColumnSource, DataSource, Source
from .reading import Reading
from .wrapped import WrappedRows


class Chosen:
    """Features to keep: those of some ids, or all but those."""

    def __init__(self, ids: NDArray[np.int64], omitted: bool) -> None:
        self.ids, self.omitted = ids, omitted

    def among(self, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of some ids are kept."""
        return np.isin(ids, self.ids, invert=self.omitted)


class SomeRows(WrappedRows):
    """Rows with some of their features."""

    def __init__(self, rows: Source, chosen: Sequence[Chosen]) -> None:
        super().__init__(rows)
        self.chosen = chosen

    def _changed(self, block: RowBlock) -> RowBlock:
        return some_entries(block, self.chosen)


class SomeColumns(ColumnSource):
    """Some of the columns of a source."""

    def __init__(self, source: ColumnSource, chosen: Sequence[Chosen]) -> None:
        super().__init__(source.name)
        self.source, self.chosen = source, chosen
        self.n_rows, self.n_features, self.n_bytes = source.n_rows, source.n_features, source.n_bytes
        self.feature_names, self.has_labels, self.rewindable = (
            source.feature_names,
            source.has_labels,
            source.rewindable,
        )
        self.value_type, self.first_id = source.value_type, source.first_id
        self.has_groups, self.group_names = source.has_groups, source.group_names
        self.columns_splittable = source.columns_splittable

    @property
    def has_names(self) -> bool:
        return self.source.has_names

    def column_blocks(self) -> Iterator[ColumnBlock]:
        for block in self.source.column_blocks():
            kept = np.logical_and.reduce([one.among(block.ids) for one in self.chosen])
            yield block if kept.all() else some_columns(block, kept)

    def targets(self) -> NDArray[Any]:
        return self.source.targets()

    def _column_shards(self, n: int) -> list[ColumnSource]:
        return [SomeColumns(shard, self.chosen) for shard in self.source.column_shards(n)]


def some_entries(block: RowBlock, chosen: Sequence[Chosen]) -> RowBlock:
    """The rows of a block with some of their features."""
    inside = slice(int(block.indptr[0]), int(block.indptr[-1]))
    indices, values = block.indices[inside], block.values[inside]
    kept = np.logical_and.reduce([one.among(indices) for one in chosen])
    if kept.all():
        return block
    before = np.concatenate([[0], np.cumsum(kept)])
    indptr = before[block.indptr - block.indptr[0]]
    return block.derived(indptr=indptr, indices=indices[kept], values=values[kept])


def some_columns(block: ColumnBlock, kept: NDArray[np.bool_]) -> ColumnBlock:
    """Some columns of a block."""
    lengths = np.diff(block.indptr)
    inside = slice(int(block.indptr[0]), int(block.indptr[-1]))
    entries = np.repeat(kept, lengths)
    return block.derived(
        indptr=np.concatenate([[0], np.cumsum(lengths[kept])]),
        indices=block.indices[inside][entries],
        values=block.values[inside][entries],
        ids=block.ids[kept],
        names=None if block.names is None else block.names[kept],
        groups=None if block.groups is None else block.groups[kept],
    )


def filtered(source: DataSource, reading: Reading) -> DataSource:
    """The same data without the features that a user omits; they are named by their ids, as written, or names."""
    chosen = []
    if reading.only is not None:
        chosen.append(Chosen(ids_of(source, reading.only), omitted=False))
    if reading.drop:
        chosen.append(Chosen(ids_of(source, reading.drop), omitted=True))
    if not chosen:
        return source
    if isinstance(source, ArraySource):
        return some_of_matrix(source, chosen)
    if isinstance(source, Source):
        return SomeRows(source, chosen)
    assert isinstance(source, ColumnSource), "there are rows and columns"
    return SomeColumns(source, chosen)


def some_of_matrix(source: ArraySource, chosen: Sequence[Chosen]) -> ArraySource:
    """A matrix in memory with zeros for what is omitted."""
    kept = np.logical_and.reduce([one.among(np.arange(source.n_features or 0)) for one in chosen])
    if is_sparse(source.matrix):
        from scipy.sparse import diags_array

        matrix = (source.matrix @ diags_array(kept.astype(source.matrix.dtype))).asformat(source.matrix.format)
    else:
        matrix = np.where(kept, source.matrix, source.matrix.dtype.type(0))
    return ArraySource(matrix, source.y, source.feature_names, source.name, source.block_rows, source.sample_weight)


def ids_of(source: DataSource, named: Sequence[str]) -> NDArray[np.int64]:
    """The features that a user names: by their names, if there are such, or by their ids as the data writes them."""
    names = None if source.feature_names is None else [str(name) for name in source.feature_names]
    known = {} if names is None else {name: feature for feature, name in enumerate(names)}
    ids, first = [], source.first_id
    for name in named:
        word = name.strip()
        if name in known:
            ids.append(known[name])
        elif word.isascii() and word.isdigit() and first <= int(word) < LARGEST_INDEX:
            ids.append(int(word) - first)
        else:
            near = get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"ids are integers of {first} or more"
            raise UsageError(f"{source.name}: there is no feature {name!r} to omit or to keep; {hint}")
    return np.array(ids, np.int64)
