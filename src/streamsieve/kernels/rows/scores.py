"""Compute scores of rows, count their errors, and measure whether they separate the classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import array
from ..jit import kernel
from ..table import probe
from ..types import F64, I32, I64, Floats, Ints
from .batch import is_mistake
from .scaling import squares_of

# entries of ``totals``: the sum of row weights; mean and squared deviations of the targets; the sum
# of squared errors
WEIGHT, MEAN, DEVIATIONS, ERRORS = 0, 1, 2, 3
ENTRIES = 4


class Separation(NamedTuple):
    """Counts of scores before their rows are learned, to test whether they separate the classes."""

    hits: I64 = array("classes", low=0)  # rows whose centred scores predict their class
    sums: F64 = array("vectors", finite=False)  # sums of all scores
    rows: I64 = array("classes", low=0)  # rows that have scores


@kernel
def score_rows(
    table: I32,
    ids: I64,
    weights: F64,
    indptr: I64,
    indices: Ints,
    values: Floats,
    unit_length: bool,
    scores: F64,
) -> None:
    """Add to ``scores[r, c]`` the sum of ``weights[j, c] * value`` over the features j of row r.

    Only features in the table have weights. With ``unit_length`` the sum is divided by the length
    of the row.
    """
    for row in range(scores.shape[0]):
        factor = 1.0
        if unit_length:
            squares = squares_of(values, indptr[row], indptr[row + 1])
            # scaled values may all be 0
            factor = 1.0 / np.sqrt(squares) if squares > 0.0 else 1.0
        for i in range(indptr[row], indptr[row + 1]):
            position = table[probe(table, ids, int(indices[i]))] - 1
            if position >= 0:
                for c in range(scores.shape[1]):
                    scores[row, c] += weights[position, c] * (values[i] * factor)


@kernel
def measure_squares(indptr: I64, values: Floats, squares: F64) -> None:
    """Fill in the squared length of every row."""
    for row in range(squares.size):
        squares[row] = squares_of(values, indptr[row], indptr[row + 1])


@kernel
def count_errors(numbers: F64, scores: F64, weights: F64, totals: F64) -> None:
    """Add rows to ``totals``: mean and squared deviations of the targets (Welford), squared errors.

    Given    numbers: the targets; scores: the prediction for each row before it was learned, one
             column; weights: of the rows.
    """
    for row in range(numbers.size):
        totals[WEIGHT] += weights[row]
        deviation = numbers[row] - totals[MEAN]
        totals[MEAN] += weights[row] * deviation / totals[WEIGHT]
        totals[DEVIATIONS] += weights[row] * deviation * (numbers[row] - totals[MEAN])
        error = numbers[row] - scores[row, 0]
        totals[ERRORS] += weights[row] * error * error


@kernel
def count_hits(separation: Separation, scores: F64, codes: I64) -> None:
    """Count the rows whose class is predicted by their scores less the mean scores so far.

    Given    scores: one line per row, NaN if a row has none; codes: the class of each row.
    Back     ``separation``, changed in place.

    Less the mean, a score compares a row with the other rows: if a class is rare, its rows may have
    the largest scores although none of these reaches 0.
    """
    hits, sums, rows = separation.hits, separation.sums, separation.rows
    centred = np.empty(sums.size)
    n_before = rows.sum()
    for row in range(codes.size):
        if np.isnan(scores[row, 0]):
            continue
        n_rows = max(1, n_before)
        for c in range(sums.size):
            centred[c] = scores[row, c] - sums[c] / n_rows
            sums[c] += scores[row, c]
        hits[codes[row]] += not is_mistake(centred, codes[row])
        rows[codes[row]] += 1
        n_before += 1
