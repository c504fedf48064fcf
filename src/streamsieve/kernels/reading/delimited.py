"""Lines of fields between delimiters: numbers into a matrix, other fields copied for others to read."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F32, I64, U8
from .decimals import QUICK_SPAN, is_certain, is_exact, quick_number, scaled, scan_decimal
from .words import address_of

NEWLINE, RETURN, QUOTE = ord("\n"), ord("\r"), ord('"')
OMITTED = -1  # the column of a field that is not wanted
COPIED = -2  # the column of a field that is copied as it is written
ROW, COLUMN, START, END = range(4)  # of a field that is left to Python


@kernel
def parse_table(
    text: U8, delimiter: int, columns: I64, missing: U8, out: F32, copy: U8, inexact: I64
) -> tuple[int, int, int]:
    """Read lines of ``columns.size`` fields each; empty lines are skipped.

    Given    text: complete lines, each with its newline; columns: for every field that of ``out``,
             OMITTED or COPIED; missing: a line per word that says that there is no number, filled
             up with zeros; copy: room for what is copied.
    Back     how many rows were read, -1 - row if that row has another number of fields; how many
             fields are in ``inexact``, those that are not plain numbers or whose float32 is in
             doubt, -1 if they do not fit; and the length of what is in ``copy``: lines of the
             copied fields alone. An empty field is NaN. A quoted field may hold delimiters and line
             ends.
    """
    at = rows = doubtful = written = 0
    address = address_of(text)
    n_copied = int((columns == COPIED).sum())
    while at < text.size:
        if text[at] == NEWLINE or text[at] == RETURN:
            at += 1
            continue
        field = copied = 0
        while True:
            if field == columns.size:
                return -1 - rows, 0, 0
            start, column = at, columns[field]
            field += 1
            length, value = 0, 0.0
            if column >= 0 and at <= text.size - QUICK_SPAN:
                length, value = quick_number(address + at)
            if length and ends_field(text[at + length], delimiter):
                out[rows, column] = value
                at += length
            elif column >= 0:
                quoted = text[at] == QUOTE
                begin = at + 1 if quoted else at
                end, mantissa, power, negative, dropped = scan_decimal(text, begin)
                is_number = end > begin
                if quoted and is_number:
                    is_number = text[end] == QUOTE
                    end += 1
                if is_number and ends_field(text[end], delimiter):
                    value = scaled(mantissa, power)
                    is_number = is_exact(mantissa, power, dropped) or is_certain(value)
                    out[rows, column] = -value if negative else value
                    at = end
                else:
                    is_number = False
                    at = end_of_field(text, start, delimiter)
                if not is_number:
                    out[rows, column] = np.nan
                    if at > start and not is_word(text, start, at, missing):
                        if doubtful == inexact.shape[0]:
                            return rows, -1, 0
                        inexact[doubtful, ROW], inexact[doubtful, COLUMN] = rows, column
                        inexact[doubtful, START], inexact[doubtful, END] = start, at
                        doubtful += 1
            else:
                at = end_of_field(text, at, delimiter)
                if column == COPIED:
                    if n_copied == 1 and at == start:  # or the line would be empty
                        copy[written] = copy[written + 1] = QUOTE
                        written += 2
                    for letter in range(start, at):
                        copy[written] = text[letter]
                        written += 1
                    copied += 1
                    copy[written] = delimiter if copied < n_copied else NEWLINE
                    written += 1
            at += 1
            if text[at - 1] != delimiter:
                break
        if field < columns.size:
            return -1 - rows, 0, 0
        rows += 1
    return rows, doubtful, written


@kernel
def is_word(text: U8, start: int, end: int, words: U8) -> bool:
    """Return True if a part of a text is one of some words."""
    if end - start >= words.shape[1]:
        return False
    for word in words:
        at = 0
        while start + at < end and text[start + at] == word[at]:
            at += 1
        if start + at == end and word[at] == 0:
            return True
    return False


@kernel
def ends_field(byte: int, delimiter: int) -> bool:
    """Return True for what comes after a field."""
    return byte == delimiter or byte == NEWLINE or byte == RETURN


@kernel
def end_of_field(text: U8, at: int, delimiter: int) -> int:
    """Return where the delimiter or the end of the line is, after the quotes of a quoted field."""
    if text[at] == QUOTE:
        at += 1
        while at < text.size - 1 and (text[at] != QUOTE or text[at + 1] == QUOTE):
            at += 2 if text[at] == QUOTE else 1
        at = min(at + 1, text.size - 1)
    while not ends_field(text[at], delimiter):
        at += 1
    return at


@kernel
def end_of_records(text: U8, delimiter: int, first_only: bool) -> int:
    """Where the last record of a text ends, or the first: after its newline, which is not inside quotes; 0 if nowhere.

    A field is quoted if it begins with a quote; two quotes within it are one. A quote elsewhere is
    a letter. The first record may also end with a return alone.
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
