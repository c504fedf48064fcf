"""A limited number of columns, held standardised: their products with vectors and with one another.

A column of mean 0 and variance 1 is z = values - shift. One with a value in most rows is held in
full, a value for each row, and its shift is 0; of any other only the non-zeros are held, and its
mean, which is then at most its standard deviation, is the shift. So nothing cancels, however far
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
TOGETHER = 4  # columns that are multiplied at once
DENSE = 0.5  # of the rows: from this fraction on a column is held in full
FLAT = 1e-290  # a standard deviation whose inverse is hardly a number any more: what varies less does not vary
MIN_VARIANCE, MAX_VARIANCE = 1e-200, 1e200  # variances between which squares are exact enough
MAX_SHIFT = 1e20  # standard deviations from 0 that the mean of a column may be: float64 holds 1e16
ALIKE = 1.0 - 1e-6  # the correlation from which on two columns are the same


class Slots(NamedTuple):
    """Columns, the first ``ends[USED]`` slots; their values lie in one array, in any order."""

    ids: I64 = array("slots", low=0, below=NO_ID)
    starts: I64 = array("slots", low=0)  # where its values begin
    lengths: I64 = array(
        "slots", low=0
    )  # how many; as many as rows: all of them, and row numbers are not looked at
    shifts: F64 = array("slots", low=-MAX_SHIFT, below=MAX_SHIFT)
    centres: F64 = array(
        "slots", low=-MAX_VALUE, below=np.inf, finite=False
    )  # the mean of the column as it came
    scales: F64 = array("slots", low=0, below=np.inf, finite=False)  # its standard deviation
    rows: I32 = array("room", low=0)
    values: F64 = array("room", low=-MAX_SHIFT, below=MAX_SHIFT)
    ends: I64 = array(2, low=0)


@summing
def measure_column(n_rows: int, values: F64, begin: int, end: int) -> tuple[float, float]:
    """The mean and the standard deviation of a column; 0 for the second where it does not vary."""
    first = (
        values[begin] if end - begin == n_rows else 0.0
    )  # so that only equal values are constant
    mean, spread = moments(n_rows, values, begin, end, first, 1.0)
    if (
        spread < MIN_VARIANCE or not spread < MAX_VARIANCE
    ):  # squares may have lost digits: once more in another unit
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
    """The mean and the variance of a column less its first value, measured in some unit."""
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
    """How many values of a column with so many non-zeros are held."""
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
    """Hold a column in a slot, its values after all others, where there must be room."""
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
    """The sum of a column's held values, each times the entry of a vector for its row."""
    total = 0.0
    if length == vector.size:
        for i in range(length):
            total += values[unsigned(start + i)] * vector[unsigned(i)]
    else:
        for i in range(start, start + length):
            total += values[unsigned(i)] * vector[unsigned(rows[i])]
    return total


@summing
def products(slots: Slots, vector: F64, start: int, stop: int, found: F64) -> None:
    """``found`` = z'vector / n of the slots from ``start`` to before ``stop``."""
    total = 0.0
    for row in range(vector.size):
        total += vector[row]
    for slot in range(start, stop):
        held = product(slots.rows, slots.values, slots.starts[slot], slots.lengths[slot], vector)
        found[slot] = (held - slots.shifts[slot] * total) / vector.size


@kernel
def combine(slots: Slots, weights: F64, intercept: float, scores: F64) -> None:
    """``scores`` = intercept + the columns in use, each times its weight."""
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
    """Extend the matrix of correlations, known up to slot ``start``, by the slots up to before ``stop``."""
    lines, found = np.zeros((TOGETHER, n_rows)), np.empty((TOGETHER, slots.ids.size))
    for first in range(start, stop, TOGETHER):
        count = min(TOGETHER, stop - first)
        for line in range(count):
            written_out(slots, first + line, lines[line])
        multiply(slots, lines, first + count, found)
        for line in range(count):
            slot = first + line
            gram[slot, :slot] = gram[:slot, slot] = found[line, :slot] / n_rows
            gram[slot, slot] = 1.0


@summing
def multiply(slots: Slots, lines: F64, used: int, found: F64) -> None:
    """``found`` = the products of ``TOGETHER`` lines, each of mean 0, with the first slots.

    A few rows of the lines at a time, which then stay in the cache for all slots.
    """
    n_rows = lines.shape[1]
    found[:] = 0.0
    one, two, three, four = lines[0], lines[1], lines[2], lines[3]
    for first in range(0, n_rows, CHUNK):
        last = min(n_rows, first + CHUNK)
        for slot in range(used):
            start = slots.starts[slot]
            if slots.lengths[slot] == n_rows:
                a = b = c = d = 0.0
                for row in range(first, last):
                    value = slots.values[unsigned(start + row)]
                    a += value * one[unsigned(row)]
                    b += value * two[unsigned(row)]
                    c += value * three[unsigned(row)]
                    d += value * four[unsigned(row)]
                found[0, slot] += a
                found[1, slot] += b
                found[2, slot] += c
                found[3, slot] += d
            elif first == 0:
                for line in range(TOGETHER):
                    found[line, slot] = product(
                        slots.rows, slots.values, start, slots.lengths[slot], lines[line]
                    )


@kernel
def measure_columns(indptr: I64, values: F64, n_rows: int, means: F64, scales: F64) -> int:
    """Fill in the means and scales of some columns, a scale of 0 where one does not vary.

    Back     how many values are held of those that do.
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
    """Hold all columns that vary, for which there must be slots and room."""
    for column in range(ids.size):
        if scales[column] > 0.0:
            begin, end = indptr[column], indptr[column + 1]
            mean, scale = means[column], scales[column]
            put_column(
                slots,
                slots.ends[USED],
                ids[column],
                n_rows,
                mean,
                scale,
                indices,
                values,
                begin,
                end,
            )
            slots.ends[USED] += 1


@kernel
def written_out(slots: Slots, slot: int, line: F64) -> None:
    """``line`` = a column, a value for each row."""
    first, length = slots.starts[slot], slots.lengths[slot]
    if length == line.size:
        line[:] = slots.values[first : first + length]
    else:
        line[:] = -slots.shifts[slot]
        for i in range(first, first + length):
            line[slots.rows[i]] += slots.values[i]


@kernel
def move_to_end(order: I32, at: int, last: int) -> None:
    """Move a slot in an order of arrival after all others in use, the last of which is at ``last``."""
    slot = order[at]
    for later in range(at, last):
        order[later] = order[later + 1]
    order[last] = slot


@kernel
def pack(slots: Slots, chosen: I64, order: I64) -> None:
    """Drop all columns but those chosen, which take the slots from the first on; ``order``: by where values begin."""
    starts = np.empty(chosen.size, np.int64)
    top = 0
    for at in order:
        start, length = slots.starts[chosen[at]], slots.lengths[chosen[at]]
        if start != top:
            for i in range(length):
                slots.rows[top + i] = slots.rows[start + i]
                slots.values[top + i] = slots.values[start + i]
        starts[at] = top
        top += length
    slots.starts[: chosen.size] = starts
    for counts in (slots.ids, slots.lengths):
        counts[: chosen.size] = counts[chosen]
    for numbers in (slots.shifts, slots.centres, slots.scales):
        numbers[: chosen.size] = numbers[chosen]
    slots.ends[USED], slots.ends[TOP] = chosen.size, top
