"""What the papers compare with: OGD, FOBOS and AROW on all features (Wu, Hoi, Mei, Yu 2017, table II;
Wang, Zhao, Hoi, Jin 2014, section 4.2), and a random choice (there too).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...targets import ONLY_NUMBERS, Kind
from ..base import ClassWeight, Seed
from ..requirements import require_one_of
from .first_order import PET_TRIGGERS
from .learner import RowLearner
from .limits import GAMMAS, PENALTIES, STEPS, require_between
from .rules.all_features import ArowRule, GradientRule
from .rules.base import RowRule
from .rules.first_order import RandomRule


@dataclass(eq=False, repr=False, kw_only=True)
class OGDLearner(RowLearner[Any]):
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

    n_features_to_select: int | float = field(default=100, kw_only=False)
    eta: float = 0.1
    normalize: bool | str = "auto"
    fit_intercept: bool = True
    class_weight: ClassWeight = "auto"
    n_epochs: int = 1

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("eta", self.eta, STEPS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        return GradientRule(float(self.eta))


@dataclass(eq=False, repr=False, kw_only=True)
class FOBOSLearner(RowLearner[Any]):
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

    n_features_to_select: int | float = field(default=100, kw_only=False)
    eta: float = 0.1
    regularization: float = 1e-5
    normalize: bool | str = "auto"
    fit_intercept: bool = True
    class_weight: ClassWeight = "auto"
    n_epochs: int = 1

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("eta", self.eta, STEPS)
        require_between("regularization", self.regularization, PENALTIES)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        return GradientRule(float(self.eta), float(self.regularization))


@dataclass(eq=False, repr=False, kw_only=True)
class AROWLearner(RowLearner[Any]):
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
    merges: ClassVar[bool] = True

    n_features_to_select: int | float = field(default=100, kw_only=False)
    gamma: float = 1.0
    normalize: bool | str = "auto"
    fit_intercept: bool = True
    class_weight: ClassWeight = "auto"
    n_epochs: int = 1

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("gamma", self.gamma, GAMMAS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        return ArowRule(float(self.gamma))


@dataclass(eq=False, repr=False, kw_only=True)
class AROWRegressorLearner(RowLearner[Any]):
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
    targets: ClassVar[frozenset[Kind]] = ONLY_NUMBERS
    merges: ClassVar[bool] = True

    n_features_to_select: int | float = field(default=100, kw_only=False)
    gamma: float = 1.0
    normalize: bool | str = "auto"
    fit_intercept: bool = True
    n_epochs: int = 1

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("gamma", self.gamma, GAMMAS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        return ArowRule(float(self.gamma))


@dataclass(eq=False, repr=False, kw_only=True)
class RandomSelectionLearner(RowLearner[Any]):
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
    draws: ClassVar[bool] = True
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = ({"random_state": 3, "attributes": "random"},)
    exempt_from_checks: ClassVar[dict[str, str]] = {
        "check_budget_is_never_exceeded": "a draw may miss every feature that has a weight: it keeps fewer",
        "check_huge_ids_change_nothing": "it draws from all features, so the width matters",
        "check_plans_change_in_the_middle_of_a_run": "it draws from all features, so the width matters",
        "check_rows_may_grow_wider": "it draws from all features, so the width matters",
    }

    n_features_to_select: int | float = field(default=100, kw_only=False)
    eta: float = 1.0
    trigger: str = "mistake"
    attributes: str = "all"
    normalize: bool | str = "auto"
    fit_intercept: bool = True
    class_weight: ClassWeight = "auto"
    n_epochs: int = 1
    random_state: Seed = None

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("eta", self.eta, STEPS)
        require_one_of("trigger", self.trigger, PET_TRIGGERS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        return RandomRule(float(self.eta), PET_TRIGGERS[self.trigger])
