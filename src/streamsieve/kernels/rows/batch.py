"""Rows as the learning kernels take them, some features of each, and what multi-class learning does with scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import kernel
from ..table import probe
from ..types import F64, I32, I64, U8, Bool, Floats, Ints, unsigned

MAX_SCORE, UNIFORM = (
    0,
    1,
)  # the multi-class updates of SOFS (Wu, Hoi, Mei, Yu 2017), equations 10 and 11
ALL_MARKED = np.ones(1, np.uint8)  # marks that say nothing


class Rows(NamedTuple):
    """A block of rows, ready to learn: ``indices`` are positions in ascending order of feature id within a row."""

    indptr: I64
    indices: Ints
    values: Floats
    codes: I64  # which class a row has, where classes are learned
    numbers: F64  # its target, where numbers are
    weights: F64  # how much it counts
    factors: F64  # what its values are multiplied by
    constants: (
        F64  # the input of the intercept, where that is a part of the mean length; 0 without one
    )
    mean_squares: F64  # the mean squared length of the rows so far, this one included
    counted: F64  # how many rows that mean is over, as far as they are not forgotten
    scores: F64  # rows x vectors of weights, to be filled in: the scores before the row is learned


@kernel
def longest_row(indptr: I64) -> int:
    longest = 0
    for row in range(indptr.size - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    return longest


@kernel
def keep_known(
    marks: U8,
    table: I32,
    ids: I64,
    indptr: I64,
    indices: Ints,
    values: Floats,
    kept_indptr: I64,
    kept_indices: Ints,
    kept_values: Floats,
) -> int:
    """Copy the entries of features in a table of few, numbered by their position in it; return how many there are.

    ``marks``, of a size that is a power of two, has a 1 at the lowest bits of every id in the
    table. Most features are found to be absent by that, without a branch.
    """
    found = np.empty(longest_row(indptr), np.int64)
    mask = unsigned(marks.size - 1)
    filled = 0
    for row in range(indptr.size - 1):
        n_found = 0
        for i in range(unsigned(indptr[row]), unsigned(indptr[row + 1])):
            found[n_found] = i
            n_found += int(marks[unsigned(indices[i]) & mask])
        for at in range(n_found):
            i = found[at]
            position = table[probe(table, ids, int(indices[i]))] - 1
            if position >= 0:
                kept_indices[filled] = position
                kept_values[filled] = values[i]
                filled += 1
        kept_indptr[row + 1] = filled
    return filled


@kernel
def keep_allowed(
    allowed: Bool,
    indptr: I64,
    indices: Ints,
    values: Floats,
    kept_indptr: I64,
    kept_indices: Ints,
    kept_values: Floats,
) -> int:
    """Copy the entries at positions that are allowed; return how many. All are written, those not allowed over."""
    filled = 0
    for row in range(indptr.size - 1):
        for i in range(unsigned(indptr[row]), unsigned(indptr[row + 1])):
            kept_indices[filled] = indices[i]
            kept_values[filled] = values[i]
            filled += int(allowed[unsigned(indices[i])])
        kept_indptr[row + 1] = filled
    return filled


@kernel
def balance(codes: I64, counts: I64, fully: bool, weights: F64) -> None:
    """Multiply ``weights`` by how rare the classes of rows are; ``counts`` per class go on.

    ``fully``: by b, the rows so far over those of the row's class times the classes; otherwise by
    the root of b / 2, where that is above 1.
    """
    total = counts.sum()
    for row in range(codes.size):
        counts[codes[row]] += 1
        total += 1
        balanced = total / (counts.size * counts[codes[row]])
        weights[row] *= balanced if fully else max(1.0, np.sqrt(balanced / 2.0))


@kernel
def best_rival(scores: F64, code: int) -> int:
    """The class of largest score beside the true one; of equal scores the first."""
    rival = 1 if code == 0 else 0
    for c in range(rival + 1, scores.size):
        if c != code and scores[c] > scores[rival]:
            rival = c
    return rival


@kernel
def set_directions(scores: F64, code: int, rule: int, directions: F64) -> float:
    """Fill in by how much each class's score should rise; the margin, by which the true class is ahead.

    One score serves two classes: +1 for the second, -1 for the first. With more, the true class
    rises by 1 and the best rival falls by 1 (SOFS eq. 10), or all that score no less than it by 1
    together (eq. 11; if there is none, the best rival).
    """
    if scores.size == 1:
        directions[0] = 1.0 if code == 1 else -1.0
        return float(directions[0] * scores[0])
    directions[:] = 0.0
    directions[code] = 1.0
    ahead = 0
    if rule == UNIFORM:
        for c in range(scores.size):
            ahead += c != code and scores[c] >= scores[code]
    if ahead:
        for c in range(scores.size):
            if c != code and scores[c] >= scores[code]:
                directions[c] = -1.0 / ahead
    else:
        directions[best_rival(scores, code)] = -1.0
    margin = 0.0
    for c in range(scores.size):
        margin += directions[c] * scores[c]
    return margin


@kernel
def is_mistake(scores: F64, code: int) -> bool:
    """Whether the true class is not strictly ahead: a score of exactly 0, or a tie, counts as a mistake."""
    if scores.size == 1:
        return bool((scores[0] if code == 1 else -scores[0]) <= 0.0)
    return bool(scores[code] <= scores[best_rival(scores, code)])
