"""Preparation of rows before learning or prediction: positions, scales, lengths, intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock, dense_block
from ...errors import UsageError, spell
from ...kernels.arrays import array
from ...kernels.rows.batch import Rows
from ...kernels.rows.partial import thin_rows
from ...kernels.rows.scaling import measure_rows, scale_by_spread, standardize
from ...kernels.types import F64, I64

if TYPE_CHECKING:
    from .memory import RowMemory
    from .rules import RowRule

AUTO = "auto"
NORMALIZATIONS = (AUTO, False, "l2", "standard", "standard+l2")
UNIT_LENGTH = (AUTO, "l2", "standard+l2")
MAX_VALUE = float(np.finfo(np.float32).max)  # limit of values beyond the spread of their feature
INTERCEPT_SHARE = 0.3  # of a typical length of rows: the constant input of the intercept
# Of a column: a billion of the largest values of float32; its square is far from overflow.
MAX_SUM = 1e48


class Moments(NamedTuple):
    """Sums for running standardisation; empty arrays where it is off.

    ``first`` and ``second`` are sum and sum of squares of sparse features, mean and squared
    deviations of dense ones.
    """

    first: F64 = array("features", low=-MAX_SUM, below=MAX_SUM)
    second: F64 = array("features", low=0)
    seen: F64 = array(1, low=0)  # rows
    dense: I64 = array(1, low=-1, below=2, start=-1)  # 1 dense, 0 sparse, -1 not known yet
    totals: F64 = array(4, low=0)  # of row norms, rows, squared norms, rows that have values


@dataclass(frozen=True)
class RowInputs:
    """The preparation of rows for learning, by the options of a user; only it makes ``Rows``."""

    normalize: bool | str
    share: float  # the intercept's input, as a multiple of the typical length of rows
    shares_cells: bool = False  # True excludes spreads, which need memory per feature
    # True for numeric targets, which may depend on the lengths of the rows of tables.
    keeps_lengths: bool = False
    # Of each row, only as many attributes as the budget are seen; they are drawn for every row.
    thins: bool = False
    asks: bool = False  # True if the rule reads only the values that it asks for

    @property
    def standardizes(self) -> bool:
        """Return True if columns are divided by their running standard deviation."""
        return is_standard(self.normalize)

    @property
    def chooses_scales(self) -> bool:
        """Return True if the scale of every column is chosen from the first rows."""
        return self.normalize == AUTO and not self.shares_cells

    @property
    def centres(self) -> bool:
        """Return True if means are subtracted from columns.

        Their values must not have been rounded before.
        """
        return self.standardizes or self.chooses_scales

    def unit_length(self, memory: RowMemory[Any]) -> bool:
        """Return True if rows are divided by their length."""
        is_table = (
            self.keeps_lengths and memory.scaling is not None and memory.scaling.choice.is_table
        )
        return self.normalize in UNIT_LENGTH and not is_table

    # ---- learning

    def check_density(self, block: RowBlock, memory: RowMemory[Any]) -> None:
        """Raise UsageError if dense rows follow sparse ones in learning, or the reverse.

        Either kind can be predicted.
        """
        if self.standardizes and not self.asks and memory.moments.dense[0] not in (-1, block.dense):
            raise UsageError(
                f"{spell('normalize', 'standard')} centres dense rows and only scales sparse ones;"
                " use one kind only"
            )

    def make_rows(
        self,
        block: RowBlock,
        memory: RowMemory[Any],
        rule: RowRule[Any],
        answers: NDArray[Any],
        weights: F64,
    ) -> Rows:
        """Return rows ready to learn, after making room for features and updating moments."""
        block = self._scale_to_learn(self._thin(block, memory) if self.thins else block, memory)
        lengths = np.empty((4, block.n_rows))
        if self.asks:
            lengths[0], lengths[1:] = 1.0, 0.0
        else:
            measure_rows(
                block.indptr,
                block.values,
                self.unit_length(memory),
                self.share,
                rule.max_length,
                rule.length_decay,
                memory.moments.totals,
                *lengths,
            )
        codes, numbers = memory.target.for_kernels(answers)
        return Rows(
            indptr=block.indptr,
            indices=block.indices,
            values=block.values,
            codes=codes,
            numbers=numbers,
            weights=weights,
            factors=lengths[0],
            constants=lengths[1],
            mean_squares=lengths[2],
            counted=lengths[3],
            scores=np.empty((block.n_rows, memory.state.bias.shape[0])),
        )

    def _thin(self, block: RowBlock, memory: RowMemory[Any]) -> RowBlock:
        keep = np.empty(block.n_nonzero, np.bool_)
        thin_rows(block.indptr, memory.budget, memory.declared_width, memory.attribute_random, keep)
        indptr = np.concatenate([[0], np.cumsum(keep)])[block.indptr]
        return block.derived(indptr=indptr, indices=block.indices[keep], values=block.values[keep])

    def _scale_to_learn(self, block: RowBlock, memory: RowMemory[Any]) -> RowBlock:
        """Return rows with positions for ids, scaled as for learning but for their length."""
        if self.asks:
            memory.moments.dense[0] = block.dense
            return memory.assign_positions(block)
        if memory.scaling is not None:
            return memory.assign_positions(memory.scaling.scale(block, learn=True))
        block = memory.assign_positions(block)
        return standardize_block(block, memory.moments, learn=True) if self.standardizes else block

    # ---- predicting

    def scale_to_predict(self, block: RowBlock, memory: RowMemory[Any]) -> RowBlock:
        """Return rows scaled as for learning but for their length, without learning."""
        if self.standardizes:  # features never seen have no moments
            block = standardize_block(
                memory.keep_known_features(block), memory.moments, learn=False
            )
        return block if memory.scaling is None else memory.scaling.scale(block, learn=False)

    def expected_squares(self, block: RowBlock, memory: RowMemory[Any], present: I64) -> F64:
        """Return the expected squared lengths of rows of which only some features are given.

        The features ``present`` are given. A standardised column adds 1 on average; other columns
        are unknown.
        """
        is_given = np.isin(block.indices[block.indptr[0] : block.indptr[-1]], present)
        rows = np.repeat(np.arange(block.n_rows), np.diff(block.indptr))[is_given]
        values = block.values[block.indptr[0] : block.indptr[-1]][is_given].astype(np.float64)
        varying_ids, scaling, moments = np.empty(0, np.int64), memory.scaling, memory.moments
        if scaling is not None:
            varying_ids = scaling.choice.dense[scaling.moments.deviations > 0.0]
        elif self.standardizes and moments.dense[0] == 1:
            varying_ids = np.flatnonzero(moments.second > 0.0)
        n_absent = np.count_nonzero(~np.isin(varying_ids, present))
        return np.asarray(np.bincount(rows, values * values, block.n_rows) + n_absent)


def is_standard(normalize: bool | str) -> bool:
    """Return True if features are divided by their standard deviations."""
    return isinstance(normalize, str) and normalize.startswith("standard")


def intercept_share(fit_intercept: bool) -> float:
    """Return the intercept's input, as a multiple of the typical length of rows."""
    return INTERCEPT_SHARE if fit_intercept else 0.0


def standardize_block(block: RowBlock, moments: Moments, learn: bool) -> RowBlock:
    """Return a block with features divided by their standard deviation so far.

    They are centred if dense rows were learned. ``learn`` adds the rows to the running moments.
    """
    if moments.dense[0] < 0:
        moments.dense[0] = block.dense
    if moments.dense[0]:
        matrix = block.derived(n_features=moments.first.size).to_dense()
        standardize(matrix, moments.seen, moments.first, moments.second, learn)
        np.clip(matrix, -MAX_VALUE, MAX_VALUE, out=matrix)
        dense = dense_block(matrix, block.y, block.origin)
        return dense.derived(n_features=block.n_features, sample_weight=block.sample_weight)
    scaled = np.empty(block.n_nonzero, np.float32)
    scale_by_spread(
        block.indptr,
        block.indices,
        block.values,
        moments.seen,
        moments.first,
        moments.second,
        learn,
        scaled,
    )
    np.clip(scaled, -MAX_VALUE, MAX_VALUE, out=scaled)
    return block.with_entries(block.indptr, block.indices, scaled, block.n_features)


def scale_to_unit_length(block: RowBlock, squares: F64) -> RowBlock:
    """Return the rows divided by lengths whose squares are given.

    A row of length 0 is not changed.
    """
    factors = np.where(squares > 0.0, 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0)), 1.0)
    begin, end = block.indptr[0], block.indptr[-1]
    values = block.values[begin:end] * np.repeat(factors, np.diff(block.indptr))
    return block.derived(
        indptr=block.indptr - begin, indices=block.indices[begin:end], values=values
    )
