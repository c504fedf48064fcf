"""Columns of many values made discrete: bins of equal frequency, or those that describe the classes most briefly.

Both work on the levels of a column as ``code_columns`` finds them, not on its rows: what they need
is how many rows, of which class, have each value.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64, Bool
from .contents import MISSING
from .dependence import entropy

MDL = 0  # as a number of bins


@kernel
def bin_columns(
    indptr: I64,
    indices: I32,
    values: F64,
    weights: F64,
    classes: I32,
    class_counts: F64,
    wanted: Bool,
    bins: int,
    start: int,
    stop: int,
    codes: I32,
    n_levels: I64,
) -> None:
    """Replace the codes of columns from ``start`` to ``stop`` that are ``wanted`` by those of bins.

    Given    bins: how many, of as equal frequency as the values allow; or MDL. The bin that 0 falls into has code 0.
    """
    n_classes = class_counts.size
    for column in range(start, stop):
        if not wanted[column]:
            continue
        begin, end = indptr[column], indptr[column + 1]
        levels = n_levels[column]
        negative = 0  # levels below 0
        for i in range(begin, end):
            if values[i] < 0.0:
                negative = max(negative, codes[i])
        counts = np.zeros((levels, n_classes))  # in ascending order of the values, 0 among them
        counts[negative] = class_counts
        for i in range(begin, end):
            row = indices[i]
            counts[negative, classes[row]] -= weights[row]
            if codes[i] != MISSING:
                level = codes[i] - 1 if codes[i] <= negative else codes[i]
                counts[level, classes[row]] += weights[row]
        bin_of = np.zeros(levels, np.int64)
        if bins == MDL:
            cut_by_description_length(counts, bin_of)
        else:
            cut_by_frequency(counts, bins, bin_of)
        zero = bin_of[negative]
        for i in range(begin, end):
            if codes[i] == MISSING:
                continue
            mine = bin_of[codes[i] - 1 if codes[i] <= negative else codes[i]]
            codes[i] = 0 if mine == zero else mine + 1 if mine < zero else mine
        n_levels[column] = bin_of.max() + 1


@kernel
def cut_by_frequency(counts: F64, bins: int, bin_of: I64) -> None:
    """The bin of every level: where the middle of its rows falls when all rows are divided evenly."""
    total = counts.sum()
    if not total > 0.0:  # all values are missing
        return
    before = 0.0
    last, used = -1, -1
    for level in range(counts.shape[0]):
        here = max(0.0, counts[level].sum())
        evenly = int(min(bins - 1.0, bins * (before + 0.5 * here) / total))
        if evenly != last:
            used += 1
            last = evenly
        bin_of[level] = used
        before += here


@kernel
def cut_by_description_length(counts: F64, bin_of: I64) -> None:
    """The bin of every level by recursive entropy cuts, as long as they pay (Fayyad and Irani 1993)."""
    counts = np.maximum(counts, 0.0)
    levels, n_classes = counts.shape
    cuts = np.zeros(levels, np.bool_)  # whether a bin begins at a level
    stack = np.empty((levels + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, levels
    open_ranges = 1
    left, right = np.empty(n_classes), np.empty(n_classes)
    while open_ranges:
        open_ranges -= 1
        first, end = stack[open_ranges]
        whole = counts[first:end].sum(axis=0)
        total = whole.sum()
        if total <= 1.0:
            continue
        bits = entropy(whole, n_classes, total)
        best, at = bits, -1
        left[:] = 0.0
        for level in range(first + 1, end):
            for c in range(n_classes):
                left[c] += counts[level - 1, c]
                right[c] = whole[c] - left[c]
            below = left.sum()
            if below <= 0.0 or below >= total:
                continue
            parted = (
                below * entropy(left, n_classes, below)
                + (total - below) * entropy(right, n_classes, total - below)
            ) / total
            if parted < best - 1e-12:
                best, at = parted, level
        if at < 0:
            continue
        left[:] = counts[first:at].sum(axis=0)
        right[:] = whole - left
        kinds, left_kinds, right_kinds = (
            (whole > 0.0).sum(),
            (left > 0.0).sum(),
            (right > 1e-9).sum(),
        )
        below = left.sum()
        left_bits, right_bits = (
            entropy(left, n_classes, below),
            entropy(right, n_classes, total - below),
        )
        # The 2 is lost to rounding from 35 classes on, and 3^k is infinite from 647 on.
        ways = np.log2(3.0**kinds - 2.0) if kinds < 600 else kinds * np.log2(3.0)
        price = ways - (kinds * bits - left_kinds * left_bits - right_kinds * right_bits)
        if bits - best > (np.log2(total - 1.0) + price) / total:
            cuts[at] = True
            stack[open_ranges, 0], stack[open_ranges, 1] = first, at
            stack[open_ranges + 1, 0], stack[open_ranges + 1, 1] = at, end
            open_ranges += 2
    bin_of[:] = np.cumsum(cuts)
