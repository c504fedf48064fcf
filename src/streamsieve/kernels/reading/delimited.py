"""Lines of numbers between delimiters, into a matrix."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F32, I64, U8
from .decimals import is_exact, scaled, scan_decimal

NEWLINE, RETURN = ord("\n"), ord("\r")
OMITTED = -1  # the column of a field that is not wanted
LABEL = -2  # the column of the target
ROW, COLUMN, START, END = range(4)  # of a field that is left to Python
QUOTE = ord('"')


@kernel
def parse_table(text: U8, delimiter: int, columns: I64, out: F32, labels: I64, inexact: I64) -> tuple[int, int]:
    """Read lines of ``columns.size`` fields each; empty lines are skipped.

    Given    text: complete lines, each with its newline; columns: that of ``out`` for every field, OMITTED or LABEL.
    Back     how many rows were read, -1 if a line has another number of fields; and how many fields are in
             ``inexact``, those that are not plain numbers or not exact in float64, -1 if they do not fit. ``labels``
             gets the span of every row's target. An empty field is NaN.
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
            if field == columns.size:
                return -1, 0
            start, column = at, columns[field]
            if column >= 0:
                end, mantissa, power, negative, dropped = scan_decimal(text, at)
                stop = text[end]
                if end > start and (stop == delimiter or stop == NEWLINE) and is_exact(mantissa, power, dropped):
                    value = scaled(mantissa, power)
                    out[rows, column] = -value if negative else value
                    at = end
                else:
                    at = end_of_field(text, at, delimiter)
                    after = at - 1 if text[at] == NEWLINE and at > start and text[at - 1] == RETURN else at
                    out[rows, column] = np.nan
                    if after > start:
                        if doubtful == inexact.shape[0]:
                            return rows, -1
                        inexact[doubtful, ROW], inexact[doubtful, COLUMN] = rows, column
                        inexact[doubtful, START], inexact[doubtful, END] = start, after
                        doubtful += 1
            else:
                at = end_of_field(text, at, delimiter)
                if column == LABEL:
                    labels[rows, 0] = start
                    labels[rows, 1] = at - 1 if text[at] == NEWLINE and text[at - 1] == RETURN else at
            field += 1
            at += 1
            if text[at - 1] == NEWLINE:
                break
        if field < columns.size:
            return -1, 0
        rows += 1
    return rows, doubtful


@kernel
def end_of_field(text: U8, at: int, delimiter: int) -> int:
    """Where the delimiter or the end of the line is."""
    while text[at] != delimiter and text[at] != NEWLINE:
        at += 1
    return at


@kernel
def end_of_records(text: U8, delimiter: int, first_only: bool) -> int:
    """Where the last record of a text ends, or the first: after its newline, which is not inside quotes; 0 if nowhere.

    A field is quoted if it begins with a quote; two quotes within it are one. A quote elsewhere is a letter. The first
    record may also end with a return alone.
    """
    end = at = 0
    quoted, fresh = False, True  # whether inside quotes; whether a field begins here
    while at < text.size:
        byte = text[at]
        at += 1
        if quoted:
            if byte == QUOTE:
                if at < text.size and text[at] == QUOTE:
                    at += 1
                else:
                    quoted = False
        elif byte == NEWLINE or byte == RETURN:
            fresh = True
            if byte == NEWLINE:
                end = at
            if first_only and (byte == NEWLINE or (at < text.size and text[at] != NEWLINE)):
                return at
        else:
            quoted = fresh and byte == QUOTE
            fresh = byte == delimiter
    return end
