"""Numbers as a state can hold them: finite, in range, and never to be taken for the name of a slot.

In some states the first entry of a cell is a float32 or, with its sign bit set, the slot of a kept
feature. Whatever data and parameters make of a precision, a negative number, -0.0 or a NaN of
either sign, ``storable`` lets none of them through. All that is stored in such an entry goes
through it, so no arithmetic can make an index.

Late rows are rounded by chance. A float32 has 24 bits: after 2^24 rows of a like size a sum of
squares would stop to grow, and whatever began later would never be kept. From row ``FIRST_LATE_UPDATE`` on,
counting those that taught something, a sum is therefore rounded up with the probability that keeps
its mean right. The chance is a hash of the number of the row: the same in every run over the same
rows, and for all features of a row, so that equal columns stay equal.

In fixed memory, for any number of ids, features that are not kept share cells. A hash of its id
gives a feature a cell, which it has together with many others, and a sign, by which its weight is
in there: the weights of those that share a cell cancel out rather than add up. Kept features have
slots of their own, found by a table as in ``kernels.table``, of slots + 1 by the ids in
``member_id``.
"""

from __future__ import annotations

import numpy as np

from ..chance import GOLDEN, mixed
from ..jit import inlined
from ..types import F32

MAX_FLOAT32 = float(np.finfo(np.float32).max)
BITS_OF_INFINITY = 0x7F800000  # of a float32: finite ones from 0 on are below
MAX_STEP = 1e60
FIRST_LATE_UPDATE = (
    1 << 22
)  # rows that taught something: before, nearest rounding is wrong by an eighth of a square at most
NEAREST = -1  # the noise of rows that are not late
LOST_BITS = 29  # of a float64 that a float32 does not have
LOST = np.int64((1 << LOST_BITS) - 1)
ONE = np.uint64(1)


@inlined
def storable(excess: float) -> float:
    """A precision above its start as a cell can hold it: from 0, its sign bit not set, to the largest float32.

    What is not a number becomes the largest: too much of it made it so.
    """
    return max(0.0, min(MAX_FLOAT32, excess))


@inlined
def bounded(weight: float) -> float:
    """A weight as a cell can hold it: never infinite, always a number."""
    return max(-MAX_FLOAT32, min(MAX_FLOAT32, weight))


@inlined
def limited(step: float) -> float:
    """What a row is multiplied by before it is added to weights: always a number, and so small that none overflows.

    Times the largest float32 and 10^12 rows, a weight is below 10^111: it can be squared.
    """
    return max(-MAX_STEP, min(MAX_STEP, step))


@inlined
def noise_of(updates: int) -> int:
    """How the numbers of a row are rounded, of which this many have taught something: NEAREST, or 29 bits of chance."""
    return int(
        np.int64(mixed(np.uint64(updates) + GOLDEN) & np.uint64(LOST))
        if updates >= FIRST_LATE_UPDATE
        else np.int64(NEAREST)
    )


@inlined
def rounded(number: float, noise: int) -> np.float32:
    """A number as a float32: the nearest, or, if the row is late, the next one up or down by chance."""
    if noise < 0:
        return np.float32(number)
    bits = np.float64(number).view(np.int64)
    return np.float32(np.int64((bits + noise) & ~LOST).view(np.float64))


@inlined
def cell_of(feature: int, n_cells: int) -> tuple[int, float]:
    """Return the cell of a feature that is not kept, and the sign by which it is in there."""
    bits = mixed(np.uint64(feature) + GOLDEN)
    sign = 1.0 if bits & ONE else -1.0
    return int((bits >> ONE) % np.uint64(n_cells)), sign


@inlined
def give_back(
    cells: F32, cell: int, excess_at: int, weight_at: int, excess: float, weight: float
) -> None:
    """Take a feature that was kept into a cell: the mean of the weights by their precisions, which are added.

    ``weight`` is with the sign by which the feature is in the cell.
    """
    total = np.float64(cells[cell, excess_at]) + excess
    if total > 0.0:
        sum_of_weights = (
            np.float64(cells[cell, excess_at]) * cells[cell, weight_at] + excess * weight
        )
        cells[cell, weight_at] = bounded(sum_of_weights / total)
    cells[cell, excess_at] = storable(total)
