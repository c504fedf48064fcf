"""Online substitution, one column at a time (Yang, Fujimaki, Kusumura, Liu 2016, algorithms 1 and 3).

With scores u = level + Z w and their slopes g = dL/du, the weights of kept columns take a step of
gradient descent, a newcomer gets the weight that one step from 0 gives it, and of one column too
many that of the smallest |w| is dropped.

Of several workers (algorithm 3) all columns together give u, the sum of level + Z w over the
workers. A worker knows u as the centre had it some time ago, and steps its own weights by the
slopes there. What it pushes to the centre is by how much its own part of u, its level + Z w, has
changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import inlined_summing, kernel, summing
from ..losses import slope
from ..types import F64, I32, I64, Bool, unsigned
from .pool import holds
from .slots import (
    ALIKE,
    CHUNK,
    TOGETHER,
    TOP,
    USED,
    Slots,
    combine,
    held_length,
    measure_column,
    products,
    put_column,
    written_out,
)

FAR = 1e100  # a weight that large has diverged


class Steps(NamedTuple):
    """How long steps are, and where they lead."""

    loss: int
    step: float  # of newcomers
    m: float  # kept columns, and the constant, take a step that is so many times shorter
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
    """Offer columns from ``start`` on, one by one (algorithm 1); how many were dealt with.

    Given    others, alike: u = others + alike (level + Z w). There are no others in algorithm 1: 0, and alike is 1. In
             algorithm 3 others are as they were last read; alike is how many workers are taken to
             do meanwhile what this one does.
    Back     slots, weights, level, changed in place. It stops early where no slot is free for a newcomer, or there is
             no room for its values; -1 where the weights have diverged.
    """
    n_rows = y.size
    scores, line, gradient = np.empty(n_rows), np.empty(n_rows), np.empty(slots.ids.size)
    for column in range(start, ids.size):
        begin, end = indptr[column], indptr[column + 1]
        if (
            slots.ends[USED] == slots.ids.size
            or slots.ends[TOP] + held_length(n_rows, end - begin) > slots.values.size
        ):
            return column
        mean, scale = measure_column(n_rows, values, begin, end)
        if scale == 0.0 or holds(slots.ids, slots.ends[USED], ids[column]):
            continue
        descend(slots, weights, level[0], rule.loss, y, others, alike, scores, line, gradient)
        take_step(slots, weights, level, line, gradient, rule.step / rule.m, 1)
        take_in(slots, weights, rule, ids[column], mean, scale, indices, values, begin, end, line)
        if not abs(level[0]) < FAR or not abs(weights[0]) < FAR:
            return -1
    return int(ids.size)


@kernel
def substitute_apart(
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
    """Offer columns to one worker, from ``start`` on, one by one; how many were dealt with.

    Given    workers: how many there are; a column is stepped by its own worker alone, the level by all of them.
             scores: u as the worker has read it. Between two columns it changes by what the worker
             itself does.
    Back     slots, weights, level and scores, changed in place; change: what was added to scores, added to it. It stops
             early where no slot is free for a newcomer, or there is no room for its values; -1
             where the weights have diverged.
    """
    n_rows = y.size
    line, gradient = np.empty(n_rows), np.empty(slots.ids.size)
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
        if scale == 0.0 or holds(slots.ids, slots.ends[USED], ids[column]):
            continue
        for row in range(n_rows):
            line[row] = slope(rule.loss, scores[row], y[row])
        products(slots, line, 0, slots.ends[USED], gradient)
        take_step(slots, weights, level, line, gradient, rule.step / rule.m, workers)
        take_in(slots, weights, rule, ids[column], mean, scale, indices, values, begin, end, line)
        if not abs(level[0]) < FAR or not abs(weights[0]) < FAR:
            return -1
        combine(slots, weights, level[0], after)
        for row in range(n_rows):
            moved = after[row] - before[row]
            scores[row] += moved
            change[row] += moved
            before[row] = after[row]
    return int(ids.size)


@kernel
def mark_varying(n_rows: int, indptr: I64, values: F64, varies: Bool) -> None:
    """``varies`` = whether each column has more than one value."""
    for column in range(varies.size):
        _, scale = measure_column(n_rows, values, indptr[column], indptr[column + 1])
        varies[column] = scale > 0.0


@kernel
def take_back_pushes(
    scores: F64, pushes: F64, first: int, end: int, workers: int, reader: int
) -> None:
    """Subtract from scores the pushes from number ``first`` to before ``end`` that are not of the reader.

    Push k is of worker k mod workers, and is line k of ``pushes``, a ring.
    """
    for number in range(first, end):
        if number % workers != reader:
            scores -= pushes[number % pushes.shape[0]]


@summing
def descend(
    slots: Slots,
    weights: F64,
    level: float,
    loss: int,
    y: F64,
    others: F64,
    alike: float,
    scores: F64,
    line: F64,
    gradient: F64,
) -> None:
    """``line`` = the slope of every row's loss, at u by these weights; ``gradient`` = Z'line / n.

    ``scores`` become level + Z w.
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
            line[row] = slope(loss, others[row] + alike * scores[row], y[row])
        if in_full:
            multiply_columns(slots, line, first, last, gradient)
    if in_full:
        for slot in range(used):
            gradient[slot] /= n_rows
    else:
        products(slots, line, 0, used, gradient)


@inlined_summing
def add_columns(
    slots: Slots, weights: F64, in_full: bool, scores: F64, first: int, last: int
) -> None:
    """Add the columns in use, each times its weight, to the scores of some rows, or of all if not all are in full."""
    used, values, starts = slots.ends[USED], slots.values, slots.starts
    together = used - used % TOGETHER if in_full else 0
    for slot in range(0, together, TOGETHER):
        a, b, c, d = weights[slot], weights[slot + 1], weights[slot + 2], weights[slot + 3]
        at, bt, ct, dt = starts[slot], starts[slot + 1], starts[slot + 2], starts[slot + 3]
        for row in range(first, last):
            near = a * values[unsigned(at + row)] + b * values[unsigned(bt + row)]
            scores[unsigned(row)] += (
                near + c * values[unsigned(ct + row)] + d * values[unsigned(dt + row)]
            )
    for slot in range(together, used):
        start, length, weight = starts[slot], slots.lengths[slot], weights[slot]
        if length == scores.size:
            for row in range(first, last):
                scores[unsigned(row)] += weight * values[unsigned(start + row)]
        else:
            for i in range(start, start + length):
                scores[unsigned(slots.rows[i])] += weight * values[unsigned(i)]


@inlined_summing
def multiply_columns(slots: Slots, line: F64, first: int, last: int, gradient: F64) -> None:
    """Add up, for columns in full, the products of their values and a line, over some rows."""
    used, values, starts = slots.ends[USED], slots.values, slots.starts
    together = used - used % TOGETHER
    for slot in range(0, together, TOGETHER):
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
    for slot in range(together, used):
        start, a = starts[slot], 0.0
        for row in range(first, last):
            a += values[unsigned(start + row)] * line[unsigned(row)]
        gradient[slot] += a


@kernel
def take_step(
    slots: Slots, weights: F64, level: F64, line: F64, gradient: F64, step: float, workers: int
) -> None:
    """Step the weights of kept columns, and of the constant, against the gradient.

    The constant is stepped by all workers, so each steps it by so many times less: with the delay
    between them, full steps would be too long together.
    """
    level[0] -= step / workers * line.mean()
    for slot in range(slots.ends[USED]):
        weights[slot] -= step * gradient[slot]


@kernel
def take_in(
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
    """Give a newcomer its weight, and a slot if that is large enough; ``line`` may be overwritten."""
    n_rows = line.size
    weight = (
        -rule.step * towards(n_rows, mean, indices, values, begin, end, line) / (scale * n_rows)
    )
    place = place_of(slots, weights, weight, rule.wanted)
    if place >= 0:
        put_column(
            slots, slots.ends[USED], feature, n_rows, mean, scale, indices, values, begin, end
        )
        settle(slots, weights, place, weight, line)


@summing
def towards(
    n_rows: int, mean: float, indices: I32, values: F64, begin: int, end: int, line: F64
) -> float:
    """The product of a line and a column as it came, its mean taken off."""
    along = there = 0.0
    if end - begin == n_rows:
        for row in range(n_rows):
            along += (values[unsigned(begin + row)] - mean) * line[unsigned(row)]
        return along
    for i in range(begin, end):
        along += (values[i] - mean) * line[unsigned(indices[i])]
        there += line[unsigned(indices[i])]
    total = 0.0
    for row in range(n_rows):
        total += line[row]
    return along - mean * (total - there)


@kernel
def place_of(slots: Slots, weights: F64, weight: float, wanted: int) -> int:
    """The slot of a newcomer with that weight: a free one, or that of the smallest weight; -1 if its own is smaller."""
    used = int(slots.ends[USED])
    if used < wanted:
        return used
    weakest = 0
    for slot in range(1, used):
        if abs(weights[slot]) < abs(weights[weakest]):
            weakest = slot
    return weakest if abs(weight) > abs(weights[weakest]) else -1


@kernel
def settle(slots: Slots, weights: F64, place: int, weight: float, line: F64) -> None:
    """Move a newcomer, held after all slots in use, to its place; unless one of them is the same column.

    ``line`` is overwritten.
    """
    used = slots.ends[USED]
    written_out(slots, used, line)
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
