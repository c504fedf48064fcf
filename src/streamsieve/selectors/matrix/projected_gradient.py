"""Projected gradient (Blumensath, Davies 2010; Foucart 2011): a linear model of few columns, with all at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import prefix
from ...kernels.arrays import array
from ...kernels.columns.slots import ALIKE, USED, Slots, hold_columns, measure_columns
from ...kernels.matrix.pairs import MAX_SIZE
from ...kernels.types import F64, I64
from ...machine import refuse_beyond_memory
from ...parallel import Threads, cut
from ...sources.base import Report
from ...state import empty
from ...targets import BOTH, TASK_OF_KIND, Target
from ..base import Method
from ..columns.linear import HeldColumns, keep
from ..fitting import LOSS, Fit, in_given_units, loss_of, project, refit, standardized
from ..parameters import BUDGET, YES_OR_NO, checked, ensure, parameter
from ..prediction import LinearModel
from .data import Matrix
from .learner import MatrixLearner, MatrixRule, Solution

WORTH_A_PART = 1 << 14  # values: less work is not shared out
BYTES_PER_VALUE = 24  # a row number and a number in double precision, while blocks are made of them
NEAR = 1e-9  # products with a random vector that differ by less may be those of equal columns


class ProjectedState(NamedTuple):
    """The selected features and their model, for values as they come."""

    ids: I64 = array("selected", low=0, below="features")  # ascending
    scores: F64 = array(
        "selected", low=0
    )  # the weights for standardised values, without their signs
    weights: F64 = array("selected")
    level: F64 = array(1)  # the intercept
    classes: NDArray[Any] = array("classes")  # two; none of numbers


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectedGradientParameters:
    """Projected gradient (Blumensath, Davies 2010): columns that make a linear model, with all of them in memory.

    The batch form of what OnlineSubstitution does with a stream, and what Yang, Fujimaki, Kusumura,
    Liu 2016 compare with (ProjGD): a step of gradient descent over all columns, after which all but
    the largest weights become 0, until neither the columns nor the loss change. Columns are
    standardised, sparse ones stay sparse. Of columns that are the same but for scale, the first is
    kept.

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


class ProjectedGradientRule(MatrixRule[ProjectedState]):
    """A step of gradient descent over all columns, after which all but the largest weights become 0."""

    state_type: ClassVar[type[Any]] = ProjectedState

    def learn(self, matrix: Matrix, target: Target, report: Report) -> Solution[ProjectedState]:
        params = self.params
        loss, y = loss_of(target, params.loss), standardized(target)
        with Threads() as threads:
            columns = StandardizedColumns(matrix, threads)
            fit = (
                project(columns, loss, y, int(params.n_features_to_select))
                if columns.ids.size
                else NOTHING
            )
            if params.refit and fit.columns.size:
                fit = refit(columns, loss, y, fit.columns)
            ids, units = columns.ids[fit.columns], columns.units(fit.columns)
        model = in_given_units(target, loss, ids, fit.weights, fit.intercept, *units)
        scores = np.abs(fit.weights)[np.argsort(ids)]
        level, classes = np.array([model.intercept]), np.array(target.classes.tolist())
        return Solution(
            ProjectedState(model.ids, scores, model.weights, level, classes), columns.n_nonzero
        )

    def selected(self, state: ProjectedState) -> tuple[I64, F64]:
        return state.ids, state.scores

    def linear_model(self, state: ProjectedState) -> LinearModel:
        classes = state.classes if state.classes.size else None
        has_chances = classes is not None and self.params.loss in ("auto", "logistic")
        return LinearModel(state.ids, state.weights, float(state.level[0]), classes, has_chances)

    def details(self, state: ProjectedState) -> dict[str, Any]:
        return {"task": TASK_OF_KIND["classes" if state.classes.size else "numbers"]}

    def check(self, state: ProjectedState) -> None:
        super().check(state)
        classes = state.classes
        ensure(
            classes.dtype.kind in "biufU"
            and classes.size in (0, 2)
            and np.unique(classes).size == classes.size,
            "its classes are not two",
        )


PROJECTED_GRADIENT = Method(
    "projected-gradient",
    ProjectedGradientParameters,
    MatrixLearner,
    BOTH,
    rule=ProjectedGradientRule,
    predicts=True,
    check_variants=({"loss": "squared"}, {"loss": "squared_hinge"}),
    exempt_from_checks={"check_many_classes": "a linear model tells two classes apart"},
)


NOTHING = Fit(np.empty(0, np.int64), np.empty(0), 0.0)  # of columns none of which varies


# ---- all columns in memory: what the fits multiply


class StandardizedColumns:
    """The columns of a matrix that vary, in parts that threads share; sparse ones stay sparse.

    Of columns that are the same but for their scale, the first stays.
    """

    def __init__(self, matrix: Matrix, threads: Threads) -> None:
        self.matrix, self.threads, self.n_rows = matrix, threads, matrix.n_rows
        refuse_beyond_memory(
            BYTES_PER_VALUE * matrix.n_stored,
            f"{prefix(matrix.origin)}the standardised columns",
            "take fewer rows or features",
        )
        cuts = cut(matrix.n_columns, -(-WORTH_A_PART // matrix.n_rows))
        held = threads.each(len(cuts) - 1, lambda part: self._hold(cuts[part], cuts[part + 1]))
        self.n_nonzero = sum(n_nonzero for _, n_nonzero in held)
        self._set_parts([slots for slots, _ in held])
        self._drop_twins()

    def _hold(self, start: int, stop: int) -> tuple[Slots, int]:
        """Some columns, standardised, and how many of their values are not 0."""
        block = self.matrix.columns(start, stop)
        wrong = np.flatnonzero(~(np.abs(block.values) <= MAX_SIZE))
        if wrong.size:
            at = int(wrong[0])
            column = int(np.searchsorted(block.indptr, at, side="right")) - 1
            raise self.matrix.not_usable(
                start + column, int(block.indices[at]), float(block.values[at])
            )
        means, scales = np.empty(block.n_columns), np.empty(block.n_columns)
        room = measure_columns(block.indptr, block.values, self.n_rows, means, scales)
        slots = empty(Slots, slots=int(np.count_nonzero(scales)), room=room)
        hold_columns(
            slots, block.indptr, block.indices, block.values, block.ids, self.n_rows, means, scales
        )
        return slots, block.n_nonzero

    def _set_parts(self, slots: list[Slots]) -> None:
        self.parts = [HeldColumns(part, self.n_rows) for part in slots]
        self.starts = np.cumsum([0, *(part.count for part in self.parts)])
        self.ids = np.concatenate([part.ids[: part.ends[USED]] for part in slots])

    def _drop_twins(self) -> None:
        """Drop every column that is the same as one before it, but for its scale.

        Such columns have the same product with a random vector, but for the sign; those that have
        are compared.
        """
        marks = np.abs(self.products(np.random.default_rng(0).standard_normal(self.n_rows)))
        order = np.argsort(marks, kind="stable")
        starts = np.flatnonzero(np.diff(marks[order], prepend=-1.0) > NEAR)
        stops = np.append(starts[1:], marks.size)[: starts.size]
        stays = np.ones(marks.size, bool)
        for start, stop in zip(starts[stops - starts > 1], stops[stops - starts > 1], strict=True):
            near = np.sort(order[start:stop])
            while near.size > 1:
                first, others = self.dense(near[:1])[0], near[1:]
                products = np.array(
                    [abs(self.dense(near[at : at + 1])[0] @ first) for at in range(1, near.size)]
                )
                same = products > ALIKE * self.n_rows
                stays[others[same]] = False
                near = others[~same]
        if not stays.all():
            for part, start in zip(self.parts, self.starts, strict=False):
                keep(part.slots, np.flatnonzero(stays[start : start + part.count]))
            self._set_parts([part.slots for part in self.parts])

    def products(self, vector: F64) -> F64:
        """z'vector / n of every column."""
        return np.concatenate(
            self.threads.each(len(self.parts), lambda part: self.parts[part].products(vector))
        )

    def combine(self, weights: F64, intercept: float) -> F64:
        """The intercept and all columns times their weights, a score per row."""
        scores = np.full(self.n_rows, intercept)
        for part, start in zip(self.parts, self.starts, strict=False):
            own = weights[start : start + part.count]
            if own.any():
                scores += part.combine(own, 0.0)
        return scores

    def dense(self, columns: I64) -> F64:
        """Some columns, in ascending order, written out, a line each."""
        cuts = np.searchsorted(columns, self.starts)
        lines = [
            part.dense(columns[cuts[at] : cuts[at + 1]] - self.starts[at])
            for at, part in enumerate(self.parts)
        ]
        return np.concatenate(lines)

    def units(self, columns: I64) -> tuple[F64, F64]:
        """The means and the standard deviations of some columns as they came."""
        centres, scales = (
            np.concatenate([getattr(part.slots, name)[: part.count] for part in self.parts])[
                columns
            ]
            for name in ("centres", "scales")
        )
        return centres, scales
