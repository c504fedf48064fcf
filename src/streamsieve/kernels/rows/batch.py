"""Hold rows for learning kernels, filter their features, and turn scores into class steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import kernel
from ..table import probe
from ..types import F64, I32, I64, U8, Bool, Floats, Ints, unsigned

# the multi-class updates of SOFS (Wu, Hoi, Mei, Yu 2017), equations 10 and 11
MAX_SCORE, UNIFORM = 0, 1
ALL_MARKED = np.ones(1, np.uint8)  # marks that exclude no id


class Rows(NamedTuple):
    """A block of rows, ready to be learned.

    ``indices`` are positions, in ascending order of feature id within a row.
    """

    indptr: I64
    indices: Ints
    values: Floats
    codes: I64  # the class of each row, if classes are learned
    numbers: F64  # the target of each row, if numbers are learned
    weights: F64  # the weight of each row
    factors: F64  # the factor of its values
    constants: F64  # the input of the intercept, a share of the mean length; 0 without intercept
    mean_squares: F64  # the mean squared length of the rows so far, this one included
    counted: F64  # the number of rows in that mean, less what is forgotten
    scores: F64  # rows x weight vectors, to be filled in: the scores before the row is learned


@kernel
def max_row_length(indptr: I64) -> int:
    """Return the largest number of entries in a row."""
    length = 0
    for row in range(indptr.size - 1):
        length = max(length, indptr[row + 1] - indptr[row])
    return length


@kernel
def copy_table_entries(
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
    """Copy the entries whose ids are in a table, as positions in it; return their number.

    ``marks``, whose size is a power of two, has a 1 at the lowest bits of every id in the table.
    It rules out most other ids without a branch.
    """
    candidates = np.empty(max_row_length(indptr), np.int64)
    mask = unsigned(marks.size - 1)
    filled = 0
    for row in range(indptr.size - 1):
        n_candidates = 0
        for i in range(unsigned(indptr[row]), unsigned(indptr[row + 1])):
            candidates[n_candidates] = i
            n_candidates += int(marks[unsigned(indices[i]) & mask])
        for c in range(n_candidates):
            i = candidates[c]
            position = table[probe(table, ids, int(indices[i]))] - 1
            if position >= 0:
                kept_indices[filled] = position
                kept_values[filled] = values[i]
                filled += 1
        kept_indptr[row + 1] = filled
    return filled


@kernel
def copy_allowed_entries(
    allowed: Bool,
    indptr: I64,
    indices: Ints,
    values: Floats,
    kept_indptr: I64,
    kept_indices: Ints,
    kept_values: Floats,
) -> int:
    """Copy the entries at allowed positions; return their number.

    Every entry is written; the next one overwrites an entry that is not allowed.
    """
    filled = 0
    for row in range(indptr.size - 1):
        for i in range(unsigned(indptr[row]), unsigned(indptr[row + 1])):
            kept_indices[filled] = indices[i]
            kept_values[filled] = values[i]
            filled += int(allowed[unsigned(indices[i])])
        kept_indptr[row + 1] = filled
    return filled


@kernel
def apply_class_weights(codes: I64, counts: I64, fully: bool, weights: F64) -> None:
    """Multiply ``weights`` by the rarity of each row's class; update ``counts`` per class.

    With ``fully`` the factor is b, the number of rows so far over the number of classes times the
    rows of this class; otherwise the square root of b / 2, but at least 1.
    """
    total = counts.sum()
    for row in range(codes.size):
        counts[codes[row]] += 1
        total += 1
        balanced = total / (counts.size * counts[codes[row]])
        weights[row] *= balanced if fully else max(1.0, np.sqrt(balanced / 2.0))


@kernel
def best_rival(scores: F64, code: int) -> int:
    """Return the class with the largest score except the true one; of equal scores the first."""
    rival = 1 if code == 0 else 0
    for c in range(rival + 1, scores.size):
        if c != code and scores[c] > scores[rival]:
            rival = c
    return rival


@kernel
def set_directions(scores: F64, code: int, rule: int, directions: F64) -> float:
    """Fill in how much the score of each class should rise; return the margin of the true class.

    One score serves two classes: +1 for the second, -1 for the first. With more classes, the true
    class rises by 1, and either the best rival falls by 1 (SOFS eq. 10), or all rivals that do not
    score below the true class fall by 1 in total (eq. 11; if there are none, the best rival).
    """
    if scores.size == 1:
        directions[0] = 1.0 if code == 1 else -1.0
        return float(directions[0] * scores[0])
    directions[:] = 0.0
    directions[code] = 1.0
    n_ahead = 0
    if rule == UNIFORM:
        for c in range(scores.size):
            n_ahead += c != code and scores[c] >= scores[code]
    if n_ahead:
        for c in range(scores.size):
            if c != code and scores[c] >= scores[code]:
                directions[c] = -1.0 / n_ahead
    else:
        directions[best_rival(scores, code)] = -1.0
    margin = 0.0
    for c in range(scores.size):
        margin += directions[c] * scores[c]
    return margin


@kernel
def is_mistake(scores: F64, code: int) -> bool:
    """Return True unless the true class is strictly ahead; a score of 0 or a tie is a mistake."""
    if scores.size == 1:
        return bool((scores[0] if code == 1 else -scores[0]) <= 0.0)
    return bool(scores[code] <= scores[best_rival(scores, code)])
