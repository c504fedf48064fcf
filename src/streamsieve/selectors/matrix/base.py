"""The base of algorithms that need the whole matrix at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, UsageError, prefix
from ...kernels.arrays import ArraySpec
from ...state import Arrays, Schema, State, arrays_of, check_arrays, empty, schema_of, with_arrays
from ...targets import Target, read_target
from ..base import Findings, Learner, Reads
from ..columns.noted import COARSE, Noted, remarks_of
from ..diagnosis import Look, Remark
from ..requirements import is_integer
from .data import Matrix

COUNTS: Schema = {"counts": ArraySpec((2,), 0, dtype=np.int64)}

S = TypeVar("S", bound=State)


@dataclass(slots=True, eq=False)
class MatrixMemory(Generic[S]):
    """All that a learner of the whole matrix has learned."""

    state: S
    counts: NDArray[np.int64]  # rows, non-zeros
    noted: dict[str, Noted] = field(default_factory=dict)  # columns that a user should know of; not saved
    class_rows: dict[Any, int] | None = None  # rows of every class, where classes are learned; not saved


class MatrixLearner(Learner[Matrix, MatrixMemory[S]], Generic[S]):
    """Learns from all rows and all features together.

    An author writes ``_learn``, ``_selected``, and what must hold between the arrays of a state from a file
    (``_check_state``).
    """

    reads: ClassVar[Reads] = "matrix"
    state_type: ClassVar[type[Any]]
    fitted: ClassVar[tuple[str, ...]] = ()  # attributes that ``_learn`` sets, which JSON can hold

    _target: Target | None = None

    # ---- what an author writes

    def _learn(self, matrix: Matrix, target: Target) -> tuple[S, int]:
        """What a matrix teaches, a NamedTuple of arrays; and how many of its values are not 0."""
        raise NotImplementedError

    def _check_state(self, state: S) -> None:
        """Refuse, with a ValueError, a state whose arrays do not fit one another."""

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
        """Forget everything and be ready for the matrix; ``y`` has the target of every row."""
        self.check_parameters()
        if y is None:
            raise UsageError(f"{self.method} needs the target of every row; start with y=...")
        if classes is not None:
            raise UsageError(f"{self.method} takes the classes from the target; omit classes")
        self._target = self._read_target(y, origin)
        self._memory = None
        self.n_features_in_ = n_features or 0
        self._set_names(feature_names)
        return self

    def _read_target(self, y: Any, origin: str = "") -> Target:
        return read_target(y, kinds=self.targets, origin=origin)

    def partial_fit_block(self, block: Matrix) -> Self:
        """Learn a matrix; ``start`` comes before."""
        target = self._target
        if target is None:
            raise UsageError(f"{self.method} has not been started")
        if target.n_rows != block.n_rows:
            raise DataError(
                f"{prefix(block.origin)}{self.method} needs a target for each of {block.n_rows:,} rows, and there are "
                f"{target.n_rows:,}"
            )
        state, n_nonzero = self._learn(block, target)
        self._target = None
        counts = np.array([block.n_rows, n_nonzero])
        self._memory = MatrixMemory(state, counts, class_rows=target.class_rows())
        self.n_features_in_ = block.n_features
        coarse = block.coarse()
        if coarse:
            self._memory.noted[COARSE] = Noted()
            self._memory.noted[COARSE].add(coarse)
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

    def class_rows(self) -> dict[Any, int] | None:
        return self.memory.class_rows

    def diagnosis(self, look: Look) -> list[Remark]:
        return [*super().diagnosis(look), *remarks_of(self.memory.noted)]

    def findings(self) -> Findings:
        return Findings(details={name.rstrip("_"): value for name, value in self._fitted_values().items()})

    def _fitted_values(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.fitted}

    # ---- saving

    def _header(self) -> dict[str, Any]:
        return {"fitted": self._fitted_values()}

    def _arrays(self) -> Arrays:
        return {**arrays_of(self.memory.state), "counts": self.memory.counts}

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        fresh: S = empty(self.state_type, features=0, selected=0, heavy=0, classes=0)
        check_arrays(arrays, {**schema_of(fresh), **COUNTS}, {"features": self.n_features_in_})
        state = with_arrays(fresh, arrays)
        self._check_state(state)
        for name in self.fitted:
            self.__dict__[name] = header["fitted"][name]
        self._memory = MatrixMemory(state, arrays["counts"])
        wanted: Any = self.parameters().get("n_features_to_select")
        if is_integer(wanted) and self._selected()[0].size > wanted:
            raise ValueError(f"it selects more than {wanted:,} features")


def check_order(ids: NDArray[np.int64]) -> None:
    """Refuse, with a ValueError, ids that do not ascend."""
    if (np.diff(ids) <= 0).any():
        raise ValueError("its features are not in order")
