"""Measure accuracy against the number of features in one pass.

Every slot of a kept feature belongs to a bucket of ranks: the best ``grid[0]`` features, the next
up to ``grid[1]``, and so on. The score of a row is summed per bucket; the prefix sums are the
scores with only the best ``grid[g]`` features.
"""

from __future__ import annotations

from typing import NamedTuple

from ..arrays import array
from ..jit import kernel
from ..types import F64, I32, I64
from .batch import is_mistake


class Curve(NamedTuple):
    """The buckets of the kept features, and the mistakes or errors per number of features."""

    grid: I64 = array("grid", low=1)  # ascending numbers of features
    bucket: I32 = array("budget", low=0, below="grid")
    mistakes: I64 = array("grid", low=0)  # if classes are learned
    errors: F64 = array("grid", low=0, finite=False)  # if numbers are learned: sum of squares
    sums: F64 = array("grid", "vectors")  # scratch for the current row


@kernel
def count_mistakes(curve: Curve, bias: F64, constant: float, code: int, scores: F64) -> None:
    """Count the mistakes of a row for every number of features, and clear ``curve.sums``."""
    for c in range(scores.size):
        scores[c] = bias[c, 0] * constant
    for g in range(curve.grid.size):
        for c in range(scores.size):
            scores[c] += curve.sums[g, c]
            curve.sums[g, c] = 0.0
        curve.mistakes[g] += is_mistake(scores, code)


@kernel
def count_squares(curve: Curve, start: float, number: float) -> None:
    """Add the squared errors of a row, whose scores begin with ``start``; clear ``curve.sums``."""
    score = start
    for g in range(curve.grid.size):
        score += curve.sums[g, 0]
        curve.sums[g, 0] = 0.0
        curve.errors[g] += (number - score) * (number - score)


@kernel
def count_rows(mistakes: I64, errors: F64, scores: F64, codes: I64, numbers: F64) -> None:
    """Count mistakes or errors by the scores of rows, for a grid of all kept features only."""
    for row in range(scores.shape[0]):
        if codes.size:
            mistakes[0] += is_mistake(scores[row], codes[row])
        else:
            errors[0] += (numbers[row] - scores[row, 0]) * (numbers[row] - scores[row, 0])
