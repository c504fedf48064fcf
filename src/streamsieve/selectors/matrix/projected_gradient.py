"""Projected gradient (Blumensath, Davies 2010; Foucart 2011): a linear model of few columns, with all at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.arrays import array
from ...kernels.types import F64, I64
from ...parallel import Threads
from ...sources.base import Report
from ...targets import BOTH, TASK_OF_KIND, Target
from ..base import Method
from ..fitting import LOSS, Fit, in_given_units, loss_of, project, refit, standardized
from ..parameters import BUDGET, YES_OR_NO, checked, ensure, parameter
from ..prediction import LinearModel
from .data import Matrix
from .learner import MatrixLearner, MatrixRule, Solution, check_order
from .standardized import StandardizedColumns


class ProjectedState(NamedTuple):
    """The selected features and their model, for values as they come."""

    ids: I64 = array("selected", low=0, below="features")  # ascending
    scores: F64 = array("selected", low=0)  # the weights for standardised values, without their signs
    weights: F64 = array("selected")
    level: F64 = array(1)  # the intercept
    classes: NDArray[Any] = array("classes")  # two; none of numbers


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectedGradientParameters:
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

    n_features_to_select: int = field(default=100, kw_only=False, metadata=checked(BUDGET))
    loss: str = parameter("auto", LOSS)
    refit: bool = parameter(True, YES_OR_NO)

    def rule_for(self, method: Method) -> ProjectedGradientRule:
        """Return how a matrix is learned."""
        return ProjectedGradientRule(self, method)


PROJECTED_GRADIENT = Method(
    "projected-gradient",
    ProjectedGradientParameters,
    MatrixLearner,
    BOTH,
    predicts=True,
    check_variants=({"loss": "squared"}, {"loss": "squared_hinge"}),
    exempt_from_checks={"check_many_classes": "a linear model tells two classes apart"},
)


class ProjectedGradientRule(MatrixRule[ProjectedState]):
    """A step of gradient descent over all columns, after which all but the largest weights become 0."""

    state_type: ClassVar[type[Any]] = ProjectedState

    def learn(self, matrix: Matrix, target: Target, report: Report) -> Solution[ProjectedState]:
        params = self.params
        loss, y = loss_of(target, params.loss), standardized(target)
        with Threads() as threads:
            columns = StandardizedColumns(matrix, threads)
            fit = project(columns, loss, y, int(params.n_features_to_select)) if columns.ids.size else NOTHING
            if params.refit and fit.columns.size:
                fit = refit(columns, loss, y, fit.columns)
            ids, units = columns.ids[fit.columns], columns.units(fit.columns)
        model = in_given_units(target, loss, ids, fit.weights, fit.intercept, *units)
        scores = np.abs(fit.weights)[np.argsort(ids)]
        level, classes = np.array([model.intercept]), np.array(target.classes.tolist())
        return Solution(ProjectedState(model.ids, scores, model.weights, level, classes), columns.n_nonzero)

    def selected(self, state: ProjectedState) -> tuple[I64, F64]:
        return state.ids, state.scores

    def linear_model(self, state: ProjectedState) -> LinearModel:
        classes = state.classes if state.classes.size else None
        has_chances = classes is not None and self.params.loss in ("auto", "logistic")
        return LinearModel(state.ids, state.weights, float(state.level[0]), classes, has_chances)

    def details(self, state: ProjectedState) -> dict[str, Any]:
        return {"task": TASK_OF_KIND["classes" if state.classes.size else "numbers"]}

    def check(self, state: ProjectedState) -> None:
        check_order(state.ids)
        classes = state.classes
        two = classes.dtype.kind in "biufU" and classes.size in (0, 2) and np.unique(classes).size == classes.size
        ensure(two, "its classes are not two")


NOTHING = Fit(np.empty(0, np.int64), np.empty(0), 0.0)  # of columns none of which varies
