"""A limited number of standardised columns: their products with vectors and with one another.

A column of mean 0 and variance 1 is z = values - shift. A column with a value in most rows is held
in full, a value for each row, and its shift is 0; of any other only the non-zeros are held, and its
mean, which is then at most its standard deviation, is the shift. So no digits cancel, however far
the mean of a column is from 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import MAX_VALUE, NO_ID, array
from ..jit import inlined_summing, kernel, summing
from ..types import F64, I32, I64, unsigned

USED, TOP = 0, 1  # entries of ``ends``: slots in use, and the end of their values
CHUNK = 512  # rows whose values stay in the cache
COLUMNS_AT_ONCE = 4  # that are multiplied together
DENSE = 0.5  # of the rows: from this fraction on a column is held in full
FLAT = 1e-290  # the least standard deviation: of a smaller one the inverse may overflow
MIN_VARIANCE, MAX_VARIANCE = 1e-200, 1e200  # variances between which squares are exact enough
MAX_SHIFT = 1e20  # of the mean of a column, in standard deviations: float64 holds 1e16
ALIKE = 1.0 - 1e-6  # the correlation from which on two columns are the same


class Slots(NamedTuple):
    """Columns in the first ``ends[USED]`` slots; their values lie in one array, in any order."""

    ids: I64 = array("slots", low=0, below=NO_ID)
    starts: I64 = array("slots", low=0)  # where its values begin
    # number of values; if there is one for every row, row numbers are not read
    lengths: I64 = array("slots", low=0)
    shifts: F64 = array("slots", low=-MAX_SHIFT, below=MAX_SHIFT)
    # the mean and the standard deviation of the column as it was given
    centres: F64 = array("slots", low=-MAX_VALUE, below=np.inf, finite=False)
    scales: F64 = array("slots", low=0, below=np.inf, finite=False)
    rows: I32 = array("room", low=0)
    values: F64 = array("room", low=-MAX_SHIFT, below=MAX_SHIFT)
    ends: I64 = array(2, low=0)


@summing
def measure_column(n_rows: int, values: F64, begin: int, end: int) -> tuple[float, float]:
    """Return the mean and the standard deviation of a column; the latter is 0 if it is constant."""
    # relative to the first value, so that only equal values are constant
    first = values[begin] if end - begin == n_rows else 0.0
    mean, spread = moments(n_rows, values, begin, end, first, 1.0)
    # squares may have lost digits: once more in another unit
    if spread < MIN_VARIANCE or not spread < MAX_VARIANCE:
        unit = 0.0
        for i in range(begin, end):
            unit = max(unit, abs(values[i] - first))
        if unit > 0.0:
            mean, spread = moments(n_rows, values, begin, end, first, unit)
            scale = np.sqrt(spread) * unit
            return first + mean * unit, scale if scale > FLAT else 0.0
    return first + mean, np.sqrt(spread)


@inlined_summing
def moments(
    n_rows: int, values: F64, begin: int, end: int, first: float, unit: float
) -> tuple[float, float]:
    """Return the mean and the variance of a column minus its first value, in some unit."""
    total = 0.0
    for i in range(begin, end):
        total += (values[i] - first) / unit
    mean = total / n_rows
    spread = (n_rows - (end - begin)) * mean * mean
    for i in range(begin, end):
        spread += ((values[i] - first) / unit - mean) ** 2
    return mean, spread / n_rows


@kernel
def held_length(n_rows: int, length: int) -> int:
    """Return how many values are held of a column with ``length`` non-zeros."""
    return n_rows if length > DENSE * n_rows else length


@kernel
def put_column(
    slots: Slots,
    slot: int,
    feature: int,
    n_rows: int,
    mean: float,
    scale: float,
    indices: I32,
    values: F64,
    begin: int,
    end: int,
) -> None:
    """Hold a column in a slot, its values after all others; there must be room for them."""
    start, length = slots.ends[TOP], held_length(n_rows, end - begin)
    if length == n_rows:
        for row in range(n_rows):
            slots.values[start + row] = -mean / scale
        for i in range(begin, end):
            slots.values[start + indices[i]] = (values[i] - mean) / scale
    else:
        for i in range(begin, end):
            slots.rows[start + i - begin] = indices[i]
            slots.values[start + i - begin] = values[i] / scale
    slots.ids[slot], slots.starts[slot], slots.lengths[slot] = feature, start, length
    slots.shifts[slot] = 0.0 if length == n_rows else mean / scale
    slots.centres[slot], slots.scales[slot] = mean, scale
    slots.ends[TOP] = start + length


@inlined_summing
def product(rows: I32, values: F64, start: int, length: int, vector: F64) -> float:
    """Return the sum of a column's held values, each times the entry of its row in a vector."""
    total = 0.0
    if length == vector.size:
        for i in range(length):
            total += values[unsigned(start + i)] * vector[unsigned(i)]
    else:
        for i in range(start, start + length):
            total += values[unsigned(i)] * vector[unsigned(rows[i])]
    return total


@summing
def products(slots: Slots, vector: F64, start: int, stop: int, out: F64) -> None:
    """Write z'vector / n of the slots from ``start`` to before ``stop``."""
    total = 0.0
    for row in range(vector.size):
        total += vector[row]
    for slot in range(start, stop):
        held = product(slots.rows, slots.values, slots.starts[slot], slots.lengths[slot], vector)
        out[slot] = (held - slots.shifts[slot] * total) / vector.size


@kernel
def combine(slots: Slots, weights: F64, intercept: float, scores: F64) -> None:
    """Write the scores: intercept + the columns in use, each times its weight."""
    constant = intercept
    for slot in range(slots.ends[USED]):
        constant -= weights[slot] * slots.shifts[slot]
    scores[:] = constant
    for slot in range(slots.ends[USED]):
        weight, start, length = weights[slot], slots.starts[slot], slots.lengths[slot]
        if weight == 0.0:
            continue
        if length == scores.size:
            for i in range(length):
                scores[unsigned(i)] += weight * slots.values[unsigned(start + i)]
        else:
            for i in range(start, start + length):
                scores[unsigned(slots.rows[i])] += weight * slots.values[unsigned(i)]


@kernel
def correlate(slots: Slots, n_rows: int, start: int, stop: int, gram: F64) -> None:
    """Extend the matrix of correlations by the slots from ``start`` to before ``stop``.

    Given    gram: complete for the slots before ``start``.
    """
    lines, line_products = (
        np.zeros((COLUMNS_AT_ONCE, n_rows)),
        np.empty((COLUMNS_AT_ONCE, slots.ids.size)),
    )
    for first in range(start, stop, COLUMNS_AT_ONCE):
        count = min(COLUMNS_AT_ONCE, stop - first)
        for line in range(count):
            write_line(slots, first + line, lines[line])
        multiply_lines(slots, lines, first + count, line_products)
        for line in range(count):
            slot = first + line
            gram[slot, :slot] = gram[:slot, slot] = line_products[line, :slot] / n_rows
            gram[slot, slot] = 1.0


@summing
def multiply_lines(slots: Slots, lines: F64, used: int, out: F64) -> None:
    """Write the products of ``COLUMNS_AT_ONCE`` lines of mean 0 with the first ``used`` slots.

    A few rows of the lines are taken at a time, which then stay in the cache for all slots.
    """
    n_rows = lines.shape[1]
    out[:] = 0.0
    line0, line1, line2, line3 = lines[0], lines[1], lines[2], lines[3]
    for first in range(0, n_rows, CHUNK):
        last = min(n_rows, first + CHUNK)
        for slot in range(used):
            start = slots.starts[slot]
            if slots.lengths[slot] == n_rows:
                a = b = c = d = 0.0
                for row in range(first, last):
                    value = slots.values[unsigned(start + row)]
                    a += value * line0[unsigned(row)]
                    b += value * line1[unsigned(row)]
                    c += value * line2[unsigned(row)]
                    d += value * line3[unsigned(row)]
                out[0, slot] += a
                out[1, slot] += b
                out[2, slot] += c
                out[3, slot] += d
            elif first == 0:
                for line in range(COLUMNS_AT_ONCE):
                    out[line, slot] = product(
                        slots.rows, slots.values, start, slots.lengths[slot], lines[line]
                    )


@kernel
def measure_columns(indptr: I64, values: F64, n_rows: int, means: F64, scales: F64) -> int:
    """Write the means and scales of columns, a scale of 0 for a constant one.

    Back     the number of values that are held of the columns that vary.
    """
    room = 0
    for column in range(means.size):
        begin, end = indptr[column], indptr[column + 1]
        means[column], scales[column] = measure_column(n_rows, values, begin, end)
        if scales[column] > 0.0:
            room += held_length(n_rows, end - begin)
    return room


@kernel
def hold_columns(
    slots: Slots,
    indptr: I64,
    indices: I32,
    values: F64,
    ids: I64,
    n_rows: int,
    means: F64,
    scales: F64,
) -> None:
    """Hold all columns that vary; there must be slots and room for them."""
    for column in range(ids.size):
        if scales[column] > 0.0:
            begin, end = indptr[column], indptr[column + 1]
            put_column(
                slots,
                slots.ends[USED],
                ids[column],
                n_rows,
                means[column],
                scales[column],
                indices,
                values,
                begin,
                end,
            )
            slots.ends[USED] += 1


@kernel
def write_line(slots: Slots, slot: int, line: F64) -> None:
    """Write a column as a line with a value for each row."""
    first, length = slots.starts[slot], slots.lengths[slot]
    if length == line.size:
        line[:] = slots.values[first : first + length]
    else:
        line[:] = -slots.shifts[slot]
        for i in range(first, first + length):
            line[slots.rows[i]] += slots.values[i]


@kernel
def move_to_end(order: I32, at: int, last: int) -> None:
    """Move a slot behind all others in use, in an order of arrival.

    Given    at: its position; last: the position of the last slot in use.
    """
    slot = order[at]
    for later in range(at, last):
        order[later] = order[later + 1]
    order[last] = slot


@kernel
def compact_columns(slots: Slots, chosen: I64, order: I64) -> None:
    """Drop all columns but the chosen ones, which take the slots from the first on.

    Given    order: the positions in ``chosen``, by where values begin.
    """
    starts = np.empty(chosen.size, np.int64)
    top = 0
    for at in order:
        start, length = slots.starts[chosen[at]], slots.lengths[chosen[at]]
        if start != top:
            slots.rows[top : top + length] = slots.rows[start : start + length]
            slots.values[top : top + length] = slots.values[start : start + length]
        starts[at] = top
        top += length
    slots.starts[: chosen.size] = starts
    for counts in (slots.ids, slots.lengths):
        counts[: chosen.size] = counts[chosen]
    for numbers in (slots.shifts, slots.centres, slots.scales):
        numbers[: chosen.size] = numbers[chosen]
    slots.ends[USED], slots.ends[TOP] = chosen.size, top
