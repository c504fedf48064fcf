"""First-order selection: PET, FOFS, OFS_P (which sees only parts of rows), and a random choice.

Wu, Hoi, Mei, Yu 2017; Wang, Zhao, Hoi, Jin 2014, where FOFS is called OFS. Kept features have
weights without a precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...blocks import RowBlock
from ...kernels.rows.batch import ALL_MARKED, Rows, copy_table_entries
from ...kernels.rows.curve import Curve
from ...kernels.rows.first_order import (
    ON_LOSS,
    ON_MARGIN,
    ON_MISTAKE,
    FirstOrderState,
    first_order_update,
)
from ...kernels.rows.members import KEPT
from ...kernels.rows.partial import (
    ASKED,
    CENTRED,
    NOT_SCALED,
    PENDING,
    SPREAD,
    PartialState,
    RandomState,
    choose_attributes,
    partial_update,
    random_update,
)
from ...kernels.rows.scaling import NORMS, ROWS
from ...kernels.types import F64, I64
from ..base import ClassWeight, Method, Seed
from ..parameters import (
    FRACTIONS,
    PENALTIES,
    RADII,
    SEED,
    STEPS,
    YES_OR_NO,
    between,
    ensure,
    fits,
    one_of,
    parameter,
    together,
)
from ..prediction import Scorer, Squares
from . import options
from .addresses import Addresses, table_addresses
from .inputs import AUTO, UNIT_LENGTH, intercept_share, is_standard
from .learner import RowLearner
from .memory import RowMemory
from .rules import Kept, RowRule, check_heap, check_members, kept_count
from .sofs import decay_of

if TYPE_CHECKING:
    from .results import RowResults

PET_TRIGGERS = {"mistake": ON_MISTAKE, "margin": ON_LOSS}
FOFS_TRIGGERS = {"margin": ON_MARGIN, "mistake": ON_MISTAKE}
VARIANTS: tuple[dict[str, Any], ...] = (
    {"fit_intercept": False, "curve": True, "class_weight": "balanced"},
    {"normalize": "standard", "forget": 20.0},
)


@dataclass(eq=False, repr=False, kw_only=True)
class PETParameters(options.BudgetOrAuto):
    """The perceptron with truncation (Wu et al. 2017, Wang et al. 2014).

    Algorithms 1 and 2 of the first paper, algorithm 1 of the second. On a mistake the row, times
    ``eta``, is added to the weights or taken away; then the ``n_features_to_select`` largest
    weights stay and the others become 0. This takes O(non-zeros x log budget) per row, not
    O(features). Many classes are learned one against the rest with one budget of features for
    all: a feature counts by its largest weight over the classes, so that one that decides a single
    class well is not lost to one that says little about each.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default=100
        How many features to keep; a fraction of a known width; or chosen from the curve.
    eta : float, default=1.0
        The step.
    trigger : {"margin", "mistake"}, default="margin"
        Learn from all rows with a hinge loss above 0 (Wu et al. 2017), or from those predicted
        wrongly (Wang et al. 2014), which finds far fewer informative features.
    attributes : {"all", "random"}, default="all"
        "random" sees only as many attributes of each row as the budget, drawn afresh (PE_rand of
        Wang et al. 2014).
    normalize, fit_intercept, class_weight, forget, curve, n_epochs
        As in SOFS; ``forget`` is a half-life of the weights.
    random_state : int, Generator or None, default=None
        For ``attributes="random"``.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    coef_ : sparse array or ndarray
        The weights of the model; zero for features that are not selected.
    intercept_ : ndarray or float
        The score of a row whose features are all zero.
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.
    mistakes_ : int
        The number of rows predicted wrongly before they were learned.
    updates_ : int
        The number of rows that changed the model.
    n_features_selected_ : int
        The budget, or the number that "auto" chose.

    References
    ----------
    Y. Wu, S. C. H. Hoi, T. Mei, N. Yu: Large-scale online feature selection for ultra-high
    dimensional sparse data. ACM Transactions on Knowledge Discovery from Data 11(4), 2017.
    J. Wang, P. Zhao, S. C. H. Hoi, R. Jin: Online feature selection and its applications. IEEE
    Transactions on Knowledge and Data Engineering 26(3), 2014.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.PET(n_features_to_select=2, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    eta: float = parameter(1.0, between(*STEPS))
    trigger: str = parameter("margin", one_of(*PET_TRIGGERS))
    attributes: str = parameter("all", options.ATTRIBUTES)
    normalize: bool | str = parameter(AUTO, options.NORMALIZE)
    fit_intercept: bool = parameter(True, YES_OR_NO)
    class_weight: ClassWeight = parameter("auto", options.CLASS_WEIGHT)
    forget: float | None = parameter(None, options.HALF_LIFE)
    curve: bool | Sequence[int] = parameter(False, options.GRID)
    n_epochs: int = parameter(1, options.EPOCHS)
    random_state: Seed = parameter(None, SEED)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        """Return the rule that learns from rows."""
        return FirstOrderRule(
            float(self.eta), decay_of(self.forget), np.inf, PET_TRIGGERS[self.trigger]
        )


PET = Method(
    "pet",
    PETParameters,
    RowLearner,
    predicts=True,
    check_variants=VARIANTS,
    expected_failed_checks=options.ONE_LONG_STEP,
)


@dataclass(eq=False, repr=False, kw_only=True)
class FOFSParameters(options.BudgetOrAuto):
    """First-order online feature selection by sparse projection (OFS of Wang et al. 2014).

    Algorithm 3 of the paper. Gradient descent on the hinge loss with L2 regularisation: all weights
    shrink at every row; a row inside the margin is added, the weights are projected to a ball, and
    the ``n_features_to_select`` largest stay. O(non-zeros x log budget) per row: the common factor
    of all weights is stored separately. Many classes as in PET; all classes share one ball.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default=100
        How many features to keep; a fraction of a known width; or chosen from the curve.
    eta : float, default=0.5
        The step; 0.2 in Wang et al. 2014.
    regularization : float, default=1e-3
        The papers' lambda; 0.01 in Wang et al. 2014.
    radius : float, default=None
        Of the ball; None is ``1 / sqrt(regularization)``.
    trigger : {"margin", "mistake"}, default="margin"
        Learn from rows inside the margin, or only from those predicted wrongly.
    attributes : {"all", "random"}, default="all"
        "random" sees only as many attributes of each row as the budget, drawn afresh (OFS_rand of
        Wang et al. 2014).
    normalize, fit_intercept, class_weight, forget, curve, n_epochs
        As in SOFS; ``forget`` is a half-life of the weights.
    random_state : int, Generator or None, default=None
        For ``attributes="random"``.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    coef_ : sparse array or ndarray
        The weights of the model; zero for features that are not selected.
    intercept_ : ndarray or float
        The score of a row whose features are all zero.
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.
    mistakes_ : int
        The number of rows predicted wrongly before they were learned.
    updates_ : int
        The number of rows that changed the model.
    n_features_selected_ : int
        The budget, or the number that "auto" chose.

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi, R. Jin: Online feature selection and its applications. IEEE
    Transactions on Knowledge and Data Engineering 26(3), 2014.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.FOFS(n_features_to_select=2, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([1, 7])
    """

    eta: float = parameter(0.5, between(*STEPS))
    regularization: float = parameter(
        1e-3,
        between(*PENALTIES),
        together(lambda params, value: value * params.eta < 1, "below 1 / eta"),
    )
    radius: float | None = parameter(None, between(*RADII, None))
    trigger: str = parameter("margin", one_of(*FOFS_TRIGGERS))
    attributes: str = parameter("all", options.ATTRIBUTES)
    normalize: bool | str = parameter(AUTO, options.NORMALIZE)
    fit_intercept: bool = parameter(True, YES_OR_NO)
    class_weight: ClassWeight = parameter("auto", options.CLASS_WEIGHT)
    forget: float | None = parameter(None, options.HALF_LIFE)
    curve: bool | Sequence[int] = parameter(False, options.GRID)
    n_epochs: int = parameter(1, options.EPOCHS)
    random_state: Seed = parameter(None, SEED)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        """Return the rule that learns from rows."""
        radius = self.radius
        if radius is None:
            radius = np.inf if self.regularization == 0 else 1.0 / np.sqrt(self.regularization)
        shrink = (1.0 - self.regularization * self.eta) * decay_of(self.forget)
        return FirstOrderRule(float(self.eta), shrink, float(radius), FOFS_TRIGGERS[self.trigger])


FOFS = Method(
    "fofs",
    FOFSParameters,
    RowLearner,
    predicts=True,
    check_variants=VARIANTS,
    expected_failed_checks=options.ONE_LONG_STEP,
)


@dataclass(eq=False, repr=False, kw_only=True)
class OFSPartialParameters(options.Budget):
    """Online feature selection that sees as few attributes of a row as it keeps.

    Wang et al. 2014, algorithm 4. For two classes. With probability ``epsilon`` a row is explored:
    as many attributes as the budget are drawn from all. Otherwise those in use are read. Values are
    divided by the probability that they are seen, so that what is learned is right on average. For
    data where every attribute costs: ``ask()`` names the attributes to acquire for the next row,
    ``tell(values, y)`` learns from them. ``fit`` and ``partial_fit`` take complete rows and read
    only what would have been asked for; all else may be NaN. Scaling and intercept, too, use only
    what was seen.

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

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    coef_ : sparse array or ndarray
        The weights of the model; zero for features that are not selected.
    intercept_ : ndarray or float
        The score of a row whose features are all zero.
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.
    mistakes_ : int
        The number of rows predicted wrongly before they were learned.
    updates_ : int
        The number of rows that changed the model.
    n_features_selected_ : int
        The budget, or the number that "auto" chose.

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi, R. Jin: Online feature selection and its applications. IEEE
    Transactions on Knowledge and Data Engineering 26(3), 2014.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.OFSPartial(n_features_to_select=2, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 6])
    """

    epsilon: float = parameter(0.2, between(*FRACTIONS))
    eta: float = parameter(0.2, between(*STEPS))
    radius: float = parameter(10.0, between(*RADII))
    trigger: str = parameter("margin", one_of(*FOFS_TRIGGERS))
    normalize: bool | str = parameter(
        False,
        options.NORMALIZE,
        fits(
            lambda value: value != AUTO,
            "set explicitly: only values that are asked for may be read",
        ),
    )
    fit_intercept: bool = parameter(True, YES_OR_NO)
    class_weight: ClassWeight = parameter("auto", options.CLASS_WEIGHT)
    n_epochs: int = parameter(1, options.EPOCHS)
    random_state: Seed = parameter(None, SEED)

    def rule_for(self, n_vectors: int) -> PartialRule:
        """Return the rule that learns from rows."""
        return PartialRule(
            float(self.epsilon),
            float(self.eta),
            float(self.radius),
            FOFS_TRIGGERS[self.trigger],
            standardizes=is_standard(self.normalize),
            unit_length=self.normalize in UNIT_LENGTH,
            share=intercept_share(self.fit_intercept),
        )


OFS_PARTIAL = Method(
    "ofs-partial",
    OFSPartialParameters,
    RowLearner,
    predicts=True,
    two_classes_only=True,
    draws=True,
    asks=True,
    check_variants=({"normalize": "standard+l2", "random_state": 3},),
    exempt_from_checks=dict.fromkeys(
        (
            "check_huge_ids_change_nothing",
            "check_plans_change_in_the_middle_of_a_run",
            "check_rows_may_grow_wider",
        ),
        "it draws from all features: their number is declared at the start and stays",
    ),
)


@dataclass(eq=False, repr=False, kw_only=True)
class RandomSelectionParameters(options.Budget):
    """The perceptron on features drawn at random after every step (RAND of Wang et al. 2014).

    A baseline for other methods.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        How many features to draw.
    eta : float, default=1.0
        The step.
    trigger : {"mistake", "margin"}, default="mistake"
        Learn from rows predicted wrongly, or from all with a hinge loss above 0.
    attributes : {"all", "random"}, default="all"
        "random" also sees only as many attributes of each row as the budget, drawn afresh.
    normalize, fit_intercept, class_weight, n_epochs
        As in SOFS.
    random_state : int, Generator or None, default=None
        What the draws depend on.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    coef_ : sparse array or ndarray
        The weights of the model; zero for features that are not selected.
    intercept_ : ndarray or float
        The score of a row whose features are all zero.
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.
    mistakes_ : int
        The number of rows predicted wrongly before they were learned.
    updates_ : int
        The number of rows that changed the model.
    n_features_selected_ : int
        The budget, or the number that "auto" chose.

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi, R. Jin: Online feature selection and its applications. IEEE
    Transactions on Knowledge and Data Engineering 26(3), 2014.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.RandomSelection(n_features_to_select=2, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([1, 8])
    """

    eta: float = parameter(1.0, between(*STEPS))
    trigger: str = parameter("mistake", one_of(*PET_TRIGGERS))
    attributes: str = parameter("all", options.ATTRIBUTES)
    normalize: bool | str = parameter(AUTO, options.NORMALIZE)
    fit_intercept: bool = parameter(True, YES_OR_NO)
    class_weight: ClassWeight = parameter("auto", options.CLASS_WEIGHT)
    n_epochs: int = parameter(1, options.EPOCHS)
    random_state: Seed = parameter(None, SEED)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        """Return the rule that learns from rows."""
        return RandomRule(float(self.eta), PET_TRIGGERS[self.trigger])


RANDOM_SELECTION = Method(
    "random-selection",
    RandomSelectionParameters,
    RowLearner,
    predicts=True,
    draws=True,
    check_variants=({"random_state": 3, "attributes": "random"},),
    exempt_from_checks={
        "check_budget_is_never_exceeded": (
            "a draw may miss every feature that has a weight: it keeps fewer"
        ),
        "check_huge_ids_change_nothing": "it draws from all features, so the width matters",
        "check_plans_change_in_the_middle_of_a_run": (
            "it draws from all features, so the width matters"
        ),
        "check_rows_may_grow_wider": "it draws from all features, so the width matters",
    },
    expected_failed_checks=options.ONE_LONG_STEP,
)


# ---- rules


@dataclass(frozen=True)
class FirstOrderRule(RowRule[FirstOrderState]):
    """PET and FOFS: the largest weights are kept, in a heap.

    ``shrink`` multiplies all of them before every row.
    """

    state_type: ClassVar[type[FirstOrderState]] = FirstOrderState

    eta: float
    shrink: float
    radius: float
    trigger: int

    def update(
        self,
        state: FirstOrderState,
        ids: I64,
        rows: Rows,
        curve: Curve | None,
        memory: RowMemory[Any],
    ) -> None:
        first_order_update(
            state, ids, rows, curve, self.eta, self.shrink, self.radius, self.trigger
        )

    def kept(self, state: FirstOrderState, addresses: Addresses) -> Kept:
        kept, scale = state.counts[KEPT], state.scale[0]
        weights = scale * state.weight[:kept]
        return Kept(state.member_id[:kept], weights, np.abs(weights).max(axis=1))

    def bias(self, state: FirstOrderState) -> F64:
        return np.asarray(state.scale[0] * state.bias[:, 0])

    def check(
        self, state: FirstOrderState, sizes: dict[str, int], ids: I64, memory: RowMemory[Any]
    ) -> None:
        check_heap_of_weights(state, sizes["budget"], ids)


@dataclass(frozen=True)
class RandomRule(RowRule[RandomState]):
    """The perceptron on features that are drawn again after every step."""

    state_type: ClassVar[type[RandomState]] = RandomState

    eta: float
    trigger: int

    def update(
        self, state: RandomState, ids: I64, rows: Rows, curve: Curve | None, memory: RowMemory[Any]
    ) -> None:
        random_update(
            state, ids, rows, memory.random, self.eta, self.trigger, memory.declared_width
        )

    def kept(self, state: RandomState, addresses: Addresses) -> Kept:
        weights = state.weight[: state.counts[KEPT]]
        return Kept(
            state.member_id[: state.counts[KEPT]], weights, np.abs(weights).max(axis=1, initial=0.0)
        )

    def check(
        self, state: RandomState, sizes: dict[str, int], ids: I64, memory: RowMemory[Any]
    ) -> None:
        kept = kept_count(state.counts, sizes["budget"])
        check_members(state.slots, 1, state.member[:kept], state.member_id[:kept], ids)


@dataclass(frozen=True)
class PartialRule(RowRule[PartialState]):
    """OFS_P: the attributes to see are drawn with probability ``epsilon``.

    Otherwise they are those in use.
    """

    state_type: ClassVar[type[PartialState]] = PartialState

    epsilon: float
    eta: float
    radius: float
    trigger: int
    standardizes: bool
    unit_length: bool
    share: float

    def ask(self, memory: RowMemory[PartialState]) -> I64:
        """Return the attributes to see of the next row, ascending.

        The answer stays the same until the row is learned.
        """
        if memory.room() < memory.declared_width:
            memory.grow(memory.declared_width)
        state = memory.state
        if not state.question[PENDING]:
            choose_attributes(state, memory.random, self.epsilon, memory.declared_width)
            state.question[PENDING] = 1
        return np.array(state.asked[: state.question[ASKED]])

    def update(
        self, state: PartialState, ids: I64, rows: Rows, curve: Curve | None, memory: RowMemory[Any]
    ) -> None:
        partial_update(
            state,
            ids,
            rows,
            memory.random,
            self.epsilon,
            self.eta,
            self.radius,
            self.trigger,
            memory.declared_width,
            self.scaling(memory),
            self.unit_length,
            self.share,
        )

    def scaling(self, memory: RowMemory[Any]) -> int:
        """Return how a value that is seen is scaled."""
        if not self.standardizes:
            return NOT_SCALED
        return CENTRED if memory.moments.dense[0] else SPREAD

    def kept(self, state: PartialState, addresses: Addresses) -> Kept:
        used = np.flatnonzero(state.weight[: state.counts[KEPT], 0])
        weights = state.scale[0] * state.weight[used]
        return Kept(state.member_id[used], weights, np.abs(weights[:, 0]))

    def bias(self, state: PartialState) -> F64:
        return np.asarray(state.scale[0] * state.bias[:, 0])

    def constant(self, state: PartialState, share: float, totals: F64) -> float:
        return float(share * state.totals[NORMS] / max(1.0, state.totals[ROWS]))

    def scorer(self, results: RowResults) -> Scorer:
        """Return a function that scores the rows of a block from the kept attributes alone.

        No other attribute is read.
        """
        state, scaling, unit_length = (
            results.memory.state,
            self.scaling(results.memory),
            self.unit_length,
        )
        ids, weights, _ = results.weights()
        lookup = table_addresses(ids)
        spread = np.sqrt(state.deviation[ids] / np.maximum(1.0, state.seen[ids]))
        spread[spread == 0] = np.inf if scaling == CENTRED else 1.0
        centre = state.mean[ids] if scaling == CENTRED else 0.0
        intercept = results.intercept_[0]

        def score(block: RowBlock, squares: Squares = None) -> F64:
            indptr = np.zeros(block.n_rows + 1, np.int64)
            indices, values = np.empty(block.n_nonzero, np.int32), np.empty_like(block.values)
            kept = copy_table_entries(
                ALL_MARKED,
                lookup.table,
                lookup.ids,
                block.indptr,
                block.indices,
                block.values,
                indptr,
                indices,
                values,
            )
            matrix = RowBlock(indptr, indices[:kept], values[:kept], None, ids.size).to_dense()
            if scaling != NOT_SCALED:
                matrix = (matrix - centre) / spread
            if unit_length:
                norms = np.sqrt((matrix**2).sum(axis=1))
                matrix /= np.where(norms > 0, norms, 1.0)[:, None]
            return np.asarray(matrix @ weights[:, 0] + intercept)

        return score

    def check(
        self, state: PartialState, sizes: dict[str, int], ids: I64, memory: RowMemory[Any]
    ) -> None:
        check_heap_of_weights(state, sizes["budget"], ids)
        features, asked = np.arange(sizes["features"]), state.question[ASKED]
        ensure(
            np.array_equal(np.sort(state.shift + features), features),
            "the order of its features does not list each of them once",
        )
        ensure(
            asked <= sizes["budget"] and (state.asked[:asked] < max(1, features.size)).all(),
            "it asks for features beyond its width",
        )


def check_heap_of_weights(state: FirstOrderState | PartialState, budget: int, ids: I64) -> None:
    """Raise ValueError if the kept features and their heap are inconsistent."""
    kept = kept_count(state.counts, budget)
    ensure(np.isfinite(state.squares).all(), "the length of its weights is not a number")
    check_members(state.slots, 1, state.member[:kept], state.member_id[:kept], ids)
    check_heap(state, kept)
