"""SOFS: second-order online feature selection (Wu, Hoi, Mei, Yu 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...kernels.rows.batch import MAX_SCORE, UNIFORM, Rows
from ...kernels.rows.confidence import ConfidenceState, confidence_update
from ...kernels.rows.curve import Curve
from ...kernels.rows.members import KEPT
from ...kernels.rows.scaling import COUNTED, SQUARES, kept_length
from ...kernels.rows.second_order import SecondOrderState, second_order_update
from ...kernels.rows.signal import SignalState, signal_update
from ...kernels.rows.storing import LARGEST
from ...selection import Selection
from ...state import empty, negate
from ..base import ClassWeight
from ..diagnosis import Look, Remark
from ..requirements import require, require_one_of
from . import integrity
from .classifier import RowClassifier
from .diagnosis import beyond_float32
from .estimates import Estimates, Positions, Rule, as_stored, merged_usual, with_bounds
from .fixed_memory import FixedMemoryLearner
from .inputs import AUTO
from .limits import GAMMAS, require_between
from .merging import MergingLearner

CRITERIA = ("snr", "confidence")
GAMMA_SHARE = {"snr": 0.3, "confidence": 1.0}  # of the mean squared length of rows: gamma="auto"
NOT_CLIPPED = -1.0  # errors of classes
LONGEST = 10.0  # times the mean squared length: longer rows are shortened
UPDATES = {"max_score": MAX_SCORE, "uniform": UNIFORM}
SofsState = ConfidenceState | SignalState | SecondOrderState


class SecondOrder(FixedMemoryLearner[SofsState], MergingLearner[SofsState]):
    """What SOFS for classes and for numbers share: the states, what features are kept by, and how models are merged."""

    gamma: float | str
    criterion: str

    def check_parameters(self) -> None:
        super().check_parameters()
        if not isinstance(self.gamma, str) or self.gamma != AUTO:
            require_between("gamma", self.gamma, GAMMAS, "'auto' or ")

    @property
    def _longest(self) -> float:
        return LONGEST if self.criterion == "snr" else np.inf

    @property
    def _decay(self) -> float:
        """What a row leaves of precision."""
        return 1.0 if self.forget is None else 2.0 ** (-1.0 / self.forget)

    @property
    def _left_of_sums(self) -> float:
        return self._decay if self.criterion == "snr" else 1.0

    def _constant(self, state: SofsState) -> float:
        if self.criterion == "confidence" or isinstance(state, ConfidenceState):
            return super()._constant(state)
        totals = self.memory.moments.totals
        if not totals[COUNTED]:
            return 0.0
        return self._share * kept_length(state.kept_squares[0], totals[COUNTED], totals[SQUARES] / totals[COUNTED])

    @property
    def _per_class(self) -> int:
        """The entries of a feature's cell per vector of weights: a precision, and a weight if outsiders have one."""
        return 2 if self.criterion == "snr" else 1

    def _start(self, budget: int, n_vectors: int) -> SofsState:
        kind: Any = SecondOrderState
        if n_vectors == 1:
            kind = ConfidenceState if self.criterion == "confidence" else SignalState
        width = self._per_class * n_vectors + 1  # where there are many classes
        state: SofsState = empty(kind, features=0, budget=budget, vectors=n_vectors, cell_width=width)
        return state

    def _gammas(self, rows: Rows) -> NDArray[np.float64]:
        """The gamma of every row; 0, and the row teaches nothing, as long as there were no values at all."""
        if self.gamma == AUTO:
            return GAMMA_SHARE[self.criterion] * rows.mean_squares / rows.weights
        gammas = float(self.gamma) / rows.weights
        return np.where(rows.counted > 0.0, gammas, 0.0) if self.criterion == "snr" else gammas

    def _kept(self, state: SofsState) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        kept = state.counts[KEPT]
        weights = state.weight[:kept]
        if weights.ndim == 1:
            weights = weights[:, None]
        if isinstance(state, ConfidenceState):
            scores = 1.0 + state.excess[:kept].astype(np.float64) * state.scale[0]
        elif isinstance(state, SignalState):
            scores = np.sqrt(state.fresh[:kept] * state.scale[0])
        elif self.criterion == "snr":
            scores = state.fresh[:kept] * np.sqrt(state.scale[0])
        else:
            scores = -(1.0 / (1.0 + state.excess[:kept].astype(np.float64) * state.scale[0])).sum(axis=1)
        return state.member_id[:kept], weights, scores

    def _remarks(self, selection: Selection, look: Look) -> list[Remark]:
        state = self._predicting
        remark = beyond_float32(state.excess[: state.counts[KEPT]] >= LARGEST, self.gamma)
        return [*([] if remark is None else [remark]), *super()._remarks(selection, look)]

    # ---- merging

    def _stored(self, state: SofsState, positions: Positions) -> Estimates:
        n_vectors = state.bias.shape[0]
        flags = flags_of(state)[positions]
        kept = np.flatnonzero(flags < 0)
        cells = np.atleast_2d(state.cells[positions].view(np.float32).T).T
        shape = len(cells), n_vectors, self._per_class
        with np.errstate(invalid="ignore"):  # what names a slot is no number
            per_class = cells[:, -n_vectors * self._per_class :].astype(np.float64).reshape(shape)
        excess = per_class[:, :, 0]
        weight = per_class[:, :, 1] if self.criterion == "snr" else np.zeros_like(excess)
        slots = -1 - flags[kept]
        excess[kept] = state.excess.reshape(-1, n_vectors)[slots]
        weight[kept] = state.weight.reshape(-1, n_vectors)[slots]
        return Estimates(np.minimum(excess, LARGEST), weight)

    def _cells(self, estimates: Estimates) -> NDArray[Any]:
        excess = as_stored(estimates.excess)
        cells = excess
        if self.criterion == "snr":
            both = np.stack([excess, estimates.weight.astype(np.float32)], axis=2)
            cells = both.reshape(len(excess), 2 * excess.shape[1])
        if excess.shape[1] > 1:
            return with_bounds(cells)
        return cells if self.criterion == "snr" else cells[:, 0].view(np.int32)

    def _keys(self, estimates: Estimates) -> NDArray[np.float64]:
        excess = as_stored(estimates.excess).astype(np.float64)
        one = excess.shape[1] == 1
        if self.criterion == "snr":
            squares: NDArray[np.float64] = (estimates.weight**2 * (1.0 + excess)).sum(axis=1)
            return squares if one else np.sqrt(squares)
        return excess[:, 0] if one else -(1.0 / (1.0 + excess)).sum(axis=1)

    def _fill_slots(
        self, state: SofsState, positions: NDArray[np.int64], ids: NDArray[np.int64], estimates: Estimates
    ) -> None:
        keys = self._keys(estimates)
        order = np.lexsort((-ids, keys))  # the first to leave first, which is a heap
        kept, slots = order.size, np.arange(order.size)
        flags_of(state)[positions[order]] = -1 - slots
        state.counts[KEPT] = kept
        state.member[:kept], state.member_id[:kept] = positions[order], ids[order]
        state.weight[:kept] = estimates.weight[order].reshape(kept, *state.weight.shape[1:])
        state.excess[:kept] = as_stored(estimates.excess[order]).reshape(kept, *state.excess.shape[1:])
        if isinstance(state, ConfidenceState):
            state.heap_key[:kept], state.heap_slot[:kept] = keys[order], slots
        else:
            state.key[:kept] = state.fresh[:kept] = keys[order]
            state.heap[:kept] = state.heap_position[:kept] = slots

    def _scale(self, state: SofsState) -> float:
        return float(state.scale[0])

    def _merge_sums(self, state: SofsState, states: Sequence[SofsState], rule: Rule) -> None:
        if not isinstance(state, ConfidenceState):
            state.kept_squares[:] = rule.sums(
                [one.kept_squares for one in states if not isinstance(one, ConfidenceState)]
            )
        if isinstance(state, SignalState):
            state.usual[:] = merged_usual([one.usual for one in states if isinstance(one, SignalState)])

    # ---- states from files

    def _check_state(self, state: SofsState, sizes: dict[str, int], ids: NDArray[np.int64]) -> None:
        kept = integrity.kept_count(state.counts, sizes["budget"])
        member, member_id = state.member[:kept], state.member_id[:kept]
        if self._table_of(state) is not None:
            integrity.check_cells(state.cells, state.bias.shape[0], member, member_id, sizes["width"])
        else:
            integrity.check_members(flags_of(state), -1, member, member_id, ids)
        if isinstance(state, ConfidenceState):
            integrity.check_heap(state.heap_key[:kept], state.heap_slot[:kept], member_id)
            if not (state.heap_key[:kept] <= state.excess[state.heap_slot[:kept]]).all():
                raise ValueError("a key in the heap is larger than that of its slot")
            return
        integrity.check_numbers(state.cells, flags_of(state))
        totals = self.memory.moments.totals
        integrity.check_mean(state.kept_squares[0], totals[COUNTED], integrity.LONGEST_ROW**2)
        heap = state.heap[:kept]
        integrity.check_heap(state.key[heap], heap, member_id)
        integrity.check_positions(heap, state.heap_position)
        if not (state.key[:kept] <= state.fresh[:kept]).all():
            raise ValueError("a key in the heap is larger than that of its slot")


class SOFSLearner(SecondOrder, RowClassifier[SofsState]):
    """Second-order online feature selection (Wu et al. 2017, algorithms 4 and 6; many classes: section 3.6).

    A linear classifier with a confidence for every weight (diagonal AROW), which keeps ``n_features_to_select``
    features and predicts with those alone. Which ones is the ``criterion``: "confidence", the paper's, keeps the most
    precise weights, those of features that took part often; "snr" keeps the weights that are largest against their
    own uncertainty, ``|mu| / sqrt(S)``, and lets features that are not kept go on learning in the shadow, each as if
    it were added to the kept ones. One pass, O(non-zeros) time per row; per feature seen 4 bytes ("confidence") or 8
    ("snr"); with more than two classes that times their number, and 4 more.

    The defaults need no tuning. The paper's own form is ``criterion="confidence", gamma=1.0, normalize=False,
    fit_intercept=False, class_weight=None``.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default=100
        The budget: how many features to keep. A float is a fraction of the width, where that is known beforehand.
        "auto" learns with the largest number of the curve's grid and takes the smallest that is within one standard
        error of the best, with the features and weights of a learner of about that budget.
    gamma : "auto" or float, default="auto"
        AROW's regularisation: larger learns more slowly. It is a squared length; "auto" goes by the mean squared length
        of the rows so far.
    criterion : {"snr", "confidence"}, default="snr"
        The selection rule.
    update : {"max_score", "uniform"}, default="max_score"
        With more than two classes: which rivals of the true class step back, the best (eq. 10) or all that score
        no less than it (eq. 11).
    normalize : {"auto", False, "l2", "standard", "standard+l2"}, default="auto"
        "auto" chooses the scale of every column from the first rows, then divides every row by its length. "l2" divides
        every row by its Euclidean norm. "standard" divides features by their standard deviation so far, and centres
        them if the rows are dense. False takes rows as they are.
    fit_intercept : bool, default=True
        One more weight, outside the budget, with a constant input. False is the paper's form.
    class_weight : "auto", None, "balanced" or dict, default="auto"
        Weights of the classes, by label. "balanced" makes rare ones count as much as others, by the class counts so
        far; "auto" helps rare ones, by the root of half of that, and leaves others alone.
    forget : float, default=None
        A half-life in rows: precision decays, so that the selection can move when the data does.
    curve : bool or list of int, default=False
        Also measure the online accuracy with fewer features, on a grid of numbers: ``curve_``. Small learners beside
        the main one answer for small numbers, as well as runs of their own would.
    max_cells : int, default=None
        Fixed memory for any number of different features: kept ones are exact, all others share this many cells of 8
        bytes, times the number of classes if there are more than two. Ids may then be any below 2**63, and rows may
        come as dictionaries of values by name. For ``criterion="snr"``; ``normalize="auto"`` is "l2" then. 2**14 cells
        are enough for most data. None is exact, and remembers every feature.
    n_epochs : int, default=1
        How often to go over the rows.

    Attributes
    ----------
    classes_ : array
    coef_, intercept_ : sparse array, array
        The weights of the kept features and of the intercept, for rows as ``normalize`` makes them; a row, or a row per
        class if there are more than two.
    support_, scores_ : array
        A mask over all features; the scores of the selected ones, aligned with ``get_support(indices=True)``.
    n_features_in_ : int
        The width of the widest row seen.
    mistakes_, updates_ : int
        Rows predicted wrongly before they were learned (a score of 0 counts as wrong); rows learned from.
    n_rows_, n_nonzero_ : int
        Rows and non-zeros seen.
    curve_ : dict
        ``n_features`` and ``accuracy``, where a curve was asked for.
    n_features_selected_ : int
        The budget, or what "auto" took.
    """

    method: ClassVar[str] = "sofs"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"criterion": "confidence", "fit_intercept": False},
        {"criterion": "confidence", "forget": 20.0, "curve": True},
        {"normalize": "l2", "class_weight": "balanced", "curve": [2, 5]},
        {"normalize": "standard+l2", "forget": 20.0},
        {"max_cells": 64, "forget": 20.0, "curve": [2, 5]},
    )

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        gamma: float | str = "auto",
        criterion: str = "snr",
        update: str = "max_score",
        normalize: bool | str = "auto",
        fit_intercept: bool = True,
        class_weight: ClassWeight = "auto",
        forget: float | None = None,
        curve: bool | Sequence[int] = False,
        max_cells: int | None = None,
        n_epochs: int = 1,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.criterion = criterion
        self.update = update
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.forget = forget
        self.curve = curve
        self.max_cells = max_cells
        self.n_epochs = n_epochs

    def check_parameters(self) -> None:
        super().check_parameters()
        require_one_of("criterion", self.criterion, CRITERIA)
        require_one_of("update", self.update, UPDATES)
        expected = "'snr' with max_cells: without shadow weights there is nothing to share a cell"
        require(self.criterion == "snr" or not self.shares_cells, "criterion", self.criterion, expected)

    def _update(self, state: SofsState, ids: NDArray[np.int64], rows: Rows, curve: Curve | None) -> None:
        gammas, table = self._gammas(rows), self._table_of(state)
        if isinstance(state, ConfidenceState):
            confidence_update(state, ids, rows, gammas, curve, self._decay)
        elif isinstance(state, SignalState):
            signal_update(state, ids, table, rows, gammas, curve, self._decay, self._share, NOT_CLIPPED)
        else:
            rule = UPDATES[self.update]
            second_order_update(state, ids, table, rows, gammas, curve, self._decay, rule, self._share)

    def _negate(self, state: Any) -> None:
        super()._negate(state)
        if self.criterion == "snr":
            negate(state.cells[:, 1:])


def flags_of(state: SofsState) -> NDArray[np.int32]:
    """What every feature has where the slot of a kept one would be named."""
    return state.cells if isinstance(state, ConfidenceState) else state.cells.view(np.int32)[:, 0]
