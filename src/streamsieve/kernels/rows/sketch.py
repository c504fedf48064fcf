"""Fixed memory for any number of ids: features that are not kept share cells.

A hash of its id gives a feature a cell, which it has together with many others, and a sign, by which its weight is in
there: the weights of those that share a cell cancel out rather than add up. Kept features have slots of their own,
found by a table as in ``kernels.table``, of slots + 1 by the ids in ``member_id``.
"""

from __future__ import annotations

import numpy as np

from ..chance import GOLDEN, mixed
from ..jit import inlined
from ..types import F32
from .storing import bounded, storable

ONE = np.uint64(1)


@inlined
def cell_of(feature: int, n_cells: int) -> tuple[int, float]:
    """The cell of a feature that is not kept, and the sign by which it is in there."""
    bits = mixed(np.uint64(feature) + GOLDEN)
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
