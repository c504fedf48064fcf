"""OFS_P: online feature selection with partial inputs (Wang, Zhao, Hoi, Jin 2014, algorithm 4)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import UsageError
from ...kernels.rows.batch import Rows
from ...kernels.rows.curve import Curve
from ...kernels.rows.first_order import ON_MARGIN, ON_MISTAKE
from ...kernels.rows.members import KEPT
from ...kernels.rows.partial import (
    ASKED,
    CENTRED,
    NOT_SCALED,
    PENDING,
    SPREAD,
    PartialState,
    choose,
    partial_update,
)
from ...kernels.rows.scaling import NORMS, ROWS
from ...kernels.rows.scores import keep_selected
from ...state import empty
from ..base import ClassWeight, Seed
from ..prediction import Squares
from ..requirements import require, require_one_of
from .addresses import table_addresses
from .classifier import RowClassifier
from .first_order import check_first_order
from .inputs import AUTO, Lengths
from .limits import FRACTIONS, RADII, STEPS, require_between
from .results import Scorer

TRIGGERS = {"margin": ON_MARGIN, "mistake": ON_MISTAKE}


class OFSPartialLearner(RowClassifier[PartialState]):
    """Online feature selection that sees as few attributes of a row as it keeps (Wang et al. 2014, algorithm 4).

    For two classes. With probability ``epsilon`` a row is explored: as many attributes as the budget are drawn from
    all. Otherwise those in use are looked at. Values are divided by the probability that they are seen, so that what is
    learned is right on average. For data where every attribute costs: ``ask()`` names the attributes to acquire for the
    next row, ``tell(values, y)`` learns from them. ``fit`` and ``partial_fit`` take complete rows and read only what
    would have been asked for; all else may be NaN. Scaling and intercept, too, use only what was seen.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget: how many attributes to see of each row, and to keep.
    epsilon : float, default=0.2
        The fraction of rows to explore.
    eta : float, default=0.2
        The step.
    radius : float, default=10.0
        The weights are kept in a ball of this radius.
    trigger : {"margin", "mistake"}, default="margin"
        Learn from rows inside the margin, or only from those predicted wrongly.
    normalize, fit_intercept, class_weight, n_epochs
        As in SOFS, with seen values only.
    random_state : int, Generator or None, default=None
        What the draws depend on.
    """

    method: ClassVar[str] = "ofs-partial"
    two_classes_only: ClassVar[bool] = True
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = ({"normalize": "standard+l2", "random_state": 3},)
    exempt_from_checks: ClassVar[dict[str, str]] = dict.fromkeys(
        (
            "check_huge_ids_change_nothing",
            "check_plans_change_in_the_middle_of_a_run",
            "check_rows_may_grow_wider",
        ),
        "it draws from all features: their number is declared at the start and stays",
    )
    reads_what_it_asks: ClassVar[bool] = True
    positions_are_ids: ClassVar[bool] = True

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        epsilon: float = 0.2,
        eta: float = 0.2,
        radius: float = 10.0,
        trigger: str = "margin",
        normalize: bool | str = False,
        fit_intercept: bool = True,
        class_weight: ClassWeight = "auto",
        n_epochs: int = 1,
        random_state: Seed = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.eta = eta
        self.radius = radius
        self.trigger = trigger
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_epochs = n_epochs
        self.random_state = random_state

    def check_parameters(self) -> None:
        super().check_parameters()
        require(self.normalize != AUTO, "normalize", AUTO, "chosen by hand: only values asked for may be read")
        require_between("epsilon", self.epsilon, FRACTIONS)
        require_between("eta", self.eta, STEPS)
        require_between("radius", self.radius, RADII)
        require_one_of("trigger", self.trigger, TRIGGERS)

    @property
    def needs_width(self) -> bool:
        return True

    def ask(self) -> NDArray[np.int64]:
        """The ids of the attributes to acquire for the next row, ascending; the same again until ``tell``."""
        if not self.started:
            raise UsageError("call start(n_features=..., classes=[...]) before the first ask")
        memory = self.memory
        if memory.room() < memory.declared_width:
            memory.grow(memory.declared_width)
        state = memory.state
        if not state.question[PENDING]:
            choose(state, memory.random, float(self.epsilon), memory.declared_width)
            state.question[PENDING] = 1
        asked: NDArray[np.int64] = state.asked[: state.question[ASKED]].copy()
        return asked

    def tell(self, values: Any, y: Any) -> Self:
        """Learn from the values of what ``ask`` named, in that order, and the label of the row."""
        asked = self.ask()
        seen = np.asarray(values, np.float64 if self.centres else np.float32).ravel()
        if seen.size != asked.size:
            raise ValueError(f"{asked.size} attributes were asked for, {seen.size} values given")
        if not np.isfinite(seen).all():
            missing = asked[~np.isfinite(seen)][0]
            raise ValueError(f"the value of attribute {missing} is missing; tell what was asked for")
        present = seen != 0
        indptr = np.array([0, np.count_nonzero(present)])
        row = RowBlock(indptr, asked[present], seen[present], np.asarray([y]), self.memory.declared_width, dense=True)
        return self.partial_fit_block(row)

    def _start(self, budget: int, n_vectors: int) -> PartialState:
        return empty(PartialState, features=0, budget=budget, vectors=1)

    def _inputs(self, block: RowBlock) -> RowBlock:
        self.memory.moments.dense[0] = block.dense
        return self.memory.placed(block)

    def _lengths(self, block: RowBlock) -> Lengths:
        return Lengths.unread(block.n_rows)

    def _scaling(self) -> int:
        if not self._standardizes:
            return NOT_SCALED
        return CENTRED if self.memory.moments.dense[0] else SPREAD

    def _update(self, state: PartialState, ids: NDArray[np.int64], rows: Rows, curve: Curve | None) -> None:
        partial_update(
            state,
            ids,
            rows,
            self.memory.random,
            float(self.epsilon),
            float(self.eta),
            float(self.radius),
            TRIGGERS[self.trigger],
            self.memory.declared_width,
            self._scaling(),
            self._unit_length,
            self._share,
        )

    def _kept(self, state: PartialState) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        used = np.flatnonzero(state.weight[: state.counts[KEPT], 0])
        scale = state.scale[0]
        weights = scale * state.weight[used]
        return state.member_id[used], weights, np.abs(weights[:, 0])

    def _constant(self, state: PartialState) -> float:
        totals = state.totals
        return float(self._share * totals[NORMS] / max(1.0, totals[ROWS]))

    def _bias(self, state: PartialState) -> NDArray[np.float64]:
        bias: NDArray[np.float64] = state.scale[0] * state.bias[:, 0]
        return bias

    def scorer(self) -> Scorer:
        """What gives the scores of the rows of a block, from the kept attributes alone; no other is read."""
        state, scaling = self.memory.state, self._scaling()
        ids, weights, _ = self._weights()
        lookup = table_addresses(ids)
        spread = np.sqrt(state.deviation[ids] / np.maximum(1.0, state.seen[ids]))
        spread[spread == 0] = np.inf if scaling == CENTRED else 1.0
        centre = state.mean[ids] if scaling == CENTRED else 0.0
        start = self._bias(state)[0] * self._constant(state)

        def score(block: RowBlock, squares: Squares = None) -> NDArray[np.float64]:
            indptr = np.zeros(block.n_rows + 1, np.int64)
            indices, values = np.empty(block.n_nonzero, np.int32), np.empty_like(block.values)
            rows = block.indptr, block.indices, block.values
            kept = keep_selected(lookup.table, lookup.ids, *rows, indptr, indices, values)
            matrix = RowBlock(indptr, indices[:kept], values[:kept], None, ids.size).to_dense()
            if scaling != NOT_SCALED:
                matrix = (matrix - centre) / spread
            if self._unit_length:
                norms = np.sqrt((matrix**2).sum(axis=1))
                matrix /= np.where(norms > 0, norms, 1.0)[:, None]
            scores: NDArray[np.float64] = matrix @ weights[:, 0] + start
            return scores

        return score

    @property
    def uses_lengths(self) -> bool:
        """No: rows are measured by the kept attributes alone."""
        return False

    def _check_state(self, state: PartialState, sizes: dict[str, int], ids: NDArray[np.int64]) -> None:
        check_first_order(state, sizes["budget"], ids)
        features = np.arange(sizes["features"])
        if not np.array_equal(np.sort(state.shift + features), features):
            raise ValueError("the order of its features does not have each of them once")
        asked = state.question[ASKED]
        if asked > sizes["budget"] or (state.asked[:asked] >= max(1, features.size)).any():
            raise ValueError("it asks for features that there are not")
