"""Columns as sums of squares can take them, and those that 32-bit numbers could not hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...kernels.columns.centring import centre_columns
from .base import in_parts


def centred(block: ColumnBlock) -> NDArray[np.float64]:
    """The values of a block, columns shifted and in other units where that helps; for what depends on neither."""
    out = np.empty(block.values.size)
    in_parts(block, lambda a, b: centre_columns(block.indptr, block.values, block.n_rows, a, b, out))
    return out
