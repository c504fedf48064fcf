"""A linear model with an L1 penalty, of columns whose products are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.columns.grafting import descend_coordinates, solve_equations

F64 = NDArray[np.float64]

SWEEPS = 20  # before the equations of the weights that are not 0 are solved
MOST_ROUNDS = 50


def lasso(gram: F64, pulls: F64, penalty: float, enough: float, weights: F64) -> F64:
    """The weights that minimise w'Hw / 2 - pulls'w + penalty |w|_1, from some weights.

    Coordinate descent finds which are not 0. Where it is slow, as with columns that nearly follow from others, those
    are solved for, and the weights go as far towards the solution as none of them changes its sign (Lee, Battle, Raina,
    Ng 2007): along that line the objective falls.
    """
    weights = weights.copy()
    for _ in range(MOST_ROUNDS):
        if descend_coordinates(gram, pulls, penalty, enough, SWEEPS, weights):
            break
        live = np.flatnonzero(weights)
        signs = np.sign(weights[live])
        change = solve_equations(gram, live, pulls[live] - penalty * signs) - weights[live]
        step, first = until_zero(weights[live], -change)
        weights[live] += min(step, 1.0) * change
        if step <= 1.0:
            weights[live[first]] = 0.0
    return weights


def rise(gram: F64, weights: F64) -> tuple[float, int]:
    """By how much the penalty can rise until a weight becomes 0, in a quadratic model of the loss; and which does.

    No weight may be 0. Where no rise does that, as rounding may have it, the smallest weight goes at once.
    """
    more, first = until_zero(weights, solve_equations(gram, np.arange(weights.size), np.sign(weights)))
    return (more, first) if np.isfinite(more) else (0.0, int(np.argmin(np.abs(weights))))


def until_zero(weights: F64, shrink: F64) -> tuple[float, int]:
    """How far weights can go, ``shrink`` less per step, until the first is 0; and which that is."""
    steps = np.full(weights.size, np.inf)
    falls = weights * shrink > 0.0
    steps[falls] = weights[falls] / shrink[falls]
    first = int(np.argmin(steps)) if steps.size else 0
    return (float(steps[first]) if steps.size else np.inf), first
