"""Generate data: sparse rows with noise features drawn per row, and dense rows or columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..chance import GOLDEN, MIX_FIRST, mix_bits
from ..jit import inlined, kernel
from ..types import F32, F64, I64, Floats, Ints

# values are multiples of 1 / DECIMALS, so that a text file of the rows is compact and exact
DECIMALS = 1e6
UNIT = 2.0**-53
NOISE_COLUMN = 2**63 - 1

# layers of the ziggurat, all of area AREA; the lowest has an infinite tail that begins at TAIL
LAYERS = 256
TAIL, AREA = 3.6541528853610088, 0.00492867323399


def _layer_ends() -> F64:
    """Return the right ends of the layers under ``exp(-x^2 / 2)``, lowest first, then a 0."""
    ends = np.zeros(LAYERS + 1)
    ends[0], ends[1] = AREA / np.exp(-0.5 * TAIL * TAIL), TAIL
    for layer in range(1, LAYERS - 1):
        ends[layer + 1] = np.sqrt(
            -2.0 * np.log(AREA / ends[layer] + np.exp(-0.5 * ends[layer] * ends[layer]))
        )
    return ends


ENDS = _layer_ends()
HEIGHTS: F64 = np.exp(-0.5 * ENDS * ENDS)


@inlined
def to_uniform(bits: Any) -> Any:
    """Return a number in [0, 1) from the upper 53 of 64 random bits."""
    return np.float64(bits >> np.uint64(11)) * UNIT


@kernel
def draw_outside_layer(state: Any, layer: int, x: float) -> tuple[Any, bool, float]:
    """Accept, reject or replace a number outside the part of its layer fully under the curve.

    Back     the state, whether the number is accepted, and the number.
    """
    if layer == 0:
        while True:
            excess_over_tail = -np.log(1.0 - to_uniform(mix_bits(state + GOLDEN))) / TAIL
            state += GOLDEN + GOLDEN
            if (
                -2.0 * np.log(1.0 - to_uniform(mix_bits(state)))
                > excess_over_tail * excess_over_tail
            ):
                return state, True, TAIL + excess_over_tail
    state += GOLDEN
    height = HEIGHTS[layer] + to_uniform(mix_bits(state)) * (HEIGHTS[layer + 1] - HEIGHTS[layer])
    return state, height < np.exp(-0.5 * x * x), x


@inlined
def first_state(seed: int, row: int) -> Any:
    """Return the state from which the random numbers of a row start."""
    return mix_bits(mix_bits(np.uint64(seed) * GOLDEN + MIX_FIRST) + np.uint64(row) * GOLDEN)


@inlined
def draw_normal(state: Any) -> Any:
    """Draw a standard normal number that is a multiple of 1 / ``DECIMALS`` and not 0.

    Back     the next state, and the number.
    """
    while True:
        state += GOLDEN
        bits = mix_bits(state)
        layer: Any = np.int64(bits & np.uint64(LAYERS - 1))
        x = to_uniform(bits) * ENDS[layer]
        is_accepted = x < ENDS[layer + 1]
        if not is_accepted:
            state, is_accepted, x = draw_outside_layer(state, layer, x)
        if is_accepted:
            break
    x = max(1.0, np.rint(x * DECIMALS)) / DECIMALS
    return state, -x if bits & np.uint64(LAYERS) else x


@kernel
def generate_normals(seed: int, first_row: int, values: F32) -> None:
    """Fill rows with standard normal numbers that depend only on the seed and the row number."""
    for row in range(values.shape[0]):
        state = first_state(seed, first_row + row)
        for j in range(values.shape[1]):
            state, values[row, j] = draw_normal(state)


@inlined
def draw_cell(column: Any, row: int) -> Any:
    """Return the standard normal number of a row and of a column, given by its ``first_state``."""
    _, x = draw_normal(mix_bits(column + np.uint64(row) * GOLDEN))
    return np.float64(np.float32(x))  # rounded as in a row of float32 values


@kernel
def generate_columns(seed: int, first_row: int, ids: I64, values: Floats) -> None:
    """Fill columns, one per line, with the numbers of ``draw_cell``."""
    for line in range(ids.size):
        column = first_state(seed, ids[line])
        for row in range(values.shape[1]):
            values[line, row] = draw_cell(column, first_row + row)


@kernel
def generate_scores(
    seed: int, first_row: int, ids: I64, weights: F64, noise: float, scores: F64
) -> None:
    """Fill in the weighted sums of some columns plus noise with the given standard deviation.

    The noise is a separate column, after all others. Terms are added in the order of the columns,
    so that the sum of a row does not depend on the rows generated with it.
    """
    scores[:] = 0.0
    for k in range(ids.size):
        column = first_state(seed, ids[k])
        for row in range(scores.size):
            scores[row] += weights[k] * draw_cell(column, first_row + row)
    if noise > 0.0:
        column = first_state(seed, NOISE_COLUMN)
        for row in range(scores.size):
            scores[row] += noise * draw_cell(column, first_row + row)


@kernel
def generate_rows(
    seed: int,
    first_row: int,
    weights: F64,
    low: int,
    high: int,
    indices: Ints,
    values: F32,
    labels: F64,
) -> None:
    """Fill in rows that depend only on the seed and the row number.

    Given    weights: the hidden weights of the informative features, ids 0, 1, ...; low, high: the
             noise features of a row are distinct ids in [low, high), every set equally likely.
    Back     indices and values, one line per row, ids ascending; labels: the sign of the score of
             the informative features.
    """
    n_informative, length = weights.size, indices.shape[1]
    buckets = length - n_informative
    drawn, bucket = np.empty(buckets, np.int64), np.empty(buckets, np.int64)
    ends = np.empty(buckets + 1, np.int64)
    for row in range(indices.shape[0]):
        state = first_state(seed, first_row + row)
        score = 0.0
        for j in range(length):
            state, x = draw_normal(state)
            values[row, j] = x
            if j < n_informative:
                indices[row, j] = j
                score += values[row, j] * weights[j]
        labels[row] = 1.0 if score > 0.0 else -1.0
        for i in range(buckets):
            state += GOLDEN
            fraction = to_uniform(mix_bits(state))
            drawn[i] = low + np.int64(fraction * (high - low))
            bucket[i] = np.int64(fraction * buckets)
        sort_into(drawn, bucket, ends, indices[row, n_informative:])
        while redraw_repeated(indices[row, n_informative:], state, low, high):
            state += np.uint64(buckets) * GOLDEN


@kernel
def sort_into(drawn: I64, bucket: I64, ends: I64, ascending: Ints) -> None:
    """Sort numbers that are spread evenly over as many buckets as there are numbers."""
    ends[:] = 0
    for i in range(drawn.size):
        ends[bucket[i] + 1] += 1
    for b in range(1, ends.size):
        ends[b] += ends[b - 1]
    for i in range(drawn.size):
        ascending[ends[bucket[i]]] = drawn[i]
        ends[bucket[i]] += 1
    insertion_sort(ascending)


@kernel
def insertion_sort(numbers: Ints) -> None:
    """Sort numbers that are nearly in order."""
    for i in range(1, numbers.size):
        number = numbers[i]
        slot = i
        while slot > 0 and numbers[slot - 1] > number:
            numbers[slot] = numbers[slot - 1]
            slot -= 1
        numbers[slot] = number


@kernel
def redraw_repeated(ascending: Ints, state: Any, low: int, high: int) -> bool:
    """Redraw ids that appear twice and sort again; return True if there were any.

    The result is distributed as if ids were drawn one by one.
    """
    has_repeated = False
    for i in range(ascending.size - 1, 0, -1):
        if ascending[i] == ascending[i - 1]:
            state += GOLDEN
            ascending[i] = low + np.int64(to_uniform(mix_bits(state)) * (high - low))
            has_repeated = True
    if has_repeated:
        insertion_sort(ascending)
    return has_repeated


@kernel
def generate_clicks(
    seed: int,
    first_row: int,
    cumulative: F64,
    id_of_rank: I64,
    log_odds: F64,
    base_log_odds: float,
    indices: Ints,
    labels: F64,
) -> None:
    """Generate rows of a click log: distinct features, frequent ones more often, and a label.

    Given    cumulative: the probability of every rank or a more frequent one; id_of_rank: the
             feature of a rank; log_odds: the contributions of the first features to
             ``base_log_odds``, the log odds of a click without any of them.
    Back     indices: rows x features, ascending; labels: 1 for a click, -1 otherwise.
    """
    n_drawn = indices.shape[1]
    for row in range(indices.shape[0]):
        state = first_state(seed, first_row + row)
        total, drawn = base_log_odds, 0
        while drawn < n_drawn:
            state += GOLDEN
            feature = id_of_rank[
                np.searchsorted(cumulative, to_uniform(mix_bits(state)), side="right")
            ]
            rank = drawn
            while rank > 0 and indices[row, rank - 1] > feature:
                rank -= 1
            if rank > 0 and indices[row, rank - 1] == feature:
                continue
            for later in range(drawn, rank, -1):
                indices[row, later] = indices[row, later - 1]
            indices[row, rank] = feature
            drawn += 1
            if feature < log_odds.size:
                total += log_odds[feature]
        state += GOLDEN
        labels[row] = 1.0 if to_uniform(mix_bits(state)) * (1.0 + np.exp(-total)) < 1.0 else -1.0
