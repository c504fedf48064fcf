"""Learn a weight for every feature: online gradient descent, FOBOS with L1, diagonal AROW.

FOBOS: Duchi, Singer 2009. AROW: Crammer, Kulesza, Dredze 2009.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import array
from ..jit import kernel
from ..types import F64, I64
from .batch import MAX_SCORE, Rows, is_mistake, max_row_length, set_directions
from .first_order import ON_LOSS, set_steps
from .members import COUNTS, MISTAKES, UPDATES
from .storing import clip_step, clip_to_float32

MAX_SUM = 1e200  # of the terms x^2 / gamma of a precision


class GradientState(NamedTuple):
    """The weights of all features, and the penalty that is subtracted from them lazily."""

    weight: F64 = array("features", "vectors")
    penalty_paid: F64 = array("features", low=0)  # the penalty subtracted from its weights so far
    penalty_owed: F64 = array(1, low=0)  # the total penalty since the start
    bias: F64 = array("vectors", 1)
    counts: I64 = COUNTS  # unused, mistakes, updates


class ArowState(NamedTuple):
    """The precisions and weights of all features: a row of ``cells`` has 1/S - 1, then mu."""

    cells: F64 = array("features", "cell_width", low=-MAX_SUM, below=MAX_SUM, finite=False)
    bias: F64 = array("vectors", 2, low=-MAX_SUM, below=MAX_SUM, finite=False)
    counts: I64 = COUNTS  # unused, mistakes, updates


@kernel
def gradient_update(state: GradientState, rows: Rows, eta: float, penalty: float) -> None:
    """Learn the rows of one block, in order.

    Problem  per row, one class against the rest:
                 if 1 - y_c w_c.x > 0:  w_c += eta y_c x
             then every |w_cj| falls by eta ``penalty``, at most to 0 (FOBOS with L1; OGD is
             penalty 0).
    Back     ``state``, changed in place.

    The penalty is subtracted when a feature next appears, for all rows in between at once: O(m) per
    row.
    """
    weight, penalty_paid = state.weight, state.penalty_paid
    n_classes = weight.shape[1]
    scores, steps = np.empty(n_classes), np.empty(n_classes)
    for row in range(rows.codes.size):
        begin, end = rows.indptr[row], rows.indptr[row + 1]
        factor = rows.factors[row]
        for c in range(n_classes):
            scores[c] = state.bias[c, 0] * rows.constants[row]
        for i in range(begin, end):
            position = rows.indices[i]
            debt = state.penalty_owed[0] - penalty_paid[position]
            penalty_paid[position] = state.penalty_owed[0]
            for c in range(n_classes):
                w = weight[position, c]
                weight[position, c] = max(0.0, w - debt) if w > 0 else min(0.0, w + debt)
                scores[c] += weight[position, c] * (rows.values[i] * factor)
        rows.scores[row] = scores
        state.counts[MISTAKES] += is_mistake(scores, rows.codes[row])
        learns = set_steps(scores, rows.codes[row], ON_LOSS, eta * rows.weights[row], 1.0, steps)
        for c in range(n_classes):
            state.bias[c, 0] += steps[c] * rows.constants[row]
        state.counts[UPDATES] += learns
        if learns:
            for i in range(begin, end):
                for c in range(n_classes):
                    weight[rows.indices[i], c] += steps[c] * (rows.values[i] * factor)
        state.penalty_owed[0] += eta * penalty


@kernel
def arow_update(state: ArowState, rows: Rows, gamma: float) -> None:
    """Learn the rows of one block, in order, by diagonal AROW.

    This is ``second_order_update`` without a budget.

    Numbers are learned from every row, with its error in place of its distance from the margin.

    Back     ``state``, changed in place.
    """
    cells, bias = state.cells, state.bias
    n_classes = bias.shape[0]
    covariance = np.empty((max_row_length(rows.indptr), n_classes))
    scores, directions = np.empty(n_classes), np.empty(n_classes)
    numeric = rows.numbers.size > 0
    for row in range(rows.factors.size):
        begin, end = rows.indptr[row], rows.indptr[row + 1]
        factor, constant = rows.factors[row], rows.constants[row]
        for c in range(n_classes):
            scores[c] = bias[c, 0] * constant
            for i in range(begin, end):
                scores[c] += cells[rows.indices[i], n_classes + c] * (rows.values[i] * factor)
            rows.scores[row, c] = scores[c]
        if numeric:
            directions[0] = 1.0
            loss = rows.numbers[row] - scores[0]
        else:
            state.counts[MISTAKES] += is_mistake(scores, rows.codes[row])
            loss = 1.0 - set_directions(scores, rows.codes[row], MAX_SCORE, directions)
            if loss <= 0.0:
                continue
        state.counts[UPDATES] += 1
        spread = 0.0
        for c in range(n_classes):
            square = directions[c] * directions[c]
            spread += square * constant * constant / (1.0 + bias[c, 1])
            for i in range(begin, end):
                x = rows.values[i] * factor
                covariance[i - begin, c] = 1.0 / (1.0 + cells[rows.indices[i], c])
                spread += square * covariance[i - begin, c] * x * x
        row_gamma = gamma / rows.weights[row]
        for c in range(n_classes):
            step = clip_step(loss * directions[c] / (spread + row_gamma))
            growth = directions[c] * directions[c] / row_gamma
            bias[c, 0] = clip_to_float32(bias[c, 0] + step * constant / (1.0 + bias[c, 1]))
            bias[c, 1] += constant * constant * growth
            for i in range(begin, end):
                x = rows.values[i] * factor
                cells[rows.indices[i], n_classes + c] += step * covariance[i - begin, c] * x
                cells[rows.indices[i], c] += x * x * growth
