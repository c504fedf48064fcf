"""What happens to a row before it is learned: running standardisation, length, the intercept's input."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...blocks import RowBlock, dense_block
from ...errors import UsageError
from ...kernels.arrays import array
from ...kernels.rows.scaling import measure_rows, scale_by_spread, standardize
from ...kernels.types import F64, I64

AUTO = "auto"
NORMALIZATIONS = (AUTO, False, "l2", "standard", "standard+l2")
UNIT_LENGTH = (AUTO, "l2", "standard+l2")
LARGEST = float(np.finfo(np.float32).max)  # what a value counts as that is far beyond the spread of its feature
INTERCEPT_SHARE = 0.3  # of a typical length of rows: the constant input of the intercept


LARGEST_SUM = 1e48  # of a column: a billion of the largest values of float32; its square is far from overflow


class Moments(NamedTuple):
    """Sums for running standardisation; empty arrays where it is off.

    ``first`` and ``second`` are sum and sum of squares of sparse features, mean and squared deviations of dense ones.
    """

    first: F64 = array("features", low=-LARGEST_SUM, below=LARGEST_SUM)
    second: F64 = array("features", low=0)
    seen: F64 = array(1, low=0)  # rows
    dense: I64 = array(1, low=-1, below=2, start=-1)  # 1 dense, 0 sparse, -1 not known yet
    totals: F64 = array(4, low=0)  # of row norms, rows, squared norms, rows that have values


class Lengths(NamedTuple):
    """What kernels must know of the length of rows: fields of ``Rows``."""

    factors: F64
    constants: F64
    mean_squares: F64
    counted: F64

    @classmethod
    def of(cls, block: RowBlock, totals: F64, unit_length: bool, share: float, longest: float, decay: float) -> Lengths:
        """Of rows about to be learned; see ``measure_rows``."""
        lengths = cls(*np.empty((len(cls._fields), block.n_rows)))
        measure_rows(block.indptr, block.values, unit_length, share, longest, decay, totals, *lengths)
        return lengths

    @classmethod
    def unread(cls, n_rows: int) -> Lengths:
        """Of rows that must not be looked at."""
        return cls(np.ones(n_rows), *(np.zeros(n_rows) for _ in cls._fields[1:]))


def refuse_other_kind(block: RowBlock, moments: Moments) -> None:
    """Refuse to learn dense rows after sparse ones, or the other way round; either can be predicted."""
    if moments.dense[0] not in (-1, block.dense):
        raise UsageError("normalize='standard' centres dense rows and only scales sparse ones; keep to one kind")


def standardized(block: RowBlock, moments: Moments, learn: bool) -> RowBlock:
    """The block with its features divided by their standard deviation so far, and centred if dense rows were learned.

    ``learn`` takes the rows into the running moments.
    """
    if moments.dense[0] < 0:
        moments.dense[0] = block.dense
    if moments.dense[0]:
        matrix = block.derived(n_features=moments.first.size).to_dense()
        standardize(matrix, moments.seen, moments.first, moments.second, learn)
        np.clip(matrix, -LARGEST, LARGEST, out=matrix)
        rows = dense_block(matrix, block.y, block.origin)
        return rows.derived(n_features=block.n_features, sample_weight=block.sample_weight)
    scaled = np.empty(block.n_nonzero, np.float32)
    sums = moments.first, moments.second
    scale_by_spread(block.indptr, block.indices, block.values, moments.seen, *sums, learn, scaled)
    np.clip(scaled, -LARGEST, LARGEST, out=scaled)
    return block.with_entries(block.indptr, block.indices, scaled, block.n_features)


def of_unit_length(block: RowBlock, squares: F64) -> RowBlock:
    """The rows divided by lengths whose squares are given; one without length is left as it is."""
    factors = np.where(squares > 0.0, 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0)), 1.0)
    begin, end = block.indptr[0], block.indptr[-1]
    values = block.values[begin:end] * np.repeat(factors, np.diff(block.indptr))
    return block.derived(indptr=block.indptr - begin, indices=block.indices[begin:end], values=values)
