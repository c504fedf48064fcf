"""Parse svmlight text to rows, and write rows as text, straight from and to bytes."""

from __future__ import annotations

import numpy as np

from ..jit import inlined, kernel
from ..types import F32, F64, I64, U8, Ints
from .decimals import (
    DOT,
    EXACT_INTEGER,
    INTEGER_POWERS,
    MAX_DIGITS,
    MAX_FLOAT32_LENGTH,
    MINUS,
    POWERS,
    QUICK_SPAN,
    ZERO,
    is_certain,
    read_quick_digits,
    scan_decimal,
    scan_digits,
    write_float32,
    write_integer,
)
from .words import SPAN, TOKEN, address_of, byte_at, token_length

NEWLINE, RETURN, TAB, SPACE = ord("\n"), ord("\r"), ord("\t"), ord(" ")
HASH, COLON = ord("#"), ord(":")
QID = np.frombuffer(b"qid:", np.uint8)

# Entries of ``report`` when the kernel returns.
FAULT, WHERE, LINES, ROWS, NONZEROS, WIDTH, INEXACT, CANONICAL = range(8)
REPORT_SIZE = 8

MIN_INEXACT_LENGTH = 5  # bytes of an inexact number with the blank before it: 1e99
MAX_ENTRY_LENGTH = 2 + 19 + MAX_FLOAT32_LENGTH  # blank, index, colon, value

# Values of FAULT; WHERE is then the first byte of the offending token.
OK, BAD_LABEL, BAD_INDEX, NO_COLON, BAD_VALUE, TOO_LARGE, ZERO_INDEX, WIDE_INDEX, REPEATED = range(
    9
)


@kernel
def is_blank(byte: int) -> bool:
    """Return True if a byte is a blank, tab or carriage return."""
    return byte == SPACE or byte == TAB or byte == RETURN


@kernel
def ends_token(byte: int) -> bool:
    """Return True if a byte cannot be part of a token."""
    return byte == SPACE or byte == NEWLINE or byte == TAB or byte == RETURN or byte == HASH


@inlined
def read_quick_entry(address: int) -> tuple[bool, int, int, float]:
    """Read a plain ``index:value``, the value ``[-]d.ddd`` or ``[-]ddd``.

    Index and value must have fewer than 16 digits each.

    Back     whether the entry is not plain, its length, index and value. The length comes from a
             search for the blank after the entry, not from the digits, so that the processor can
             start on the next entry before it has finished this one.
    """
    length = token_length(address)
    n_digits, index = read_quick_digits(address)
    position = address + n_digits
    is_not_plain = (byte_at(position) != COLON) | (n_digits == 0) | (n_digits == 2 * SPAN)
    is_negative = byte_at(position + 1) == MINUS
    position += 1 + int(is_negative)
    if byte_at(position + 1) == DOT:
        whole = byte_at(position) ^ ZERO
        n_digits, fraction = read_quick_digits(position + 2)
        position += 2 + n_digits
        mantissa = whole * INTEGER_POWERS[n_digits & 15] + fraction
        is_not_plain |= (whole > 9) | (n_digits == 2 * SPAN) | (mantissa > EXACT_INTEGER)
        value = mantissa / POWERS[n_digits]
    else:
        n_digits, whole = read_quick_digits(position)
        position += n_digits
        is_not_plain |= (n_digits == 0) | (n_digits == 2 * SPAN)
        value = float(whole)
    is_not_plain |= (position < address + length) | (length == TOKEN)
    return is_not_plain, length, index, -value if is_negative else value


@kernel
def read_quick_entries(
    text: U8,
    position: int,
    first_index: int,
    largest_index: int,
    previous: int,
    indices: Ints,
    values: F32,
    filled: int,
) -> tuple[int, int, int]:
    """Read entries of a row while they are plain, ascending and separated by one blank.

    Back     the position after them, the index of the last entry, and the number of filled entries
             of ``indices`` and ``values``.
    """
    address = address_of(text)
    while position <= text.size - QUICK_SPAN:
        is_not_plain, length, index, value = read_quick_entry(address + position)
        index -= first_index
        if is_not_plain | (index <= previous) | (index > largest_index) | (value == 0.0):
            break
        indices[filled] = index
        values[filled] = value
        filled += 1
        previous = index
        position += length
        if byte_at(address + position) != SPACE:
            break
        position += 1
    return position, previous, filled


@kernel
def parse_rows(
    text: U8,
    first_index: int,
    largest_index: int,
    indptr: I64,
    indices: Ints,
    values: F32,
    labels: F64,
    inexact: I64,
    report: I64,
) -> None:
    """Parse complete lines ``[label] [qid:n] index:value ... [# comment]``.

    Given    text: bytes ending in a newline; first_index: the index of feature 0 in the file (1 or
             0); largest_index: the largest feature id that the ``indices`` array can hold.
    Back     indptr, indices (0-based, in the order of the file), values (float32), labels (float64;
             NaN if a row has none); inexact: pairs (offset in text, position in values, or -1 - row
             for a label) of numbers whose last bit this kernel cannot decide; report: see the
             constants above.
    """
    position = row = filled = line = width = n_inexact = 0
    is_canonical = True
    indptr[0] = 0
    while position < text.size:
        while is_blank(text[position]):
            position += 1
        if text[position] != NEWLINE and text[position] != HASH:
            start = position
            position, labels[row], is_exact = scan_decimal(text, start)
            if position > start and text[position] == COLON:  # an entry: the row has no label
                labels[row], position = np.nan, start
            elif position == start or not ends_token(text[position]):
                return set_outcome(report, BAD_LABEL, start, line)
            if position > start and not is_exact:
                inexact[n_inexact, 0], inexact[n_inexact, 1] = start, -1 - row
                n_inexact += 1
            previous = -1
            while True:
                while is_blank(text[position]):
                    position += 1
                position, previous, filled = read_quick_entries(
                    text, position, first_index, largest_index, previous, indices, values, filled
                )
                width = max(width, previous + 1)
                while is_blank(text[position]):
                    position += 1
                start = position
                index, position = scan_digits(text, position, 0)
                if position == start:
                    if text[position] == NEWLINE or text[position] == HASH:
                        break
                    position = skip_qid(text, position)
                    if position == start:
                        return set_outcome(report, BAD_INDEX, start, line)
                    continue
                index -= first_index
                if text[position] != COLON:
                    return set_outcome(report, NO_COLON, start, line)
                if position - start > MAX_DIGITS or index > largest_index:
                    return set_outcome(report, WIDE_INDEX, start, line)
                if index < 0:
                    return set_outcome(report, ZERO_INDEX, start, line)
                number = position + 1
                position, value, is_exact = scan_decimal(text, number)
                if position == number or not ends_token(text[position]):
                    return set_outcome(report, BAD_VALUE, start, line)
                if not is_exact:
                    if not is_certain(value):
                        inexact[n_inexact, 0], inexact[n_inexact, 1] = number, filled
                        n_inexact += 1
                        is_canonical &= abs(value) >= 1e-44  # below, it may prove to be 0
                    elif np.isinf(np.float32(value)):
                        return set_outcome(report, TOO_LARGE, start, line)
                indices[filled] = index
                values[filled] = value
                is_canonical &= values[filled] != 0.0
                filled += 1
                width = max(width, index + 1)
                if index <= previous:
                    if index == previous:
                        return set_outcome(report, REPEATED, start, line)
                    is_canonical = False
                previous = index
            row += 1
            indptr[row] = filled
        while text[position] != NEWLINE:
            position += 1
        position += 1
        line += 1
    report[ROWS], report[NONZEROS], report[WIDTH] = row, filled, width
    report[INEXACT], report[CANONICAL] = n_inexact, is_canonical
    return set_outcome(report, OK, position, line)


@kernel
def set_outcome(report: I64, fault: int, where: int, line: int) -> None:
    """Write how parsing ended to ``report``."""
    report[FAULT], report[WHERE], report[LINES] = fault, where, line


@kernel
def skip_qid(text: U8, start: int) -> int:
    """Return the end of a ``qid:n`` token at ``start``, or ``start`` if there is none."""
    for offset in range(QID.size):
        if text[start + offset] != QID[offset]:
            return start
    end = start + QID.size
    while not ends_token(text[end]):
        end += 1
    return end


@kernel
def format_rows(
    indptr: I64,
    indices: Ints,
    values: F32,
    codes: I64,
    label_text: U8,
    label_ends: I64,
    first_index: int,
    out: U8,
) -> int:
    """Write rows as svmlight text; return the number of bytes written.

    Given    codes: the label of each row; label_text, label_ends: the texts of all labels, joined,
             and where each ends; out: room for every label, 1 byte per row and
             ``MAX_ENTRY_LENGTH`` per non-zero.
    """
    position = 0
    for row in range(codes.size):
        code = codes[row]
        for byte in range(label_ends[code - 1] if code else 0, label_ends[code]):
            out[position] = label_text[byte]
            position += 1
        for i in range(indptr[row], indptr[row + 1]):
            out[position] = SPACE
            position = write_integer(int(indices[i]) + first_index, out, position + 1)
            out[position] = COLON
            position = write_float32(float(values[i]), out, position + 1)
        out[position] = NEWLINE
        position += 1
    return position
