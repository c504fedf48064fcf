"""Rows of values by name as input of an estimator: dictionaries, or pairs of names and values."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..errors import UsageError
from ..kernels.rows.scores import keep_selected
from ..selectors.rows.addresses import table_addresses
from ..selectors.rows.fixed_memory import NEEDS_CELLS
from ..sources.base import Source
from ..sources.named_rows import NamedRowSource, as_named_rows

if TYPE_CHECKING:
    from .rows import RowEstimator

    class EstimatorBelow(RowEstimator):
        """What this is mixed into."""
else:
    EstimatorBelow = object


class NamedRowsEstimator(EstimatorBelow):
    """Where ``max_cells`` is given ``X`` may be a list, or any iterable, of dictionaries ``{name: value}`` or of pairs
    ``(names, values)``, a row each.
    """

    def _source(self, X: Any, y: Any, sample_weight: Any | None) -> Source:
        rows = self._by_name(X)
        if rows is None:
            return super()._source(X, y, sample_weight)
        self.__dict__.pop("feature_names_in_", None)
        return NamedRowSource(rows, y, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any | None, sample_weight: Any | None) -> Self:
        rows = self._by_name(X)
        if rows is None:
            return super()._partial_fit(X, y, classes, sample_weight)
        source = NamedRowSource(rows, y, sample_weight)
        blocks = source.row_blocks()
        first, starts = next(blocks), not self.started  # what cannot be learned changes nothing
        if starts:
            self.start(None, self._classes_in(source.targets()) if classes is None else classes)
        try:
            for block in chain([first], blocks):
                self.partial_fit_block(block)
        except Exception:
            if starts:
                self.reset()
            raise
        return self

    def _scores(self, X: Any) -> NDArray[np.float64]:
        rows = self._by_name(X)
        if rows is None:
            return super()._scores(X)
        self._check_knows_names()
        score = self.scorer()
        return np.concatenate([score(block) for block in NamedRowSource(rows).row_blocks()])

    def transform(self, X: Any) -> Any:
        """The selected columns of ``X``, in ascending order of id; of rows by name as a sparse array."""
        rows = self._by_name(X)
        if rows is None:
            return super().transform(X)
        from scipy.sparse import csr_array, vstack

        self._check_knows_names()
        selected = self.selection().indices
        lookup = table_addresses(selected)
        parts = []
        for block in NamedRowSource(rows).row_blocks():
            indptr, indices = np.zeros(block.n_rows + 1, np.int64), np.empty(block.n_nonzero, np.int32)
            entries = block.indptr, block.indices, block.values
            values = np.empty(block.n_nonzero, np.float32)
            filled = keep_selected(lookup.table, lookup.ids, *entries, indptr, indices, values)
            shape = (block.n_rows, selected.size)
            parts.append(csr_array((values[:filled], indices[:filled], indptr), shape=shape))
        return vstack(parts, format="csr")

    def get_feature_names_out(self, input_features: Any | None = None) -> NDArray[Any]:
        """The names of the selected columns: those given or seen in training, otherwise x0, x1, ..."""
        names = self.selection().names
        if names is None or self.memory.names is None or input_features is not None:
            return super().get_feature_names_out(input_features)
        return names

    def _by_name(self, X: Any) -> Iterable[Any] | None:
        """``X`` as rows by name, if it is such."""
        rows = as_named_rows(X)
        if rows is not None and self.max_cells is None:
            raise UsageError(NEEDS_CELLS.format(type(self).__name__))
        return rows

    def _check_knows_names(self) -> None:
        check_is_fitted(self)
        if self.memory.names is None:
            raise UsageError("these are rows by name, and it learned rows by id; give rows of the same kind")
