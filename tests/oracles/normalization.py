"""Rows before they are learned: of length 1, or each column first scaled by what the first rows say (``"auto"``).

The choice is made when 1, 2, 4, ..., 1,024 rows have been seen, each time from all rows so far, and
every time learning starts again from the first row. So what counts in the end is the last choice
made, and it holds for all rows. By it
- a column that is not 0 in at least half of the rows chosen from is dense: its values, zeros too, are centred and
  divided by the standard deviation, both over all rows from the first to the one at hand;
- any other column is divided by the size of all values outside dense columns, of absolute median g (1 if there are
  none), or, if it has 10 values or more and their lower absolute median m is outside [g / 10, 10
  g], by the size of its own. The size is the median, if at least half of the values have it, as
  flags and counts do; otherwise 1.4826 times the median, a standard deviation of normal values, as
  for dense columns;
- then every row is divided by its length; where numbers are learned (``tables_keep_lengths``) not if at least half of
  the values in the rows chosen from are in dense columns.

Gaps closed:
- No choice is made after the one at which the rows had 2 ** 22 values or more, which is made at that very row.
- A column that has not varied yet gives 0; zeros are omitted, so a row can become empty. An empty row stays one.
- Rows of weight 0 were never there: they must not be among the rows given here. A second epoch goes on with the rows.
- The mean and the deviation are those of exact arithmetic.
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
    """Mean and variance of the dense columns, over the rows added."""

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
        """None for a column that has not varied."""
        mean = self.sums[j] / self.n_rows
        variance = self.squares[j] / self.n_rows - mean**2
        return None if variance == 0 else float(Fraction(value) - mean) / sqrt(variance)


def unit(x: Values) -> Values:
    """The row divided by its length."""
    length = sqrt(sum(value**2 for value in x.values()))
    return {j: x[j] / length for j in x if x[j] != 0}


def choose(rows: list[Values]) -> Choice:
    found: dict[int, list[float]] = {}  # the absolute values of each column
    for x in rows:
        for j, value in x.items():
            if value != 0:
                found.setdefault(j, []).append(abs(value))
    dense = {j for j in found if len(found[j]) >= len(rows) / 2}
    outside = [size for j in found if j not in dense for size in found[j]]
    g = median(outside) if outside else 1.0
    m = {}
    for j in found:
        own = median_low(found[j])
        if j not in dense and len(found[j]) >= 10 and not g / 10 <= own <= 10 * g:
            m[j] = own
    total = sum(map(len, found.values()))
    is_table = total > 0 and total - len(outside) >= len(outside)
    return Choice(dense, size(outside, g), {j: size(found[j], m[j]) for j in m}, is_table)


def size(values: list[float], middle: float) -> float:
    return middle if 2 * values.count(middle) >= len(values) else 1.4826 * middle


def n_chosen_from(rows: list[Values], most_values: int = 2**22) -> int:
    """From how many rows the last choice was made, when these have been seen."""
    chosen_from = n_values = 0
    for seen, x in enumerate(rows, 1):
        n_values += sum(value != 0 for value in x.values())
        if seen in BOUNDARIES or n_values >= most_values:
            chosen_from = seen
        if n_values >= most_values:
            break
    return chosen_from


def scaled(
    x: Values, choice: Choice, moments: Moments, tables_keep_lengths: bool
) -> tuple[Values, float]:
    """The row as it is learned when these are the moments, and how close a value came to its mean.

    The means are exact here. In other arithmetic a value that is equal to one may be off by a
    rounding and count.
    """
    result = {}
    closest_call = float("inf")
    for j in sorted(choice.dense | set(x)):
        if j in choice.dense:
            centred = moments.standardized(j, x.get(j, 0.0))
            if centred is not None:
                result[j] = centred
                closest_call = min(closest_call, abs(centred))
        else:
            result[j] = x[j] / choice.m.get(j, choice.g)
    if choice.is_table and tables_keep_lengths:
        return {j: result[j] for j in result if result[j] != 0}, closest_call
    return unit(result), closest_call


def prepared(
    rows: list[Values], most_values: int = 2**22, tables_keep_lengths: bool = False
) -> tuple[list[Values], float]:
    """The rows as they are learned, all of them by the last choice made, and the closest call."""
    choice = choose(rows[: n_chosen_from(rows, most_values)])
    moments = Moments(choice.dense)
    results = []
    for x in rows:
        moments.add(x)
        results.append(scaled(x, choice, moments, tables_keep_lengths))
    return [row for row, _ in results], min((call for _, call in results), default=float("inf"))


def prepared_to_predict(
    learned: list[Values],
    rows: list[Values],
    most_values: int = 2**22,
    tables_keep_lengths: bool = False,
) -> tuple[list[Values], float]:
    """Rows as they are scored after ``learned`` were learned: nothing is added to the moments; and the closest call."""
    choice = choose(learned[: n_chosen_from(learned, most_values)])
    moments = Moments(choice.dense)
    for x in learned:
        moments.add(x)
    results = [scaled(x, choice, moments, tables_keep_lengths) for x in rows]
    return [row for row, _ in results], min((call for _, call in results), default=float("inf"))
