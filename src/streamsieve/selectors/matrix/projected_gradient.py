"""Projected gradient (Blumensath, Davies 2010; Foucart 2011): a linear model of few columns."""

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
from ..fitting import LOSS, Fit, loss_of, project, refit, standardized, to_original_units
from ..parameters import BUDGET, YES_OR_NO, checked, ensure, parameter
from ..prediction import LinearModel
from .data import Matrix
from .learner import MatrixLearner, MatrixRule, Solution

MIN_PART_SIZE = 1 << 14  # values: less work is not divided among threads
BYTES_PER_VALUE = 24  # a row number and a float64, in the matrix and in the block made of it
MAX_DIFFERENCE = (
    1e-9  # products with a random vector that differ by less may be those of equal columns
)


class ProjectedState(NamedTuple):
    """The selected features and their model, in the units of the data."""

    ids: I64 = array("selected", low=0, below="features")  # ascending
    scores: F64 = array("selected", low=0)  # absolute weights for standardised values
    weights: F64 = array("selected")
    level: F64 = array(1)  # the intercept
    classes: NDArray[Any] = array("classes")  # two; empty for regression


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectedGradientParameters:
    """Projected gradient (Blumensath, Davies 2010): a linear model of columns held in memory.

    The batch form of OnlineSubstitution, which Yang, Fujimaki, Kusumura, Liu 2016 compare with
    (ProjGD). It repeats a step of gradient descent over all columns, after which all but the
    largest weights become 0, until neither the columns nor the loss change. Columns are
    standardised, and sparse ones stay sparse. Of columns that are equal but for scale, the first is
    kept.

    Parameters
    ----------
    n_features_to_select : int, default=100
        Number of features to select. Fewer are selected if fewer vary.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        Loss that the model minimises. "auto" is squared for numbers and logistic for two classes.
    refit : bool, default=True
        If True, fit the model on the selected columns until it converges.

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

    References
    ----------
    T. Blumensath, M. E. Davies: Normalized iterative hard thresholding: guaranteed stability
    and performance. IEEE Journal of Selected Topics in Signal Processing 4, 2010.
    S. Foucart: Hard thresholding pursuit. SIAM Journal on Numerical Analysis 49, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.ProjectedGradient(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    n_features_to_select: int = field(default=100, kw_only=False, metadata=checked(BUDGET))
    loss: str = parameter("auto", LOSS)
    refit: bool = parameter(True, YES_OR_NO)


class ProjectedGradientRule(MatrixRule[ProjectedState]):
    """Repeat a step of gradient descent and set all but the largest weights to 0."""

    state_type: ClassVar[type[Any]] = ProjectedState

    def learn(self, matrix: Matrix, target: Target, report: Report) -> Solution[ProjectedState]:
        params = self.params
        loss, y = loss_of(target, params.loss), standardized(target)
        with Threads() as threads:
            columns = StandardizedColumns(matrix, threads)
            fit = (
                project(columns, loss, y, int(params.n_features_to_select))
                if columns.ids.size
                else NO_FIT
            )
            if params.refit and fit.columns.size:
                fit = refit(columns, loss, y, fit.columns)
            ids, units = columns.ids[fit.columns], columns.units(fit.columns)
        model = to_original_units(target, loss, ids, fit.weights, fit.intercept, *units)
        state = ProjectedState(
            ids=model.ids,
            scores=np.abs(fit.weights)[np.argsort(ids)],
            weights=model.weights,
            level=np.array([model.intercept]),
            classes=np.array(target.classes.tolist()),
        )
        return Solution(state, columns.n_nonzero)

    def selected(self, state: ProjectedState) -> tuple[I64, F64]:
        return state.ids, state.scores

    def linear_model(self, state: ProjectedState) -> LinearModel:
        classes = state.classes if state.classes.size else None
        has_probabilities = classes is not None and self.params.loss in ("auto", "logistic")
        return LinearModel(
            state.ids, state.weights, float(state.level[0]), classes, has_probabilities
        )

    def details(self, state: ProjectedState) -> dict[str, Any]:
        return {"task": TASK_OF_KIND["classes" if state.classes.size else "numbers"]}

    def check(self, state: ProjectedState) -> None:
        super().check(state)
        classes = state.classes
        ensure(
            classes.dtype.kind in "biufU"
            and classes.size in (0, 2)
            and np.unique(classes).size == classes.size,
            "it must have two different classes, or none",
        )


PROJECTED_GRADIENT = Method(
    "projected-gradient",
    ProjectedGradientParameters,
    MatrixLearner,
    BOTH,
    rule=ProjectedGradientRule,
    predicts=True,
    check_variants=({"loss": "squared"}, {"loss": "squared_hinge"}),
    exempt_from_checks={"check_many_classes": "a linear model distinguishes two classes"},
)


NO_FIT = Fit(np.empty(0, np.int64), np.empty(0), 0.0)  # if no column varies


# ---- all columns in memory, as the fits multiply them


class StandardizedColumns:
    """The columns of a matrix that vary, in parts for threads; sparse ones stay sparse.

    Of columns that are equal but for scale, the first is kept.
    """

    def __init__(self, matrix: Matrix, threads: Threads) -> None:
        self.matrix, self.threads, self.n_rows = matrix, threads, matrix.n_rows
        refuse_beyond_memory(
            BYTES_PER_VALUE * int(matrix.values.size),
            f"{prefix(matrix.origin)}the standardised columns",
            "take fewer rows or features",
        )
        cuts = cut(matrix.n_columns, -(-MIN_PART_SIZE // matrix.n_rows))
        held = threads.each(
            len(cuts) - 1, lambda part: self._standardize(cuts[part], cuts[part + 1])
        )
        self.n_nonzero = sum(n_nonzero for _, n_nonzero in held)
        self._set_parts([slots for slots, _ in held])
        self._drop_equals()

    def _standardize(self, start: int, stop: int) -> tuple[Slots, int]:
        """Return a range of columns, standardised, and the number of their non-zero values."""
        block = self.matrix.columns(start, stop)
        unusable = np.flatnonzero(~(np.abs(block.values) <= MAX_SIZE))
        if unusable.size:
            entry = int(unusable[0])
            column = int(np.searchsorted(block.indptr, entry, side="right")) - 1
            raise self.matrix.unusable_error(
                start + column, int(block.indices[entry]), float(block.values[entry])
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

    def _drop_equals(self) -> None:
        """Drop every column that equals an earlier one but for scale.

        Such columns have the same product with a random vector, up to the sign. Only columns with
        the same product are compared.
        """
        products = np.abs(self.products(np.random.default_rng(0).standard_normal(self.n_rows)))
        order = np.argsort(products, kind="stable")
        starts = np.flatnonzero(np.diff(products[order], prepend=-1.0) > MAX_DIFFERENCE)
        stops = np.append(starts[1:], products.size)[: starts.size]
        stays = np.ones(products.size, bool)
        for start, stop in zip(starts[stops - starts > 1], stops[stops - starts > 1], strict=True):
            candidates = np.sort(order[start:stop])
            while candidates.size > 1:
                first, others = self.dense(candidates[:1])[0], candidates[1:]
                similarities = np.array(
                    [
                        abs(self.dense(candidates[at : at + 1])[0] @ first)
                        for at in range(1, candidates.size)
                    ]
                )
                is_equal = similarities > ALIKE * self.n_rows
                stays[others[is_equal]] = False
                candidates = others[~is_equal]
        if not stays.all():
            for part, start in zip(self.parts, self.starts, strict=False):
                keep(part.slots, np.flatnonzero(stays[start : start + part.count]))
            self._set_parts([part.slots for part in self.parts])

    def products(self, vector: F64) -> F64:
        """Return z'vector / n for every column z."""
        return np.concatenate(
            self.threads.each(len(self.parts), lambda part: self.parts[part].products(vector))
        )

    def combine(self, weights: F64, intercept: float) -> F64:
        """Return the score of every row: the intercept plus the columns times their weights."""
        scores = np.full(self.n_rows, intercept)
        for part, start in zip(self.parts, self.starts, strict=False):
            part_weights = weights[start : start + part.count]
            if part_weights.any():
                scores += part.combine(part_weights, 0.0)
        return scores

    def dense(self, columns: I64) -> F64:
        """Return columns, given in ascending order, as dense lines."""
        cuts = np.searchsorted(columns, self.starts)
        lines = [
            part.dense(columns[cuts[number] : cuts[number + 1]] - self.starts[number])
            for number, part in enumerate(self.parts)
        ]
        return np.concatenate(lines)

    def units(self, columns: I64) -> tuple[F64, F64]:
        """Return the means and standard deviations of columns in the units of the data."""
        centres, scales = (
            np.concatenate([getattr(part.slots, name)[: part.count] for part in self.parts])[
                columns
            ]
            for name in ("centres", "scales")
        )
        return centres, scales
