"""Online substitution, column by column (Yang, Fujimaki, Kusumura, Liu 2016, algorithms 1 and 3).

With scores u = level + Z w and their slopes g = dL/du, the weights of kept columns take a step of
gradient descent, a new column gets the weight that one step from 0 gives it, and if there is one
column too many that of the smallest |w| is dropped.

With several workers (algorithm 3) u is the sum of level + Z w over the workers. A worker has the u
that the centre had some time ago, and steps its own weights by the slopes there. It pushes to the
centre by how much its own part of u, its level + Z w, has changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import inlined_summing, kernel, summing
from ..losses import slope
from ..types import F64, I32, I64, unsigned
from .pool import contains
from .slots import (
    ALIKE,
    CHUNK,
    COLUMNS_AT_ONCE,
    TOP,
    USED,
    Slots,
    combine,
    held_length,
    measure_column,
    products,
    put_column,
    write_line,
)

MAX_WEIGHT = 1e100  # a larger one has diverged


class Steps(NamedTuple):
    """The lengths of steps, and the number of columns to keep."""

    loss: int
    step: float  # of new columns
    m: float  # kept columns, and the constant, take a step m times shorter
    wanted: int  # columns that are kept


@kernel
def substitute_columns(
    slots: Slots,
    weights: F64,
    level: F64,
    y: F64,
    others: F64,
    alike: float,
    rule: Steps,
    indptr: I64,
    indices: I32,
    values: F64,
    ids: I64,
    start: int,
) -> int:
    """Offer columns from ``start`` on, one by one (algorithm 1); return the number of columns done.

    Given    others, alike: u = others + alike (level + Z w). In algorithm 1 there are no others: 0,
             and alike is 1. In algorithm 3 others are as they were last read; alike is the number
             of workers that are assumed to do meanwhile what this one does.
    Back     slots, weights, level, changed in place. It stops early if no slot is free for a new
             column, or there is no room for its values; -1 if the weights have diverged.
    """
    n_rows = y.size
    scores, slopes, gradient = np.empty(n_rows), np.empty(n_rows), np.empty(slots.ids.size)
    for column in range(start, ids.size):
        begin, end = indptr[column], indptr[column + 1]
        if (
            slots.ends[USED] == slots.ids.size
            or slots.ends[TOP] + held_length(n_rows, end - begin) > slots.values.size
        ):
            return column
        mean, scale = measure_column(n_rows, values, begin, end)
        if scale == 0.0 or contains(slots.ids, slots.ends[USED], ids[column]):
            continue
        compute_gradient(
            slots, weights, level[0], rule.loss, y, others, alike, scores, slopes, gradient
        )
        take_step(slots, weights, level, slopes, gradient, rule.step / rule.m, 1)
        add_newcomer(
            slots, weights, rule, ids[column], mean, scale, indices, values, begin, end, slopes
        )
        if not abs(level[0]) < MAX_WEIGHT or not abs(weights[0]) < MAX_WEIGHT:
            return -1
    return int(ids.size)


@kernel
def substitute_on_worker(
    slots: Slots,
    weights: F64,
    level: F64,
    y: F64,
    rule: Steps,
    workers: int,
    scores: F64,
    change: F64,
    indptr: I64,
    indices: I32,
    values: F64,
    ids: I64,
    start: int,
) -> int:
    """Offer columns from ``start`` on to one worker, one by one; return the number done.

    Given    workers: their number; a column is stepped by its own worker alone, the level by all of
             them. scores: u as the worker has read it; between two columns it changes by what the
             worker itself does.
    Back     slots, weights, level and scores, changed in place; change: what was added to scores is
             added to it. It stops early if no slot is free for a new column, or there is no room
             for its values; -1 if the weights have diverged.
    """
    n_rows = y.size
    slopes, gradient = np.empty(n_rows), np.empty(slots.ids.size)
    before, after = np.empty(n_rows), np.empty(n_rows)
    combine(slots, weights, level[0], before)
    for column in range(start, ids.size):
        begin, end = indptr[column], indptr[column + 1]
        if (
            slots.ends[USED] == slots.ids.size
            or slots.ends[TOP] + held_length(n_rows, end - begin) > slots.values.size
        ):
            return column
        mean, scale = measure_column(n_rows, values, begin, end)
        if scale == 0.0 or contains(slots.ids, slots.ends[USED], ids[column]):
            continue
        for row in range(n_rows):
            slopes[row] = slope(rule.loss, scores[row], y[row])
        products(slots, slopes, 0, slots.ends[USED], gradient)
        take_step(slots, weights, level, slopes, gradient, rule.step / rule.m, workers)
        add_newcomer(
            slots, weights, rule, ids[column], mean, scale, indices, values, begin, end, slopes
        )
        if not abs(level[0]) < MAX_WEIGHT or not abs(weights[0]) < MAX_WEIGHT:
            return -1
        combine(slots, weights, level[0], after)
        for row in range(n_rows):
            difference = after[row] - before[row]
            scores[row] += difference
            change[row] += difference
            before[row] = after[row]
    return int(ids.size)


@summing
def compute_gradient(
    slots: Slots,
    weights: F64,
    level: float,
    loss: int,
    y: F64,
    others: F64,
    alike: float,
    scores: F64,
    slopes: F64,
    gradient: F64,
) -> None:
    """Compute the scores level + Z w, the slopes of the loss of rows, and the gradient.

    Slopes are those at u = others + alike * scores; the gradient is Z'slopes / n.
    """
    used, n_rows = slots.ends[USED], y.size
    in_full = True
    constant = level
    for slot in range(used):
        in_full &= slots.lengths[slot] == n_rows
        constant -= weights[slot] * slots.shifts[slot]
        gradient[slot] = 0.0
    for first in range(0, n_rows, CHUNK if in_full else n_rows):
        last = min(n_rows, first + CHUNK) if in_full else n_rows
        scores[first:last] = constant
        add_columns(slots, weights, in_full, scores, first, last)
        for row in range(first, last):
            slopes[row] = slope(loss, others[row] + alike * scores[row], y[row])
        if in_full:
            multiply_columns(slots, slopes, first, last, gradient)
    if in_full:
        for slot in range(used):
            gradient[slot] /= n_rows
    else:
        products(slots, slopes, 0, used, gradient)


@inlined_summing
def add_columns(
    slots: Slots, weights: F64, in_full: bool, scores: F64, first: int, last: int
) -> None:
    """Add the columns in use, each times its weight, to the scores of some rows.

    The rows are those from ``first`` to before ``last``.

    Given    in_full: False if some columns are not held in full; then all rows are taken.
    """
    used, values, starts = slots.ends[USED], slots.values, slots.starts
    n_together = used - used % COLUMNS_AT_ONCE if in_full else 0
    for slot in range(0, n_together, COLUMNS_AT_ONCE):
        a, b, c, d = weights[slot], weights[slot + 1], weights[slot + 2], weights[slot + 3]
        at, bt, ct, dt = starts[slot], starts[slot + 1], starts[slot + 2], starts[slot + 3]
        for row in range(first, last):
            partial = a * values[unsigned(at + row)] + b * values[unsigned(bt + row)]
            scores[unsigned(row)] += (
                partial + c * values[unsigned(ct + row)] + d * values[unsigned(dt + row)]
            )
    for slot in range(n_together, used):
        start, length, weight = starts[slot], slots.lengths[slot], weights[slot]
        if length == scores.size:
            for row in range(first, last):
                scores[unsigned(row)] += weight * values[unsigned(start + row)]
        else:
            for i in range(start, start + length):
                scores[unsigned(slots.rows[i])] += weight * values[unsigned(i)]


@inlined_summing
def multiply_columns(slots: Slots, line: F64, first: int, last: int, gradient: F64) -> None:
    """Add the products of columns in full and a line, over rows ``first`` to before ``last``."""
    used, values, starts = slots.ends[USED], slots.values, slots.starts
    n_together = used - used % COLUMNS_AT_ONCE
    for slot in range(0, n_together, COLUMNS_AT_ONCE):
        at, bt, ct, dt = starts[slot], starts[slot + 1], starts[slot + 2], starts[slot + 3]
        a = b = c = d = 0.0
        for row in range(first, last):
            value = line[unsigned(row)]
            a += values[unsigned(at + row)] * value
            b += values[unsigned(bt + row)] * value
            c += values[unsigned(ct + row)] * value
            d += values[unsigned(dt + row)] * value
        gradient[slot] += a
        gradient[slot + 1] += b
        gradient[slot + 2] += c
        gradient[slot + 3] += d
    for slot in range(n_together, used):
        start, a = starts[slot], 0.0
        for row in range(first, last):
            a += values[unsigned(start + row)] * line[unsigned(row)]
        gradient[slot] += a


@kernel
def take_step(
    slots: Slots, weights: F64, level: F64, slopes: F64, gradient: F64, step: float, workers: int
) -> None:
    """Step the weights of kept columns, and the constant, against the gradient.

    The constant is stepped by all workers, so each divides its step by their number: with the delay
    between them, full steps would be too long together.
    """
    level[0] -= step / workers * slopes.mean()
    for slot in range(slots.ends[USED]):
        weights[slot] -= step * gradient[slot]


@kernel
def add_newcomer(
    slots: Slots,
    weights: F64,
    rule: Steps,
    feature: int,
    mean: float,
    scale: float,
    indices: I32,
    values: F64,
    begin: int,
    end: int,
    line: F64,
) -> None:
    """Give a new column its weight, and a slot if the weight is large enough.

    Given    line: the slopes of rows; may be overwritten.
    """
    n_rows = line.size
    weight = (
        -rule.step
        * centred_product(n_rows, mean, indices, values, begin, end, line)
        / (scale * n_rows)
    )
    place = find_place(slots, weights, weight, rule.wanted)
    if place >= 0:
        put_column(
            slots, slots.ends[USED], feature, n_rows, mean, scale, indices, values, begin, end
        )
        insert_newcomer(slots, weights, place, weight, line)


@summing
def centred_product(
    n_rows: int, mean: float, indices: I32, values: F64, begin: int, end: int, line: F64
) -> float:
    """Return the product of a line and a column as it was given, minus its mean."""
    product = line_present = 0.0
    if end - begin == n_rows:
        for row in range(n_rows):
            product += (values[unsigned(begin + row)] - mean) * line[unsigned(row)]
        return product
    for i in range(begin, end):
        product += (values[i] - mean) * line[unsigned(indices[i])]
        line_present += line[unsigned(indices[i])]
    total = 0.0
    for row in range(n_rows):
        total += line[row]
    return product - mean * (total - line_present)


@kernel
def find_place(slots: Slots, weights: F64, weight: float, wanted: int) -> int:
    """Return the slot for a new column of this weight: a free one, or that of the smallest weight.

    It is -1 if the new weight is smaller than all others.
    """
    used = int(slots.ends[USED])
    if used < wanted:
        return used
    weakest = 0
    for slot in range(1, used):
        if abs(weights[slot]) < abs(weights[weakest]):
            weakest = slot
    return weakest if abs(weight) > abs(weights[weakest]) else -1


@kernel
def insert_newcomer(slots: Slots, weights: F64, place: int, weight: float, line: F64) -> None:
    """Move a new column, held after all slots in use, to its place.

    A copy of a column in use is dropped instead.

    Given    line: scratch.
    """
    used = slots.ends[USED]
    write_line(slots, used, line)
    correlations = np.empty(used + 1)
    products(slots, line, 0, used, correlations)
    for slot in range(used):
        if abs(correlations[slot]) > ALIKE:
            slots.ends[TOP] = slots.starts[used]
            return
    for counts in (slots.ids, slots.starts, slots.lengths):
        counts[place] = counts[used]
    for numbers in (slots.shifts, slots.centres, slots.scales):
        numbers[place] = numbers[used]
    weights[place] = weight
    slots.ends[USED] = max(used, place + 1)
