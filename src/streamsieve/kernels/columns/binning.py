"""Discretise columns of many values: by bins of equal frequency, or by entropy (MDL).

Both work on the levels of a column as ``code_columns`` finds them, not on its rows: the input is
the number of rows of each class that have each value.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64, Bool
from .contents import MISSING
from .dependence import entropy

MDL = 0  # instead of a number of bins: cut by description length


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
    """Replace the codes of ``wanted`` columns from ``start`` to before ``stop`` by those of bins.

    Given    bins: the number of bins, of frequencies as equal as the values allow; or MDL. The bin
             that 0 falls into has code 0.
    """
    n_classes = class_counts.size
    for column in range(start, stop):
        if not wanted[column]:
            continue
        begin, end = indptr[column], indptr[column + 1]
        levels = n_levels[column]
        negative = 0  # the number of levels below 0
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
            bin_ = bin_of[codes[i] - 1 if codes[i] <= negative else codes[i]]
            codes[i] = 0 if bin_ == zero else bin_ + 1 if bin_ < zero else bin_
        n_levels[column] = bin_of.max() + 1


@kernel
def cut_by_frequency(counts: F64, bins: int, bin_of: I64) -> None:
    """Write the bin of every level, by the middle of its rows in an even division of all rows."""
    total = counts.sum()
    if not total > 0.0:  # all values are missing
        return
    before = 0.0
    last_bin, used = -1, -1
    for level in range(counts.shape[0]):
        n_rows = max(0.0, counts[level].sum())
        bin_ = int(min(bins - 1.0, bins * (before + 0.5 * n_rows) / total))
        if bin_ != last_bin:
            used += 1
            last_bin = bin_
        bin_of[level] = used
        before += n_rows


@kernel
def cut_by_description_length(counts: F64, bin_of: I64) -> None:
    """Write the bin of every level, by recursive entropy cuts while they pay off.

    The criterion is that of Fayyad and Irani (1993).
    """
    counts = np.maximum(counts, 0.0)
    levels, n_classes = counts.shape
    cuts = np.zeros(levels, np.bool_)  # True where a bin begins
    stack = np.empty((levels + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, levels
    n_ranges = 1
    left, right = np.empty(n_classes), np.empty(n_classes)
    while n_ranges:
        n_ranges -= 1
        first, end = stack[n_ranges]
        whole = counts[first:end].sum(axis=0)
        total = whole.sum()
        if total <= 1.0:
            continue
        bits = entropy(whole, n_classes, total)
        best, cut = bits, -1
        left[:] = 0.0
        for level in range(first + 1, end):
            for c in range(n_classes):
                left[c] += counts[level - 1, c]
                right[c] = whole[c] - left[c]
            n_left = left.sum()
            if n_left <= 0.0 or n_left >= total:
                continue
            cut_bits = (
                n_left * entropy(left, n_classes, n_left)
                + (total - n_left) * entropy(right, n_classes, total - n_left)
            ) / total
            if cut_bits < best - 1e-12:
                best, cut = cut_bits, level
        if cut < 0:
            continue
        left[:] = counts[first:cut].sum(axis=0)
        right[:] = whole - left
        kinds, left_kinds, right_kinds = (
            (whole > 0.0).sum(),
            (left > 0.0).sum(),
            (right > 1e-9).sum(),
        )
        n_left = left.sum()
        left_bits, right_bits = (
            entropy(left, n_classes, n_left),
            entropy(right, n_classes, total - n_left),
        )
        # The 2 is lost to rounding from 35 classes on, and 3^k is infinite from 647 on.
        ways = np.log2(3.0**kinds - 2.0) if kinds < 600 else kinds * np.log2(3.0)
        price = ways - (kinds * bits - left_kinds * left_bits - right_kinds * right_bits)
        if bits - best > (np.log2(total - 1.0) + price) / total:
            cuts[cut] = True
            stack[n_ranges, 0], stack[n_ranges, 1] = first, cut
            stack[n_ranges + 1, 0], stack[n_ranges + 1, 1] = cut, end
            n_ranges += 2
    bin_of[:] = np.cumsum(cuts)
