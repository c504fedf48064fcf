"""Base of rules that fit a linear model of few columns, and the slots that hold the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...blocks import ColumnBlock
from ...kernels.columns.slots import (
    TOP,
    USED,
    Slots,
    combine,
    compact_columns,
    held_length,
    products,
    write_line,
)
from ...kernels.types import F64, I64
from ...machine import refuse_beyond_memory
from ...state import changed, declared, grown, names_along
from ...targets import Target
from ..diagnosis import Finding
from ..fitting import Fit, loss_of, loss_slopes, refit, standardized, to_original_units
from ..parameters import ensure, fits, is_integer, is_number
from ..prediction import LinearModel
from .rules import ColumnRule

MAX_SCANS = 10_000
SLOT_ARRAYS = names_along(Slots, "slots")
FIRST_SLOTS = 64
MIN_SCALE = 1e-90  # the smallest difference of two float32 values, squared
SPARE_ROOM = 0.25  # fraction of the values held: without it every new column would move all others
STEPS_TOO_LONG = Finding(
    "steps too long",
    "warning",
    "the steps led away from the target: the final weights fit it worse than no model, so the"
    " selection is not reliable",
    "set a shorter step or a larger m, or use the solver 'pool' of online-substitution, which needs"
    " neither",
)

# Checks of parameters.
SCANS = fits(
    lambda scans: scans is None or (is_integer(scans) and 1 <= scans <= MAX_SCANS),
    f"None or an integer from 1 to {MAX_SCANS:,}",
)
STEP = fits(lambda step: step is None or (is_number(step) and step > 0), "None or a number above 0")
STEP_DIVISOR = fits(lambda m: is_number(m) and m >= 1, "a number of 1 or more")


class LinearRule(ColumnRule[Any]):
    """Base of rules that select the columns of a linear model.

    An author writes ``start``, ``offer`` and ``check``, and ``fit`` if not all held columns are
    selected. A state has the held columns (``slots``), a weight for each (``weights``) and the
    intercept (``level``).
    """

    allows_repeats: ClassVar[bool] = True

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        self.loss, self.y = loss_of(target, params.loss), standardized(target)
        self.wanted = int(params.n_features_to_select)

    def fit(self, state: Any) -> Fit:
        """Return the slots and weights of the selected columns, without changing the state."""
        used = int(state.slots.ends[USED])
        return Fit(np.arange(used), state.weights[:used].copy(), float(state.level[0]))

    def finish(self, state: Any) -> Any:
        """Return a state with the selected columns only, without their values."""
        fit = self.fit(state)
        if self.params.refit and fit.columns.size:
            fit = refit(
                HeldColumns(state.slots, self.target.n_rows), self.loss, self.y, fit.columns
            )
        slots = select_slots(state.slots, fit.columns)._replace(
            rows=np.zeros(0, np.int32), values=np.zeros(0)
        )
        return changed(state, slots=slots, weights=fit.weights, level=np.array([fit.intercept]))

    def kept(self, state: Any) -> tuple[I64, F64]:
        ids = self.remembered(state)
        return ids, np.abs(state.weights[: ids.size])

    def remembered(self, state: Any) -> I64:
        return np.asarray(state.slots.ids[: state.slots.ends[USED]])

    def current_selection(self, state: Any) -> tuple[I64, F64]:
        """Return the columns with the largest weights; other candidates have small ones or 0."""
        ids, sizes = self.kept(state)
        best = np.lexsort((ids, -sizes))[: self.wanted]
        best = best[sizes[best] > 0.0]
        return ids[best], sizes[best]

    def findings(self, state: Any) -> list[Finding]:
        scores = HeldColumns(state.slots, self.target.n_rows).combine(
            state.weights, float(state.level[0])
        )
        loss_without_model = loss_slopes(self.loss, np.zeros(self.y.size), self.y).loss
        return (
            [STEPS_TOO_LONG]
            if loss_slopes(self.loss, scores, self.y).loss > loss_without_model
            else []
        )

    def linear_model(self, state: Any) -> LinearModel:
        slots, used = state.slots, int(state.slots.ends[USED])
        return to_original_units(
            self.target,
            self.loss,
            slots.ids[:used],
            state.weights[:used],
            float(state.level[0]),
            slots.centres[:used],
            slots.scales[:used],
        )


# ---- slots for a limited number of standardised columns


def double_slots(state: Any, max_slots: int) -> Any:
    """Return the state with twice the slots, at most ``max_slots``, without changing it."""
    state = grown(state, "slots", min(max_slots, max(FIRST_SLOTS, 2 * state.slots.ids.size)))
    return changed(state, slots=state.slots._replace(ends=state.slots.ends.copy()))


def make_room(slots: Slots, length: int) -> Slots:
    """Return slots with the same columns and room for one more of that length.

    The given slots are compacted at most, so a state that has them stays valid if the rest of the
    block is refused.
    """
    keep(slots, np.arange(slots.ends[USED]))
    top = int(slots.ends[TOP])
    if top + length <= slots.values.size - int(SPARE_ROOM * top):  # dropped columns left enough
        return slots
    room = top + length + int(SPARE_ROOM * (top + length))
    refuse_beyond_memory(12 * room, "the columns in use", "keep fewer (n_features_to_select)")
    rows, values = np.zeros(room, np.int32), np.zeros(room)
    rows[:top], values[:top] = slots.rows[:top], slots.values[:top]
    slot_arrays = {name: getattr(slots, name).copy() for name in (*SLOT_ARRAYS, "ends")}
    return slots._replace(**slot_arrays, rows=rows, values=values)


def held_length_at(block: ColumnBlock, column: int) -> int:
    """Return the number of values of a column that slots would hold."""
    return held_length(block.n_rows, int(block.indptr[column + 1] - block.indptr[column]))


def make_space(state: Any, block: ColumnBlock, column: int, max_slots: int) -> Any:
    """Return the state with space for a column of a block.

    If no slot is free it gets more slots, at most ``max_slots``; otherwise room for the values.
    """
    if state.slots.ends[USED] == state.slots.ids.size:
        return double_slots(state, max_slots)
    return changed(state, slots=make_room(state.slots, held_length_at(block, column)))


def keep(slots: Slots, chosen: I64, *others: F64) -> None:
    """Move the chosen columns to the first slots, in the order given, and drop the rest, in place.

    The entries of ``others`` are moved in the same way.
    """
    compact_columns(slots, chosen, np.argsort(slots.starts[chosen], kind="stable"))
    for entries in others:
        entries[: chosen.size] = entries[chosen]
        entries[chosen.size :] = 0.0


def select_slots(slots: Slots, chosen: I64) -> Slots:
    """Return new slots with the chosen columns, which share the arrays of values."""
    return slots._replace(
        **{name: getattr(slots, name)[chosen] for name in SLOT_ARRAYS},
        ends=np.array([chosen.size, slots.ends[TOP]]),
    )


def gather_slots(parts: Sequence[Slots], ids: I64) -> Slots:
    """Return new slots with columns out of several, in the order of ``ids``, without spare room."""
    place_of = {
        feature: (part, slot)
        for part in parts
        for slot, feature in enumerate(part.ids[: part.ends[USED]].tolist())
    }
    chosen = [place_of[feature] for feature in ids.tolist()]
    spans = [
        (part, slice(part.starts[slot], part.starts[slot] + part.lengths[slot]))
        for part, slot in chosen
    ]
    rows = np.concatenate([np.zeros(0, np.int32), *(part.rows[span] for part, span in spans)])
    values = np.concatenate([np.zeros(0), *(part.values[span] for part, span in spans)])
    per_slot = {
        name: np.array(
            [getattr(part, name)[slot] for part, slot in chosen], declared(Slots)[name].dtype
        )
        for name in SLOT_ARRAYS
    }
    per_slot["starts"] = np.cumsum(per_slot["lengths"]) - per_slot["lengths"]
    return Slots(**per_slot, rows=rows, values=values, ends=np.array([ids.size, values.size]))


def check_slots_of_columns(slots: Slots, n_rows: int, n_features: int) -> None:
    """Raise ValueError if the arrays of slots do not fit one another."""
    n_used, top = (int(end) for end in slots.ends)
    ensure(
        n_used <= slots.ids.size and top <= slots.values.size,
        "it has more columns than slots, or more values than room for them",
    )
    starts, lengths, ids = slots.starts[:n_used], slots.lengths[:n_used], slots.ids[:n_used]
    order = np.argsort(starts, kind="stable")
    ends = np.append(starts[order][1:], top)
    ensure(
        not n_used
        or ((lengths <= n_rows).all() and (lengths[order] <= ends - starts[order]).all()),
        "columns overlap, or have more values than rows",
    )
    ensure(
        slots.rows.max(initial=-1) < n_rows, "a column has a row number beyond the rows of the data"
    )
    ensure(
        np.unique(ids).size == n_used and ids.max(initial=-1) < n_features,
        "a feature appears twice, or its id is beyond the width of the data",
    )
    ensure((slots.scales[:n_used] > MIN_SCALE).all(), "it holds a column that does not vary")


class HeldColumns:
    """The columns in slots, as a set of columns for fits."""

    def __init__(self, slots: Slots, n_rows: int) -> None:
        self.slots, self.n_rows, self.count = slots, n_rows, int(slots.ends[USED])

    def products(self, vector: F64) -> F64:
        sums = np.empty(self.count)
        products(self.slots, vector, 0, self.count, sums)
        return sums

    def combine(self, weights: F64, intercept: float) -> F64:
        scores = np.empty(self.n_rows)
        combine(self.slots, weights, intercept, scores)
        return scores

    def dense(self, columns: I64) -> F64:
        lines = np.empty((columns.size, self.n_rows))
        for line, column in zip(lines, columns.tolist(), strict=True):
            write_line(self.slots, column, line)
        return lines
