"""Svmlight text to rows, straight from bytes."""

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
    is_exact,
    quick_digits,
    scaled,
    scan_decimal,
    scan_digits,
    write_float32,
    write_integer,
)
from .words import SPAN, TOKEN, address_of, byte_at, token_length

NEWLINE, RETURN, TAB, SPACE = ord("\n"), ord("\r"), ord("\t"), ord(" ")
HASH, COLON = ord("#"), ord(":")
QID = np.frombuffer(b"qid:", np.uint8)

# What ``report`` holds when the kernel returns.
FAULT, WHERE, LINES, ROWS, NONZEROS, WIDTH, INEXACT, CANONICAL = range(8)
REPORT_SIZE = 8

MIN_INEXACT_LENGTH = 5  # bytes of a number that is not exact, with the blank before it: 1e99
MAX_ENTRY_LENGTH = 2 + 19 + MAX_FLOAT32_LENGTH  # blank, index, colon, value

# What FAULT can be; WHERE is then the first byte of the offending token.
OK, BAD_LABEL, BAD_INDEX, NO_COLON, BAD_VALUE, TOO_LARGE, ZERO_INDEX, WIDE_INDEX, REPEATED = range(
    9
)


@kernel
def is_blank(byte: int) -> bool:
    return byte == SPACE or byte == TAB or byte == RETURN


@kernel
def ends_token(byte: int) -> bool:
    return byte == SPACE or byte == NEWLINE or byte == TAB or byte == RETURN or byte == HASH


@inlined
def quick_entry(address: int) -> tuple[bool, int, int, float]:
    """Read a plain ``index:value``, the value ``[-]d.ddd`` or ``[-]ddd``, fewer than 16 digits each.

    Back: whether it is not that plain, its length, index and value. The length comes from a search
    for the blank after it, not from the digits: so the processor can begin with the next entry
    before it is through with this one.
    """
    length = token_length(address)
    digits, index = quick_digits(address)
    at = address + digits
    strange = (byte_at(at) != COLON) | (digits == 0) | (digits == 2 * SPAN)
    negative = byte_at(at + 1) == MINUS
    at += 1 + int(negative)
    if byte_at(at + 1) == DOT:
        whole = byte_at(at) ^ ZERO
        digits, fraction = quick_digits(at + 2)
        at += 2 + digits
        mantissa = whole * INTEGER_POWERS[digits & 15] + fraction
        strange |= (whole > 9) | (digits == 2 * SPAN) | (mantissa > EXACT_INTEGER)
        value = mantissa / POWERS[digits]
    else:
        digits, whole = quick_digits(at)
        at += digits
        strange |= (digits == 0) | (digits == 2 * SPAN)
        value = float(whole)
    strange |= (at < address + length) | (length == TOKEN)
    return strange, length, index, -value if negative else value


@kernel
def quick_entries(
    text: U8,
    at: int,
    first_index: int,
    largest_index: int,
    previous: int,
    indices: Ints,
    values: F32,
    filled: int,
) -> tuple[int, int, int]:
    """Read entries of a row from ``at`` on, as long as they are plain, ascending and one blank apart.

    Back: where it came to, the index of the last entry, and how much of ``indices`` and ``values``
    is filled now.
    """
    address = address_of(text)
    while at <= text.size - QUICK_SPAN:
        strange, length, index, value = quick_entry(address + at)
        index -= first_index
        if strange | (index <= previous) | (index > largest_index) | (value == 0.0):
            break
        indices[filled] = index
        values[filled] = value
        filled += 1
        previous = index
        at += length
        if byte_at(address + at) != SPACE:
            break
        at += 1
    return at, previous, filled


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

    Given    text: bytes ending in a newline; first_index: what the file calls feature 0 (1 or 0);
             largest_index: the largest feature id the ``indices`` array can hold.
    Back     indptr, indices (0-based, in the order of the file), values (float32), labels (float64; NaN where there
             is none); inexact: pairs (offset in text, position in values, or -1 - row for a label)
             of numbers whose last bit this kernel cannot decide; report: see the constants above.
    """
    at = row = filled = line = width = n_inexact = 0
    canonical = True
    indptr[0] = 0
    while at < text.size:
        while is_blank(text[at]):
            at += 1
        if text[at] != NEWLINE and text[at] != HASH:
            start = at
            at, mantissa, power, negative, dropped = scan_decimal(text, start)
            if at > start and text[at] == COLON:  # an entry: the row has no label
                labels[row], at = np.nan, start
            elif at == start or not ends_token(text[at]):
                return stop(report, BAD_LABEL, start, line)
            else:
                labels[row] = -scaled(mantissa, power) if negative else scaled(mantissa, power)
            if at > start and not is_exact(mantissa, power, dropped):
                inexact[n_inexact, 0], inexact[n_inexact, 1] = start, -1 - row
                n_inexact += 1
            previous = -1
            while True:
                while is_blank(text[at]):
                    at += 1
                at, previous, filled = quick_entries(
                    text, at, first_index, largest_index, previous, indices, values, filled
                )
                width = max(width, previous + 1)
                while is_blank(text[at]):
                    at += 1
                start = at
                index, at = scan_digits(text, at, 0)
                if at == start:
                    if text[at] == NEWLINE or text[at] == HASH:
                        break
                    at = skip_qid(text, at)
                    if at == start:
                        return stop(report, BAD_INDEX, start, line)
                    continue
                index -= first_index
                if text[at] != COLON:
                    return stop(report, NO_COLON, start, line)
                if at - start > MAX_DIGITS or index > largest_index:
                    return stop(report, WIDE_INDEX, start, line)
                if index < 0:
                    return stop(report, ZERO_INDEX, start, line)
                number = at + 1
                at, mantissa, power, negative, dropped = scan_decimal(text, number)
                if at == number or not ends_token(text[at]):
                    return stop(report, BAD_VALUE, start, line)
                value = scaled(mantissa, power)
                if not is_exact(mantissa, power, dropped):
                    if not is_certain(value):
                        inexact[n_inexact, 0], inexact[n_inexact, 1] = number, filled
                        n_inexact += 1
                        canonical &= value >= 1e-44  # below, it may prove to be 0
                    elif np.isinf(np.float32(value)):
                        return stop(report, TOO_LARGE, start, line)
                indices[filled] = index
                values[filled] = -value if negative else value
                canonical &= values[filled] != 0.0
                filled += 1
                width = max(width, index + 1)
                if index <= previous:
                    if index == previous:
                        return stop(report, REPEATED, start, line)
                    canonical = False
                previous = index
            row += 1
            indptr[row] = filled
        while text[at] != NEWLINE:
            at += 1
        at += 1
        line += 1
    report[ROWS], report[NONZEROS], report[WIDTH] = row, filled, width
    report[INEXACT], report[CANONICAL] = n_inexact, canonical
    return stop(report, OK, at, line)


@kernel
def stop(report: I64, fault: int, where: int, line: int) -> None:
    report[FAULT], report[WHERE], report[LINES] = fault, where, line


@kernel
def skip_qid(text: U8, at: int) -> int:
    """The end of a ``qid:n`` token at ``at``, or ``at`` if there is none."""
    for offset in range(QID.size):
        if text[at + offset] != QID[offset]:
            return at
    end = at + QID.size
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
    """Write rows as svmlight text; the number of bytes written.

    Given    codes: which label a row has; label_text, label_ends: the labels' text end to end, and where each
             ends; out: room for every label, 1 byte per row and ``MAX_ENTRY_LENGTH`` per non-zero.
    """
    at = 0
    for row in range(codes.size):
        code = codes[row]
        for byte in range(label_ends[code - 1] if code else 0, label_ends[code]):
            out[at] = label_text[byte]
            at += 1
        for i in range(indptr[row], indptr[row + 1]):
            out[at] = SPACE
            at = write_integer(int(indices[i]) + first_index, out, at + 1)
            out[at] = COLON
            at = write_float32(float(values[i]), out, at + 1)
        out[at] = NEWLINE
        at += 1
    return at
