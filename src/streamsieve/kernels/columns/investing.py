"""Alpha-investing (Zhou, Foster, Stine, Ungar 2006): columns for a linear model.

Each column is tested at a level that the columns before it have earned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import NO_ID, array
from ..jit import kernel
from ..types import F64, I32, I64
from .dependence import CONSTANT

SEEN, KEPT = 0, 1  # entries of ``counts``


class InvestingState(NamedTuple):
    """The kept columns, as a basis, and the wealth."""

    ids: I64 = array("slots", low=0, below=NO_ID)
    scores: F64 = array("slots")  # -log p when the column was tested
    basis: F64 = array("slots", "rows")  # orthonormal, and orthogonal to the constant
    residual: F64 = array("rows")  # of the target
    wealth: F64 = array(1)  # what is left to spend
    error: F64 = array(1)  # the sum of squares of the residual
    counts: I64 = array(2, low=0)  # features seen, the constant among them; kept


@kernel
def invest_in_columns(
    state: InvestingState,
    payout: float,
    indptr: I64,
    indices: I32,
    values: F64,
    ids: I64,
    start: int,
) -> int:
    """Test columns from ``start`` on, one by one; return the number of columns done.

    Problem  the i-th feature, the constant being the first, is tested at alpha_i = wealth / (2 i):
                 p = exp((sse_new - sse) / (2 sse / n));  if p < alpha_i it is kept and earns
             ``payout``; alpha_i is spent in any case. sse is that of the least-squares fit with the
             constant and the kept features, sse_new with this one more.
    Given    values: as ``centre_columns`` gives them.
    Back     ``state``, changed in place. It stops early when there is no free slot.

    With an orthonormal basis Q of the kept columns, a column x is tested by x'Q and x'r alone, r
    being the residual: O(non-zeros x kept); only a column that is kept costs O(rows x kept).
    """
    counts, basis, residual = state.counts, state.basis, state.residual
    n_rows = residual.size
    for column in range(start, ids.size):
        if counts[KEPT] == basis.shape[0]:
            return column
        counts[SEEN] += 1
        alpha = state.wealth[0] / (2.0 * counts[SEEN])
        begin, end = indptr[column], indptr[column + 1]
        total = gain = 0.0
        for i in range(begin, end):
            total += values[i]
            gain += values[i] * residual[indices[i]]
        mean = total / n_rows
        spread = (n_rows - (end - begin)) * mean * mean
        for i in range(begin, end):
            spread += (values[i] - mean) ** 2
        new = spread
        for slot in range(counts[KEPT]):
            projection = 0.0
            for i in range(begin, end):
                projection += values[i] * basis[slot, indices[i]]
            new -= projection * projection
        sse = state.error[0]
        drop = gain * gain / new if new > CONSTANT * spread else 0.0
        score = min(drop, sse) / (2.0 * sse / n_rows) if sse > 0.0 else 0.0
        if np.exp(-score) < alpha:
            add_to_basis(state, indptr, indices, values, column)
            state.ids[counts[KEPT]] = ids[column]
            state.scores[counts[KEPT]] = score
            counts[KEPT] += 1
            state.wealth[0] += payout
        state.wealth[0] -= alpha
    return int(ids.size)


@kernel
def add_to_basis(
    state: InvestingState, indptr: I64, indices: I32, values: F64, column: int
) -> None:
    """Append a column to the basis, and remove its part from the residual.

    It is made orthogonal twice, against rounding.
    """
    kept, residual = state.counts[KEPT], state.residual
    vector = state.basis[kept]
    vector[:] = 0.0
    for i in range(indptr[column], indptr[column + 1]):
        vector[indices[i]] = values[i]
    for _ in range(2):
        vector -= vector.mean()
        for slot in range(kept):
            vector -= (vector * state.basis[slot]).sum() * state.basis[slot]
    vector /= np.sqrt((vector * vector).sum())
    residual -= (vector * residual).sum() * vector
    state.error[0] = (residual * residual).sum()
