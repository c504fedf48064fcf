"""The steps of SOFS for many classes (Wu, Hoi, Mei, Yu 2017, section 3.6): cells, weights, precisions, keys.

A row of ``cells`` has the bound of an outsider, then its classes one after the other. The functions
take the arrays one by one: for a tuple of them Numba would count references at every call.
``shadows`` says whether outsiders have weights; ``s`` is the number of a class among those that
step.
"""

from __future__ import annotations

import numpy as np

from ..jit import inlined, kernel, summing
from ..types import F32, F64, I32, I64, unsigned
from .storing import bounded, cell_of, give_back, rounded, storable

BOUND = 0  # column of ``cells``; the classes come after it
ROUNDING = 1.0 + 2.0**-22  # more than what rounding to float32 takes away
MIN_BOUND = 1e-37  # of the bounds: squares below it would be 0 in float32


# ---- cells


@inlined
def has_shadows(cells: F32, n_classes: int) -> bool:
    return bool(cells.shape[1] > 1 + n_classes)


@inlined
def column_of(c: int, shadows: bool) -> int:
    """Where the precision of a class is in ``cells``; its weight, if there is one, is next to it."""
    return unsigned(1) + (c + c if shadows else c)


@inlined
def copy_cell(cells: F32, position: int, shadows: bool, weight: F64, excess: F32) -> None:
    """What an outsider knows, as a slot would have it."""
    for c in range(unsigned(weight.shape[1])):
        column = column_of(c, shadows)
        excess[0, c] = cells[position, column]
        weight[0, c] = cells[position, column + unsigned(1)] if shadows else 0.0


@inlined
def fill_cell(
    cells: F32, position: int, shadows: bool, weight: F64, excess: F32, slot: int
) -> None:
    """What a member knows, as an outsider has it; its bound is found when it is needed."""
    cells[position, BOUND] = np.inf
    for c in range(unsigned(weight.shape[1])):
        column = column_of(c, shadows)
        cells[position, column] = excess[slot, c]
        if shadows:
            cells[position, column + unsigned(1)] = bounded(weight[slot, c])


@kernel
def find_cells(at: I64, x: F64, count: int, n_cells: int, ids: I64) -> None:
    """In fixed memory, cells for ids in ``at``, which go to ``ids``, and in ``x`` the signs that values have there."""
    for i in range(count):
        ids[i] = at[i]
        at[i], side = cell_of(ids[i], n_cells)
        x[i] *= side


@kernel
def exchange(
    cells: F32,
    feature: int,
    weight: F64,
    excess: F32,
    slot: int,
    leaving: int,
    new_weight: F64,
    new_excess: F32,
) -> None:
    """In fixed memory, move what a cell has of ``feature`` to a slot, then the member ``leaving`` it to its own cell.

    ``new_weight`` and ``new_excess`` are those of the cell; ``leaving`` is -1 if the slot was free.
    """
    cell, side = cell_of(feature, cells.shape[0])
    cells[cell] = 0.0
    if leaving >= 0:
        own, own_side = cell_of(leaving, cells.shape[0])
        cells[own, BOUND] = np.inf
    for c in range(unsigned(weight.shape[1])):
        if leaving >= 0:
            column = column_of(c, True)
            give_back(
                cells,
                own,
                column,
                column + unsigned(1),
                excess[slot, c],
                own_side * weight[slot, c],
            )
        weight[slot, c] = side * new_weight[0, c]
        excess[slot, c] = new_excess[0, c]


# ---- the score


@inlined
def add_to_curve(weight: F64, slot: int, x: float, sums: F64, bucket: int) -> None:
    row = unsigned(bucket)
    for c in range(unsigned(weight.shape[1])):
        sums[row, c] += weight[slot, c] * x


# ---- the step


@inlined
def list_steps(directions: F64, of: I64, direction: F64) -> int:
    """How many classes step, and which."""
    count = unsigned(0)
    for c in range(directions.size):
        if directions[c] != 0.0:
            of[count] = c
            direction[count] = directions[c]
            count += unsigned(1)
    return count


@inlined
def gather_outsiders(
    cells: F32, c: int, at: I64, count: int, shadows: bool, excess: F32, weight: F32, s: int
) -> None:
    column = column_of(c, shadows)
    for i in range(count):
        position = unsigned(at[i])
        excess[s, i] = cells[position, column]
        if shadows:
            weight[s, i] = cells[position, column + unsigned(1)]


@inlined
def scatter_outsiders(
    cells: F32, c: int, at: I64, count: int, shadows: bool, excess: F32, weight: F32, s: int
) -> None:
    column = column_of(c, shadows)
    for i in range(count):
        position = unsigned(at[i])
        cells[position, column] = excess[s, i]
        if shadows:
            cells[position, column + unsigned(1)] = weight[s, i]


@kernel
def find_pulls(x: F64, excess: F32, count: int, scale: float, pull: F64, s: int) -> None:
    """S x of some features, for one class; apart from its sum, so that equal features get equal steps."""
    for i in range(count):
        pull[s, i] = x[i] / (1.0 + excess[s, i] * scale)


@summing
def spread_of(x: F64, pull: F64, count: int, s: int) -> float:
    """The sum of S x^2."""
    spread = 0.0
    for i in range(count):
        spread += pull[s, i] * x[i]
    return spread


@kernel
def find_losses(
    x: F64,
    weight: F32,
    direction: F64,
    n_steps: int,
    count: int,
    loss: float,
    shadows: bool,
    losses: F64,
) -> None:
    """The loss of the row as it would be with each of its outsiders: max(0, 1 - m - sum_c a_c mu_cj x_j)."""
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
    pull: F64,
    loss: F64,
    bound: F64,
    count: int,
    scale: float,
    growth: float,
    noise: int,
    step: float,
    shadows: bool,
    s: int,
) -> None:
    """What a row does to the precisions and shadow weights of its outsiders in one class, and so to their bounds."""
    for i in range(count):
        mu = np.float64(weight[s, i]) if shadows else 0.0
        before = part_of_key(mu, excess[s, i], scale, shadows)
        excess[s, i] = rounded(storable(excess[s, i] + x[i] * x[i] * growth), noise)
        if shadows:
            weight[s, i] = rounded(bounded(mu + loss[i] * step * pull[s, i]), noise)
            mu = np.float64(weight[s, i])
        bound[i] = rounded_up(bound[i] + part_of_key(mu, excess[s, i], scale, shadows), before)


@kernel
def learn_cells(
    cells: F32,
    at: I64,
    x: F64,
    count: int,
    of: I64,
    direction: F64,
    n_steps: int,
    loss: float,
    scale: float,
    gamma: float,
    noise: int,
    spread: float,
    bound: F64,
) -> None:
    """``learn_outsiders`` of all classes in the cells ``at``, one outsider after the other: some may share one.

    ``x`` is with the sign by which each is in its cell.
    """
    for i in range(count):
        cell, own = unsigned(at[i]), loss
        for s in range(n_steps):
            own -= direction[s] * cells[cell, column_of(unsigned(of[s]), True) + unsigned(1)] * x[i]
        own = max(0.0, own)
        total = float(cells[cell, BOUND])
        for s in range(n_steps):
            column = column_of(unsigned(of[s]), True)
            excess, mu = cells[cell, column], np.float64(cells[cell, column + unsigned(1)])
            before = part_of_key(mu, excess, scale, True)
            mu += own * direction[s] / spread * (x[i] / (1.0 + excess * scale))
            growth = direction[s] * direction[s] / (gamma * scale)
            cells[cell, column] = rounded(storable(excess + x[i] * x[i] * growth), noise)
            cells[cell, column + unsigned(1)] = rounded(bounded(mu), noise)
            after = part_of_key(
                np.float64(cells[cell, column + unsigned(1)]), cells[cell, column], scale, True
            )
            total = rounded_up(total + after, before)
        cells[cell, BOUND] = total
        bound[i] = total


# ---- the key


@inlined
def part_of_key(mu: float, excess: float, scale: float, shadows: bool) -> float:
    """What a class adds to the bound of a feature: mu^2 / S; or 1 - S, of which 0 is the start.

    Neither grows as precision decays: so a bound stays one.
    """
    precise = excess * scale
    return mu * mu * (1.0 + precise) if shadows else precise / (1.0 + precise)


@kernel
def key_of(weight: F64, excess: F32, row: int, scale: float, shadows: bool) -> float:
    """Signal to noise, ``sqrt(sum_c mu_c^2 / S_c)`` over the root of the scale; or confidence, ``-sum_c S_c``.

    Dividing by the scale keeps keys of different ages comparable when precision decays. Four sums
    at a time, in an order that no compiler changes: keys of equal features are equal wherever they
    are computed.
    """
    n_classes = unsigned(weight.shape[1])
    fours = n_classes - n_classes % unsigned(4)
    a = b = c = d = 0.0
    for first in range(unsigned(0), fours, unsigned(4)):
        a += key_part(weight, excess, row, first, scale, shadows)
        b += key_part(weight, excess, row, first + unsigned(1), scale, shadows)
        c += key_part(weight, excess, row, first + unsigned(2), scale, shadows)
        d += key_part(weight, excess, row, first + unsigned(3), scale, shadows)
    for last in range(fours, n_classes):
        a += key_part(weight, excess, row, last, scale, shadows)
    total = (a + b) + (c + d)
    return float(np.sqrt(total)) if shadows else -total


@inlined
def key_part(weight: F64, excess: F32, row: int, c: int, scale: float, shadows: bool) -> float:
    if shadows:
        return float(weight[row, c] * weight[row, c] * (1.0 / scale + excess[row, c]))
    return float(1.0 / (1.0 + excess[row, c] * scale))


@inlined
def sum_of_key(key: float, n_classes: int, scale: float, shadows: bool) -> float:
    """The ``sum_c part_of_key`` of a key."""
    return key * key * scale if shadows else n_classes + key


@inlined
def rounded_up(total: float, less: float) -> float:
    """``total - less`` as a cell can hold it: no less than that, and its sign bit never set."""
    bound = total * ROUNDING - less
    return bound if bound > MIN_BOUND else MIN_BOUND


@inlined
def limit_of(heap: I32, key: F64, kept: int, n_classes: int, scale: float, shadows: bool) -> float:
    """What the bound of an outsider must be above if it is to enter."""
    if kept < key.size:
        return -1.0
    lost = (
        0.0 if shadows else n_classes * n_classes * 2.0**-52
    )  # in a sum of confidences that are all near 1
    return sum_of_key(key[heap[0]], n_classes, scale, shadows) - lost
