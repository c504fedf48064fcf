"""Hold data in memory, to learn from it more than once, from some of its rows at a time."""

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
from ..sources.base import ColumnSource, DataSource, check_no_weight
from ..sources.columns import MatrixColumns
from ..sources.encoding import Encoding
from ..sources.transpose import whole_matrix
from ..values import is_sparse


@dataclass(frozen=True, slots=True, eq=False)
class InMemory:
    """All data of a source, as a dense array or a CSR matrix.

    The columns of the matrix are the features ``ids``, or all features if that is None. Columns
    that come with their own names or groups are the only features of their source, and are numbered
    from 0 for learning (``renumbered``).
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
        """Read data into memory: a pair ``(X, y)``, a table, or anything ``open_source`` opens."""
        source = open_source(data)
        check_no_weight(source.facts.weight, f"{prefix(source.name)}subsamples have no weights")
        if not source.has_labels:
            raise UsageError(f"{prefix(source.name)}the rows have no labels; give a pair (X, y)")
        matrix_data = whole_matrix(source)
        matrix = matrix_data.values.tocsr() if is_sparse(matrix_data.values) else matrix_data.values
        held = cls(
            name=source.name,
            matrix=matrix,
            y=matrix_data.y,
            n_features=matrix_data.n_features,
            ids=matrix_data.ids,
            names=source.feature_names,
            first_id=source.facts.first_id,
            encoding=source.encoding,
        )
        if not isinstance(source, ColumnSource) or not (
            source.facts.has_groups or (held.names is None and source.has_names)
        ):
            return held
        ids = np.arange(matrix.shape[1]) if matrix_data.ids is None else matrix_data.ids
        names, groups = names_and_groups(source, ids)
        return replace(held, ids=ids, names=names, renumbered=True, groups=groups)

    @property
    def n_bytes(self) -> int:
        """Return the number of bytes of the matrix."""
        if is_sparse(self.matrix):
            return int(
                self.matrix.data.nbytes + self.matrix.indices.nbytes + self.matrix.indptr.nbytes
            )
        return int(self.matrix.nbytes)

    def rows(self, rows: NDArray[np.int64], reads: Reads) -> DataSource:
        """Return some rows, in the order given, as a source that a method reads in its way.

        ``reads`` is that way: by rows, by columns, or as a whole matrix.
        """
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
        """Return the ids of the features that a learner selected, in ascending order."""
        indices: NDArray[np.int64] = learner.results.selection().indices
        return self.ids[indices] if self.ids is not None and self.renumbered else indices

    def names_of(self, features: NDArray[np.int64]) -> NDArray[Any] | None:
        """Return the names of some features, or None if the data has no names."""
        if self.names is None:
            return None
        positions = (
            np.searchsorted(self.ids, features)
            if self.ids is not None and self.renumbered
            else features
        )
        return self.names[positions]

    def _under_ids(self, part: Any) -> Any:
        """Return rows with a column for every feature of the data.

        Only sparse data has a matrix with columns for some of the features.
        """
        from scipy.sparse import csr_array

        part = csr_array(part)
        assert self.ids is not None
        return csr_array(
            (part.data, self.ids[part.indices], part.indptr), shape=(part.shape[0], self.n_features)
        )

    def columns(self, features: NDArray[np.int64]) -> Any:
        """Return the values of some features, as a dense array or a CSR matrix.

        Their ids must be ascending. Features that the data does not have are 0.
        """
        from scipy.sparse import csr_array

        ids = np.arange(self.matrix.shape[1]) if self.ids is None else self.ids
        positions = np.searchsorted(ids, features)
        present = np.flatnonzero(ids[np.minimum(positions, ids.size - 1)] == features)
        values = self.matrix[:, positions[present]]
        shape = self.y.size, features.size
        if is_sparse(values):
            return csr_array((values.data, present[values.indices], values.indptr), shape=shape)
        dense = np.zeros(shape, values.dtype)
        dense[:, present] = values
        return dense

    def check_copies_fit(self, fraction: float, copies: int) -> None:
        """Raise DataError if copies of a fraction of the rows do not fit into memory."""
        needed = int(2 * fraction * copies * self.n_bytes)  # twice, as rows may be transposed
        refuse_beyond_memory(
            needed, f"{prefix(self.name)}subsamples", "take a smaller fraction or fewer jobs"
        )


def names_and_groups(
    source: ColumnSource, ids: NDArray[np.int64]
) -> tuple[NDArray[Any] | None, list[Any] | None]:
    """Return the names and the groups of some columns of a source, None where it has none."""
    if not source.rewindable:
        raise UsageError(
            f"{source.name}: can be read only once, but must be read twice; save the columns to a"
            " file"
        )
    names = np.full(ids.size, "", object) if source.has_names else None
    groups = np.zeros(ids.size, np.int64) if source.facts.has_groups else None
    for block in source.column_blocks():
        is_wanted = np.isin(block.ids, ids)
        positions = np.searchsorted(ids, block.ids[is_wanted])
        if names is not None and block.names is not None:
            names[positions] = block.names[is_wanted]
        if groups is not None and block.groups is not None:
            groups[positions] = block.groups[is_wanted]
    if groups is None:
        return names, None
    return (
        names,
        (groups if source.facts.group_names is None else source.facts.group_names[groups]).tolist(),
    )
