"""Rules: how methods learn from rows, and checks of their states before a kernel uses them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...kernels.rows.batch import Rows
from ...kernels.rows.curve import Curve
from ...kernels.rows.members import KEPT
from ...kernels.rows.scaling import COUNTED, NORMS, ROWS, SQUARES
from ...kernels.rows.scores import score_rows
from ...kernels.rows.storing import BITS_OF_INFINITY
from ...kernels.types import F64, I64
from ...state import State, empty, negate
from ..parameters import ensure
from ..prediction import Scorer, Squares
from .addresses import Addresses, look_up, table_addresses
from .inputs import scale_to_unit_length

if TYPE_CHECKING:
    from .estimates import Estimates, MergeRule, Positions
    from .memory import RowMemory
    from .results import RowResults

MAX_ROW_LENGTH = 1e43  # a billion values that are the largest in float32
CHECKED_ENTRIES = 1 << 24  # at a time: comparing a billion takes a billion bytes


class RowState(State, Protocol):
    """The state of an algorithm: arrays, including the intercept and some counters."""

    @property
    def bias(self) -> F64: ...

    @property
    def counts(self) -> I64: ...


S = TypeVar("S", bound=RowState)


class Kept(NamedTuple):
    """The features that a state keeps, slot by slot."""

    ids: I64
    weights: F64  # a row each, with a weight per vector
    scores: F64


class RowRule(ABC, Generic[S]):
    """A rule of learning from rows: its state, how rows change it, which features it keeps.

    A rule is made from parameters; everything learned is in the state and the memory around it. In
    arrays of a state that are as long as there are "features", zero must mean "never touched".
    """

    # Has arrays along "features", "vectors" of weights and the "budget".
    state_type: ClassVar[type[Any]]
    # True if predictions use every feature; then the budget limits the selection only.
    keeps_all: ClassVar[bool] = False
    # Largest squared length of a row, as a multiple of the mean; longer rows are scaled down.
    max_length: float = np.inf
    length_decay: float = 1.0  # factor per row of the sums of squared lengths before it

    def start(self, budget: int, n_vectors: int) -> S:
        """Return a new state without features, with ``n_vectors`` vectors of weights."""
        return cast(S, empty(self.state_type, features=0, budget=budget, vectors=n_vectors))

    @abstractmethod
    def update(
        self, state: S, ids: I64, rows: Rows, curve: Curve | None, memory: RowMemory[Any]
    ) -> None:
        """Learn rows whose ``indices`` are positions; ``ids``, if not empty, maps them to ids."""

    @abstractmethod
    def kept(self, state: S, addresses: Addresses) -> Kept:
        """Return the kept features; ``addresses`` map positions to features."""

    def bias(self, state: S) -> F64:
        """Return the weights of the intercept."""
        return state.bias[:, 0]

    def constant(self, state: S, share: float, totals: F64) -> float:
        """Return the intercept's input for prediction: a ``share`` of the mean length of rows."""
        return float(share * totals[NORMS] / totals[ROWS]) if totals[ROWS] else 0.0

    def scorer(self, results: RowResults) -> Scorer:
        """Return a function that scores the rows of blocks, made once for any number of them.

        It returns one column per class beyond two; features without weight are ignored.
        """
        ids, weights, _ = results.weights()
        memory, inputs = results.memory, results.inputs
        if inputs.standardizes:
            ids = look_up(memory.addresses, ids).astype(np.int64)
        lookup = table_addresses(ids)
        intercept = results.intercept_

        def score(block: RowBlock, squares: Squares = None) -> F64:
            block, unit_length = inputs.scale_to_predict(block, memory), inputs.unit_length(memory)
            if unit_length and squares is not None:
                is_unknown = np.isnan(squares)
                if is_unknown.any():
                    squares = np.where(
                        is_unknown, inputs.expected_squares(block, memory, ids), squares
                    )
                block, unit_length = scale_to_unit_length(block, squares), False
            scores = np.tile(intercept, (block.n_rows, 1))
            score_rows(
                lookup.table,
                lookup.ids,
                weights,
                block.indptr,
                block.indices,
                block.values,
                unit_length,
                scores,
            )
            return scores[:, 0] if weights.shape[1] == 1 else scores

        return score

    def negate(self, state: Any) -> None:
        """Swap the two classes in the state by changing the sign of every weight."""
        negate(state.weight)
        negate(state.bias[:, 0])

    def check(self, state: S, sizes: dict[str, int], ids: I64, memory: RowMemory[Any]) -> None:
        """Raise ValueError if the arrays of a state from a file are inconsistent."""


class MergingRule(RowRule[S]):
    """A rule with a precision for every weight.

    Models that learned different rows can be merged.
    """

    @abstractmethod
    def stored(self, state: S, positions: Positions) -> Estimates:
        """Return the estimates at some positions; precisions are divided by the scale."""

    @abstractmethod
    def cells(self, estimates: Estimates) -> Any:
        """Return the ``cells`` of the state for features that are not kept."""

    def keys(self, estimates: Estimates) -> F64:
        """Return the keys by which features are kept, where the budget limits predictions."""
        raise NotImplementedError

    def fill_slots(self, state: S, positions: I64, ids: I64, estimates: Estimates) -> None:
        """Keep the features at some positions, in a state that keeps none yet.

        There are at most as many as the budget.
        """
        raise NotImplementedError

    def scale(self, state: S) -> float:
        """Return the fraction of old precision that forgetting has left."""
        return 1.0

    def merge_sums(self, state: S, states: Sequence[S], merge_rule: MergeRule) -> None:
        """Set the sums over rows that a state has beside its counts."""


# ---- states from files


def kept_count(counts: NDArray[np.int64], budget: int) -> int:
    """Return the number of slots in use; raise ValueError if it exceeds the budget."""
    kept = int(counts[KEPT])
    ensure(0 <= kept <= budget, f"{kept:,} features are kept, with a budget of {budget:,}")
    return kept


def check_members(
    cells: NDArray[np.integer[Any]],
    names_of_slots: int,
    member: NDArray[np.int64],
    member_id: NDArray[np.int64],
    ids: NDArray[np.int64],
) -> None:
    """Raise ValueError unless cells and slots refer to one another.

    Every used slot has one feature, by its id, and no other cell points at a slot. A cell, one per
    feature, points at slot 0, 1, 2, ... by 1, 2, 3, ... times ``names_of_slots``, which is 1 or -1;
    ``member`` and ``member_id`` are those of the slots in use.
    """
    kept = member.size
    ensure(not kept or 0 <= member.min() <= member.max() < cells.size, "a kept feature has no cell")
    ensure(
        np.array_equal(cells[member], names_of_slots * np.arange(1, kept + 1)),
        "cells and slots do not point at one another",
    )
    parts = (cells[at : at + CHECKED_ENTRIES] for at in range(0, cells.size, CHECKED_ENTRIES))
    pointing = sum(np.count_nonzero(part > 0 if names_of_slots > 0 else part < 0) for part in parts)
    ensure(pointing == kept, "a cell points at a slot of another feature")
    ensure(
        np.array_equal(member_id, ids[member] if ids.size else member),
        "kept features have wrong ids",
    )


def check_numbers(cells: NDArray[np.float32], flags: NDArray[np.int32]) -> None:
    """Raise ValueError unless cells hold numbers or name slots.

    The first entry of a cell, in ``flags``, may be infinite.
    """
    for at in range(0, len(cells), CHECKED_ENTRIES):
        part, first = cells[at : at + CHECKED_ENTRIES], flags[at : at + CHECKED_ENTRIES]
        ensure(
            (np.isfinite(part[:, 1:]).all(axis=1) | (first < 0)).all()
            and (first <= BITS_OF_INFINITY).all(),
            "a cell holds a value that is not a number",
        )


def check_cells(
    cells: NDArray[Any],
    n_vectors: int,
    member: NDArray[np.int64],
    member_id: NDArray[np.int64],
    width: int,
) -> None:
    """Raise ValueError unless shared cells and slots are valid.

    Cells must have precisions above their start, and every slot one feature, by its id.
    """
    bounds, per_class = cells[:, : -2 * n_vectors], cells[:, -2 * n_vectors :]
    ensure(
        (per_class[:, ::2] >= 0).all() and (bounds >= 0).all(),
        "a cell has a precision below its start",
    )
    ensure(
        np.unique(member_id).size == member_id.size and np.array_equal(member, member_id),
        "a feature is kept twice",
    )
    ensure(member_id.max(initial=0) < max(width, 1), "a kept feature is beyond the width")


def check_heap(state: Any, kept: int) -> None:
    """Raise ValueError unless the heap has every slot once and in order.

    Slots must know their place in the heap. The smaller key comes first, of equal keys the higher
    id.
    """
    slots = state.heap[:kept]
    ensure(
        np.array_equal(np.sort(slots), np.arange(kept)),
        "a slot is not in the heap, or appears in it twice",
    )
    key, feature = state.key[slots], state.member_id[slots]
    parents, children = (np.arange(1, kept) - 1) // 2, np.arange(1, kept)
    is_wrong = (key[children] < key[parents]) | (
        (key[children] == key[parents]) & (feature[children] > feature[parents])
    )
    ensure(not is_wrong.any(), "the heap is not in order")
    ensure(
        np.array_equal(state.heap_position[slots], np.arange(kept)),
        "a slot is not at its recorded place in the heap",
    )


def check_totals(totals: NDArray[np.float64]) -> None:
    """Raise ValueError unless the mean length of rows, and their mean square, are possible.

    The bounds are those of rows of float32.
    """
    check_mean(totals[NORMS], totals[ROWS], MAX_ROW_LENGTH)
    check_mean(totals[SQUARES], totals[COUNTED], MAX_ROW_LENGTH**2)


def check_mean(total: float, count: float, maximum: float) -> None:
    """Raise ValueError if a mean over rows is larger than the maximum."""
    ensure(total <= maximum * count, "the mean length of its rows is too large")
