"""Columns far from 0, or of numbers far from 1, brought to where sums of squares lose nothing.

A correlation does not change with the shift and the unit of a column, but what can be computed of
it does: of seconds since 1970, over an hour, squares leave six digits of sixteen, and those of
1e200 overflow.
"""

from __future__ import annotations

import math

from ..jit import kernel
from ..types import F64, I64, Bool

MAX_SIZE, MIN_SIZE = (
    2.0**200,
    2.0**-200,
)  # sizes between which products of two sums of squares are ordinary numbers
DIGITS = 24  # of a float32, in bits
MAX_COARSE_STEPS = (
    64  # of 32-bit numbers: a column that spans no more of them has probably lost what it was
)
EXACT = 2.0**DIGITS  # up to here 32-bit numbers hold every integer


@kernel
def find_far(
    indptr: I64, values: F64, n_rows: int, start: int, stop: int, any_large: bool, far: Bool
) -> None:
    """Which columns from ``start`` to ``stop`` a shift or another unit would help; what they get is ``centre_columns``.

    A column with a value in every row, all within a factor of two of the first, is shifted by the
    first: such a difference is exact (Sterbenz 1974), so that a column is 0 throughout if it is
    constant, and only then. Any other varies by more than its size divided by the number of rows.
    Units are powers of two, and so are exact, too.

    Given    any_large: whether there may be values beyond MAX_SIZE; if not, the first value of most columns is enough.
    """
    for column in range(start, stop):
        begin, end = indptr[column], indptr[column + 1]
        far[column] = False
        if any_large or (begin < end and not abs(values[begin]) >= MIN_SIZE):
            far[column] = is_extreme(largest_size(values, begin, end))
        if end - begin == n_rows:
            far[column] |= are_close(values, begin, end, first_present(values, begin, end))


@kernel
def centre_columns(indptr: I64, n_rows: int, far: Bool, start: int, stop: int, values: F64) -> None:
    """Shift columns from ``start`` to ``stop`` that are ``far``, and give them another unit, in place."""
    for column in range(start, stop):
        if not far[column]:
            continue
        begin, end = indptr[column], indptr[column + 1]
        first = first_present(values, begin, end)
        shift = first if end - begin == n_rows and are_close(values, begin, end, first) else 0.0
        for i in range(begin, end):
            values[i] -= shift
        largest = largest_size(values, begin, end)
        if is_extreme(largest):
            exponent = math.frexp(largest)[1]
            for i in range(begin, end):
                values[i] = math.ldexp(values[i], -exponent)


@kernel
def largest_size(values: F64, begin: int, end: int) -> float:
    """The largest size of a value, missing ones omitted; 0 if there is none."""
    largest = 0.0
    for i in range(begin, end):
        if abs(values[i]) > largest:  # never true of a missing value
            largest = abs(values[i])
    return largest


@kernel
def is_extreme(size: float) -> bool:
    """Whether squares of such numbers may overflow, or vanish."""
    return size > MAX_SIZE or 0.0 < size < MIN_SIZE


@kernel
def find_coarse(
    indptr: I64, values: F64, n_rows: int, start: int, stop: int, coarse: Bool, varies: Bool
) -> None:
    """Which columns are of 32-bit numbers so far from 0 that these differ by a few steps alone, or not at all.

    Given    the numbers as float64; ``varies`` gets whether a coarse column has more than one value. Of those that do
             not vary, numbers that are not beyond all integers that a float32 can hold are
             constants as any other.
    """
    for column in range(start, stop):
        coarse[column] = varies[column] = False
        begin, end = indptr[column], indptr[column + 1]
        first = first_present(values, begin, end)
        if end - begin != n_rows or not are_close(values, begin, end, first):
            continue
        low = high = first
        for i in range(begin, end):
            if values[i] == values[i]:
                low, high = min(low, values[i]), max(high, values[i])
        step = math.ldexp(1.0, math.frexp(max(abs(low), abs(high)))[1] - DIGITS)
        if high - low > MAX_COARSE_STEPS * step or (low == high and abs(first) < EXACT):
            continue
        are_multiples = True
        for i in range(begin, end):
            are_multiples &= values[i] != values[i] or values[i] % (0.5 * step) == 0.0
        coarse[column], varies[column] = are_multiples, are_multiples and low < high


@kernel
def first_present(values: F64, begin: int, end: int) -> float:
    """The first value that is not missing; 0 if there is none."""
    for i in range(begin, end):
        if values[i] == values[i]:
            return float(values[i])
    return 0.0


@kernel
def are_close(values: F64, begin: int, end: int, first: float) -> bool:
    """Whether all values that are there are within a factor of two of one that is not 0."""
    i = begin if first != 0.0 else end + 1
    while i < end and (values[i] != values[i] or 0.5 <= values[i] / first <= 2.0):
        i += 1
    return i == end
