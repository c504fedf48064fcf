"""Columns as sums of squares can take them, and those that 32-bit numbers could not hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...kernels.columns.centring import LARGEST, centre_columns, find_far
from .parts import in_parts


def centred(block: ColumnBlock) -> NDArray[np.float64]:
    """The values of a block, columns shifted and in other units where that helps; for what depends on neither."""
    far, values = np.zeros(block.n_columns, bool), block.values
    any_large = max(np.fmax.reduce(values, initial=0.0), -np.fmin.reduce(values, initial=0.0)) > LARGEST
    in_parts(block, lambda a, b: find_far(block.indptr, values, block.n_rows, a, b, any_large, far))
    if not far.any():
        return values
    out = values.copy()
    in_parts(block, lambda a, b: centre_columns(block.indptr, block.n_rows, far, a, b, out))
    out.flags.writeable = False  # as the values of a block are: kernels are compiled for one of the two
    return out
