"""Rows of values by name: a name is known by its hash."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F32, F64, I64, U8

# FNV-1a, 64 bits (Fowler, Noll, Vo)
BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
ONE = np.uint64(1)
LARGEST_ID = 2**63 - 2  # the width is one more, and an int64


@kernel
def hash_names(text: U8, offsets: I64, ids: I64) -> None:
    """The id of every name: its hash without the last bit.

    Given    text: all names in UTF-8, one after the other; offsets: where each begins, and the end.
    Back     ids.
    """
    for name in range(ids.size):
        bits = BASIS
        for at in range(offsets[name], offsets[name + 1]):
            bits = (bits ^ np.uint64(text[at])) * PRIME
        feature = np.int64(bits >> ONE)
        ids[name] = feature if feature < LARGEST_ID else LARGEST_ID


@kernel
def add_up(bounds: I64, ids: I64, values: F64, indptr: I64, joined_ids: I64, joined_values: F32, first: I64) -> int:
    """The rows with ascending ids, each once, and without zeros; how many entries they have.

    Given    the entries of row r are those from ``bounds[r]`` on; an id may be among them several times.
    Back     indptr, joined_ids, joined_values: the rows, where values of one id are added in their order; first: of
             every entry, the first of those it was made of.
    """
    filled = 0
    for row in range(bounds.size - 1):
        begin, end = bounds[row], bounds[row + 1]
        order = np.argsort(ids[begin:end], kind="mergesort")  # which is stable
        at = 0
        while at < order.size:
            entry = begin + order[at]
            total = values[entry]
            at += 1
            while at < order.size and ids[begin + order[at]] == ids[entry]:
                total += values[begin + order[at]]
                at += 1
            joined_ids[filled], joined_values[filled], first[filled] = ids[entry], total, entry
            filled += joined_values[filled] != 0.0
        indptr[row + 1] = filled
    return filled
