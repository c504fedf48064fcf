"""Shift and scale columns of extreme values, so that sums of squares lose no digits.

A correlation does not depend on the shift and the unit of a column, but its computed value does:
for seconds since 1970, within one hour, squares leave six digits of sixteen, and squares of 1e200
overflow.
"""

from __future__ import annotations

import math

from ..jit import kernel
from ..types import F64, I64, Bool

# between these sizes, products of two sums of squares neither overflow nor vanish
MAX_SIZE, MIN_SIZE = 2.0**200, 2.0**-200
DIGITS = 24  # of a float32, in bits
# in steps of float32: a column that spans no more of them has probably lost its information
MAX_COARSE_STEPS = 64
EXACT = 2.0**DIGITS  # up to here float32 holds every integer


@kernel
def find_far(
    indptr: I64, values: F64, n_rows: int, start: int, stop: int, any_large: bool, far: Bool
) -> None:
    """Mark the columns from ``start`` to before ``stop`` that need another shift or unit.

    ``centre_columns`` gives them those. A column with a value in every row, all within a factor of
    two of the first, is shifted by the first value: such a difference is exact (Sterbenz 1974), so
    that the shifted column is 0 throughout if and only if the column is constant. Any other column
    varies by more than its size divided by the number of rows. Units are powers of two, and so are
    exact, too.

    Given    any_large: False if no value is beyond MAX_SIZE; then the first value of most columns
             is enough.
    Back     far: True for the columns marked.
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
    """Shift and scale the ``far`` columns from ``start`` to before ``stop``, in place."""
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
    """Return the largest absolute value, missing values omitted; 0 if there is none."""
    largest = 0.0
    for i in range(begin, end):
        if abs(values[i]) > largest:  # never true of a missing value
            largest = abs(values[i])
    return largest


@kernel
def is_extreme(size: float) -> bool:
    """Return True if squares of numbers of this size may overflow or vanish."""
    return size > MAX_SIZE or 0.0 < size < MIN_SIZE


@kernel
def find_coarse(
    indptr: I64, values: F64, n_rows: int, start: int, stop: int, coarse: Bool, varies: Bool
) -> None:
    """Mark the columns of 32-bit numbers so far from 0 that they differ by few steps of float32.

    Given    the numbers as float64.
    Back     coarse: True for such columns from ``start`` to before ``stop``; varies: True for a
             coarse column with more than one value. A column that does not vary is an ordinary
             constant, and not coarse, unless it is beyond all integers that float32 can hold.
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
    """Return the first value that is not missing; 0 if there is none."""
    for i in range(begin, end):
        if values[i] == values[i]:
            return float(values[i])
    return 0.0


@kernel
def are_close(values: F64, begin: int, end: int, first: float) -> bool:
    """Return True if all present values are within a factor of two of one that is not 0."""
    i = begin if first != 0.0 else end + 1
    while i < end and (values[i] != values[i] or 0.5 <= values[i] / first <= 2.0):
        i += 1
    return i == end
