"""Data that is held in memory, to be learned from more than once, some of its rows at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError, prefix
from ..machine import refuse_beyond_memory
from ..selectors.base import AnyLearner, Reads
from ..sources import open_source
from ..sources.arrays import ArraySource
from ..sources.base import ColumnSource, DataSource, refuse_weight
from ..sources.columns import MatrixColumns
from ..sources.encoding import Encoding
from ..sources.transpose import whole_matrix
from ..values import is_sparse


@dataclass(frozen=True, slots=True, eq=False)
class InMemory:
    """All of a source: a dense array or a CSR matrix, whose columns are the features ``ids``, all if that is None.

    Columns that come with names or groups of their own are all there is, and are numbered from 0
    for learning (``renumbered``): such a source offers no others.
    """

    name: str
    matrix: Any
    y: NDArray[Any]
    n_features: int
    ids: NDArray[np.int64] | None
    names: NDArray[Any] | None  # of all features, or of the columns if they are renumbered
    first_id: int
    encoding: Encoding | None
    renumbered: bool = False
    groups: list[Any] | None = None  # of columns, where the source has them

    @classmethod
    def of(cls, data: Any) -> InMemory:
        """All of some data: a pair ``(X, y)``, a table, a source, or what ``open_source`` opens."""
        source = open_source(data)
        refuse_weight(source.facts.weight, f"{prefix(source.name)}subsamples have no weights")
        if not source.has_labels:
            raise UsageError(f"{prefix(source.name)}the rows have no labels; give a pair (X, y)")
        whole = whole_matrix(source)
        matrix = whole.values.tocsr() if is_sparse(whole.values) else whole.values
        held = cls(
            name=source.name,
            matrix=matrix,
            y=whole.y,
            n_features=whole.n_features,
            ids=whole.ids,
            names=source.feature_names,
            first_id=source.facts.first_id,
            encoding=source.encoding,
        )
        if not isinstance(source, ColumnSource) or not (
            source.facts.has_groups or (held.names is None and source.has_names)
        ):
            return held
        ids = np.arange(matrix.shape[1]) if whole.ids is None else whole.ids
        names, groups = names_and_groups(source, ids)
        return replace(held, ids=ids, names=names, renumbered=True, groups=groups)

    @property
    def n_bytes(self) -> int:
        """The memory that the matrix takes."""
        if is_sparse(self.matrix):
            return int(
                self.matrix.data.nbytes + self.matrix.indices.nbytes + self.matrix.indptr.nbytes
            )
        return int(self.matrix.nbytes)

    def rows(self, rows: NDArray[np.int64], reads: Reads) -> DataSource:
        """Some of the rows, in the order given, as a source for methods that read the data in this way."""
        part, y = self.matrix[rows], self.y[rows]
        source: DataSource
        if self.ids is None or self.renumbered:
            source = ArraySource(part, y, self.names, self.name)
        elif reads == "rows":
            source = ArraySource(self._under_ids(part), y, self.names, self.name)
        else:
            columns = part.tocsc() if is_sparse(part) else part
            source = MatrixColumns(self.name, columns, y, self.n_features, self.ids)
        source.facts = replace(source.facts, first_id=self.first_id, encoding=self.encoding)
        return source

    def selected(self, learner: AnyLearner) -> NDArray[np.int64]:
        """The features that a learner of some of the rows has selected, ascending."""
        found: NDArray[np.int64] = learner.results.selection().indices
        return self.ids[found] if self.ids is not None and self.renumbered else found

    def names_of(self, features: NDArray[np.int64]) -> NDArray[Any] | None:
        """What some features are called, if that is known."""
        if self.names is None:
            return None
        at = (
            np.searchsorted(self.ids, features)
            if self.ids is not None and self.renumbered
            else features
        )
        return self.names[at]

    def _under_ids(self, part: Any) -> Any:
        """The same rows, as wide as the data; only sparse ones have columns for some of the features alone."""
        from scipy.sparse import csr_array

        part = csr_array(part)
        assert self.ids is not None
        return csr_array(
            (part.data, self.ids[part.indices], part.indptr), shape=(part.shape[0], self.n_features)
        )

    def columns(self, features: NDArray[np.int64]) -> Any:
        """Some features, ascending, as a dense array or CSR; those that the data does not have are 0."""
        from scipy.sparse import csr_array

        own = np.arange(self.matrix.shape[1]) if self.ids is None else self.ids
        at = np.searchsorted(own, features)
        there = np.flatnonzero(own[np.minimum(at, own.size - 1)] == features)
        found = self.matrix[:, at[there]]
        shape = self.y.size, features.size
        if is_sparse(found):
            return csr_array((found.data, there[found.indices], found.indptr), shape=shape)
        wide = np.zeros(shape, found.dtype)
        wide[:, there] = found
        return wide

    def refuse_copies(self, fraction: float, copies: int) -> None:
        """Refuse more copies of a fraction of the rows, at a time, than memory has room for."""
        needed = int(2 * fraction * copies * self.n_bytes)  # columns are transposed from them
        refuse_beyond_memory(
            needed, f"{prefix(self.name)}subsamples", "take a smaller fraction or fewer jobs"
        )


def names_and_groups(
    source: ColumnSource, ids: NDArray[np.int64]
) -> tuple[NDArray[Any] | None, list[Any] | None]:
    """What some columns of a source are called, and their groups, as far as it has such."""
    if not source.rewindable:
        raise UsageError(
            f"{source.name}: can be read only once, and is read twice here; save the columns to a"
            " file"
        )
    names = np.full(ids.size, "", object) if source.has_names else None
    groups = np.zeros(ids.size, np.int64) if source.facts.has_groups else None
    for block in source.column_blocks():
        there = np.isin(block.ids, ids)
        at = np.searchsorted(ids, block.ids[there])
        if names is not None and block.names is not None:
            names[at] = block.names[there]
        if groups is not None and block.groups is not None:
            groups[at] = block.groups[there]
    if groups is None:
        return names, None
    return (
        names,
        (groups if source.facts.group_names is None else source.facts.group_names[groups]).tolist(),
    )
