"""Fixed memory for any number of ids: features that are not kept share cells.

A hash of its id gives a feature a cell, which it has together with many others, and a sign, by which its weight is in
there: the weights of those that share a cell cancel out rather than add up. Kept features have slots of their own,
found by a table as in ``kernels.table``, of slots + 1 by the ids in ``member_id``.
"""

from __future__ import annotations

import numpy as np

from ..jit import inlined
from ..types import F32
from .confidence import bounded, storable

# splitmix64 (Steele, Lea, Flood 2014)
INCREMENT = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
FIRST_SHIFT, SECOND_SHIFT, LAST_SHIFT = np.uint64(30), np.uint64(27), np.uint64(31)
ONE = np.uint64(1)


@inlined
def cell_of(feature: int, n_cells: int) -> tuple[int, float]:
    """The cell of a feature that is not kept, and the sign by which it is in there."""
    bits = np.uint64(feature) + INCREMENT
    bits = (bits ^ (bits >> FIRST_SHIFT)) * FIRST_FACTOR
    bits = (bits ^ (bits >> SECOND_SHIFT)) * SECOND_FACTOR
    bits = bits ^ (bits >> LAST_SHIFT)
    sign = 1.0 if bits & ONE else -1.0
    return int((bits >> ONE) % np.uint64(n_cells)), sign


@inlined
def give_back(cells: F32, cell: int, excess_at: int, weight_at: int, excess: float, weight: float) -> None:
    """Take a feature that was kept into a cell: the mean of the weights by their precisions, which are added.

    ``weight`` is with the sign by which the feature is in the cell.
    """
    total = np.float64(cells[cell, excess_at]) + excess
    if total > 0.0:
        sum_of_weights = np.float64(cells[cell, excess_at]) * cells[cell, weight_at] + excess * weight
        cells[cell, weight_at] = bounded(sum_of_weights / total)
    cells[cell, excess_at] = storable(total)
