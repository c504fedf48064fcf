"""One row of values by id, as blocks have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..jit import kernel
from ..types import F64, Floats

NOT_FINITE = -1

Ids = NDArray[Any]  # int32 or int64


@kernel
def settle_row(ids: Ids, values: F64, kept_ids: Ids, kept_values: Floats) -> int:
    """Copy the entries of a row in order of id, without those that are 0 in float32; how many there are.

    Values of the same id are added. ``NOT_FINITE`` if a value is none, or too large for float32.
    """
    n_entries = ids.size
    ascending = True
    for i in range(1, n_entries):
        ascending &= ids[i - 1] < ids[i]
    order = np.arange(n_entries) if ascending else np.argsort(ids, kind="mergesort")  # which is stable
    filled = at = 0
    while at < n_entries:
        feature, total = ids[order[at]], values[order[at]]
        at += 1
        while at < n_entries and ids[order[at]] == feature:
            total += values[order[at]]
            at += 1
        rounded = np.float32(total)
        if not np.isfinite(rounded):
            return NOT_FINITE
        kept_ids[filled], kept_values[filled] = feature, total
        filled += rounded != 0.0
    return filled
