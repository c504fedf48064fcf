"""Linear models with few columns, in batch: projected gradient, and the fit of chosen columns.

Columns are standardised and given as a ``ColumnSet``, which can multiply them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..errors import DataError, prefix, spell
from ..kernels.losses import CURVATURE, LOGISTIC, SQUARED, SQUARED_HINGE, slopes
from ..kernels.types import F64, I64
from ..targets import BOTH, Kind, Target, read_target, show
from .parameters import one_of, options_of
from .prediction import LinearModel

if TYPE_CHECKING:
    from .base import Method

LOSSES = {"squared": SQUARED, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}
TASK_OF_LOSS = (
    {"auto": "auto"} | dict.fromkeys(LOSSES, "classification") | {"squared": "regression"}
)
AUTO_LOSS: dict[Kind, str] = {"numbers": "squared", "classes": "logistic"}
LOSS = one_of(*TASK_OF_LOSS)  # the values of the parameter ``loss``

MAX_STEPS = 500
MAX_HALVINGS = 30
TOLERANCE = 1e-7  # relative to the loss: stop after a step that gains less
NEWTON_STEPS = 50
MIN_RIDGE = 1e-8
MIN_CURVATURE = 0.05  # of the largest, because a flat loss has no useful second derivative


@dataclass(frozen=True)
class TargetOptions:
    """The parameters that concern the target.

    A parameter that a method does not have takes the default given here.
    """

    task: Any = "auto"
    class_weight: Any = None


class ColumnSet(Protocol):
    """Columns of mean 0 and variance 1."""

    def products(self, vector: F64) -> F64:
        """Return z'vector / n for every column z."""

    def combine(self, weights: F64, intercept: float) -> F64:
        """Return the intercept plus the weighted sum of the columns, a score per row."""

    def dense(self, columns: I64) -> F64:
        """Return some columns as a dense array, one line each."""


class Fit(NamedTuple):
    """A linear model of some columns."""

    columns: I64  # ascending
    weights: F64
    intercept: float


class Slopes(NamedTuple):
    """The loss at given scores: its derivatives per row, and its mean."""

    first: F64
    second: F64
    loss: float


def loss_slopes(loss: int, scores: F64, y: F64) -> Slopes:
    """Return the loss and its derivatives at given scores."""
    first, second = np.empty(y.size), np.empty(y.size)
    return Slopes(first, second, slopes(loss, scores, y, first, second))


def curvature(loss: int, second: F64) -> float:
    """Return the mean second derivative, at least ``MIN_CURVATURE`` of the largest."""
    return max(float(second.mean()), MIN_CURVATURE * CURVATURE[loss])


def find_largest(values: F64, n_largest: int) -> I64:
    """Return the positions of the largest magnitudes, ascending; ties go to the first."""
    return np.sort(np.argsort(-np.abs(values), kind="stable")[:n_largest])


def project(columns: ColumnSet, loss: int, y: F64, n_columns: int) -> Fit:
    """Minimise the loss with ``n_columns`` columns by projected gradient, from 0.

    Every step has the best length along the columns in use (Blumensath, Davies 2010), and is halved
    while the loss would rise; then all but the largest weights become 0.
    """
    weights, intercept = np.zeros(0), 0.0
    scores = np.zeros(y.size)
    current = loss_slopes(loss, scores, y)
    for _ in range(MAX_STEPS):
        gradient = columns.products(current.first)
        if not weights.size:
            weights = np.zeros(gradient.size)
        support = np.flatnonzero(weights) if weights.any() else find_largest(gradient, n_columns)
        restricted = np.zeros(gradient.size)
        restricted[support] = gradient[support]
        direction = columns.combine(restricted, 0.0)
        step_curvature = float(
            (np.maximum(current.second, MIN_CURVATURE * CURVATURE[loss]) * direction**2).mean()
        )
        length = float(restricted @ restricted) / step_curvature if step_curvature > 0.0 else 0.0
        shift = float(current.first.mean()) / curvature(loss, current.second)
        for _ in range(MAX_HALVINGS):
            moved = weights - length * gradient
            kept = find_largest(moved, n_columns)
            trial = np.zeros(moved.size)
            trial[kept] = moved[kept]
            scores = columns.combine(trial, intercept - shift)
            proposed = loss_slopes(loss, scores, y)
            if proposed.loss <= current.loss:
                break
            length, shift = length / 2.0, shift / 2.0
        else:
            break
        has_converged = current.loss - proposed.loss <= TOLERANCE * current.loss and np.array_equal(
            trial != 0.0, weights != 0.0
        )
        weights, intercept, current = trial, intercept - shift, proposed
        if has_converged:
            break
    selected = np.flatnonzero(weights)
    return Fit(selected, weights[selected], intercept)


def refit(columns: ColumnSet, loss: int, y: F64, chosen: I64) -> Fit:
    """Minimise the loss with the chosen columns by Newton's method.

    The ridge is 1 / n: half of the squared weights is added to the sum of the losses of all rows.
    It keeps weights finite where classes can be separated without a mistake. For regression a small
    ridge does the same where columns are linearly dependent.
    """
    ridge = MIN_RIDGE if loss == SQUARED else 1.0 / y.size
    values = columns.dense(chosen)
    weights, intercept = np.zeros(chosen.size), 0.0
    current = loss_slopes(loss, np.zeros(y.size), y)
    cost = current.loss
    for _ in range(NEWTON_STEPS):
        second = current.second if loss == SQUARED else np.maximum(current.second, 1e-9)
        centre = values @ second / second.sum()
        centred = values - centre[:, None]
        hessian = (centred * second) @ centred.T / y.size
        hessian[np.diag_indices_from(hessian)] += ridge
        # The intercept follows from the weights: it is optimal for every step of theirs.
        gradient = centred @ current.first / y.size + ridge * weights
        step = np.linalg.solve(hessian, gradient)
        intercept_step = float(current.first.sum() / second.sum()) - float(centre @ step)
        for _ in range(MAX_HALVINGS):
            trial, trial_intercept = weights - step, intercept - intercept_step
            proposed = loss_slopes(loss, trial_intercept + trial @ values, y)
            value = proposed.loss + 0.5 * ridge * float(trial @ trial)
            if value <= cost:
                break
            step, intercept_step = step / 2.0, intercept_step / 2.0
        else:
            break
        has_converged = cost - value <= 1e-10 * cost
        weights, intercept, current, cost = trial, trial_intercept, proposed, value
        if has_converged or loss == SQUARED:
            break
    return Fit(chosen, weights, intercept)


# ---- targets of linear models


def target_for(method: Method, params: Any, y: Any, origin: str = "") -> Target:
    """Return the target of complete labels, of a kind that the method can learn."""
    if not method.fits_model:
        options: TargetOptions = options_of(TargetOptions, params)
        return read_target(y, options.task, method.targets, options.class_weight, origin)
    y, loss = np.asarray(y), params.loss
    if loss == "squared" and y.size and y.dtype.kind not in "biuf":
        raise DataError(
            f"{prefix(origin)}{spell('loss', 'squared')} is for numbers, and the target holds"
            f" {show(y.ravel()[0])}; take {spell('loss', 'logistic')} or"
            f" {spell('loss', 'squared_hinge')} for classes"
        )
    target = read_target(y, TASK_OF_LOSS[loss], BOTH, origin=origin)
    if target.kind == "classes" and target.n_classes > 2:
        raise DataError(
            f"{prefix(origin)}the target has {target.n_classes:,} classes, and {method.name}"
            f" supports only two; for numbers set {spell('loss', 'squared')}, for many classes use"
            " another method, such as sofs or saola"
        )
    return target


def loss_of(target: Target, loss: str) -> int:
    """Return the code of a loss, for kernels."""
    return LOSSES[AUTO_LOSS[target.kind] if loss == "auto" else loss]


def standardized(target: Target) -> F64:
    """Return the target in the form that losses take.

    Numbers have mean 0 and variance 1; the first class is -1 and the second 1.
    """
    if target.kind == "classes":
        return np.where(target.codes > 0, 1.0, -1.0)
    return target.numbers * float(np.sqrt(target.n_rows))


def to_original_units(
    target: Target, loss: int, ids: I64, weights: F64, intercept: float, centres: F64, scales: F64
) -> LinearModel:
    """Convert a model of standardised columns to one of the original columns and target."""
    is_classification = target.kind == "classes"
    target_scale, target_centre = (
        (1.0, 0.0) if is_classification else (target.scale / np.sqrt(target.n_rows), target.centre)
    )
    order = np.argsort(ids)
    coefficients = target_scale * weights / scales
    return LinearModel(
        ids[order],
        coefficients[order],
        target_centre + target_scale * intercept - float((coefficients * centres).sum()),
        target.classes if is_classification else None,
        is_classification and loss == LOGISTIC,
    )
