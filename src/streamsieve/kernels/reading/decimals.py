"""Decimal text to numbers and back, exact to the last bit of float32."""

from __future__ import annotations

import numpy as np

from ..jit import inlined, kernel
from ..types import F64, I64, U8
from .words import SPAN, ZEROS, address_of, byte_at, count_digits, eight_digits, number_of, word_at

ZERO, NINE, PLUS, MINUS, DOT = ord("0"), ord("9"), ord("+"), ord("-"), ord(".")
LOWER_E, UPPER_E = ord("e"), ord("E")

MAX_DIGITS = 18  # what an int64 holds for certain
EXACT_INTEGER = 2**53
EXACT_POWER = 22  # the largest power of ten that float64 holds exactly
MAX_POWER = 80
POWERS: F64 = np.float64(10.0) ** np.arange(MAX_POWER + 1)
DOUBT = 2.0**-50  # twice the largest relative error of a scaled value: four roundings of 2**-53
MAX_FLOAT32_LENGTH = 16
QUICK_SPAN = 64  # bytes that must be there from the start of a number on to read it the quick way
INTEGER_POWERS: I64 = 10 ** np.arange(2 * SPAN)


@inlined
def scan_digits(text: U8, at: int, number: int) -> tuple[int, int]:
    """Append the digits from a position on to a number, eight at a time; return it and the position after them."""
    while at <= text.size - SPAN:
        word = word_at(address_of(text) + at) ^ ZEROS
        count = count_digits(word)
        if count < SPAN:
            return number * INTEGER_POWERS[count] + number_of(word, count), at + count
        number = number * INTEGER_POWERS[SPAN] + eight_digits(word)
        at += SPAN
    while ZERO <= text[at] <= NINE:
        number = number * 10 + int(text[at]) - ZERO
        at += 1
    return number, at


@inlined
def quick_digits(address: int) -> tuple[int, int]:
    """How many digits are at an address, and the number they make if they are fewer than 16."""
    word = word_at(address) ^ ZEROS
    count = count_digits(word)
    if count < SPAN:
        return count, number_of(word, count)
    rest = word_at(address + SPAN) ^ ZEROS
    more = count_digits(rest)
    return SPAN + more, eight_digits(word) * INTEGER_POWERS[more] + number_of(rest, more)


@inlined
def quick_number(address: int) -> tuple[int, float]:
    """Read ``[-]ddd[.ddd]`` with fewer than 16 digits at an address: its length, 0 if it is not that plain.

    ``QUICK_SPAN`` bytes must be there. The value is exact, as both factors are.
    """
    negative = byte_at(address) == MINUS
    start = address + int(negative)
    digits, mantissa = quick_digits(start)
    at, fraction_digits = start + digits, 0
    if byte_at(at) == DOT:
        fraction_digits, fraction = quick_digits(at + 1)
        at += 1 + fraction_digits
        digits += fraction_digits
        mantissa = mantissa * INTEGER_POWERS[fraction_digits & 15] + fraction
    value = mantissa / POWERS[fraction_digits]
    length = at - address if (digits > 0) & (digits < 2 * SPAN) else 0
    return length, -value if negative else value


@kernel
def scan_decimal(text: U8, start: int) -> tuple[int, int, int, bool, bool]:
    """Read ``[+-]digits[.digits][e[+-]digits]`` at ``start``; a byte that is not part of a number must follow.

    Back: the position after it (``start`` where there is no number), its leading ``MAX_DIGITS``
    digits as an integer, the power of ten that scales it, whether it is negative, whether digits
    were dropped.
    """
    at = start
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    first = at
    mantissa, at = scan_digits(text, first, 0)
    digits, power = at - first, 0
    if text[at] == DOT:
        first = at + 1
        mantissa, at = scan_digits(text, first, mantissa)
        power = first - at
        digits -= power
    if digits == 0:
        return start, 0, 0, False, False
    dropped = digits > MAX_DIGITS
    if dropped:
        mantissa, power = leading_digits(text, start, at)
    if text[at] == LOWER_E or text[at] == UPPER_E:
        end, exponent = scan_exponent(text, at + 1)
        if end == at + 1:
            return start, 0, 0, False, False
        at = end
        power += exponent
    return at, mantissa, power, negative, dropped


@kernel
def leading_digits(text: U8, start: int, end: int) -> tuple[int, int]:
    """The first ``MAX_DIGITS`` significant digits of a long number and the power of ten that scales them."""
    mantissa = power = digits = 0
    after_dot = False
    for at in range(start, end):
        digit = int(text[at]) - ZERO
        if text[at] == DOT:
            after_dot = True
        elif digit >= 0:
            if digits < MAX_DIGITS:
                mantissa = mantissa * 10 + digit
                digits += mantissa > 0
                power -= after_dot
            else:
                power += not after_dot
    return mantissa, power


@kernel
def scan_exponent(text: U8, start: int) -> tuple[int, int]:
    """Read ``[+-]digits`` at ``start``: the position after it (``start`` where there is none) and the number."""
    at = start
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    exponent, first = 0, at
    while ZERO <= text[at] <= NINE:
        exponent = min(exponent * 10 + int(text[at]) - ZERO, 1_000_000)
        at += 1
    if at == first:
        return start, 0
    return at, -exponent if negative else exponent


@kernel
def scaled(mantissa: int, power: int) -> float:
    """``mantissa * 10**power``, correctly rounded where both factors are exact in float64."""
    if power < 0:
        return float(mantissa / POWERS[min(-power, MAX_POWER)])
    return float(mantissa * POWERS[min(power, MAX_POWER)])


@kernel
def is_exact(mantissa: int, power: int, dropped: bool) -> bool:
    """Whether ``scaled`` is the float64 nearest to the number as written."""
    return mantissa <= EXACT_INTEGER and -EXACT_POWER <= power <= EXACT_POWER and not dropped


@kernel
def is_certain(value: float) -> bool:
    """Whether ``value``, a scaled one that may be off in its last bits, still has just one nearest float32."""
    return bool(np.float32(value * (1.0 - DOUBT)) == np.float32(value * (1.0 + DOUBT)))


@kernel
def write_integer(number: int, out: U8, at: int) -> int:
    """Write a non-negative integer in decimal; the position after it."""
    power = 1
    while number // power >= 10:
        power *= 10
    while power > 0:
        out[at] = ZERO + number // power % 10
        at += 1
        power //= 10
    return at


@kernel
def write_float32(value: float, out: U8, at: int) -> int:
    """Write the shortest decimal that reads back as the same float32; the position after it.

    Plain notation from 1e-4 to 1e9, otherwise an integer and an exponent. At most
    ``MAX_FLOAT32_LENGTH`` bytes.
    """
    if value < 0:
        out[at] = MINUS
        at += 1
        value = -value
    if 1e-4 <= value < 1e9 or value == 0:
        for decimals in range(14):
            mantissa = int(np.rint(value * POWERS[decimals]))
            if np.float32(scaled(mantissa, -decimals)) == np.float32(value):
                break
        unit = int(POWERS[decimals])
        at = write_integer(mantissa // unit, out, at)
        if decimals:
            out[at] = DOT
            at += 1
            fraction = mantissa % unit
            for _ in range(decimals):
                unit //= 10
                out[at] = ZERO + fraction // unit % 10
                at += 1
        return at
    leading = int(np.floor(np.log10(value)))
    for digits in range(1, 10):
        power = leading + 1 - digits
        mantissa = int(np.rint(scaled(1, -power) * value))
        if np.float32(scaled(mantissa, power)) == np.float32(value):
            break
    at = write_integer(mantissa, out, at)
    out[at] = LOWER_E
    at += 1
    if power < 0:
        out[at] = MINUS
        at += 1
        power = -power
    return write_integer(power, out, at)
