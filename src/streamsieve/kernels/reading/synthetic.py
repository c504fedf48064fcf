"""Synthetic data: sparse rows whose noise features are drawn for each row, and full matrices by rows or by columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..chance import GOLDEN, MIX_FIRST, mixed
from ..jit import inlined, kernel
from ..types import F32, F64, I64, Ints

DECIMALS = (
    1e6  # what a value is a multiple of, so that a text file of the rows is compact and exact
)
UNIT = 2.0**-53
NOISE_COLUMN = 2**63 - 1

LAYERS = (
    256  # of the ziggurat, all of area ``AREA``; the lowest begins at ``TAIL`` and goes on for ever
)
TAIL, AREA = 3.6541528853610088, 0.00492867323399


def _ziggurat() -> F64:
    """The right ends of the layers under ``exp(-x^2 / 2)``, from the lowest; 0 above the last."""
    ends = np.zeros(LAYERS + 1)
    ends[0], ends[1] = AREA / np.exp(-0.5 * TAIL * TAIL), TAIL
    for layer in range(1, LAYERS - 1):
        ends[layer + 1] = np.sqrt(
            -2.0 * np.log(AREA / ends[layer] + np.exp(-0.5 * ends[layer] * ends[layer]))
        )
    return ends


ENDS = _ziggurat()
HEIGHTS: F64 = np.exp(-0.5 * ENDS * ENDS)


@inlined
def uniform(bits: Any) -> Any:
    """A number from 0 to below 1 out of the upper 53 of 64 random bits."""
    return np.float64(bits >> np.uint64(11)) * UNIT


@kernel
def rare_normal(state: Any, layer: int, x: float) -> tuple[Any, bool, float]:
    """What the ziggurat does with a number beyond the part of its layer that is all under the curve.

    Back: the state, whether the number stays, and the number.
    """
    if layer == 0:
        while True:
            beyond = -np.log(1.0 - uniform(mixed(state + GOLDEN))) / TAIL
            state += GOLDEN + GOLDEN
            if -2.0 * np.log(1.0 - uniform(mixed(state))) > beyond * beyond:
                return state, True, TAIL + beyond
    state += GOLDEN
    height = HEIGHTS[layer] + uniform(mixed(state)) * (HEIGHTS[layer + 1] - HEIGHTS[layer])
    return state, height < np.exp(-0.5 * x * x), x


@inlined
def first_state(seed: int, row: int) -> Any:
    """Where the random numbers of a row begin."""
    return mixed(mixed(np.uint64(seed) * GOLDEN + MIX_FIRST) + np.uint64(row) * GOLDEN)


@inlined
def normal(state: Any) -> Any:
    """The state after it, and a standard normal number that is a multiple of 1 / ``DECIMALS`` and not 0."""
    while True:
        state += GOLDEN
        bits = mixed(state)
        layer: Any = np.int64(bits & np.uint64(LAYERS - 1))
        x = uniform(bits) * ENDS[layer]
        stays = x < ENDS[layer + 1]
        if not stays:
            state, stays, x = rare_normal(state, layer, x)
        if stays:
            break
    x = max(1.0, np.rint(x * DECIMALS)) / DECIMALS
    return state, -x if bits & np.uint64(LAYERS) else x


@kernel
def generate_normals(seed: int, first_row: int, values: F32) -> None:
    """Fill rows with standard normal numbers; what a row holds depends on the seed and its number alone."""
    for row in range(values.shape[0]):
        state = first_state(seed, first_row + row)
        for j in range(values.shape[1]):
            state, values[row, j] = normal(state)


@inlined
def cell(column: Any, row: int) -> Any:
    """A standard normal number as ``normal`` gives it, by row and the ``first_state`` of its column alone."""
    _, x = normal(mixed(column + np.uint64(row) * GOLDEN))
    return np.float64(np.float32(x))  # as a row of float32 values holds it


@kernel
def generate_dense_rows(seed: int, first_row: int, values: F32) -> None:
    """Fill rows with the numbers of ``cell``, columns from 0 on."""
    for row in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[row, j] = cell(first_state(seed, j), first_row + row)


@kernel
def generate_columns(seed: int, first_row: int, ids: I64, values: F64) -> None:
    """Fill columns, a line each, with the numbers of ``cell``: what ``generate_dense_rows`` gives, transposed."""
    for line in range(ids.size):
        column = first_state(seed, ids[line])
        for row in range(values.shape[1]):
            values[line, row] = cell(column, first_row + row)


@kernel
def generate_scores(
    seed: int, first_row: int, ids: I64, weights: F64, noise: float, scores: F64
) -> None:
    """Fill in the sums of some columns times their weights, and of noise with that standard deviation.

    The noise is a column of its own, after all others. Terms are added in the order of the columns,
    so that a row has the same sum whichever rows are made with it.
    """
    scores[:] = 0.0
    for k in range(ids.size):
        column = first_state(seed, ids[k])
        for row in range(scores.size):
            scores[row] += weights[k] * cell(column, first_row + row)
    if noise > 0.0:
        column = first_state(seed, NOISE_COLUMN)
        for row in range(scores.size):
            scores[row] += noise * cell(column, first_row + row)


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
    """Fill in rows, each from a random state of its own: what a row holds depends on the seed and its number alone.

    Given    weights: the hidden ones of the informative features, ids 0, 1, ...; low, high: the noise features of a row
             are different ids from ``low`` to below ``high``, every set of them equally likely.
    Back     indices and values, a line each per row, ids ascending; labels: the sign of the informative part's score.
    """
    informative, length = weights.size, indices.shape[1]
    buckets = length - informative
    drawn, bucket = np.empty(buckets, np.int64), np.empty(buckets, np.int64)
    ends = np.empty(buckets + 1, np.int64)
    for row in range(indices.shape[0]):
        state = first_state(seed, first_row + row)
        score = 0.0
        for j in range(length):
            state, x = normal(state)
            values[row, j] = x
            if j < informative:
                indices[row, j] = j
                score += values[row, j] * weights[j]
        labels[row] = 1.0 if score > 0.0 else -1.0
        for i in range(buckets):
            state += GOLDEN
            part = uniform(mixed(state))
            drawn[i] = low + np.int64(part * (high - low))
            bucket[i] = np.int64(part * buckets)
        sort_into(drawn, bucket, ends, indices[row, informative:])
        while redraw_repeated(indices[row, informative:], state, low, high):
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
        at = i
        while at > 0 and numbers[at - 1] > number:
            numbers[at] = numbers[at - 1]
            at -= 1
        numbers[at] = number


@kernel
def redraw_repeated(ascending: Ints, state: Any, low: int, high: int) -> bool:
    """Draw anew what appears twice, and sort again; whether there was any. So does drawing one by one."""
    repeated = False
    for i in range(ascending.size - 1, 0, -1):
        if ascending[i] == ascending[i - 1]:
            state += GOLDEN
            ascending[i] = low + np.int64(uniform(mixed(state)) * (high - low))
            repeated = True
    if repeated:
        insertion_sort(ascending)
    return repeated


@kernel
def generate_clicks(
    seed: int,
    first_row: int,
    up_to: F64,
    id_of_rank: I64,
    log_odds: F64,
    base: float,
    indices: Ints,
    labels: F64,
) -> None:
    """Rows of a click log: different features, the frequent ones more often, and whether somebody clicked.

    Given    up_to: the chance of every rank or a more frequent one; id_of_rank: the feature of a rank; log_odds: what
             the first features add to ``base``, the log odds of a click without any of them.
    Back     indices: rows x features, ascending; labels: 1 for a click, -1 otherwise.
    """
    n_drawn = indices.shape[1]
    for row in range(indices.shape[0]):
        state = first_state(seed, first_row + row)
        odds, drawn = base, 0
        while drawn < n_drawn:
            state += GOLDEN
            feature = id_of_rank[np.searchsorted(up_to, uniform(mixed(state)), side="right")]
            at = drawn
            while at > 0 and indices[row, at - 1] > feature:
                at -= 1
            if at > 0 and indices[row, at - 1] == feature:
                continue
            for later in range(drawn, at, -1):
                indices[row, later] = indices[row, later - 1]
            indices[row, at] = feature
            drawn += 1
            if feature < log_odds.size:
                odds += log_odds[feature]
        state += GOLDEN
        labels[row] = 1.0 if uniform(mixed(state)) * (1.0 + np.exp(-odds)) < 1.0 else -1.0
