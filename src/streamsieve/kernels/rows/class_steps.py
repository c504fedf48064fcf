"""Steps of SOFS for many classes (Wu, Hoi, Mei, Yu 2017, section 3.6): cells, weights, keys.

A row of ``cells`` has the bound of an outsider, then the entries of its classes. The functions take
the arrays one by one: for a tuple of arrays Numba would count references at every call. ``shadows``
says whether outsiders have weights; ``s`` is the rank of a class among those that step.
"""

from __future__ import annotations

import numpy as np

from ..jit import inlined, kernel, summing
from ..types import F32, F64, I32, I64, unsigned
from .storing import cell_of, clip_precision, clip_to_float32, merge_into_cell, rounded

BOUND = 0  # column of ``cells``; the columns of the classes follow
ROUNDING = 1.0 + 2.0**-22  # more than the relative error of rounding to float32
MIN_BOUND = 1e-37  # of a bound: smaller sums of squares would be 0 in float32


# ---- cells


@inlined
def column_of(c: int, shadows: bool) -> int:
    """Return the column of a class's precision in ``cells``; its weight, if any, is next to it."""
    return unsigned(1) + (c + c if shadows else c)


@inlined
def copy_cell(cells: F32, position: int, shadows: bool, weight: F64, excess: F32) -> None:
    """Copy the precisions and weights of an outsider to arrays of the form of a slot."""
    for c in range(unsigned(weight.shape[1])):
        column = column_of(c, shadows)
        excess[0, c] = cells[position, column]
        weight[0, c] = cells[position, column + unsigned(1)] if shadows else 0.0


@inlined
def fill_cell(
    cells: F32, position: int, shadows: bool, weight: F64, excess: F32, slot: int
) -> None:
    """Copy the precisions and weights of a member to a cell; its bound is computed when needed."""
    cells[position, BOUND] = np.inf
    for c in range(unsigned(weight.shape[1])):
        column = column_of(c, shadows)
        cells[position, column] = excess[slot, c]
        if shadows:
            cells[position, column + unsigned(1)] = clip_to_float32(weight[slot, c])


@kernel
def locate_cells(positions: I64, x: F64, count: int, n_cells: int, ids: I64) -> None:
    """Replace ids by their cells in fixed memory, and give values the signs they have there.

    Given    positions: ids; x: values.
    Back     ids: the ids; positions: their cells; x: with signs.
    """
    for i in range(count):
        ids[i] = positions[i]
        positions[i], sign = cell_of(ids[i], n_cells)
        x[i] *= sign


@kernel
def swap_features(
    cells: F32,
    feature: int,
    weight: F64,
    excess: F32,
    slot: int,
    leaving: int,
    new_weight: F64,
    new_excess: F32,
) -> None:
    """Move a feature from its cell to a slot, and the member that leaves the slot to its cell.

    This is for fixed memory. ``new_weight`` and ``new_excess`` are those of the feature's cell;
    ``leaving`` is the id of the member, -1 if the slot was free.
    """
    cell, sign = cell_of(feature, cells.shape[0])
    cells[cell] = 0.0
    if leaving >= 0:
        leaving_cell, leaving_sign = cell_of(leaving, cells.shape[0])
        cells[leaving_cell, BOUND] = np.inf
    for c in range(unsigned(weight.shape[1])):
        if leaving >= 0:
            column = column_of(c, True)
            merge_into_cell(
                cells,
                leaving_cell,
                column,
                column + unsigned(1),
                excess[slot, c],
                leaving_sign * weight[slot, c],
            )
        weight[slot, c] = sign * new_weight[0, c]
        excess[slot, c] = new_excess[0, c]


# ---- the step


@inlined
def list_steps(directions: F64, classes: I64, direction: F64) -> int:
    """List the classes that step and their directions; return their number."""
    count = unsigned(0)
    for c in range(directions.size):
        if directions[c] != 0.0:
            classes[count] = c
            direction[count] = directions[c]
            count += unsigned(1)
    return count


@inlined
def gather_outsiders(
    cells: F32, c: int, positions: I64, count: int, shadows: bool, excess: F32, weight: F32, s: int
) -> None:
    """Copy precisions and weights of a class from the cells of outsiders."""
    column = column_of(c, shadows)
    for i in range(count):
        position = unsigned(positions[i])
        excess[s, i] = cells[position, column]
        if shadows:
            weight[s, i] = cells[position, column + unsigned(1)]


@inlined
def scatter_outsiders(
    cells: F32, c: int, positions: I64, count: int, shadows: bool, excess: F32, weight: F32, s: int
) -> None:
    """Copy precisions and weights of a class back to the cells of outsiders."""
    column = column_of(c, shadows)
    for i in range(count):
        position = unsigned(positions[i])
        cells[position, column] = excess[s, i]
        if shadows:
            cells[position, column + unsigned(1)] = weight[s, i]


@kernel
def compute_variance_x(
    x: F64, excess: F32, count: int, scale: float, variance_x: F64, s: int
) -> None:
    """Fill in S x of features, for one class.

    It is separate from its sum, so that equal features get equal steps.
    """
    for i in range(count):
        variance_x[s, i] = x[i] / (1.0 + excess[s, i] * scale)


@summing
def spread_of(x: F64, variance_x: F64, count: int, s: int) -> float:
    """Return the sum of S x^2."""
    spread = 0.0
    for i in range(count):
        spread += variance_x[s, i] * x[i]
    return spread


@kernel
def compute_losses(
    x: F64,
    weight: F32,
    direction: F64,
    n_steps: int,
    count: int,
    loss: float,
    shadows: bool,
    losses: F64,
) -> None:
    """Fill in the loss of the row with each outsider added: max(0, 1 - m - sum_c a_c mu_cj x_j)."""
    for i in range(count):
        losses[i] = loss
    if shadows:
        for s in range(n_steps):
            for i in range(count):
                losses[i] -= direction[s] * weight[s, i] * x[i]
        for i in range(count):
            losses[i] = max(0.0, losses[i])


@kernel
def learn_outsiders(
    x: F64,
    excess: F32,
    weight: F32,
    variance_x: F64,
    losses: F64,
    bound: F64,
    count: int,
    scale: float,
    growth: float,
    noise: int,
    step: float,
    shadows: bool,
    s: int,
) -> None:
    """Update precisions, shadow weights and bounds of a row's outsiders in one class."""
    for i in range(count):
        mu = np.float64(weight[s, i]) if shadows else 0.0
        before = part_of_key(mu, excess[s, i], scale, shadows)
        excess[s, i] = rounded(clip_precision(excess[s, i] + x[i] * x[i] * growth), noise)
        if shadows:
            weight[s, i] = rounded(clip_to_float32(mu + losses[i] * step * variance_x[s, i]), noise)
            mu = np.float64(weight[s, i])
        bound[i] = round_up(bound[i] + part_of_key(mu, excess[s, i], scale, shadows), before)


@kernel
def learn_cells(
    cells: F32,
    cell_numbers: I64,
    x: F64,
    count: int,
    classes: I64,
    direction: F64,
    n_steps: int,
    loss: float,
    scale: float,
    gamma: float,
    noise: int,
    spread: float,
    bound: F64,
) -> None:
    """Update the cells of a row's outsiders in all classes, one outsider after the other.

    The rules are those of ``learn_outsiders``; some outsiders may share a cell. ``x`` has the sign
    of each outsider in its cell.
    """
    for i in range(count):
        cell, outsider_loss = unsigned(cell_numbers[i]), loss
        for s in range(n_steps):
            outsider_loss -= (
                direction[s]
                * cells[cell, column_of(unsigned(classes[s]), True) + unsigned(1)]
                * x[i]
            )
        outsider_loss = max(0.0, outsider_loss)
        total = float(cells[cell, BOUND])
        for s in range(n_steps):
            column = column_of(unsigned(classes[s]), True)
            excess, mu = cells[cell, column], np.float64(cells[cell, column + unsigned(1)])
            before = part_of_key(mu, excess, scale, True)
            mu += outsider_loss * direction[s] / spread * (x[i] / (1.0 + excess * scale))
            growth = direction[s] * direction[s] / (gamma * scale)
            cells[cell, column] = rounded(clip_precision(excess + x[i] * x[i] * growth), noise)
            cells[cell, column + unsigned(1)] = rounded(clip_to_float32(mu), noise)
            after = part_of_key(
                np.float64(cells[cell, column + unsigned(1)]), cells[cell, column], scale, True
            )
            total = round_up(total + after, before)
        cells[cell, BOUND] = total
        bound[i] = total


# ---- the key


@inlined
def part_of_key(mu: float, excess: float, scale: float, shadows: bool) -> float:
    """Return the term of a class in the bound of a feature: mu^2 / S, or 1 - S, which starts at 0.

    Neither grows when precision decays, so a bound remains a bound.
    """
    scaled_excess = excess * scale
    return mu * mu * (1.0 + scaled_excess) if shadows else scaled_excess / (1.0 + scaled_excess)


@kernel
def key_of(weight: F64, excess: F32, row: int, scale: float, shadows: bool) -> float:
    """Return the key of a feature: signal to noise, or confidence.

    Signal to noise is ``sqrt(sum_c mu_c^2 / S_c)`` over the square root of the scale, confidence is
    ``-sum_c S_c``. Division by the scale keeps keys of different ages comparable when precision
    decays. There are four sums, in an order that no compiler changes, so that equal features have
    equal keys wherever they are computed.
    """
    n_classes = unsigned(weight.shape[1])
    end_of_fours = n_classes - n_classes % unsigned(4)
    sum_a = sum_b = sum_c = sum_d = 0.0
    for first in range(unsigned(0), end_of_fours, unsigned(4)):
        sum_a += key_part(weight, excess, row, first, scale, shadows)
        sum_b += key_part(weight, excess, row, first + unsigned(1), scale, shadows)
        sum_c += key_part(weight, excess, row, first + unsigned(2), scale, shadows)
        sum_d += key_part(weight, excess, row, first + unsigned(3), scale, shadows)
    for last in range(end_of_fours, n_classes):
        sum_a += key_part(weight, excess, row, last, scale, shadows)
    total = (sum_a + sum_b) + (sum_c + sum_d)
    return float(np.sqrt(total)) if shadows else -total


@inlined
def key_part(weight: F64, excess: F32, row: int, c: int, scale: float, shadows: bool) -> float:
    """Return the term of a class in the sum of ``key_of``."""
    if shadows:
        return float(weight[row, c] * weight[row, c] * (1.0 / scale + excess[row, c]))
    return float(1.0 / (1.0 + excess[row, c] * scale))


@inlined
def sum_of_key(key: float, n_classes: int, scale: float, shadows: bool) -> float:
    """Return the sum of ``part_of_key`` over the classes that belongs to a key."""
    return key * key * scale if shadows else n_classes + key


@inlined
def round_up(total: float, removed: float) -> float:
    """Return ``total - removed`` for a cell: not too small in float32, sign bit not set."""
    bound = total * ROUNDING - removed
    return bound if bound > MIN_BOUND else MIN_BOUND


@inlined
def entry_bound(
    heap: I32, key: F64, kept: int, n_classes: int, scale: float, shadows: bool
) -> float:
    """Return the value that the bound of an outsider must exceed to enter."""
    if kept < key.size:
        return -1.0
    # the rounding error of a sum of confidences that are all near 1
    max_rounding = 0.0 if shadows else n_classes * n_classes * 2.0**-52
    return sum_of_key(key[heap[0]], n_classes, scale, shadows) - max_rounding
