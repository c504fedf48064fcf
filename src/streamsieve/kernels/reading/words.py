"""Read text eight bytes at a time, which Numba does not offer by itself.

These functions take addresses, not arrays, so that no reference to an array is counted. An array
whose address is in use must stay alive; the arguments of the running kernel do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from ..jit import inlined

SPAN = 8  # bytes in a word
TOKEN = 32  # bytes that are searched for the end of a token
BLANK = ord(" ")
ZEROS = np.uint64(0x3030303030303030)  # the text 00000000
ABOVE_NINE = np.uint64(0x7676767676767676)
HIGH_BITS = np.uint64(0x8080808080808080)
PAIRS = np.uint64(0x000000FF000000FF)
FIRST_PAIRS = np.uint64(100 + (1_000_000 << 32))
SECOND_PAIRS = np.uint64(1 + (10_000 << 32))

WORD = ir.IntType(64)


def address_of(array: Any) -> Any:
    """Return the address of the first byte of an array."""
    return array.ctypes.data


def word_at(address: int) -> Any:
    """Return the eight bytes from ``address`` on as one little-endian number."""
    return np.uint64(int.from_bytes(ctypes.string_at(address, SPAN), "little"))


def byte_at(address: int) -> Any:
    """Return the byte at ``address``."""
    return ctypes.string_at(address, 1)[0]


def token_length(address: int) -> Any:
    """Return the number of bytes before the first blank or control byte; at most ``TOKEN``."""
    text = ctypes.string_at(address, TOKEN)
    return next((length for length, byte in enumerate(text) if byte <= BLANK), TOKEN)


def trailing_zeros(word: Any) -> Any:
    """Return the number of zero bits below the lowest set bit; 64 if no bit is set."""
    return (int(word) & -int(word)).bit_length() - 1 if word else 64


def _register_intrinsic(
    function: Callable[..., Any], result: Any, argument: Any, emit: Callable[[Any, Any], Any]
) -> None:
    """Make kernels use the LLVM code that ``emit`` builds for calls of a one-argument function."""

    def type_call(typing: Any, argument_type: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit(builder, arguments[0])

        return result(argument), generate

    compiled_call: Any = intrinsic(type_call)
    overload(function, strict=False)(lambda operand: lambda operand: compiled_call(operand))


def _emit_load(builder: Any, address: Any, kind: Any) -> Any:
    number = builder.load(builder.inttoptr(address, kind.as_pointer()))
    number.align = 1
    return number


def _emit_find_blank(builder: Any, address: Any) -> Any:
    kind = ir.VectorType(ir.IntType(8), TOKEN)
    blanks = builder.icmp_unsigned(
        "<=", _emit_load(builder, address, kind), ir.Constant(kind, [BLANK] * TOKEN)
    )
    blank_bits = builder.zext(builder.bitcast(blanks, ir.IntType(TOKEN)), WORD)
    return builder.cttz(builder.or_(blank_bits, WORD(1 << TOKEN)), ir.IntType(1)(True))


_register_intrinsic(
    word_at, types.uint64, types.int64, lambda builder, address: _emit_load(builder, address, WORD)
)
_register_intrinsic(
    byte_at,
    types.int64,
    types.int64,
    lambda builder, address: builder.zext(_emit_load(builder, address, ir.IntType(8)), WORD),
)
_register_intrinsic(token_length, types.int64, types.int64, _emit_find_blank)
_register_intrinsic(
    trailing_zeros,
    types.int64,
    types.uint64,
    lambda builder, word: builder.cttz(word, ir.IntType(1)(False)),
)


@overload(address_of, strict=False)
def _address_of(array: Any) -> Any:
    return lambda array: np.int64(array.ctypes.data)


@inlined
def count_digits(word: Any) -> Any:
    """Return how many leading bytes of ``text ^ ZEROS`` were digits."""
    return trailing_zeros(((word + ABOVE_NINE) | word) & HIGH_BITS) >> 3


@inlined
def number_of(word: Any, count: int) -> Any:
    """Return the number in the first ``count`` < 8 bytes of ``text ^ ZEROS``, all digits."""
    return eight_digits((word << np.uint64((56 - 8 * count) & 63)) << np.uint64(8))


@inlined
def eight_digits(word: Any) -> Any:
    """Return the number in eight bytes of ``text ^ ZEROS``, all digits.

    Digits are joined to pairs, pairs to groups of four, and these to the number.
    """
    word = word * np.uint64(10) + (word >> np.uint64(8))
    first, second = word & PAIRS, (word >> np.uint64(16)) & PAIRS
    return np.int64((first * FIRST_PAIRS + second * SECOND_PAIRS) >> np.uint64(32))
