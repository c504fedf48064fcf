"""Slots that hold a limited number of standardised columns: room for them, and what is computed with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np

from ...blocks import ColumnBlock
from ...kernels.columns.slots import TOP, USED, Slots, combine, held_length, pack, products, written_out
from ...kernels.types import F64, I64
from ...machine import refuse_beyond_memory
from ...state import State, changed, declared, grown, names_along
from ..parameters import ensure

PER_SLOT = names_along(Slots, "slots")
FIRST_SLOTS = 64
SMALLEST_SCALE = 1e-90  # the least difference of two values in float32, squared
SPARE = 0.25  # room beyond what is held, so that not every column has to move all others


class HoldsColumns(State, Protocol):
    """A state with columns in slots, and more for every slot."""

    @property
    def slots(self) -> Slots: ...


L = TypeVar("L", bound=HoldsColumns)


def with_twice_the_slots(state: L, most: int) -> L:
    """Return a state with the same columns in twice the slots, ``most`` at most; what is given stays whole."""
    count = min(most, max(FIRST_SLOTS, 2 * state.slots.ids.size))
    state = grown(state, "slots", count)
    return changed(state, slots=state.slots._replace(ends=state.slots.ends.copy()))


def with_room(slots: Slots, length: int) -> Slots:
    """The same columns, with room for one more of that length; the slots that are given stay whole.

    So does a state that has them, if the rest of the block is refused.
    """
    used = np.arange(slots.ends[USED])
    keep(slots, used)
    top = int(slots.ends[TOP])
    if top + length <= slots.values.size - int(SPARE * top):  # what was dropped left enough
        return slots
    room = top + length + int(SPARE * (top + length))
    refuse_beyond_memory(12 * room, "the columns in use", "keep fewer (n_features_to_select)")
    rows, values = np.zeros(room, np.int32), np.zeros(room)
    rows[:top], values[:top] = slots.rows[:top], slots.values[:top]
    own = {name: getattr(slots, name).copy() for name in (*PER_SLOT, "ends")}
    return slots._replace(**own, rows=rows, values=values)


def length_at(block: ColumnBlock, column: int) -> int:
    """How many values of a column would be held."""
    return held_length(block.n_rows, int(block.indptr[column + 1] - block.indptr[column]))


def keep(slots: Slots, chosen: I64) -> None:
    """Drop all columns but some, which are then in the slots from the first on, in the order given."""
    pack(slots, chosen, np.argsort(slots.starts[chosen], kind="stable"))


def some_of(slots: Slots, chosen: I64) -> Slots:
    """Some columns, in slots of their own; their values are shared."""
    ends = np.array([chosen.size, slots.ends[TOP]])
    return slots._replace(**{name: getattr(slots, name)[chosen] for name in PER_SLOT}, ends=ends)


def without_values(slots: Slots) -> Slots:
    """The columns as far as a model needs them: ids, centres and scales."""
    return slots._replace(rows=np.zeros(0, np.int32), values=np.zeros(0))


def joined(parts: Sequence[Slots]) -> Slots:
    """The columns in several slots, one after the other."""
    used, tops = ([int(part.ends[end]) for part in parts] for end in (USED, TOP))
    per_slot = {
        name: np.concatenate([getattr(part, name)[:count] for part, count in zip(parts, used, strict=True)])
        for name in PER_SLOT
    }
    per_slot["starts"] += np.repeat(np.cumsum([0, *tops[:-1]]), used)
    rows, values = (
        np.concatenate([getattr(part, name)[:top] for part, top in zip(parts, tops, strict=True)])
        for name in ("rows", "values")
    )
    return Slots(**per_slot, rows=rows, values=values, ends=np.array([sum(used), sum(tops)]))


def picked(parts: Sequence[Slots], ids: I64) -> Slots:
    """Some of the columns in several slots, in the order given, in arrays of their own without any room beyond."""
    known = {
        feature: (part, slot) for part in parts for slot, feature in enumerate(part.ids[: part.ends[USED]].tolist())
    }
    chosen = [known[feature] for feature in ids.tolist()]
    spans = [(part, slice(part.starts[slot], part.starts[slot] + part.lengths[slot])) for part, slot in chosen]
    rows = np.concatenate([np.zeros(0, np.int32), *(part.rows[span] for part, span in spans)])
    values = np.concatenate([np.zeros(0), *(part.values[span] for part, span in spans)])
    per_slot = {
        name: np.array([getattr(part, name)[slot] for part, slot in chosen], declared(Slots)[name].dtype)
        for name in PER_SLOT
    }
    per_slot["starts"] = np.cumsum(per_slot["lengths"]) - per_slot["lengths"]
    return Slots(**per_slot, rows=rows, values=values, ends=np.array([ids.size, values.size]))


def check_slots_of_columns(slots: Slots, n_rows: int, features: int) -> None:
    """Refuse, with a ValueError, slots whose arrays do not fit one another."""
    used, top = (int(end) for end in slots.ends)
    room = used <= slots.ids.size and top <= slots.values.size
    ensure(room, "it has more columns than slots, or more values than room")
    starts, lengths, ids = slots.starts[:used], slots.lengths[:used], slots.ids[:used]
    order = np.argsort(starts, kind="stable")
    ends = np.append(starts[order][1:], top)
    apart = not used or ((lengths <= n_rows).all() and (lengths[order] <= ends - starts[order]).all())
    ensure(apart, "columns overlap, or have more values than rows")
    ensure(slots.rows.max(initial=-1) < n_rows, "a column has a row that there is not")
    once = np.unique(ids).size == used and ids.max(initial=-1) < features
    ensure(once, "a feature is held twice, or there is no such feature")
    ensure((slots.scales[:used] > SMALLEST_SCALE).all(), "a column that does not vary is held")


class HeldColumns:
    """The columns in slots, as fits take them."""

    def __init__(self, slots: Slots, n_rows: int) -> None:
        self.slots, self.n_rows, self.count = slots, n_rows, int(slots.ends[USED])

    def products(self, vector: F64) -> F64:
        found = np.empty(self.count)
        products(self.slots, vector, 0, self.count, found)
        return found

    def combine(self, weights: F64, intercept: float) -> F64:
        scores = np.empty(self.n_rows)
        combine(self.slots, weights, intercept, scores)
        return scores

    def dense(self, columns: I64) -> F64:
        lines = np.empty((columns.size, self.n_rows))
        for line, column in zip(lines, columns.tolist(), strict=True):
            written_out(self.slots, column, line)
        return lines
