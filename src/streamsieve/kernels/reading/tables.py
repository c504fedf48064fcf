"""Rows of a table to sparse rows: a feature per number, a feature per level of a column of text."""

from __future__ import annotations

from typing import Any

from ..jit import kernel
from ..types import I64

NO_LEVEL = -1


@kernel
def count_entries(numbers: Any, codes: I64, indptr: I64) -> None:
    """Count the entries of every row: numbers that are not 0, and levels that are there."""
    for row in range(codes.shape[0]):
        count = 0
        for column in range(numbers.shape[1]):
            count += numbers[row, column] != 0
        for column in range(codes.shape[1]):
            count += codes[row, column] != NO_LEVEL
        indptr[row + 1] = indptr[row] + count


@kernel
def write_entries(numbers: Any, codes: I64, order: I64, number_ids: I64, n_first: int, ids: Any, values: Any) -> None:
    """Write the entries of every row in ascending order of their ids.

    Given    numbers, codes: a line per row, a column per column of the table, of its kind; a code is
             the id of a feature or NO_LEVEL. order: the columns of the table as they come, those of
             numbers as 0, 1, ..., those of text as -1, -2, ...; number_ids: the features of numbers.
             Ids below ``n_first`` ascend with the columns; others were given to levels that came late.
    Back     ids and values, with room for as many entries as ``count_entries`` has counted.
    """
    at = 0
    for row in range(codes.shape[0]):
        for position in order:
            if position >= 0:
                if numbers[row, position] != 0:
                    ids[at], values[at] = number_ids[position], numbers[row, position]
                    at += 1
            elif 0 <= codes[row, -1 - position] < n_first:
                ids[at], values[at] = codes[row, -1 - position], 1
                at += 1
        begin = at
        for column in range(codes.shape[1]):
            code = codes[row, column]
            if code >= n_first:
                place = at
                while place > begin and ids[place - 1] > code:
                    ids[place] = ids[place - 1]
                    place -= 1
                ids[place], values[at] = code, 1
                at += 1
