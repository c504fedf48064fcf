"""Bring numbers into the form that a state can hold: finite, in range, never mistaken for a slot.

In some states the first entry of a cell is a float32 or, with its sign bit set, the slot of a kept
feature. Extreme data and parameters can turn a precision into a negative number, -0.0 or a NaN of
either sign; ``clip_precision`` lets none of them through. Every number stored in such an entry
passes through it, so no arithmetic can produce an index.

Late rows get stochastic rounding. A float32 has 24 bits: after 2^24 rows of similar size a sum of
squares would stop growing, and features that appear later would never be kept. From row
``FIRST_LATE_UPDATE`` on, counting the rows that caused an update, rounding therefore goes up with
the probability that keeps the expected value of a sum. The random bits are a hash of the number of
the update: the same in every run over the same rows, and for all features of a row, so that equal
columns stay equal.

In fixed memory, for any number of ids, features that are not kept share cells. A hash of its id
gives a feature a cell, shared with many others, and a sign by which its weight there is multiplied,
so that the weights of features in one cell cancel out rather than add up. Kept features have their
own slots, looked up in a table as in ``kernels.table``, of slots + 1 by the ids in ``member_id``.
"""

from __future__ import annotations

import numpy as np

from ..chance import GOLDEN, mix_bits
from ..jit import inlined
from ..types import F32

MAX_FLOAT32 = float(np.finfo(np.float32).max)
BITS_OF_INFINITY = 0x7F800000  # of a float32: finite numbers from 0 on have smaller bits
MAX_STEP = 1e60
# number of updates; before it, nearest rounding is wrong by at most an eighth of a square
FIRST_LATE_UPDATE = 1 << 22
NEAREST = -1  # the noise of rows that are not late: round to nearest
LOST_BITS = 29  # bits of a float64 that a float32 does not have
LOST_MASK = np.int64((1 << LOST_BITS) - 1)
ONE = np.uint64(1)


@inlined
def clip_precision(excess: float) -> float:
    """Clip a precision above its start to [0, largest float32], with the sign bit not set.

    A NaN becomes the largest float32, because it comes from an overflow.
    """
    return max(0.0, min(MAX_FLOAT32, excess))


@inlined
def clip_to_float32(weight: float) -> float:
    """Clip a weight to the range of float32, so that it is never infinite or NaN."""
    return max(-MAX_FLOAT32, min(MAX_FLOAT32, weight))


@inlined
def clip_step(step: float) -> float:
    """Clip the step that multiplies a row before it is added to weights.

    It is never NaN, and so small that no weight overflows: times the largest float32 and 10^12
    rows, a weight is below 10^111, so it can be squared.
    """
    return max(-MAX_STEP, min(MAX_STEP, step))


@inlined
def noise_of(updates: int) -> int:
    """Return the rounding of an update: NEAREST, or 29 random bits if it is late."""
    return int(
        np.int64(mix_bits(np.uint64(updates) + GOLDEN) & np.uint64(LOST_MASK))
        if updates >= FIRST_LATE_UPDATE
        else np.int64(NEAREST)
    )


@inlined
def rounded(number: float, noise: int) -> np.float32:
    """Round a number to float32: to nearest, or stochastically up or down if the row is late."""
    if noise < 0:
        return np.float32(number)
    bits = np.float64(number).view(np.int64)
    return np.float32(np.int64((bits + noise) & ~LOST_MASK).view(np.float64))


@inlined
def cell_of(feature: int, n_cells: int) -> tuple[int, float]:
    """Return the cell of a feature that is not kept, and the sign of its weight there."""
    bits = mix_bits(np.uint64(feature) + GOLDEN)
    sign = 1.0 if bits & ONE else -1.0
    return int((bits >> ONE) % np.uint64(n_cells)), sign


@inlined
def merge_into_cell(
    cells: F32, cell: int, excess_column: int, weight_column: int, excess: float, weight: float
) -> None:
    """Merge a feature that was kept into a cell.

    The new weight is the mean of both weights by their precisions; the precisions are added.
    ``weight`` has the sign of the feature in the cell.
    """
    total = np.float64(cells[cell, excess_column]) + excess
    if total > 0.0:
        sum_of_weights = (
            np.float64(cells[cell, excess_column]) * cells[cell, weight_column] + excess * weight
        )
        cells[cell, weight_column] = clip_to_float32(sum_of_weights / total)
    cells[cell, excess_column] = clip_precision(total)
