"""Online substitution by several workers (Yang, Fujimaki, Kusumura, Liu 2016, algorithm 3): what one of them does.

All columns together give the scores u, the sum of level + Z w over the workers. A worker knows u as the centre had it
some time ago, and steps its own weights by the slopes there. What it pushes to the centre is by how much its own part
of u, its level + Z w, has changed.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..losses import slope
from ..types import F64, I32, I64, Bool
from .pool import holds
from .slots import TOP, USED, Slots, combine, held_length, measure_column, products
from .substitution import FAR, Steps, take_in, take_step


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
             scores: u as the worker has read it. Between two columns it changes by what the worker itself does.
    Back     slots, weights, level and scores, changed in place; change: what was added to scores, added to it. It stops
             early where no slot is free for a newcomer, or there is no room for its values; -1 where the weights have
             diverged.
    """
    n_rows = y.size
    line, gradient = np.empty(n_rows), np.empty(slots.ids.size)
    before, after = np.empty(n_rows), np.empty(n_rows)
    combine(slots, weights, level[0], before)
    for column in range(start, ids.size):
        begin, end = indptr[column], indptr[column + 1]
        if slots.ends[USED] == slots.ids.size or slots.ends[TOP] + held_length(n_rows, end - begin) > slots.values.size:
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
def take_back_pushes(scores: F64, pushes: F64, first: int, end: int, workers: int, reader: int) -> None:
    """Subtract from scores the pushes from number ``first`` to before ``end`` that are not of the reader.

    Push k is of worker k mod workers, and is line k of ``pushes``, a ring.
    """
    for number in range(first, end):
        if number % workers != reader:
            push = pushes[number % pushes.shape[0]]
            for row in range(scores.size):
                scores[row] -= push[row]
