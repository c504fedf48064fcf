"""Accuracy against the number of features, from one pass.

Every slot of the kept features belongs to a bucket of ranks: the best ``grid[0]``, the next up to
``grid[1]``, and so on. A row's score is summed per bucket; the prefix sums are the scores with the
best ``grid[g]`` features alone.
"""

from __future__ import annotations

from typing import NamedTuple

from ..arrays import array
from ..jit import kernel
from ..types import F64, I32, I64
from .batch import is_mistake


class Curve(NamedTuple):
    grid: I64 = array("grid", low=1)  # ascending numbers of features
    bucket: I32 = array("budget", low=0, below="grid")
    mistakes: I64 = array("grid", low=0)  # where classes are learned
    errors: F64 = array("grid", low=0, finite=False)  # where numbers are: the sum of squares
    sums: F64 = array("grid", "vectors")  # scratch of the row at hand


@kernel
def count_mistakes(curve: Curve, bias: F64, constant: float, code: int, scores: F64) -> None:
    """Judge the row whose bucket sums are in ``curve.sums`` with every number of features, and clear the sums."""
    for c in range(scores.size):
        scores[c] = bias[c, 0] * constant
    for g in range(curve.grid.size):
        for c in range(scores.size):
            scores[c] += curve.sums[g, c]
            curve.sums[g, c] = 0.0
        curve.mistakes[g] += is_mistake(scores, code)


@kernel
def count_squares(curve: Curve, start: float, number: float) -> None:
    """Judge the row of target ``number`` whose bucket sums, beside ``start``, are in ``curve.sums``; clear the sums."""
    score = start
    for g in range(curve.grid.size):
        score += curve.sums[g, 0]
        curve.sums[g, 0] = 0.0
        curve.errors[g] += (number - score) * (number - score)


@kernel
def count_rows(mistakes: I64, errors: F64, scores: F64, codes: I64, numbers: F64) -> None:
    """Judge rows by the scores they had, for a curve whose grid has one number: that of all kept features."""
    for row in range(scores.shape[0]):
        if codes.size:
            mistakes[0] += is_mistake(scores[row], codes[row])
        else:
            errors[0] += (numbers[row] - scores[row, 0]) * (numbers[row] - scores[row, 0])
