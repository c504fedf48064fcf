"""First-order selection: PET and FOFS (Wu, Hoi, Mei, Yu 2017; Wang, Zhao, Hoi, Jin 2014, where FOFS is OFS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...kernels.rows.first_order import ON_LOSS, ON_MARGIN, ON_MISTAKE
from ..base import ClassWeight, Seed
from ..requirements import require, require_one_of
from .learner import RowLearner
from .limits import PENALTIES, RADII, STEPS, require_between
from .rules.base import RowRule
from .rules.first_order import FirstOrderRule
from .sofs import decay_of

PET_TRIGGERS = {"mistake": ON_MISTAKE, "margin": ON_LOSS}
FOFS_TRIGGERS = {"margin": ON_MARGIN, "mistake": ON_MISTAKE}
VARIANTS: tuple[dict[str, Any], ...] = (
    {"fit_intercept": False, "curve": True, "class_weight": "balanced"},
    {"normalize": "standard", "forget": 20.0},
)


@dataclass(eq=False, repr=False, kw_only=True)
class PETLearner(RowLearner[Any]):
    """The perceptron with truncation (Wu et al. 2017, algorithms 1 and 2; Wang et al. 2014, algorithm 1).

    On a mistake the row, times ``eta``, is added to the weights or taken away; then the ``n_features_to_select``
    largest weights stay and the others become 0. Exactly that, but in O(non-zeros x log budget) per row, not
    O(features). Many classes are learned one against the rest with one budget of features for all: a feature counts
    by its largest weight over the classes, so that one that decides a single class well is not lost to one that says
    little about each.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default=100
        How many features to keep; a fraction of a known width; or chosen from the curve.
    eta : float, default=1.0
        The step.
    trigger : {"margin", "mistake"}, default="margin"
        Learn from all rows with a hinge loss above 0 (Wu et al. 2017), or from those predicted wrongly (Wang et al.
        2014), which finds far fewer informative features.
    attributes : {"all", "random"}, default="all"
        "random" sees only as many attributes of each row as the budget, drawn afresh (PE_rand of Wang et al. 2014).
    normalize, fit_intercept, class_weight, forget, curve, n_epochs
        As in SOFS; ``forget`` is a half-life of the weights.
    random_state : int, Generator or None, default=None
        For ``attributes="random"``.
    """

    method: ClassVar[str] = "pet"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = VARIANTS

    n_features_to_select: int | float | str = field(default=100, kw_only=False)
    eta: float = 1.0
    trigger: str = "margin"
    attributes: str = "all"
    normalize: bool | str = "auto"
    fit_intercept: bool = True
    class_weight: ClassWeight = "auto"
    forget: float | None = None
    curve: bool | Sequence[int] = False
    n_epochs: int = 1
    random_state: Seed = None

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("eta", self.eta, STEPS)
        require_one_of("trigger", self.trigger, PET_TRIGGERS)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        return FirstOrderRule(float(self.eta), decay_of(self.forget), np.inf, PET_TRIGGERS[self.trigger])


@dataclass(eq=False, repr=False, kw_only=True)
class FOFSLearner(RowLearner[Any]):
    """First-order online feature selection by sparse projection (OFS of Wang et al. 2014, algorithm 3).

    Gradient descent on the hinge loss with L2 regularisation: all weights shrink at every row; a row inside the
    margin is added, the weights are projected to a ball, and the ``n_features_to_select`` largest stay. O(non-zeros x
    log budget) per row: what multiplies all weights is kept apart. Many classes as in PET; the ball is one for all
    classes.

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
    """

    method: ClassVar[str] = "fofs"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = VARIANTS

    n_features_to_select: int | float | str = field(default=100, kw_only=False)
    eta: float = 0.5
    regularization: float = 1e-3
    radius: float | None = None
    trigger: str = "margin"
    attributes: str = "all"
    normalize: bool | str = "auto"
    fit_intercept: bool = True
    class_weight: ClassWeight = "auto"
    forget: float | None = None
    curve: bool | Sequence[int] = False
    n_epochs: int = 1
    random_state: Seed = None

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("eta", self.eta, STEPS)
        require_one_of("trigger", self.trigger, FOFS_TRIGGERS)
        require_between("regularization", self.regularization, PENALTIES)
        require(self.regularization * self.eta < 1, "regularization", self.regularization, "below 1 / eta")
        if self.radius is not None:
            require_between("radius", self.radius, RADII, "None or ")

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        free = np.inf if self.regularization == 0 else 1.0 / np.sqrt(self.regularization)
        shrink = (1.0 - self.regularization * self.eta) * decay_of(self.forget)
        radius = float(free if self.radius is None else self.radius)
        return FirstOrderRule(float(self.eta), shrink, radius, FOFS_TRIGGERS[self.trigger])
