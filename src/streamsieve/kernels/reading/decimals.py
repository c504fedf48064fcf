"""Convert decimal text to numbers and back, exact to the last bit of float32."""

from __future__ import annotations

import numpy as np

from ..jit import inlined, kernel
from ..types import F64, I64, U8
from .words import (
    SPAN,
    ZEROS,
    address_of,
    byte_at,
    count_digits,
    eight_digits,
    number_of,
    word_at,
)

ZERO, NINE, PLUS, MINUS, DOT = ord("0"), ord("9"), ord("+"), ord("-"), ord(".")
LOWER_E, UPPER_E = ord("e"), ord("E")

MAX_DIGITS = 18  # any number of so many digits fits an int64
EXACT_INTEGER = 2**53
EXACT_POWER = 22  # the largest power of ten that float64 holds exactly
MAX_POWER = 80
POWERS: F64 = np.float64(10.0) ** np.arange(MAX_POWER + 1)
# twice the largest relative error of a scaled value: four roundings of 2**-53
MAX_ERROR = 2.0**-50
MAX_FLOAT32_LENGTH = 16
QUICK_SPAN = 64  # the quick functions need so many readable bytes from the start of a number on
INTEGER_POWERS: I64 = 10 ** np.arange(2 * SPAN)


@inlined
def scan_digits(text: U8, position: int, number: int) -> tuple[int, int]:
    """Append the digits at a position to a number, eight at a time; return it and the end."""
    while position <= text.size - SPAN:
        word = word_at(address_of(text) + position) ^ ZEROS
        count = count_digits(word)
        if count < SPAN:
            return number * INTEGER_POWERS[count] + number_of(word, count), position + count
        number = number * INTEGER_POWERS[SPAN] + eight_digits(word)
        position += SPAN
    while ZERO <= text[position] <= NINE:
        number = number * 10 + int(text[position]) - ZERO
        position += 1
    return number, position


@inlined
def read_quick_digits(address: int) -> tuple[int, int]:
    """Return the number of digits at an address, and their value if there are fewer than 16."""
    word = word_at(address) ^ ZEROS
    n_digits = count_digits(word)
    if n_digits < SPAN:
        return n_digits, number_of(word, n_digits)
    rest_word = word_at(address + SPAN) ^ ZEROS
    n_rest = count_digits(rest_word)
    return SPAN + n_rest, eight_digits(word) * INTEGER_POWERS[n_rest] + number_of(rest_word, n_rest)


@inlined
def read_quick_number(address: int) -> tuple[int, float]:
    """Read a number ``[-]ddd[.ddd]`` of fewer than 16 digits at an address.

    ``QUICK_SPAN`` bytes must be readable. The value is exact, because both factors are.

    Back     the length of its text, 0 if it does not have this form; the value.
    """
    is_negative = byte_at(address) == MINUS
    start = address + int(is_negative)
    n_digits, mantissa = read_quick_digits(start)
    position, fraction_digits = start + n_digits, 0
    if byte_at(position) == DOT:
        fraction_digits, fraction = read_quick_digits(position + 1)
        position += 1 + fraction_digits
        n_digits += fraction_digits
        mantissa = mantissa * INTEGER_POWERS[fraction_digits & 15] + fraction
    value = mantissa / POWERS[fraction_digits]
    length = position - address if (n_digits > 0) & (n_digits < 2 * SPAN) else 0
    return length, -value if is_negative else value


@kernel
def scan_decimal(text: U8, start: int) -> tuple[int, float, bool]:
    """Read ``[+-]digits[.digits][e[+-]digits]`` at ``start``.

    Given    text: a byte that is not part of a number must follow it.
    Back     the position after the number (``start`` if there is none), its value, and whether that
             is certainly the float64 nearest to the number as written.
    """
    position = start
    is_negative = text[position] == MINUS
    if is_negative or text[position] == PLUS:
        position += 1
    first = position
    mantissa, position = scan_digits(text, first, 0)
    n_digits, power = position - first, 0
    if text[position] == DOT:
        first = position + 1
        mantissa, position = scan_digits(text, first, mantissa)
        power = first - position
        n_digits -= power
    if n_digits == 0:
        return start, 0.0, False
    is_truncated = n_digits > MAX_DIGITS
    if is_truncated:
        mantissa, power = leading_digits(text, start, position)
    if text[position] == LOWER_E or text[position] == UPPER_E:
        end, exponent = scan_exponent(text, position + 1)
        if end == position + 1:
            return start, 0.0, False
        position = end
        power += exponent
    value = scale_mantissa(mantissa, power)
    is_exact = mantissa <= EXACT_INTEGER and abs(power) <= EXACT_POWER and not is_truncated
    return position, -value if is_negative else value, is_exact


@kernel
def leading_digits(text: U8, start: int, end: int) -> tuple[int, int]:
    """Return the first ``MAX_DIGITS`` digits of a long number and the power that scales them."""
    mantissa = power = n_digits = 0
    after_dot = False
    for position in range(start, end):
        digit = int(text[position]) - ZERO
        if text[position] == DOT:
            after_dot = True
        elif digit >= 0:
            if n_digits < MAX_DIGITS:
                mantissa = mantissa * 10 + digit
                n_digits += mantissa > 0
                power -= after_dot
            else:
                power += not after_dot
    return mantissa, power


@kernel
def scan_exponent(text: U8, start: int) -> tuple[int, int]:
    """Read ``[+-]digits`` at ``start``; return its end (``start`` if there is none) and value."""
    position = start
    is_negative = text[position] == MINUS
    if is_negative or text[position] == PLUS:
        position += 1
    exponent, first = 0, position
    while ZERO <= text[position] <= NINE:
        exponent = min(exponent * 10 + int(text[position]) - ZERO, 1_000_000)
        position += 1
    if position == first:
        return start, 0
    return position, -exponent if is_negative else exponent


@kernel
def scale_mantissa(mantissa: int, power: int) -> float:
    """Return ``mantissa * 10**power``, correctly rounded if both factors are exact in float64."""
    if power < 0:
        return float(mantissa / POWERS[min(-power, MAX_POWER)])
    return float(mantissa * POWERS[min(power, MAX_POWER)])


@kernel
def is_certain(value: float) -> bool:
    """Return True if a scaled value, whose last bits may be wrong, has only one nearest float32."""
    return bool(np.float32(value * (1.0 - MAX_ERROR)) == np.float32(value * (1.0 + MAX_ERROR)))


@kernel
def write_integer(number: int, out: U8, position: int) -> int:
    """Write a non-negative integer in decimal; return the position after it."""
    power = 1
    while number // power >= 10:
        power *= 10
    return write_digits(number, power, out, position)


@kernel
def write_digits(number: int, power: int, out: U8, position: int) -> int:
    """Write the digits of an integer from that of a power of ten on; return the end."""
    while power > 0:
        out[position] = ZERO + number // power % 10
        position += 1
        power //= 10
    return position


@kernel
def write_float32(value: float, out: U8, position: int) -> int:
    """Write the shortest decimal that is read as the same float32; return the end.

    Plain notation from 1e-4 to 1e9, otherwise an integer and an exponent. At most
    ``MAX_FLOAT32_LENGTH`` bytes.
    """
    if value < 0:
        out[position] = MINUS
        position += 1
        value = -value
    if 1e-4 <= value < 1e9 or value == 0:
        for n_decimals in range(14):
            mantissa = int(np.rint(value * POWERS[n_decimals]))
            if np.float32(scale_mantissa(mantissa, -n_decimals)) == np.float32(value):
                break
        unit = int(POWERS[n_decimals])
        position = write_integer(mantissa // unit, out, position)
        if n_decimals == 0:
            return position
        out[position] = DOT
        return write_digits(mantissa, unit // 10, out, position + 1)
    leading_power = int(np.floor(np.log10(value)))
    for n_digits in range(1, 10):
        power = leading_power + 1 - n_digits
        mantissa = int(np.rint(scale_mantissa(1, -power) * value))
        if np.float32(scale_mantissa(mantissa, power)) == np.float32(value):
            break
    position = write_integer(mantissa, out, position)
    out[position] = LOWER_E
    position += 1
    if power < 0:
        out[position] = MINUS
        position += 1
        power = -power
    return write_integer(power, out, position)
