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
    descend,
    expect_margins,
    gains,
    pull_of,
    search_line,
    weigh_neighbours,
)
from ...kernels.matrix.pairs import spread_of
from ...kernels.types import F64, I32, I64
from ...parallel import PARTS
from ...sources.base import Report
from ..base import Method
from ..parameters import BUDGET_OR_NONE, checked, fits, is_number, parameter
from .data import Cost, Pairs
from .learner import MatrixLearner
from .weighing import ROUNDS, SCALE, SIGMA, TOLERANCE, WeighingRule

LEAVES = 1e-5  # a feature leaves for good when the root of its weight, v, is no larger
CONVERGED = 1e-7  # of the objective: a step that lowers it by less is the last of a round
NEGLIGIBLE = 1e-3  # of the largest v, far below what ``tol`` can distinguish: on its way to 0
MAX_STEPS = 10_000  # of a round
AUTO = (2.0, 0.5, 0.03)  # standard deviations of the distances: the widths that sigma="auto" tries
TINY = float(np.finfo(np.float64).tiny)


class Descent(NamedTuple):
    """Where a round's descent ended."""

    v: F64
    objective: float
    steps: int


class Trial(NamedTuple):
    """What the rounds with one width of the kernel came to."""

    weights: F64
    rounds: list[dict[str, Any]]
    converged: bool

    @property
    def objective(self) -> float:
        """Of the last round; infinite if there was none."""
        return float(self.rounds[-1]["objective"]) if self.rounds else np.inf


@dataclass(eq=False, repr=False, kw_only=True)
class LocalLearningParameters:
    """Local-learning feature weighting (Sun, Todorovic, Goodison 2008, section 2): relevance that is not linear.

    Every round weighs for every row how likely each other row is its nearest hit or miss under the
    weights so far, takes the expected margins of all features, and finds the weights that make the
    margins large: logistic loss with an L1 penalty. Few rounds leave few features.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None selects all features of weight above 0; a number the heaviest of them.
    sigma : float or "auto", default=2
        Width of the kernel exp(-distance / sigma): how far a row looks. "auto" tries three, 2, 0.5
        and 0.03 standard deviations of the distances between rows, measured anew in every round,
        and keeps of the weights that converge those with the least objective.
    regularization : float, default=1
        Weight of the L1 penalty; more leaves fewer features.
    tol : float, default=0.01
        A round that changes the roots of the weights, divided by the largest, by no more than this
        is the last.
    max_iter : int, default=50
        The most rounds.
    scale : {"minmax", "standard", "none"}, default="minmax"
        Brings every feature to [0, 1], or to mean 0 and deviation 1; "none" takes the values as
        they are.
    """

    n_features_to_select: int | None = field(
        default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE)
    )
    sigma: float | str = parameter(2, SIGMA)
    regularization: float = parameter(
        1, fits(lambda value: is_number(value) and value > 0, "a number above 0")
    )
    tol: float = parameter(0.01, TOLERANCE)
    max_iter: int = parameter(50, ROUNDS)
    scale: str = parameter("minmax", SCALE)


class LocalLearningRule(WeighingRule):
    """Rounds of neighbours under the weights so far, and weights that make the margins to them large."""

    # Beside those of a round, the distances under the first weights and under the last; margins.
    cost: ClassVar[Cost] = Cost(per_pair=24, per_value=4)
    start_size = 1.0  # of v, in units of 1 / sqrt(features): any gives the same weights if sigma is large enough

    def advice(self) -> str:
        return (
            "try a smaller penalty:"
            f" {spell('regularization', float(f'{self.params.regularization / 10:g}'))}"
        )

    def passes(self) -> float:
        return 9.0 * (
            len(AUTO) if self.params.sigma == "auto" else 1
        )  # margins cost twice; rounds get shorter

    def solve(self, pairs: Pairs, codes: I32, report: Report) -> tuple[F64, dict[str, Any]]:
        n_features, sigma = pairs.varying.size, self.params.sigma
        v = np.full(n_features, self.start_size / np.sqrt(max(1, n_features)))
        distances = pairs.distances(pairs.varying, v)
        tries: list[Trial] = []
        for width in AUTO if sigma == "auto" else (float(sigma),):
            done = sum(len(trial.rounds) for trial in tries)
            tries.append(self.run_rounds(pairs, codes, width, v, distances, report, done))
        best = min(tries, key=lambda trial: (not trial.converged, trial.objective))
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
        done: int,
    ) -> Trial:
        """Run rounds with a width of the kernel, from a start and the distances under it, until weights converge.

        ``done`` rounds have been reported before, of other widths.
        """
        n_features, params = v.size, self.params
        live, last = np.arange(n_features), np.ones(n_features)
        rounds: list[dict[str, Any]] = []
        change = np.inf
        while live.size and change > params.tol and len(rounds) < params.max_iter:
            if rounds:
                distances = pairs.distances(pairs.varying[live], v * v)
            unit = spread_of(distances, pairs.n_rows) if params.sigma == "auto" else 1.0
            sigma = max(width * unit, TINY)
            ended = self.run_round(pairs, codes, live, sigma, v, distances)
            v = ended.v
            now = v / max(v.max(), LEAVES)
            change = float(np.linalg.norm(now - last))
            stay = v > LEAVES
            live, v, last = live[stay], v[stay], now[stay]
            reached = {"steps": ended.steps, "objective": ended.objective, "change": change}
            rounds.append({"features": int(stay.size), "sigma": sigma, **reached})
            report("rounds", done + len(rounds), None)
        weights = np.zeros(n_features)
        heavy = last > NEGLIGIBLE
        weights[live[heavy]] = v[heavy] ** 2
        return Trial(weights, rounds, bool(change <= params.tol or not live.size))

    def run_round(
        self, pairs: Pairs, codes: I32, live: I64, sigma: float, v: F64, distances: F64
    ) -> Descent:
        """Return new weights from margins, margins from probabilities, probabilities from the distances."""
        features = pairs.varying[live]
        forth, back = pairs.pair_matrix(), pairs.pair_matrix()

        def weigh(first: int, last: int, part: int) -> None:
            weigh_neighbours(distances, codes, sigma, first, last, forth, back)

        pairs.in_parts(pairs.n_rows, weigh)
        margins = np.empty((features.size, pairs.width), np.float32)

        def expect(first: int, block: NDArray[np.float32], size: int) -> None:
            expect_margins(block[:size], forth, back, margins[first : first + size])

        pairs.over_blocks(features, expect)
        return minimise(Margins(pairs, margins, float(self.params.regularization)), v)


LOCAL_LEARNING = Method(
    "local-learning",
    LocalLearningParameters,
    MatrixLearner,
    rule=LocalLearningRule,
    check_variants=({"sigma": "auto"}, {"scale": "standard"}),
)


class Margins:
    """The expected margins of a round, a line per feature, and the objective over them (equation 2.8)."""

    def __init__(self, pairs: Pairs, z: NDArray[np.float32], regularization: float) -> None:
        self.pairs, self.z, self.regularization = pairs, z, regularization
        self.n_features, self.width = z.shape

    def under(self, v: F64) -> F64:
        """The margin of every row under the weights v^2."""
        total, weights = np.zeros((PARTS, self.width)), v * v
        self.pairs.in_parts(
            v.size,
            lambda first, last, part: add_up_margins(self.z, weights, first, last, total[part]),
        )
        return np.asarray(total.sum(axis=0))

    def step(self, v: F64, at: F64, active: I64, guess: float) -> tuple[float, float, F64]:
        """Move ``v`` and the rows' margins ``at`` to the minimum along the steepest descent of the active features.

        Back: the step's length, the objective there, and the direction.
        """
        pull, d = self.pull(at), np.zeros(self.n_features)
        sums = np.zeros((2, PARTS, self.width))

        def go(first: int, last: int, part: int) -> Any:
            return descend(
                self.z,
                v,
                pull,
                self.regularization,
                active,
                first,
                last,
                d,
                sums[0, part],
                sums[1, part],
            )

        along, length = self.regularization * np.sum(self.pairs.in_parts(active.size, go), axis=0)
        b, c = sums.sum(axis=1)
        penalty = self.regularization * float(v @ v)
        step, reached = search_line(guess, at, b, c, self.pairs.n_rows, penalty, along, length)
        v += step * d
        at += step * (2.0 * b + step * c)
        return step, reached, d

    def pull(self, at: F64) -> F64:
        """How much every row wants a larger margin."""
        pull = np.zeros(self.width)
        pull_of(at, self.pairs.n_rows, pull)
        return pull

    def gains(self, at: F64) -> F64:
        """By how much the loss falls per weight of every feature."""
        gain, pull = np.empty(self.n_features), self.pull(at)
        self.pairs.in_parts(
            self.n_features, lambda first, last, part: gains(self.z, pull, first, last, gain)
        )
        return gain


def minimise(margins: Margins, start: F64) -> Descent:
    """Steepest descent in v with line search (equation 2.9), the objective falling at every step.

    A step moves every row's margin along a parabola, so the search along a line needs the rows
    alone. Features that are as good as gone and still shrinking are put aside; when the others have
    converged, all are looked at again, and those that the objective wants back come back. The
    problem is convex in v^2: what is found so is the minimum over all features.
    """
    v, at, active = start.copy(), margins.under(start), np.arange(start.size)
    value, length, shrinking = np.inf, 1.0, True
    for steps in range(1, MAX_STEPS + 1):
        length, reached, d = margins.step(v, at, active, length or 1.0)
        converged = length == 0.0 or (steps > 1 and value - reached <= CONVERGED * value)
        value = reached
        if converged:
            aside = np.ones(v.size, bool)
            aside[active] = False
            wanted = np.flatnonzero(aside & (margins.gains(at) > margins.regularization))
            if not wanted.size:
                break
            active, shrinking = np.union1d(active, wanted), False
        elif shrinking:
            active = active[(np.abs(v[active]) > LEAVES) | (d[active] * v[active] > 0.0)]
    return Descent(np.abs(v), value, steps)
