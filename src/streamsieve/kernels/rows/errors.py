"""How far online predictions of numbers are off."""

from __future__ import annotations

from ..jit import kernel
from ..types import F64

WEIGHT, MEAN, DEVIATIONS, ERRORS = 0, 1, 2, 3  # ``totals``: of row weights; of targets; and of squared errors
ENTRIES = 4


@kernel
def count_errors(numbers: F64, scores: F64, weights: F64, totals: F64) -> None:
    """Take rows into ``totals``: mean and squared deviations of the targets (Welford), squares of what they are off.

    Given    numbers: the targets; scores: what was predicted before each row was learned, one column; weights: of rows.
    """
    for row in range(numbers.size):
        totals[WEIGHT] += weights[row]
        off = numbers[row] - totals[MEAN]
        totals[MEAN] += weights[row] * off / totals[WEIGHT]
        totals[DEVIATIONS] += weights[row] * off * (numbers[row] - totals[MEAN])
        error = numbers[row] - scores[row, 0]
        totals[ERRORS] += weights[row] * error * error
