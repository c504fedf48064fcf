"""Local-learning feature weighting, LOGO (Sun, Todorovic, Goodison 2008)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import spell
from ...kernels.matrix.local_learning import (
    add_up_margins,
    compute_gains,
    compute_pull,
    descend,
    expect_margins,
    search_line,
    weigh_neighbours,
)
from ...kernels.matrix.pairs import distance_deviation
from ...kernels.types import F64, I32, I64
from ...parallel import PARTS
from ...sources.base import Report
from ..base import Method
from ..parameters import BUDGET_OR_NONE, NOT_NEGATIVE, checked, fits, is_number, parameter
from .data import Cost, Pairs
from .learner import MatrixLearner
from .weighing import ROUNDS, SCALE, SIGMA, WeighingRule

MIN_ROOT = 1e-5  # a feature is dropped for good when the root of its weight, v, is no larger
CONVERGED = 1e-7  # of the objective: a step that lowers it by less is the last of a round
NEGLIGIBLE = 1e-3  # of the largest v, far below what ``tol`` can distinguish: it tends to 0
MAX_STEPS = 10_000  # per round
AUTO_WIDTHS = (
    2.0,
    0.5,
    0.03,
)  # standard deviations of the distances: the widths that sigma="auto" tries
MIN_SIGMA = float(np.finfo(np.float64).tiny)


class Trial(NamedTuple):
    """Result of the rounds with one width of the kernel."""

    weights: F64
    rounds: list[dict[str, Any]]
    converged: bool


@dataclass(eq=False, repr=False, kw_only=True)
class LocalLearningParameters:
    """Local-learning feature weighting (Sun, Todorovic, Goodison 2008): nonlinear relevance.

    Every round (section 2 of the paper) computes, for every row, the probability of each other row
    to be its nearest hit or miss under the current weights, then the expected margins of all
    features, then the weights that make the margins large: logistic loss with an L1 penalty. After
    a few rounds few features are left.

    Parameters
    ----------
    n_features_to_select : int, default=None
        Maximum number of features, those with the largest weights. None selects all features with
        a weight above 0.
    sigma : float or "auto", default=2
        Width of the kernel exp(-distance / sigma), which sets the size of a row's neighbourhood.
        "auto" tries three widths, 2, 0.5 and 0.03 standard deviations of the distances between
        rows, measured again in every round, and keeps the converged weights with the smallest
        objective.
    regularization : float, default=1
        Weight of the L1 penalty; a larger one leaves fewer features.
    tol : float, default=0.01
        Tolerance of convergence: the rounds end when the roots of the weights, divided by the
        largest, change by no more than this.
    max_iter : int, default=50
        Maximum number of rounds.
    scale : {"minmax", "standard", "none"}, default="minmax"
        Scaling of every feature: to [0, 1], or to mean 0 and standard deviation 1; "none" does not
        scale the values.

    Attributes
    ----------
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.
    feature_weights_ : ndarray
        The weights of all features.
    n_iter_ : int
        The number of rounds.

    References
    ----------
    Y. Sun, S. Todorovic, S. Goodison: A feature selection algorithm capable of handling
    extremely large data dimensionality. SDM 2008.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.LocalLearning(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    n_features_to_select: int | None = field(
        default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE)
    )
    sigma: float | str = parameter(2, SIGMA)
    regularization: float = parameter(
        1, fits(lambda value: is_number(value) and value > 0, "a number above 0")
    )
    tol: float = parameter(0.01, NOT_NEGATIVE)
    max_iter: int = parameter(50, ROUNDS)
    scale: str = parameter("minmax", SCALE)


class LocalLearningRule(WeighingRule):
    """Alternate between neighbours under the current weights and weights of large margins."""

    # Besides the arrays of a round: distances under the first and the last weights; margins.
    cost: ClassVar[Cost] = Cost(per_pair=24, per_value=4)
    # Of the initial v, in units of 1 / sqrt(features): the result is the same if sigma is large.
    start_size = 1.0

    def advice(self) -> str:
        return (
            "try a smaller penalty:"
            f" {spell('regularization', float(f'{self.params.regularization / 10:g}'))}"
        )

    def passes(self) -> float:
        # Margins cost twice as much as distances, and rounds get shorter.
        return 9.0 * (len(AUTO_WIDTHS) if self.params.sigma == "auto" else 1)

    def solve(self, pairs: Pairs, codes: I32, report: Report) -> tuple[F64, dict[str, Any]]:
        n_features, sigma = pairs.varying.size, self.params.sigma
        v = np.full(n_features, self.start_size / np.sqrt(max(1, n_features)))
        distances = pairs.distances(pairs.varying, v)
        trials: list[Trial] = []
        for width in AUTO_WIDTHS if sigma == "auto" else (float(sigma),):
            n_done = sum(len(trial.rounds) for trial in trials)
            trials.append(self.run_rounds(pairs, codes, width, v, distances, report, n_done))
        best = min(
            trials,
            key=lambda trial: (
                not trial.converged,
                trial.rounds[-1]["objective"] if trial.rounds else np.inf,
            ),
        )
        if not best.converged:
            warnings.warn(
                f"the weights still change after {spell('max_iter', self.params.max_iter)} rounds;"
                " a larger sigma converges sooner",
                stacklevel=2,
            )
        return best.weights, {"rounds": best.rounds, "converged": best.converged}

    def run_rounds(
        self,
        pairs: Pairs,
        codes: I32,
        width: float,
        v: F64,
        distances: F64,
        report: Report,
        n_done: int,
    ) -> Trial:
        """Run rounds with one width of the kernel until the weights converge.

        ``v`` are the initial roots of the weights and ``distances`` those under them; ``n_done``
        rounds of other widths were reported before.
        """
        n_features, params = v.size, self.params
        active, previous = np.arange(n_features), np.ones(n_features)
        rounds: list[dict[str, Any]] = []
        change = np.inf
        while active.size and change > params.tol and len(rounds) < params.max_iter:
            if rounds:
                distances = pairs.distances(pairs.varying[active], v * v)
            unit = distance_deviation(distances, pairs.n_rows) if params.sigma == "auto" else 1.0
            sigma = max(width * unit, MIN_SIGMA)
            v, objective, steps = self.run_round(pairs, codes, active, sigma, v, distances)
            current = v / max(v.max(), MIN_ROOT)
            change = float(np.linalg.norm(current - previous))
            stays = v > MIN_ROOT
            active, v, previous = active[stays], v[stays], current[stays]
            rounds.append(
                {
                    "features": int(stays.size),
                    "sigma": sigma,
                    "steps": steps,
                    "objective": objective,
                    "change": change,
                }
            )
            report("rounds", n_done + len(rounds), None)
        weights = np.zeros(n_features)
        is_heavy = previous > NEGLIGIBLE
        weights[active[is_heavy]] = v[is_heavy] ** 2
        return Trial(weights, rounds, bool(change <= params.tol or not active.size))

    def run_round(
        self, pairs: Pairs, codes: I32, active: I64, sigma: float, v: F64, distances: F64
    ) -> tuple[F64, float, int]:
        """Return what ``minimise`` makes of margins, which follow from the distances."""
        features = pairs.varying[active]
        forth, back = pairs.make_pair_matrix(), pairs.make_pair_matrix()
        pairs.run_in_parts(
            pairs.n_rows,
            lambda first, last, part: weigh_neighbours(
                distances, codes, sigma, first, last, forth, back
            ),
        )
        margins = np.empty((features.size, pairs.width), np.float32)
        pairs.run_over_blocks(
            features,
            lambda first, block, size: expect_margins(
                block[:size], forth, back, margins[first : first + size]
            ),
        )
        return minimise(Margins(pairs, margins, float(self.params.regularization)), v)


LOCAL_LEARNING = Method(
    "local-learning",
    LocalLearningParameters,
    MatrixLearner,
    rule=LocalLearningRule,
    check_variants=({"sigma": "auto"}, {"scale": "standard"}),
)


class Margins:
    """Expected margins of a round, one line per feature, and their objective (equation 2.8)."""

    def __init__(self, pairs: Pairs, z: NDArray[np.float32], regularization: float) -> None:
        self.pairs, self.z, self.regularization = pairs, z, regularization
        self.n_features, self.width = z.shape

    def row_margins(self, v: F64) -> F64:
        """Return the margin of every row under the weights v^2."""
        total, weights = np.zeros((PARTS, self.width)), v * v
        self.pairs.run_in_parts(
            v.size,
            lambda first, last, part: add_up_margins(self.z, weights, first, last, total[part]),
        )
        return np.asarray(total.sum(axis=0))

    def step(self, v: F64, margins: F64, active: I64, guess: float) -> tuple[float, float, F64]:
        """Move ``v`` and the rows' margins to the minimum along the steepest descent.

        Only ``active`` features move. Return the length of the step, the new objective and the
        direction.
        """
        margin_gains, direction = self.margin_gains(margins), np.zeros(self.n_features)
        sums = np.zeros((2, PARTS, self.width))
        slopes = self.pairs.run_in_parts(
            active.size,
            lambda first, last, part: descend(
                self.z,
                v,
                margin_gains,
                self.regularization,
                active,
                first,
                last,
                direction,
                sums[0, part],
                sums[1, part],
            ),
        )
        slope, length = self.regularization * np.sum(slopes, axis=0)
        b, c = sums.sum(axis=1)
        step, objective = search_line(
            guess,
            margins,
            b,
            c,
            self.pairs.n_rows,
            self.regularization * float(v @ v),
            slope,
            length,
        )
        v += step * direction
        margins += step * (2.0 * b + step * c)
        return step, objective, direction

    def margin_gains(self, margins: F64) -> F64:
        """Return the negative derivative of the loss by the margin of every row."""
        gain = np.zeros(self.width)
        compute_pull(margins, self.pairs.n_rows, gain)
        return gain

    def compute_gains(self, margins: F64) -> F64:
        """Return the negative derivative of the loss by the weight of every feature."""
        gain, margin_gains = np.empty(self.n_features), self.margin_gains(margins)
        self.pairs.run_in_parts(
            self.n_features,
            lambda first, last, part: compute_gains(self.z, margin_gains, first, last, gain),
        )
        return gain


def minimise(margins: Margins, start: F64) -> tuple[F64, float, int]:
    """Minimise the objective by steepest descent in v with line search (equation 2.9).

    Return the roots v of the weights, the objective, and the number of steps.

    The objective falls at every step. A step moves every row's margin along a parabola, so the line
    search needs the rows only. Features that are nearly 0 and still shrinking are set aside; when
    the others have converged, all features are checked, and those whose gain exceeds the penalty
    return. The problem is convex in v^2, so the result is the minimum over all features.
    """
    v, row_margins, active = start.copy(), margins.row_margins(start), np.arange(start.size)
    objective, length, shrinking = np.inf, 1.0, True
    for steps in range(1, MAX_STEPS + 1):
        length, new_objective, direction = margins.step(v, row_margins, active, length or 1.0)
        converged = length == 0.0 or (
            steps > 1 and objective - new_objective <= CONVERGED * objective
        )
        objective = new_objective
        if converged:
            is_aside = np.ones(v.size, bool)
            is_aside[active] = False
            returning = np.flatnonzero(
                is_aside & (margins.compute_gains(row_margins) > margins.regularization)
            )
            if not returning.size:
                break
            active, shrinking = np.union1d(active, returning), False
        elif shrinking:
            active = active[(np.abs(v[active]) > MIN_ROOT) | (direction[active] * v[active] > 0.0)]
    return np.abs(v), objective, steps
