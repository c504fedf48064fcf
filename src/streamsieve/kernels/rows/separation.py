"""Whether the scores of rows have to do with their classes, wherever the line between the classes is drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import array
from ..jit import kernel
from ..types import F64, I64
from .batch import is_mistake


class Separation(NamedTuple):
    """What is counted of scores before their rows are learned."""

    hits: I64 = array("classes", low=0)  # rows that are of the class their scores say, less the mean scores
    sums: F64 = array("vectors", finite=False)  # all scores
    rows: I64 = array("classes", low=0)  # rows that have scores


@kernel
def count_hits(separation: Separation, scores: F64, codes: I64) -> None:
    """Judge rows by their scores, a line each, less the mean scores of all rows before; NaN where a row has none.

    Less the mean, a score says which class a row has rather than other rows: where one class is rare, no score may
    reach 0, and the rare class may have the largest ones all the same.
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
        if not is_mistake(centred, codes[row]):
            hits[codes[row]] += 1
        rows[codes[row]] += 1
        n_before += 1
