"""Projected gradient (Blumensath, Davies 2010; Foucart 2011): a linear model of few columns, with all at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.arrays import array
from ...kernels.types import F64, I64
from ...parallel import Threads
from ...targets import TASK_OF_KIND, Kind, Target
from ..base import Findings
from ..fitting import Fit, project, refit
from ..linear import LinearLearner, LinearModel, in_given_units, standardized
from .base import MatrixLearner, check_order
from .data import Matrix
from .standardized import StandardizedColumns


class ProjectedState(NamedTuple):
    """The selected features and their model, for values as they come."""

    ids: I64 = array("selected", low=0, below="features")  # ascending
    scores: F64 = array("selected", low=0)  # the weights for standardised values, without their signs
    weights: F64 = array("selected")
    level: F64 = array(1)  # the intercept
    classes: NDArray[Any] = array("classes")  # two; none of numbers


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectedGradientLearner(MatrixLearner[ProjectedState], LinearLearner):
    """Projected gradient (Blumensath, Davies 2010): columns that make a linear model, with all of them in memory.

    The batch form of what OnlineSubstitution does with a stream, and what Yang, Fujimaki, Kusumura, Liu 2016 compare
    with (ProjGD): a step of gradient descent over all columns, after which all but the largest weights become 0, until
    neither the columns nor the loss change. Columns are standardised, sparse ones stay sparse. Of columns that are the
    same but for scale, the first is kept.

    Parameters
    ----------
    n_features_to_select : int, default=100
        How many are selected: that many, unless fewer vary.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        What the model minimises. "auto" is squared for numbers and logistic for two classes.
    refit : bool, default=True
        Whether the model is fitted to the end on the selected columns.
    """

    method: ClassVar[str] = "projected-gradient"
    state_type: ClassVar[type[Any]] = ProjectedState
    check_variants = ({"loss": "squared"}, {"loss": "squared_hinge"})
    exempt_from_checks: ClassVar[dict[str, str]] = {"check_many_classes": "a linear model tells two classes apart"}

    n_features_to_select: int = field(default=100, kw_only=False)
    loss: str = "auto"
    refit: bool = True

    def check_parameters(self) -> None:
        LinearLearner.check_parameters(self)

    def _read_target(self, y: Any, origin: str = "") -> Target:
        return self.read_target(y, origin)

    def _learn(self, matrix: Matrix, target: Target) -> tuple[ProjectedState, int]:
        loss, y = self.loss_of(target), standardized(target)
        with Threads() as threads:
            columns = StandardizedColumns(matrix, threads)
            fit = project(columns, loss, y, int(self.n_features_to_select)) if columns.ids.size else NOTHING
            if self.refit and fit.columns.size:
                fit = refit(columns, loss, y, fit.columns)
            ids, units = columns.ids[fit.columns], columns.units(fit.columns)
        model = in_given_units(target, loss, ids, fit.weights, fit.intercept, *units)
        scores = np.abs(fit.weights)[np.argsort(ids)]
        level, classes = np.array([model.intercept]), np.array(target.classes.tolist())
        return ProjectedState(model.ids, scores, model.weights, level, classes), columns.n_nonzero

    # ---- what was learned

    def learned_kind(self) -> Kind:
        return "classes" if self.memory.state.classes.size else "numbers"

    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return self.memory.state.ids, self.memory.state.scores

    def linear_model(self) -> LinearModel:
        state = self.memory.state
        of_classes = self.learned_kind() == "classes"
        classes, has_chances = state.classes if of_classes else None, of_classes and self.loss in ("auto", "logistic")
        return LinearModel(state.ids, state.weights, float(state.level[0]), classes, has_chances)

    def findings(self) -> Findings:
        return Findings(details={"task": TASK_OF_KIND[self.learned_kind()], **self.linear_model().details()})

    # ---- saving

    def _check_state(self, state: ProjectedState) -> None:
        check_order(state.ids)
        classes = state.classes
        if classes.dtype.kind not in "biufU" or classes.size not in (0, 2) or np.unique(classes).size != classes.size:
            raise ValueError("its classes are not two")


NOTHING = Fit(np.empty(0, np.int64), np.empty(0), 0.0)  # of columns none of which varies
