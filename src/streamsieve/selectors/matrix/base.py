"""The base of algorithms that need the whole matrix at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, UsageError, prefix
from ...model import Arrays, Field, Schema, check_arrays
from ...selection import Selection
from ...targets import Target, read_target
from ..base import Findings, Learner, Reads
from .data import Matrix, Pairs

SCHEMA: Schema = {
    "ids": Field(np.int64, ("heavy",), 0, "features"),
    "weights": Field(np.float64, ("heavy",)),
    "counts": Field(np.int64, (2,), 0),
}


@dataclass(slots=True, eq=False)
class MatrixMemory:
    """The weights that are not 0."""

    ids: NDArray[np.int64]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]  # rows, non-zeros


class MatrixLearner(Learner[Matrix, MatrixMemory]):
    """Gives every feature a weight, from all rows and all features together.

    An author writes ``_solve``. The features of weight above 0 are selected, or the ``n_features_to_select`` heaviest
    of them. Only weights that are not 0 are remembered.
    """

    reads: ClassVar[Reads] = "matrix"
    fitted: ClassVar[tuple[str, ...]] = ()  # attributes that ``_solve`` sets, which JSON can hold

    n_features_to_select: int | None
    scale: str

    _target: Target | None = None

    # ---- what an author writes

    def _solve(self, pairs: Pairs, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """The weight of every feature that varies, in the order of ``pairs.varying``; ``codes`` are rows' classes."""
        raise NotImplementedError

    # ---- learning

    def start(
        self,
        n_features: int | None = None,
        classes: Any | None = None,
        feature_names: Any | None = None,
        *,
        y: Any | None = None,
        origin: str = "",
    ) -> Self:
        """Forget everything and be ready for the matrix; ``y`` has the class of every row."""
        self.check_parameters()
        if y is None:
            raise UsageError(f"{self.method} needs the class of every row; start with y=...")
        if classes is not None:
            raise UsageError(f"{self.method} takes the classes from the target; omit classes")
        self._target = read_target(y, kinds=self.targets, origin=origin)
        self._memory = None
        self.n_features_in_ = n_features or 0
        self._set_names(feature_names)
        return self

    def partial_fit_block(self, block: Matrix) -> Self:
        """Weigh all features of a matrix; ``start`` comes before."""
        if self._target is None:
            raise UsageError(f"{self.method} has not been started")
        codes = self._target.codes
        if codes.size != block.n_rows:
            raise DataError(
                f"{prefix(block.origin)}{self.method} needs a class for each of {block.n_rows:,} rows, and the target "
                f"has {codes.size:,}"
            )
        with Pairs(block, self.scale) as pairs:
            weights = self._solve(pairs, codes)
            counts = np.array([block.n_rows, pairs.n_nonzero])
        self._target = None
        present = np.flatnonzero(weights)
        self._memory = MatrixMemory(block.ids[pairs.varying[present]], weights[present], counts)
        self.n_features_in_ = block.n_features
        return self

    # ---- what was learned

    @property
    def n_learned(self) -> int:
        return 0 if self._memory is None else self.n_features_in_

    @property
    def n_rows_(self) -> int:
        return int(self.memory.counts[0])

    @property
    def n_nonzero_(self) -> int:
        """Values of the data that are not 0."""
        return int(self.memory.counts[1])

    @property
    def feature_weights_(self) -> NDArray[np.float64]:
        """The weight of every feature, most of them 0."""
        weights = np.zeros(self.n_features_in_)
        weights[self.memory.ids] = self.memory.weights
        return weights

    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        heavy = self.memory.weights > 0
        found = Selection(self.memory.ids[heavy], self.memory.weights[heavy])
        if self.n_features_to_select is not None:
            found = found.top(int(self.n_features_to_select))
        return found.indices, found.scores

    def _evidence(self, selection: Selection) -> NDArray[np.float64]:
        return selection.scores[:, None]

    def findings(self) -> Findings:
        return Findings(details={name.rstrip("_"): value for name, value in self._fitted_values().items()})

    def _fitted_values(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.fitted}

    # ---- saving

    def _header(self) -> dict[str, Any]:
        return {"fitted": self._fitted_values()}

    def _arrays(self) -> Arrays:
        memory = self.memory
        return {"ids": memory.ids, "weights": memory.weights, "counts": memory.counts}

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        check_arrays(arrays, SCHEMA, {"features": self.n_features_in_})
        if (np.diff(arrays["ids"]) <= 0).any():
            raise ValueError("its features are not in order")
        for name in self.fitted:
            self.__dict__[name] = header["fitted"][name]
        self._memory = MatrixMemory(**arrays)
