"""Baselines of the papers: OGD, FOBOS and AROW on all features.

Wu, Hoi, Mei, Yu 2017, table II; Wang, Zhao, Hoi, Jin 2014, section 4.2. Every feature has a weight:
the budget limits the selection only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...kernels.rows.all_features import ArowState, GradientState, arow_update, gradient_update
from ...kernels.rows.batch import Rows
from ...kernels.rows.curve import Curve
from ...kernels.types import F64, I64
from ...state import empty, negate
from ...targets import ONLY_NUMBERS
from ..base import ClassWeight, Method
from ..parameters import GAMMAS, PENALTIES, STEPS, YES_OR_NO, between, ensure, parameter
from . import options
from .addresses import Addresses
from .estimates import Estimates, Positions
from .inputs import AUTO
from .learner import RowLearner
from .memory import RowMemory
from .rules import Kept, MergingRule, RowRule


@dataclass(eq=False, repr=False, kw_only=True)
class OGDParameters(options.Budget):
    """Online gradient descent on the hinge loss, with all features (Wu et al. 2017, table II).

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        How many features ``selection()`` names, those of largest weight; learning and prediction
        use all.
    eta : float, default=0.1
        The step.
    normalize, fit_intercept, class_weight, n_epochs
        As in SOFS.

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
    M. Zinkevich: Online convex programming and generalized infinitesimal gradient ascent. ICML
    2003.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.OGD(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    eta: float = parameter(0.1, between(*STEPS))
    normalize: bool | str = parameter(AUTO, options.NORMALIZE)
    fit_intercept: bool = parameter(True, YES_OR_NO)
    class_weight: ClassWeight = parameter("auto", options.CLASS_WEIGHT)
    n_epochs: int = parameter(1, options.EPOCHS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        """Return the rule that learns from rows."""
        return GradientRule(float(self.eta))


OGD = Method(
    "ogd", OGDParameters, RowLearner, predicts=True, expected_failed_checks=options.ONE_LONG_STEP
)


@dataclass(eq=False, repr=False, kw_only=True)
class FOBOSParameters(options.Budget):
    """Forward-backward splitting with an L1 penalty, with all features (Wang et al. 2014).

    Online gradient descent on the hinge loss; after every row all weights move towards 0 by ``eta *
    regularization`` (section 4.2).

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        How many features ``selection()`` names, those of largest weight; learning and prediction
        use all.
    eta : float, default=0.1
        The step.
    regularization : float, default=1e-5
        The weight of the L1 penalty.
    normalize, fit_intercept, class_weight, n_epochs
        As in SOFS.

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
    J. Duchi, Y. Singer: Efficient online and batch learning using forward backward splitting.
    Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.FOBOS(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    eta: float = parameter(0.1, between(*STEPS))
    regularization: float = parameter(1e-5, between(*PENALTIES))
    normalize: bool | str = parameter(AUTO, options.NORMALIZE)
    fit_intercept: bool = parameter(True, YES_OR_NO)
    class_weight: ClassWeight = parameter("auto", options.CLASS_WEIGHT)
    n_epochs: int = parameter(1, options.EPOCHS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        """Return the rule that learns from rows."""
        return GradientRule(float(self.eta), float(self.regularization))


FOBOS = Method(
    "fobos",
    FOBOSParameters,
    RowLearner,
    predicts=True,
    expected_failed_checks=options.ONE_LONG_STEP,
)


@dataclass(eq=False, repr=False, kw_only=True)
class AROWParameters(options.Budget):
    """Adaptive regularisation of weights, diagonal, with all features (Wu et al. 2017, table II).

    SOFS without a budget.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        How many features ``selection()`` names, by signal to noise; learning and prediction use
        all.
    gamma : float, default=1.0
        The regularisation: larger learns more slowly.
    normalize, fit_intercept, class_weight, n_epochs
        As in SOFS.

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
    K. Crammer, A. Kulesza, M. Dredze: Adaptive regularization of weight vectors. NIPS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.AROW(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    gamma: float = parameter(1.0, between(*GAMMAS))
    normalize: bool | str = parameter(AUTO, options.NORMALIZE)
    fit_intercept: bool = parameter(True, YES_OR_NO)
    class_weight: ClassWeight = parameter("auto", options.CLASS_WEIGHT)
    n_epochs: int = parameter(1, options.EPOCHS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        """Return the rule that learns from rows."""
        return ArowRule(float(self.gamma))


AROW = Method("arow", AROWParameters, RowLearner, predicts=True, merges=True)


@dataclass(eq=False, repr=False, kw_only=True)
class AROWRegressorParameters(options.Budget):
    """AROW for numeric targets, diagonal, with all features (Vaits, Crammer 2011).

    SOFSRegressor without a budget.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        How many features ``selection()`` names, by signal to noise; learning and prediction use
        all.
    gamma : float, default=1.0
        The regularisation: larger learns more slowly.
    normalize, fit_intercept, n_epochs
        As in SOFSRegressor.

    Attributes
    ----------
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
    updates_ : int
        The number of rows that changed the model.
    r2_ : float
        The fraction of the target's variance predicted before the rows were learned.
    n_features_selected_ : int
        The budget, or the number that "auto" chose.

    References
    ----------
    N. Vaits, K. Crammer: Re-adapting the regularization of weights for non-stationary
    regression. ALT 2011.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = 2 * X[:, 3] - X[:, 7]
    >>> selector = ss.AROWRegressor(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    gamma: float = parameter(1.0, between(*GAMMAS))
    normalize: bool | str = parameter(AUTO, options.NORMALIZE)
    fit_intercept: bool = parameter(True, YES_OR_NO)
    n_epochs: int = parameter(1, options.EPOCHS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        """Return the rule that learns from rows."""
        return ArowRule(float(self.gamma))


AROW_REGRESSOR = Method(
    "arow-regressor",
    AROWRegressorParameters,
    RowLearner,
    targets=ONLY_NUMBERS,
    predicts=True,
    merges=True,
)


# ---- rules


@dataclass(frozen=True)
class GradientRule(RowRule[GradientState]):
    """OGD, and with a penalty FOBOS: every weight moves towards 0 with every row."""

    state_type: ClassVar[type[GradientState]] = GradientState
    keeps_all: ClassVar[bool] = True

    eta: float
    penalty: float = 0.0

    def update(
        self,
        state: GradientState,
        ids: I64,
        rows: Rows,
        curve: Curve | None,
        memory: RowMemory[Any],
    ) -> None:
        gradient_update(state, rows, self.eta, self.penalty)

    def kept(self, state: GradientState, addresses: Addresses) -> Kept:
        debt = (state.penalty_owed[0] - state.penalty_paid)[:, None]
        weights = np.sign(state.weight) * np.maximum(0.0, np.abs(state.weight) - debt)
        positions = np.flatnonzero(weights.any(axis=1))
        weights = weights[positions]
        return Kept(addresses.ids_of(positions), weights, np.abs(weights).max(axis=1, initial=0.0))


@dataclass(frozen=True)
class ArowRule(MergingRule[ArowState]):
    """AROW, diagonal: a precision for every weight."""

    gamma: float
    keeps_all: ClassVar[bool] = True

    def start(self, budget: int, n_vectors: int) -> ArowState:
        return empty(ArowState, features=0, vectors=n_vectors, cell_width=2 * n_vectors)

    def update(
        self, state: ArowState, ids: I64, rows: Rows, curve: Curve | None, memory: RowMemory[Any]
    ) -> None:
        arow_update(state, rows, self.gamma)

    def kept(self, state: ArowState, addresses: Addresses) -> Kept:
        n_vectors = state.bias.shape[0]
        positions = np.flatnonzero(state.cells.any(axis=1))
        precision_gain, weights = (
            state.cells[positions, :n_vectors],
            state.cells[positions, n_vectors:],
        )
        return Kept(
            addresses.ids_of(positions),
            weights,
            np.sqrt((weights**2 * (1.0 + precision_gain)).sum(axis=1)),
        )

    def negate(self, state: ArowState) -> None:
        negate(state.cells[:, 1:])
        negate(state.bias[:, 0])

    def stored(self, state: ArowState, positions: Positions) -> Estimates:
        return Estimates(*np.split(state.cells[positions], 2, axis=1))

    def cells(self, estimates: Estimates) -> F64:
        return np.hstack(estimates)

    def check(
        self, state: ArowState, sizes: dict[str, int], ids: I64, memory: RowMemory[Any]
    ) -> None:
        precision_gain, weights = np.split(state.cells, 2, axis=1)
        with np.errstate(over="ignore"):
            is_too_large = not np.isfinite((weights**2 * (1.0 + precision_gain)).sum(axis=1)).all()
        ensure(
            not is_too_large and not (precision_gain < 0.0).any(),
            "it has weights or precisions that learning cannot produce",
        )
