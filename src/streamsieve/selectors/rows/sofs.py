"""SOFS: second-order online feature selection (Wu, Hoi, Mei, Yu 2017), for classes and for numbers.

Weights with a precision each, of which the best are kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
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
from ...kernels.rows.storing import MAX_FLOAT32
from ...kernels.types import F64, I32, I64
from ...state import empty, negate
from ...targets import ONLY_NUMBERS
from ..base import ClassWeight, Method
from ..parameters import GAMMAS, YES_OR_NO, between, ensure, one_of, parameter, together
from . import options
from .addresses import Addresses
from .estimates import Estimates, MergeRule, Positions, merge_error_scales, to_stored
from .inputs import AUTO, intercept_share
from .learner import RowLearner
from .memory import RowMemory
from .rules import (
    MAX_ROW_LENGTH,
    Kept,
    MergingRule,
    RowRule,
    S,
    check_cells,
    check_heap,
    check_mean,
    check_members,
    check_numbers,
    kept_count,
)

UPDATES = {"max_score": MAX_SCORE, "uniform": UNIFORM}
MAX_LENGTH = 10.0  # times the mean squared length; longer rows are scaled down
NOT_CLIPPED = -1.0  # marks errors that are not clipped
# Of the mean squared length of rows, for gamma="auto" and selection by signal to noise.
GAMMA_SHARE = 0.3
GAMMA = between(*GAMMAS, AUTO)
NEEDS_SNR = together(
    lambda params, value: value == "snr" or params.max_cells is None,
    "'snr' with max_cells: by confidence there are no shadow weights that could share a cell",
)


@dataclass(eq=False, repr=False, kw_only=True)
class SOFSParameters(options.BudgetOrAuto):
    """Second-order online feature selection (Wu et al. 2017, algorithms 4 and 6).

    A linear classifier with a confidence for every weight (diagonal AROW). It keeps
    ``n_features_to_select`` features and predicts with those alone. More than two classes are
    learned as in section 3.6 of the paper.

    The ``criterion`` decides which features are kept. "confidence" is that of the paper: it keeps
    the features with the most precise weights, which are those that were updated often. "snr" keeps
    the features whose weights are largest relative to their own uncertainty, ``|mu| / sqrt(S)``.
    With "snr", features that are not kept are learned, too, so that they can enter later. Each of
    them learns as if it were the only one added to the kept features.

    One pass, O(non-zeros) time per row; per feature seen 4 bytes ("confidence") or 8 ("snr"); with
    more than two classes that times their number, and 4 more.

    The defaults need no tuning. The paper's own form is ``criterion="confidence", gamma=1.0,
    normalize=False, fit_intercept=False, class_weight=None``.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default=100
        The budget: how many features to keep. A float is a fraction of the width, where that is
        known beforehand. "auto" measures all numbers of the curve's grid in one pass. It takes the
        smallest number whose accuracy is at most one standard error below the best one. The
        selection and the predictions come from the smallest learner with at least this budget.
    gamma : "auto" or float, default="auto"
        AROW's regularisation: a larger value learns more slowly. It has the unit of a squared row
        length. "auto" is 0.3 times the mean squared length of the rows so far; with
        ``criterion="confidence"`` it is this mean itself.
    criterion : {"snr", "confidence"}, default="snr"
        The selection rule.
    update : {"max_score", "uniform"}, default="max_score"
        With more than two classes: which rivals of the true class step back, the best (eq. 10) or
        all that score no less than it (eq. 11).
    normalize : {"auto", False, "l2", "standard", "standard+l2"}, default="auto"
        "auto" chooses the scale of every column from the first rows, then divides every row by its
        length. "l2" divides every row by its Euclidean norm. "standard" divides features by their
        standard deviation so far, and centres them if the rows are dense. False takes rows as they
        are.
    fit_intercept : bool, default=True
        One more weight, outside the budget, with a constant input. False is the paper's form.
    class_weight : "auto", None, "balanced" or dict, default="auto"
        Weights of the classes, by label. "balanced" gives all classes the same total weight, by the
        class counts so far. "auto" gives a rare class more weight, but less than "balanced": the
        square root of half the balanced weight. Where this is below 1, the weight is 1.
    forget : float, default=None
        A half-life in rows: precision decays, so that the selection can move when the data does.
    curve : bool or list of int, default=False
        Also measure the online accuracy with fewer features, on a grid of numbers: ``curve_``. The
        accuracies for small numbers come from small learners that learn beside the main one. They
        are about those of separate runs.
    max_cells : int, default=None
        Fixes the memory, however many different features occur. Each kept feature has an entry of
        its own. All other features share this many cells of 8 bytes (times the number of classes if
        there are more than two), so several features may use the same cell. Ids may then be any
        below 2**63, and rows may come as dictionaries of values by name. For ``criterion="snr"``;
        ``normalize="auto"`` is "l2" then. 2**14 cells are enough for most data. None is exact, and
        remembers every feature.
    n_epochs : int, default=1
        How often to go over the rows.

    Attributes
    ----------
    classes_ : array
    coef_, intercept_ : sparse array, array
        The weights of the kept features and of the intercept, for rows as ``normalize`` makes them;
        a row, or a row per class if there are more than two.
    support_, scores_ : array
        A mask over all features; the scores of the selected ones, aligned with
        ``get_support(indices=True)``.
    n_features_in_ : int
        The width of the widest row seen.
    mistakes_, updates_ : int
        Rows predicted wrongly before they were learned (a score of 0 counts as wrong); rows learned
        from.
    n_rows_, n_nonzero_ : int
        Rows and non-zeros seen.
    curve_ : dict
        ``n_features`` and ``accuracy``, where a curve was asked for.
    n_features_selected_ : int
        The budget, or the number that "auto" chose.

    References
    ----------
    Y. Wu, S. C. H. Hoi, T. Mei, N. Yu: Large-scale online feature selection for ultra-high
    dimensional sparse data. ACM Transactions on Knowledge Discovery from Data 11(4), 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.SOFS(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    gamma: float | str = parameter(AUTO, GAMMA)
    criterion: str = parameter("snr", one_of("snr", "confidence"), NEEDS_SNR)
    update: str = parameter("max_score", one_of(*UPDATES))
    normalize: bool | str = parameter(AUTO, *options.NORMALIZE_CELLS)
    fit_intercept: bool = parameter(True, YES_OR_NO)
    class_weight: ClassWeight = parameter("auto", options.CLASS_WEIGHT)
    forget: float | None = parameter(None, options.HALF_LIFE)
    curve: bool | Sequence[int] = parameter(False, options.GRID)
    max_cells: int | None = parameter(None, options.CELLS)
    n_epochs: int = parameter(1, options.EPOCHS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        """Return the rule that learns from rows, for a number of vectors of weights."""
        common = self.gamma, decay_of(self.forget), intercept_share(self.fit_intercept)
        if n_vectors > 1:
            return ManyClassesRule(
                *common, by_signal=self.criterion == "snr", steps=UPDATES[self.update]
            )
        return SignalRule(*common) if self.criterion == "snr" else ConfidenceRule(*common)


SOFS = Method(
    "sofs",
    SOFSParameters,
    RowLearner,
    predicts=True,
    merges=True,
    check_variants=(
        {"criterion": "confidence", "fit_intercept": False},
        {"criterion": "confidence", "forget": 20.0, "curve": True},
        {"normalize": "l2", "class_weight": "balanced", "curve": [2, 5]},
        {"normalize": "standard+l2", "forget": 20.0},
        {"max_cells": 64, "forget": 20.0, "curve": [2, 5]},
    ),
)


@dataclass(eq=False, repr=False, kw_only=True)
class SOFSRegressorParameters(options.BudgetOrAuto):
    """Second-order online feature selection for a target of numbers (after Wu et al. 2017).

    SOFS by signal to noise, with the error of a row in place of its distance from the margin: a
    linear model with a confidence for every weight, which keeps the ``n_features_to_select``
    features whose weights are largest against their own uncertainty and predicts with those alone.
    One pass, O(non-zeros) time per row, 8 bytes per feature seen.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default=100
        The budget: how many features to keep. A float is a fraction of the width, where that is
        known beforehand. "auto" measures all numbers of the curve's grid in one pass. It takes the
        smallest number whose squared error is at most one standard error above the least one.
    loss : {"squared", "huber"}, default="squared"
        "huber" clips errors beyond three times their usual size, for targets with outliers. It does
        not suit targets that are mostly one value, whose usual error is near 0.
    gamma : "auto" or float, default="auto"
        The regularisation: a larger value learns more slowly. It has the unit of a squared row
        length. "auto" is 0.3 times the mean squared length of the rows so far.
    normalize : {"auto", False, "l2", "standard", "standard+l2"}, default="auto"
        As in SOFS, with one exception for "auto". In tables of numbers, where at least half of all
        values are in dense columns, rows are not divided by their length, because the length says
        something about the target.
    fit_intercept : bool, default=True
        One more weight, outside the budget, with a constant input. Targets are measured from the
        median of the first 32 in any case.
    forget : float, default=None
        A half-life in rows: precision decays, so that the selection can move when the data does.
    curve : bool or list of int, default=False
        Also measure the online R2 with fewer features, on a grid of numbers: ``curve_``, as in
        SOFS.
    max_cells : int, default=None
        Fixes the memory, however many different features occur. Each kept feature has an entry of
        its own. All other features share this many cells of 8 bytes, so several features may use
        the same cell. Ids may then be any below 2**63, and rows may come as dictionaries of values
        by name. ``normalize="auto"`` is "l2" then. None is exact, and remembers every feature.
    n_epochs : int, default=1
        How often to go over the rows.

    Attributes
    ----------
    coef_, intercept_ : sparse array, array
        The weights of the kept features and what is predicted for a row without values, for rows as
        ``normalize`` makes them.
    support_, scores_ : array
        A mask over all features; the scores of the selected ones, aligned with
        ``get_support(indices=True)``.
    n_features_in_ : int
        The width of the widest row seen.
    r2_ : float
        Online R2: the fraction of the target's variance that was predicted before the rows were
        learned.
    updates_, n_rows_, n_nonzero_ : int
        Rows learned from; rows and non-zeros seen.
    curve_ : dict
        ``n_features`` and ``r2``, where a curve was asked for.
    n_features_selected_ : int
        The budget, or the number that "auto" chose.

    References
    ----------
    Y. Wu, S. C. H. Hoi, T. Mei, N. Yu: Large-scale online feature selection for ultra-high
    dimensional sparse data. ACM Transactions on Knowledge Discovery from Data 11(4), 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = 2 * X[:, 3] - X[:, 7]
    >>> selector = ss.SOFSRegressor(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    loss: str = parameter("squared", one_of("squared", "huber"))
    gamma: float | str = parameter(AUTO, GAMMA)
    normalize: bool | str = parameter(AUTO, *options.NORMALIZE_CELLS)
    fit_intercept: bool = parameter(True, YES_OR_NO)
    forget: float | None = parameter(None, options.HALF_LIFE)
    curve: bool | Sequence[int] = parameter(False, options.GRID)
    max_cells: int | None = parameter(None, options.CELLS)
    n_epochs: int = parameter(1, options.EPOCHS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        """Return the rule that learns from rows."""
        return SignalRule(
            self.gamma,
            decay_of(self.forget),
            intercept_share(self.fit_intercept),
            clips=self.loss == "huber",
        )


SOFS_REGRESSOR = Method(
    "sofs-regressor",
    SOFSRegressorParameters,
    RowLearner,
    targets=ONLY_NUMBERS,
    predicts=True,
    merges=True,
    check_variants=(
        {"loss": "huber", "curve": True},
        {"normalize": "l2", "fit_intercept": False, "curve": [2, 5]},
        {"normalize": "standard+l2", "forget": 20.0, "loss": "huber"},
        {"max_cells": 64, "curve": [2, 5]},
    ),
)


def decay_of(half_life: float | None) -> float:
    """Return the factor by which a row reduces what was learned before it."""
    return 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)


# ---- rules


@dataclass(frozen=True)
class SecondOrderRule(MergingRule[S]):
    """The common part of the three second-order rules."""

    gamma: float | str
    decay: float  # factor of precision per row
    share: float  # the intercept's input, as a share of the mean length of rows
    by_signal: bool = True  # True if features that are not kept have weights, too

    @property
    def max_length(self) -> float:  # type: ignore[override]
        return MAX_LENGTH if self.by_signal else np.inf

    @property
    def length_decay(self) -> float:  # type: ignore[override]
        return self.decay if self.by_signal else 1.0

    def gammas(self, rows: Rows) -> F64:
        """Return the gamma of every row.

        It is 0, and a row has no effect, until a row has had values.
        """
        if self.gamma == AUTO:
            return (GAMMA_SHARE if self.by_signal else 1.0) * rows.mean_squares / rows.weights
        gammas = float(self.gamma) / rows.weights
        return np.where(rows.counted > 0.0, gammas, 0.0) if self.by_signal else gammas

    def flags(self, state: S) -> I32:
        """Return the entry of every feature that names the slot of a kept one."""
        return np.asarray(state._asdict()["cells"].view(np.int32)[:, 0])

    @abstractmethod
    def scores(self, state: Any, kept: int) -> F64:
        """Return the scores of the features in the first ``kept`` slots."""

    def kept(self, state: Any, addresses: Addresses) -> Kept:
        kept = state.counts[KEPT]
        weights = state.weight[:kept].reshape(kept, state.bias.shape[0])
        return Kept(state.member_id[:kept], weights, self.scores(state, kept))

    def constant(self, state: Any, share: float, totals: F64) -> float:
        if not self.by_signal:
            return super().constant(state, share, totals)
        if not totals[COUNTED]:
            return 0.0
        return share * kept_length(
            state.kept_squares[0], totals[COUNTED], totals[SQUARES] / totals[COUNTED]
        )

    def negate(self, state: Any) -> None:
        super().negate(state)
        if self.by_signal:
            negate(state.cells[:, 1:])

    # ---- merging

    @property
    def per_class(self) -> int:
        """Return the entries of a feature's cell per vector of weights.

        They are a precision and, if outsiders have weights, a weight.
        """
        return 2 if self.by_signal else 1

    def stored(self, state: Any, positions: Positions) -> Estimates:
        n_vectors = state.bias.shape[0]
        flags = self.flags(state)[positions]
        kept = np.flatnonzero(flags < 0)
        cells = np.atleast_2d(state.cells[positions].view(np.float32).T).T
        with np.errstate(invalid="ignore"):  # names of slots are not numbers
            numbers = cells[:, -n_vectors * self.per_class :].astype(np.float64)
        per_class = numbers.reshape(len(cells), n_vectors, self.per_class)
        precision_gain = per_class[:, :, 0]
        weight = per_class[:, :, 1] if self.by_signal else np.zeros_like(precision_gain)
        slots = -1 - flags[kept]
        precision_gain[kept] = state.excess.reshape(-1, n_vectors)[slots]
        weight[kept] = state.weight.reshape(-1, n_vectors)[slots]
        return Estimates(np.minimum(precision_gain, MAX_FLOAT32), weight)

    def cells(self, estimates: Estimates) -> NDArray[Any]:
        precision_gain = to_stored(estimates.precision_gain)
        if not self.by_signal:
            return precision_gain
        return np.stack([precision_gain, estimates.weight.astype(np.float32)], axis=2).reshape(
            len(precision_gain), 2 * precision_gain.shape[1]
        )

    def keys(self, estimates: Estimates) -> F64:
        precision_gain = to_stored(estimates.precision_gain).astype(np.float64)
        return np.asarray((estimates.weight**2 * (1.0 + precision_gain)).sum(axis=1))

    def fill_slots(self, state: Any, positions: I64, ids: I64, estimates: Estimates) -> None:
        keys = self.keys(estimates)
        order = np.lexsort((-ids, keys))  # ascending keys, which is a heap
        kept = order.size
        self.flags(state)[positions[order]] = -1 - np.arange(kept)
        state.counts[KEPT] = kept
        state.member[:kept], state.member_id[:kept] = positions[order], ids[order]
        state.weight[:kept] = estimates.weight[order].reshape(kept, *state.weight.shape[1:])
        state.excess[:kept] = to_stored(estimates.precision_gain[order]).reshape(
            kept, *state.excess.shape[1:]
        )
        state.key[:kept] = self.present_keys(state)[:kept] = keys[order]
        state.heap[:kept] = state.heap_position[:kept] = np.arange(kept)

    def present_keys(self, state: Any) -> NDArray[Any]:
        """Return the current keys of kept features; the heap has lower bounds of them."""
        return np.asarray(state.current_key)

    def scale(self, state: Any) -> float:
        return float(state.scale[0])

    def merge_sums(self, state: Any, states: Sequence[Any], merge_rule: MergeRule) -> None:
        state.kept_squares[:] = merge_rule.merge_sums([part.kept_squares for part in states])

    # ---- states from files

    def check(self, state: Any, sizes: dict[str, int], ids: I64, memory: RowMemory[Any]) -> None:
        kept = kept_count(state.counts, sizes["budget"])
        member, member_id = state.member[:kept], state.member_id[:kept]
        if memory.table_of(state) is not None:
            check_cells(state.cells, state.bias.shape[0], member, member_id, sizes["width"])
        else:
            check_members(self.flags(state), -1, member, member_id, ids)
        self.check_sums(state, memory.moments.totals)
        check_heap(state, kept)
        ensure(
            (state.key[:kept] <= self.present_keys(state)[:kept]).all(),
            "a key in the heap is larger than that of its slot",
        )

    def check_sums(self, state: Any, totals: F64) -> None:
        """Raise ValueError if cells or sums over rows are invalid."""
        check_numbers(state.cells, self.flags(state))
        check_mean(state.kept_squares[0], totals[COUNTED], MAX_ROW_LENGTH**2)


@dataclass(frozen=True)
class SignalRule(SecondOrderRule[SignalState]):
    """Two classes or numbers, by signal to noise: ``|mu| / sqrt(S)``."""

    state_type: ClassVar[type[SignalState]] = SignalState

    clips: bool = False  # True clips errors of numbers, by their scale

    def update(
        self, state: SignalState, ids: I64, rows: Rows, curve: Curve | None, memory: RowMemory[Any]
    ) -> None:
        target, table = memory.target, memory.table_of(state)
        first_size = float(target.first[1]) if self.clips else NOT_CLIPPED
        signal_update(
            state, ids, table, rows, self.gammas(rows), curve, self.decay, self.share, first_size
        )

    def scores(self, state: SignalState, kept: int) -> F64:
        return np.asarray(np.sqrt(state.current_key[:kept] * state.scale[0]))

    def merge_sums(
        self, state: SignalState, states: Sequence[SignalState], merge_rule: MergeRule
    ) -> None:
        super().merge_sums(state, states, merge_rule)
        state.usual[:] = merge_error_scales([part.usual for part in states])


@dataclass(frozen=True)
class ConfidenceRule(SecondOrderRule[ConfidenceState]):
    """Two classes, by confidence: the paper's rule, which keeps the most precise weights."""

    state_type: ClassVar[type[ConfidenceState]] = ConfidenceState

    by_signal: bool = False

    def update(
        self,
        state: ConfidenceState,
        ids: I64,
        rows: Rows,
        curve: Curve | None,
        memory: RowMemory[Any],
    ) -> None:
        confidence_update(state, ids, rows, self.gammas(rows), curve, self.decay)

    def flags(self, state: ConfidenceState) -> I32:
        return state.cells

    def scores(self, state: ConfidenceState, kept: int) -> F64:
        return np.asarray(1.0 + state.excess[:kept].astype(np.float64) * state.scale[0])

    def cells(self, estimates: Estimates) -> NDArray[Any]:
        return super().cells(estimates)[:, 0].view(np.int32)

    def keys(self, estimates: Estimates) -> F64:
        return to_stored(estimates.precision_gain).astype(np.float64)[:, 0]

    def present_keys(self, state: ConfidenceState) -> NDArray[Any]:
        return state.excess

    def merge_sums(
        self, state: ConfidenceState, states: Sequence[ConfidenceState], merge_rule: MergeRule
    ) -> None:
        """Do nothing: there are no sums."""

    def check_sums(self, state: ConfidenceState, totals: F64) -> None:
        """Accept any: the range of cells is declared, and there are no sums."""


@dataclass(frozen=True)
class ManyClassesRule(SecondOrderRule[SecondOrderState]):
    """More than two classes, by confidence or by signal to noise (section 3.6).

    By confidence, a feature is kept by the uncertainty that is left over all classes.
    """

    steps: int = MAX_SCORE  # the classes that are updated: MAX_SCORE or UNIFORM

    def start(self, budget: int, n_vectors: int) -> SecondOrderState:
        return empty(
            SecondOrderState,
            features=0,
            budget=budget,
            vectors=n_vectors,
            cell_width=self.per_class * n_vectors + 1,
        )

    def update(
        self,
        state: SecondOrderState,
        ids: I64,
        rows: Rows,
        curve: Curve | None,
        memory: RowMemory[Any],
    ) -> None:
        gammas, table = self.gammas(rows), memory.table_of(state)
        second_order_update(
            state, ids, table, rows, gammas, curve, self.decay, self.steps, self.share
        )

    def scores(self, state: SecondOrderState, kept: int) -> F64:
        if not self.by_signal:
            return -np.asarray(
                (1.0 / (1.0 + state.excess[:kept].astype(np.float64) * state.scale[0])).sum(axis=1)
            )
        return np.asarray(state.current_key[:kept] * np.sqrt(state.scale[0]))

    def cells(self, estimates: Estimates) -> NDArray[Any]:
        cells = super().cells(estimates)  # follow their bounds, which are not known yet
        bounds = np.where(cells.any(axis=1), np.float32(np.inf), np.float32(0.0))
        return np.hstack([bounds[:, None], cells])

    def keys(self, estimates: Estimates) -> F64:
        if self.by_signal:
            return np.sqrt(super().keys(estimates))
        return -np.asarray(
            (1.0 / (1.0 + to_stored(estimates.precision_gain).astype(np.float64))).sum(axis=1)
        )
