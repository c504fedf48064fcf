"""What the papers compare with: OGD, FOBOS and AROW on all features (Wu, Hoi, Mei, Yu 2017, table II;
Wang, Zhao, Hoi, Jin 2014, section 4.2), and a random choice (there too).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...kernels.rows.all_features import ArowState, GradientState, arow_update, gradient_update
from ...kernels.rows.batch import Rows
from ...kernels.rows.curve import Curve
from ...kernels.rows.first_order import ON_LOSS, ON_MISTAKE
from ...kernels.rows.members import KEPT
from ...kernels.rows.partial import RandomState, random_update
from ...state import empty, negate
from ..base import ClassWeight, Seed
from ..requirements import require_one_of
from .base import RowLearner
from .classifier import RowClassifier
from .estimates import Estimates, Positions
from .first_order import RandomAttributes
from .integrity import check_members, kept_count
from .limits import GAMMAS, PENALTIES, STEPS, require_between
from .memory import S
from .merging import MergingLearner
from .regressor import RowRegressor


class AllFeatures(RowLearner[S]):
    """A weight for every feature: the budget limits the selection, not what is learned or predicted with."""

    keeps_all_weights: ClassVar[bool] = True

    def _ids(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        addresses = self.memory.addresses
        return positions if addresses.direct else addresses.ids[positions]


class GradientLearner(AllFeatures[GradientState], RowClassifier[GradientState]):
    """What OGD and FOBOS share."""

    eta: float
    regularization: float = 0.0

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("eta", self.eta, STEPS)
        require_between("regularization", self.regularization, PENALTIES)

    def _start(self, budget: int, n_vectors: int) -> GradientState:
        return empty(GradientState, features=0, vectors=n_vectors)

    def _update(self, state: GradientState, ids: NDArray[np.int64], rows: Rows, curve: Curve | None) -> None:
        gradient_update(state, rows, float(self.eta), float(self.regularization))

    def _kept(self, state: GradientState) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        debt = (state.owed[0] - state.paid)[:, None]
        weights = np.sign(state.weight) * np.maximum(0.0, np.abs(state.weight) - debt)
        positions = np.flatnonzero(weights.any(axis=1))
        return self._ids(positions), weights[positions], np.abs(weights[positions]).max(axis=1, initial=0.0)


class OGDLearner(GradientLearner):
    """Online gradient descent on the hinge loss, with all features (Wu et al. 2017, table II).

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        How many features ``selection()`` names, those of largest weight; learning and prediction use all.
    eta : float, default=0.1
        The step.
    normalize, fit_intercept, class_weight, n_epochs
        As in SOFS.
    """

    method: ClassVar[str] = "ogd"

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        eta: float = 0.1,
        normalize: bool | str = "auto",
        fit_intercept: bool = True,
        class_weight: ClassWeight = "auto",
        n_epochs: int = 1,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.eta = eta
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_epochs = n_epochs


class FOBOSLearner(GradientLearner):
    """Forward-backward splitting with an L1 penalty, with all features (Wang et al. 2014, section 4.2).

    Online gradient descent on the hinge loss, and after every row all weights come nearer to 0 by ``eta *
    regularization``.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        How many features ``selection()`` names, those of largest weight; learning and prediction use all.
    eta : float, default=0.1
        The step.
    regularization : float, default=1e-5
        The weight of the L1 penalty.
    normalize, fit_intercept, class_weight, n_epochs
        As in SOFS.
    """

    method: ClassVar[str] = "fobos"

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        eta: float = 0.1,
        regularization: float = 1e-5,
        normalize: bool | str = "auto",
        fit_intercept: bool = True,
        class_weight: ClassWeight = "auto",
        n_epochs: int = 1,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.eta = eta
        self.regularization = regularization
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_epochs = n_epochs


class Arow(AllFeatures[ArowState], MergingLearner[ArowState]):
    """What AROW for classes and for numbers share."""

    gamma: float

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("gamma", self.gamma, GAMMAS)

    def _start(self, budget: int, n_vectors: int) -> ArowState:
        return empty(ArowState, features=0, vectors=n_vectors, cell_width=2 * n_vectors)

    def _update(self, state: ArowState, ids: NDArray[np.int64], rows: Rows, curve: Curve | None) -> None:
        arow_update(state, rows, float(self.gamma))

    def _kept(self, state: ArowState) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        n_vectors = state.bias.shape[0]
        positions = np.flatnonzero(state.cells.any(axis=1))
        excess, weights = state.cells[positions, :n_vectors], state.cells[positions, n_vectors:]
        return self._ids(positions), weights, np.sqrt((weights**2 * (1.0 + excess)).sum(axis=1))

    def _stored(self, state: ArowState, positions: Positions) -> Estimates:
        return Estimates(*np.split(state.cells[positions], 2, axis=1))

    def _cells(self, estimates: Estimates) -> NDArray[np.float64]:
        return np.hstack(estimates)

    def _check_state(self, state: ArowState, sizes: dict[str, int], ids: NDArray[np.int64]) -> None:
        excess, weights = np.split(state.cells, 2, axis=1)
        with np.errstate(over="ignore"):
            beyond = not np.isfinite((weights**2 * (1.0 + excess)).sum(axis=1)).all()
        if beyond or (excess < 0.0).any():
            raise ValueError("it has weights or precisions that cannot be learned")


class AROWLearner(Arow, RowClassifier[ArowState]):
    """Adaptive regularisation of weights, diagonal, with all features (Wu et al. 2017, table II): SOFS, no budget.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        How many features ``selection()`` names, by signal to noise; learning and prediction use all.
    gamma : float, default=1.0
        The regularisation: larger learns more slowly.
    normalize, fit_intercept, class_weight, n_epochs
        As in SOFS.
    """

    method: ClassVar[str] = "arow"

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        gamma: float = 1.0,
        normalize: bool | str = "auto",
        fit_intercept: bool = True,
        class_weight: ClassWeight = "auto",
        n_epochs: int = 1,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_epochs = n_epochs

    def _negate(self, state: ArowState) -> None:
        negate(state.cells[:, 1:])
        negate(state.bias[:, 0])


class AROWRegressorLearner(Arow, RowRegressor[ArowState]):
    """AROW for a target of numbers, diagonal, with all features (Vaits, Crammer 2011): SOFSRegressor, no budget.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        How many features ``selection()`` names, by signal to noise; learning and prediction use all.
    gamma : float, default=1.0
        The regularisation: larger learns more slowly.
    normalize, fit_intercept, n_epochs
        As in SOFSRegressor.
    """

    method: ClassVar[str] = "arow-regressor"

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        gamma: float = 1.0,
        normalize: bool | str = "auto",
        fit_intercept: bool = True,
        n_epochs: int = 1,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs


class RandomSelectionLearner(RandomAttributes[RandomState]):
    """The perceptron on features drawn at random after every step (RAND of Wang et al. 2014): what to beat.

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
    """

    method: ClassVar[str] = "random-selection"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = ({"random_state": 3, "attributes": "random"},)
    exempt_from_checks: ClassVar[dict[str, str]] = {
        "check_budget_is_never_exceeded": "a draw may miss every feature that has a weight: it keeps fewer",
        "check_huge_ids_change_nothing": "it draws from all features, so the width matters",
        "check_plans_change_in_the_middle_of_a_run": "it draws from all features, so the width matters",
        "check_rows_may_grow_wider": "it draws from all features, so the width matters",
    }
    triggers: ClassVar[dict[str, int]] = {"mistake": ON_MISTAKE, "margin": ON_LOSS}

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        eta: float = 1.0,
        trigger: str = "mistake",
        attributes: str = "all",
        normalize: bool | str = "auto",
        fit_intercept: bool = True,
        class_weight: ClassWeight = "auto",
        n_epochs: int = 1,
        random_state: Seed = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.eta = eta
        self.trigger = trigger
        self.attributes = attributes
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_epochs = n_epochs
        self.random_state = random_state

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("eta", self.eta, STEPS)
        require_one_of("trigger", self.trigger, self.triggers)

    @property
    def needs_width(self) -> bool:
        return True

    def _start(self, budget: int, n_vectors: int) -> RandomState:
        return empty(RandomState, features=0, budget=budget, vectors=n_vectors)

    def _update(self, state: RandomState, ids: NDArray[np.int64], rows: Rows, curve: Curve | None) -> None:
        trigger = self.triggers[self.trigger]
        memory = self.memory
        random_update(state, ids, rows, memory.random, float(self.eta), trigger, memory.declared_width)

    def _kept(self, state: RandomState) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        weights = state.weight[: state.counts[KEPT]]
        return state.member_id[: state.counts[KEPT]], weights, np.abs(weights).max(axis=1, initial=0.0)

    def _check_state(self, state: RandomState, sizes: dict[str, int], ids: NDArray[np.int64]) -> None:
        kept = kept_count(state.counts, sizes["budget"])
        check_members(state.slots, 1, state.member[:kept], state.member_id[:kept], ids)
