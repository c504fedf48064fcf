"""Normalise rows to length 1, after scaling columns by the first rows (``"auto"``).

The scaling is chosen after 1, 2, 4, ..., 1,024 rows, each time from all rows so far, and every time
learning starts again from the first row. So the last choice counts, and it holds for all rows:
- a column that is not 0 in at least half of the rows chosen from is dense: its values, including
  zeros, are centred and divided by the standard deviation, both over all rows from the first to the
  current one;
- any other column is divided by the size of all values outside dense columns, whose absolute median
  is g (1 if there are none); or by the size of its own values, if it has 10 values or more and
  their lower absolute median m is outside [g / 10, 10 g]. The size is the median if at least half
  of the values are equal to it, as for flags and counts; otherwise 1.4826 times the median, which
  is the standard deviation of normal values, as for dense columns;
- then every row is divided by its length; but if numbers are learned (``tables_keep_lengths``), not
  if at least half of the values in the rows chosen from are in dense columns.

Gaps closed:
- The last choice is made at the first row at which the rows so far have 2 ** 22 values or more.
- A column that has not varied yet gives 0; zeros are omitted, so a row can become empty. An empty
  row stays empty.
- Rows of weight 0 are ignored: they must not be among the rows given here. In a second epoch the
  rows continue.
- Mean and deviation are computed in exact arithmetic.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from statistics import median, median_low
from typing import NamedTuple

Values = dict[int, float]  # id -> value

BOUNDARIES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Choice(NamedTuple):
    dense: set[int]
    g: float
    m: dict[int, float]  # of the columns that are not divided by g
    is_table: bool


class Moments:
    """Mean and variance of the dense columns over the added rows."""

    def __init__(self, dense: set[int]) -> None:
        self.n_rows = 0
        self.sums = {j: Fraction(0) for j in dense}
        self.squares = {j: Fraction(0) for j in dense}

    def add(self, x: Values) -> None:
        self.n_rows += 1
        for j in self.sums:
            value = Fraction(x.get(j, 0.0))
            self.sums[j] += value
            self.squares[j] += value**2

    def standardized(self, j: int, value: float) -> float | None:
        """Return a standardised value, or None for a column that has not varied."""
        mean = self.sums[j] / self.n_rows
        variance = self.squares[j] / self.n_rows - mean**2
        return None if variance == 0 else float(Fraction(value) - mean) / sqrt(variance)


def unit(x: Values) -> Values:
    """Return a row divided by its length."""
    length = sqrt(sum(value**2 for value in x.values()))
    return {j: x[j] / length for j in x if x[j] != 0}


def choose(rows: list[Values]) -> Choice:
    sizes: dict[int, list[float]] = {}  # the absolute values of each column
    for x in rows:
        for j, value in x.items():
            if value != 0:
                sizes.setdefault(j, []).append(abs(value))
    dense = {j for j in sizes if len(sizes[j]) >= len(rows) / 2}
    outside = [size for j in sizes if j not in dense for size in sizes[j]]
    g = median(outside) if outside else 1.0
    m = {}
    for j in sizes:
        column_median = median_low(sizes[j])
        if j not in dense and len(sizes[j]) >= 10 and not g / 10 <= column_median <= 10 * g:
            m[j] = column_median
    total = sum(map(len, sizes.values()))
    is_table = total > 0 and total - len(outside) >= len(outside)
    return Choice(dense, size(outside, g), {j: size(sizes[j], m[j]) for j in m}, is_table)


def size(values: list[float], middle: float) -> float:
    return middle if 2 * values.count(middle) >= len(values) else 1.4826 * middle


def n_chosen_from(rows: list[Values], most_values: int = 2**22) -> int:
    """Return the number of rows that the last choice was made from, after these rows."""
    chosen_from = n_values = 0
    for seen, x in enumerate(rows, 1):
        n_values += sum(value != 0 for value in x.values())
        if seen in BOUNDARIES or n_values >= most_values:
            chosen_from = seen
        if n_values >= most_values:
            break
    return chosen_from


def scale_row(
    x: Values, choice: Choice, moments: Moments, tables_keep_lengths: bool
) -> tuple[Values, float]:
    """Return the row as it is learned with these moments, and how close a value is to its mean.

    The means are exact here. In other arithmetic a value that is equal to a mean may differ by a
    rounding error and count.
    """
    scaled = {}
    closest_call = float("inf")
    for j in sorted(choice.dense | set(x)):
        if j in choice.dense:
            standardized_value = moments.standardized(j, x.get(j, 0.0))
            if standardized_value is not None:
                scaled[j] = standardized_value
                closest_call = min(closest_call, abs(standardized_value))
        else:
            scaled[j] = x[j] / choice.m.get(j, choice.g)
    if choice.is_table and tables_keep_lengths:
        return {j: scaled[j] for j in scaled if scaled[j] != 0}, closest_call
    return unit(scaled), closest_call


def prepared(
    rows: list[Values], most_values: int = 2**22, tables_keep_lengths: bool = False
) -> tuple[list[Values], float]:
    """Return the rows as they are learned, all by the last choice, and the closest call."""
    choice = choose(rows[: n_chosen_from(rows, most_values)])
    moments = Moments(choice.dense)
    results = []
    for x in rows:
        moments.add(x)
        results.append(scale_row(x, choice, moments, tables_keep_lengths))
    return [row for row, _ in results], min((call for _, call in results), default=float("inf"))


def prepare_rows_to_predict(
    learned: list[Values],
    rows: list[Values],
    most_values: int = 2**22,
    tables_keep_lengths: bool = False,
) -> tuple[list[Values], float]:
    """Return rows as they are scored after ``learned`` was learned, and the closest call.

    The rows are not added to the moments.
    """
    choice = choose(learned[: n_chosen_from(learned, most_values)])
    moments = Moments(choice.dense)
    for x in learned:
        moments.add(x)
    results = [scale_row(x, choice, moments, tables_keep_lengths) for x in rows]
    return [row for row, _ in results], min((call for _, call in results), default=float("inf"))
