"""Lines of numbers between delimiters, into a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import kernel
from .decimals import is_exact, scaled, scan_decimal

Array = Any

NEWLINE, RETURN = ord("\n"), ord("\r")
LEFT_OUT = -1  # the place of a field that is not wanted
LABEL = -2  # the place of the target
ROW, PLACE, START, END = range(4)  # of a field that is left to Python


@kernel
def parse_table(text: Array, delimiter: int, places: Array, out: Array, labels: Array, hard: Array) -> tuple[int, int]:
    """Read lines of ``places.size`` fields each; empty lines are passed over.

    Given    text: whole lines, each with its newline; places: the column of ``out`` for every field, LEFT_OUT or LABEL.
    Back     how many rows were read, -1 if a line has another number of fields; and how many fields are in ``hard``,
             those that are no plain number or not exact in float64, -1 if they do not fit. ``labels`` gets the span of
             every row's target. An empty field is NaN.
    """
    at = rows = doubtful = 0
    while at < text.size:
        if text[at] == NEWLINE:
            at += 1
            continue
        if text[at] == RETURN and text[at + 1] == NEWLINE:
            at += 2
            continue
        field = 0
        while True:
            if field == places.size:
                return -1, 0
            start, place = at, places[field]
            if place >= 0:
                end, mantissa, power, negative, dropped = scan_decimal(text, at)
                stop = text[end]
                if end > start and (stop == delimiter or stop == NEWLINE) and is_exact(mantissa, power, dropped):
                    value = scaled(mantissa, power)
                    out[rows, place] = -value if negative else value
                    at = end
                else:
                    at = end_of_field(text, at, delimiter)
                    behind = at - 1 if text[at] == NEWLINE and at > start and text[at - 1] == RETURN else at
                    out[rows, place] = np.nan
                    if behind > start:
                        if doubtful == hard.shape[0]:
                            return rows, -1
                        hard[doubtful, ROW], hard[doubtful, PLACE] = rows, place
                        hard[doubtful, START], hard[doubtful, END] = start, behind
                        doubtful += 1
            else:
                at = end_of_field(text, at, delimiter)
                if place == LABEL:
                    labels[rows, 0] = start
                    labels[rows, 1] = at - 1 if text[at] == NEWLINE and text[at - 1] == RETURN else at
            field += 1
            at += 1
            if text[at - 1] == NEWLINE:
                break
        if field < places.size:
            return -1, 0
        rows += 1
    return rows, doubtful


@kernel
def end_of_field(text: Array, at: int, delimiter: int) -> int:
    """Where the delimiter or the end of the line stands."""
    while text[at] != delimiter and text[at] != NEWLINE:
        at += 1
    return at
