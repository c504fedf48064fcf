"""Parse lines of delimited fields: numbers, the bounds of texts, and copies of other fields."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F32, I64, U8
from .decimals import (
    QUICK_SPAN,
    is_certain,
    read_quick_number,
    scan_decimal,
)
from .words import address_of

NEWLINE, RETURN, QUOTE = ord("\n"), ord("\r"), ord('"')
OMITTED = -1  # the column of a field that is not read
COPIED = -2  # the column of a field that is copied as it is written
FIRST_TEXT = -3  # the column of the first text; those of the next are -4, -5, ...
ROW, COLUMN, START, END = range(4)  # entries of a field that Python has to parse


@kernel
def parse_table(
    text: U8,
    delimiter: int,
    columns: I64,
    missing: U8,
    out: F32,
    starts: I64,
    ends: I64,
    copy: U8,
    inexact: I64,
) -> tuple[int, int, int]:
    """Read lines of ``columns.size`` fields each; empty lines are skipped.

    Given    text: complete lines, each with its newline; columns: for every field its column in
             ``out``, OMITTED, COPIED, or FIRST_TEXT - i for row i of ``starts`` and ``ends``;
             missing: one row per word that means a missing value, padded with zeros; copy: room
             for the copied fields.
    Back     the number of rows read, or -1 - row if that row has another number of fields; the
             number of fields listed in ``inexact``, or -1 if they do not fit; and the length of
             the text in ``copy``, lines of the copied fields only. Inexact are fields that are
             not plain numbers or whose float32 is not certain, and texts with a quote in quotes.
             An empty field is NaN. A missing text ends at -1. A quoted field may contain
             delimiters and line ends.
    """
    position = n_rows = n_inexact = written = 0
    address = address_of(text)
    n_copied = int((columns == COPIED).sum())
    begins_missing = np.zeros(256, np.uint8)  # by the first byte of a field
    begins_missing[missing[:, 0]] = 1
    while position < text.size:
        if text[position] == NEWLINE or text[position] == RETURN:
            position += 1
            continue
        field = n_copied_in_row = 0
        while True:
            if field == columns.size:
                return -1 - n_rows, 0, 0
            start, column = position, columns[field]
            field += 1
            length, value = 0, 0.0
            if column >= 0 and position <= text.size - QUICK_SPAN:
                length, value = read_quick_number(address + position)
            if length and ends_field(text[position + length], delimiter):
                out[n_rows, column] = value
                position += length
            elif column >= 0:
                is_quoted = text[position] == QUOTE
                begin = position + 1 if is_quoted else position
                end, value, is_exact = scan_decimal(text, begin)
                is_number = end > begin
                if is_quoted and is_number:
                    is_number = text[end] == QUOTE
                    end += 1
                if is_number and ends_field(text[end], delimiter):
                    is_number = is_exact or is_certain(value)
                    out[n_rows, column] = value
                    position = end
                else:
                    is_number = False
                    position = end_of_field(text, start, delimiter)
                if not is_number:
                    out[n_rows, column] = np.nan
                    if position > start and not is_word(text, start, position, missing):
                        if n_inexact == inexact.shape[0]:
                            return n_rows, -1, 0
                        inexact[n_inexact, ROW], inexact[n_inexact, COLUMN] = n_rows, column
                        inexact[n_inexact, START], inexact[n_inexact, END] = start, position
                        n_inexact += 1
            else:
                position = end_of_field(text, position, delimiter)
                if column <= FIRST_TEXT:
                    begin, end, is_escaped = inside_quotes(text, start, position)
                    if is_escaped:
                        if n_inexact == inexact.shape[0]:
                            return n_rows, -1, 0
                        inexact[n_inexact, ROW], inexact[n_inexact, COLUMN] = n_rows, column
                        inexact[n_inexact, START], inexact[n_inexact, END] = start, position
                        n_inexact += 1
                    if end == begin or (
                        begins_missing[text[begin]] and is_word(text, begin, end, missing)
                    ):
                        end = -1
                    starts[FIRST_TEXT - column, n_rows] = begin
                    ends[FIRST_TEXT - column, n_rows] = end
                elif column == COPIED:
                    if n_copied == 1 and position == start:  # otherwise the line would be empty
                        copy[written] = copy[written + 1] = QUOTE
                        written += 2
                    for byte in range(start, position):
                        copy[written] = text[byte]
                        written += 1
                    n_copied_in_row += 1
                    copy[written] = delimiter if n_copied_in_row < n_copied else NEWLINE
                    written += 1
            position += 1
            if text[position - 1] != delimiter:
                break
        if field < columns.size:
            return -1 - n_rows, 0, 0
        n_rows += 1
    return n_rows, n_inexact, written


@kernel
def is_word(text: U8, start: int, end: int, words: U8) -> bool:
    """Return True if the text from ``start`` to ``end`` is one of the words."""
    if end - start >= words.shape[1]:
        return False
    for word in words:
        offset = 0
        while start + offset < end and text[start + offset] == word[offset]:
            offset += 1
        if start + offset == end and word[offset] == 0:
            return True
    return False


@kernel
def inside_quotes(text: U8, start: int, end: int) -> tuple[int, int, bool]:
    """Return the bounds of a field without its quotes, and whether a quote is inside them."""
    if text[start] != QUOTE or end - start < 2:
        return start, end, False
    for position in range(start + 1, end - 1):
        if text[position] == QUOTE:
            return start, end, True
    return start + 1, end - 1, text[end - 1] != QUOTE


@kernel
def ends_field(byte: int, delimiter: int) -> bool:
    """Return True if a byte is the delimiter or a line end."""
    return byte == delimiter or byte == NEWLINE or byte == RETURN


@kernel
def end_of_field(text: U8, position: int, delimiter: int) -> int:
    """Return the position of the delimiter or line end after a field, which may be quoted."""
    if text[position] == QUOTE:
        position += 1
        while position < text.size - 1 and (text[position] != QUOTE or text[position + 1] == QUOTE):
            position += 2 if text[position] == QUOTE else 1
        position = min(position + 1, text.size - 1)
    while not ends_field(text[position], delimiter):
        position += 1
    return position


@kernel
def end_of_records(text: U8, delimiter: int, first_only: bool) -> int:
    """Return the position after the last record of a text, or after the first; 0 if none ends.

    A record ends with a newline outside quotes. A field is quoted if it begins with a quote; inside
    it two quotes stand for one. A quote anywhere else is an ordinary character. The first record
    may also end with a return alone.
    """
    end = position = 0
    is_quoted, at_field_start = False, True  # inside quotes; at the first byte of a field
    while position < text.size:
        byte = text[position]
        position += 1
        if is_quoted:
            if byte == QUOTE:
                if position < text.size and text[position] == QUOTE:
                    position += 1
                else:
                    is_quoted = False
        elif byte == NEWLINE or byte == RETURN:
            at_field_start = True
            if byte == NEWLINE:
                end = position
            if first_only and (
                byte == NEWLINE or (position < text.size and text[position] != NEWLINE)
            ):
                return position
        else:
            is_quoted = at_field_start and byte == QUOTE
            at_field_start = byte == delimiter
    return end
