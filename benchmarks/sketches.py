"""Learners in fixed memory for unlimited ids, by other authors, in minimal form.

All take rows of unit length, learn by the logistic loss, one step per row, and have 32-bit weights
in ``width`` entries altogether beside the ``k`` features whose ids they keep. A step is ``rate /
sqrt(t)`` at row t; with an L2 penalty ``shrink`` all weights are multiplied by 1 - ``shrink`` times
that, by a common factor beside the intercept in ``bias``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

INCREMENT = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@njit(cache=True)
def mixed(feature, seed):
    """Return a 64-bit hash of an id: splitmix64 (Steele, Lea, Flood 2014)."""
    bits = np.uint64(feature) + INCREMENT * np.uint64(seed + 1)
    bits = (bits ^ (bits >> np.uint64(30))) * FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * SECOND
    return bits ^ (bits >> np.uint64(31))


@njit(cache=True)
def bucket_of(feature, seed, width):
    """Return the position of an entry, and its sign."""
    bits = mixed(feature, seed)
    return np.int64((bits >> np.uint64(1)) % np.uint64(width)), 1.0 if bits & np.uint64(1) else -1.0


@njit(cache=True)
def next_step(bias, score, code, rate, shrink):
    """Return the step of a row, over the common factor of all weights, which it shrinks.

    The intercept takes its own step.
    """
    sign = 1.0 if code == 1 else -1.0
    step = rate * sign / (1.0 + np.exp(sign * score))
    bias[0] += step
    bias[1] *= 1.0 - shrink * rate
    return step / bias[1]


@njit(cache=True)
def hashed_sgd(weights, bias, indptr, indices, x, codes, rate, shrink, t, learn, scores):
    """Learn with feature hashing: every id in one of the entries.

    Weinberger, Dasgupta, Langford, Smola, Attenberg 2009.
    """
    for row in range(codes.size):
        score = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            at, sign = bucket_of(indices[i], 0, weights.size)
            score += weights[at] * sign * x[i]
        scores[row] = bias[0] + bias[1] * score
        if learn:
            step = next_step(bias, scores[row], codes[row], rate / np.sqrt(t + row + 1.0), shrink)
            for i in range(indptr[row], indptr[row + 1]):
                at, sign = bucket_of(indices[i], 0, weights.size)
                weights[at] += step * sign * x[i]


@njit(cache=True)
def estimate(sketch, feature):
    """Return the weight of a feature in a count sketch: the median over its rows (one or three)."""
    depth, width = sketch.shape
    at, sign = bucket_of(feature, 0, width)
    first = sketch[0, at] * sign
    if depth == 1:
        return first
    at, sign = bucket_of(feature, 1, width)
    second = sketch[1, at] * sign
    at, sign = bucket_of(feature, 2, width)
    third = sketch[2, at] * sign
    return max(min(first, second), min(max(first, second), third))


@njit(cache=True)
def add(sketch, feature, amount):
    for row in range(sketch.shape[0]):
        at, sign = bucket_of(feature, row, sketch.shape[1])
        sketch[row, at] += amount * sign


@njit(cache=True)
def find(table, ids, feature):
    """Return the entry of an open table for the slot of a feature, plus one.

    If there is none, it is the free entry where the feature belongs.
    """
    mask = np.uint64(table.size - 1)
    at = mixed(feature, 7) & mask
    while table[at] and ids[table[at] - 1] != feature:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@njit(cache=True)
def replace(table, ids, slot, feature):
    """Give a slot to another feature; the table is filled anew, which is rare."""
    ids[slot] = feature
    table[:] = 0
    for other in range(ids.size):
        if ids[other] >= 0:
            table[find(table, ids, ids[other])] = other + 1


@njit(cache=True)
def smallest(weights, ids):
    """Return a free slot, or the one with the smallest weight."""
    least = 0
    for slot in range(ids.size):
        if ids[slot] < 0:
            return slot
        if abs(weights[slot]) < abs(weights[least]):
            least = slot
    return least


@njit(cache=True)
def mission(
    sketch, table, ids, weights, bias, indptr, indices, x, codes, rate, shrink, t, learn, scores
):
    """Learn by MISSION (Aghazadeh, Spring, LeJeune, Dasarathy, Shrivastava, Baraniuk 2018).

    The gradient of every feature goes into a count sketch; a heap has the features of largest
    estimate, and they alone make the score.
    """
    least = smallest(weights, ids)
    for row in range(codes.size):
        score = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            slot = table[find(table, ids, indices[i])] - 1
            if slot >= 0:
                score += weights[slot] * x[i]
        scores[row] = bias[0] + bias[1] * score
        if not learn:
            continue
        step = next_step(bias, scores[row], codes[row], rate / np.sqrt(t + row + 1.0), shrink)
        for i in range(indptr[row], indptr[row + 1]):
            add(sketch, indices[i], step * x[i])
        for i in range(indptr[row], indptr[row + 1]):
            weight = estimate(sketch, indices[i])
            slot = table[find(table, ids, indices[i])] - 1
            if slot >= 0:
                weights[slot] = weight
                least = smallest(weights, ids)
            elif ids[least] < 0 or abs(weight) > abs(weights[least]):
                weights[least] = weight
                replace(table, ids, least, indices[i])
                least = smallest(weights, ids)


@njit(cache=True)
def awm(
    sketch, table, ids, weights, bias, indptr, indices, x, codes, rate, shrink, t, learn, scores
):
    """Learn by AWM (Tai, Sharan, Bailis, Valiant 2018), of depth 1 as the authors advise.

    AWM is the active-set weight-median sketch. The active set has its weights exactly; all other
    features have theirs in the sketch. Both make the score.
    """
    least = smallest(weights, ids)
    for row in range(codes.size):
        score = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            slot = table[find(table, ids, indices[i])] - 1
            score += (weights[slot] if slot >= 0 else estimate(sketch, indices[i])) * x[i]
        scores[row] = bias[0] + bias[1] * score
        if not learn:
            continue
        step = next_step(bias, scores[row], codes[row], rate / np.sqrt(t + row + 1.0), shrink)
        for i in range(indptr[row], indptr[row + 1]):
            slot = table[find(table, ids, indices[i])] - 1
            if slot >= 0:
                weights[slot] += step * x[i]
                if slot == least:
                    least = smallest(weights, ids)
                elif abs(weights[slot]) < abs(weights[least]):
                    least = slot
                continue
            weight = estimate(sketch, indices[i]) + step * x[i]
            if ids[least] < 0 or abs(weight) > abs(weights[least]):
                if ids[least] >= 0:
                    add(sketch, ids[least], weights[least] - estimate(sketch, ids[least]))
                weights[least] = weight
                replace(table, ids, least, indices[i])
                least = smallest(weights, ids)
            else:
                add(sketch, indices[i], step * x[i])
