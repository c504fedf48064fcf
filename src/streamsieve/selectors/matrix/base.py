"""The base of algorithms that need the whole matrix at once."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ...selection import Selection
from ...sources.base import Source
from ...sources.columns import ColumnSource
from ..base import Learner, is_whole, require
from ..columns.targets import target_of
from ..rows.labels import place
from .data import Matrix, Pairs, matrix_of


class MatrixLearner(Learner):
    """Gives every feature a weight, from all rows and all features together.

    An author writes ``_solve``. The features of weight above 0 are selected, or the ``n_features_to_select`` heaviest
    of them. Only weights that are not 0 are remembered.
    """

    check_variants: ClassVar[tuple[dict[str, Any], ...]] = ()
    exempt_from_checks: ClassVar[dict[str, str]] = {}

    n_features_to_select: int | None
    scale: str

    # ---- what an author writes

    def _solve(self, pairs: Pairs, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """The weight of every feature that varies, in the order of ``pairs.varying``; ``codes`` are rows' classes."""
        raise NotImplementedError

    def _told(self) -> dict[str, Any]:
        """What else is to be saved in a model, as JSON; attributes by name."""
        return {}

    # ---- learning

    def report(self, unit: str, done: int, total: int | None) -> None:
        """Called while ``_solve`` works: how many rounds or blocks are done, and of how many if that is known."""

    def fit_source(self, source: Source | ColumnSource) -> Self:
        """Weigh all features of a source, from scratch; rows are turned around in memory."""
        matrix, y = matrix_of(source)
        return self.fit_matrix(matrix, y)

    def fit_matrix(self, matrix: Matrix, y: Any) -> Self:
        """Weigh all features of a matrix, from scratch; ``y`` has the class of every row."""
        self.check_parameters()
        target, classes = target_of(y, None, matrix.origin)
        if target.codes.size != matrix.n_rows:
            what = "this target is a regression's" if classes is None else f"the target has {target.codes.size:,} rows"
            raise DataError(
                f"{place(matrix.origin)}{self.method} needs a class for each of {matrix.n_rows:,} rows; {what}"
            )
        with Pairs(matrix, self.scale) as pairs:
            weights = self._solve(pairs, target.codes)
            self._counts = np.array([matrix.n_rows, pairs.n_nonzero])
        present = np.flatnonzero(weights)
        self._ids, self._weights = matrix.ids[pairs.varying[present]], weights[present]
        self.n_features_in_ = matrix.n_features
        if matrix.names is not None:
            self.feature_names_in_ = np.asarray(matrix.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    # ---- what was learned

    @property
    def started(self) -> bool:
        """Whether there are weights."""
        return hasattr(self, "_weights")

    @property
    def n_rows_(self) -> int:
        return int(self._counts[0])

    @property
    def n_nonzero_(self) -> int:
        """Values of the data that are not 0."""
        return int(self._counts[1])

    @property
    def feature_weights_(self) -> NDArray[np.float64]:
        """The weight of every feature, most of them 0."""
        weights = np.zeros(self.n_features_in_)
        weights[self._ids] = self._weights
        return weights

    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        heavy = self._weights > 0
        found = Selection(self._ids[heavy], self._weights[heavy])
        if self.n_features_to_select is not None:
            found = found.top(int(self.n_features_to_select))
        return found.indices, found.scores

    # ---- saving

    def _header(self) -> dict[str, Any]:
        return {"told": self._told()}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"ids": self._ids, "weights": self._weights, "counts": self._counts}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._ids, self._weights, self._counts = arrays["ids"], arrays["weights"], arrays["counts"]
        for name, value in header["told"].items():
            setattr(self, name, value)


def require_budget(value: Any) -> None:
    """``n_features_to_select`` is None or a number of features."""
    fits = value is None or (is_whole(value) and value >= 1)
    require(fits, "n_features_to_select", value, "None or a whole number of 1 or more")
