"""Rules that fit a linear model of few columns, out of all that come by; and the slots that hold those columns."""

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
    held_length,
    pack,
    products,
    written_out,
)
from ...kernels.types import F64, I64
from ...machine import refuse_beyond_memory
from ...state import changed, declared, grown, names_along
from ...targets import Target
from ..diagnosis import Remark
from ..fitting import Fit, in_given_units, loss_of, refit, slopes_at, standardized
from ..parameters import ensure, fits, is_integer, is_number
from ..prediction import LinearModel
from .rules import ColumnRule

MAX_SCANS = 10_000
PER_SLOT = names_along(Slots, "slots")
FIRST_SLOTS = 64
MIN_SCALE = 1e-90  # the least difference of two values in float32, squared
SPARE = 0.25  # room beyond what is held, so that not every column has to move all others
STRAYED = Remark(
    "steps too long",
    "warning",
    "the steps led away from the target: the weights they ended with are worse than none, and the"
    " selection as bad",
    "take a shorter step, a larger m, or the solver 'pool' of online-substitution, which needs"
    " neither",
)

# What parameters may be.
SCANS = fits(
    lambda scans: scans is None or (is_integer(scans) and 1 <= scans <= MAX_SCANS),
    f"None or an integer from 1 to {MAX_SCANS:,}",
)
STEP = fits(lambda step: step is None or (is_number(step) and step > 0), "None or a number above 0")
SHORTER = fits(lambda m: is_number(m) and m >= 1, "a number of 1 or more")


class LinearRule(ColumnRule[Any]):
    """Selects columns by the linear model they make together.

    An author writes ``start``, ``offer`` and ``check``, and ``fit`` if the columns that are held
    are not those that are selected. A state has the held columns (``slots``), a weight for each
    (``weights``) and the intercept (``level``).
    """

    takes_again: ClassVar[bool] = True

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        self.loss, self.y = loss_of(target, params.loss), standardized(target)
        self.wanted = int(params.n_features_to_select)

    def fit(self, state: Any) -> Fit:
        """Return the slots of the columns that are selected, with their weights; the state stays as it is."""
        used = int(state.slots.ends[USED])
        return Fit(np.arange(used), state.weights[:used].copy(), float(state.level[0]))

    def finish(self, state: Any) -> Any:
        """Return the state of a model: the columns that were selected, without their values, and no others."""
        fit = self.fit(state)
        if self.params.refit and fit.columns.size:
            fit = refit(
                HeldColumns(state.slots, self.target.n_rows), self.loss, self.y, fit.columns
            )
        slots = some_of(state.slots, fit.columns)._replace(
            rows=np.zeros(0, np.int32), values=np.zeros(0)
        )
        return changed(state, slots=slots, weights=fit.weights, level=np.array([fit.intercept]))

    def kept(self, state: Any) -> tuple[I64, F64]:
        ids = self.remembered(state)
        return ids, np.abs(state.weights[: ids.size])

    def remembered(self, state: Any) -> I64:
        return np.asarray(state.slots.ids[: state.slots.ends[USED]])

    def kept_now(self, state: Any) -> tuple[I64, F64]:
        """Return those with the largest weights: candidates beside them have none yet, or a small one."""
        ids, sizes = self.kept(state)
        best = np.lexsort((ids, -sizes))[: self.wanted]
        best = best[sizes[best] > 0.0]
        return ids[best], sizes[best]

    def remarks(self, state: Any) -> list[Remark]:
        scores = HeldColumns(state.slots, self.target.n_rows).combine(
            state.weights, float(state.level[0])
        )
        nothing = slopes_at(self.loss, np.zeros(self.y.size), self.y).loss
        return [STRAYED] if slopes_at(self.loss, scores, self.y).loss > nothing else []

    def linear_model(self, state: Any) -> LinearModel:
        slots, used = state.slots, int(state.slots.ends[USED])
        units = slots.centres[:used], slots.scales[:used]
        return in_given_units(
            self.target,
            self.loss,
            slots.ids[:used],
            state.weights[:used],
            float(state.level[0]),
            *units,
        )


# ---- slots for a limited number of standardised columns: room for them, and what is computed with them


def with_twice_the_slots(state: Any, most: int) -> Any:
    """Return a state with the same columns in twice the slots, ``most`` at most; what is given stays whole."""
    state = grown(state, "slots", min(most, max(FIRST_SLOTS, 2 * state.slots.ids.size)))
    return changed(state, slots=state.slots._replace(ends=state.slots.ends.copy()))


def with_room(slots: Slots, length: int) -> Slots:
    """The same columns, with room for one more of that length; the slots that are given stay whole.

    So does a state that has them, if the rest of the block is refused.
    """
    keep(slots, np.arange(slots.ends[USED]))
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


def with_space(state: Any, block: ColumnBlock, column: int, most: int) -> Any:
    """Return the state with more slots, ``most`` at most, or where one is free with room for a column of a block."""
    if state.slots.ends[USED] == state.slots.ids.size:
        return with_twice_the_slots(state, most)
    return changed(state, slots=with_room(state.slots, length_at(block, column)))


def keep(slots: Slots, chosen: I64, *others: F64) -> None:
    """Drop all columns but some, which are then in the slots from the first on, in the order given; so are others."""
    pack(slots, chosen, np.argsort(slots.starts[chosen], kind="stable"))
    for entries in others:
        entries[: chosen.size] = entries[chosen]
        entries[chosen.size :] = 0.0


def some_of(slots: Slots, chosen: I64) -> Slots:
    """Some columns, in slots of their own; their values are shared."""
    return slots._replace(
        **{name: getattr(slots, name)[chosen] for name in PER_SLOT},
        ends=np.array([chosen.size, slots.ends[TOP]]),
    )


def picked(parts: Sequence[Slots], ids: I64) -> Slots:
    """Some of the columns in several slots, in the order given, in arrays of their own without any room beyond."""
    known = {
        feature: (part, slot)
        for part in parts
        for slot, feature in enumerate(part.ids[: part.ends[USED]].tolist())
    }
    chosen = [known[feature] for feature in ids.tolist()]
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
        for name in PER_SLOT
    }
    per_slot["starts"] = np.cumsum(per_slot["lengths"]) - per_slot["lengths"]
    return Slots(**per_slot, rows=rows, values=values, ends=np.array([ids.size, values.size]))


def check_slots_of_columns(slots: Slots, n_rows: int, features: int) -> None:
    """Refuse, with a ValueError, slots whose arrays do not fit one another."""
    used, top = (int(end) for end in slots.ends)
    ensure(
        used <= slots.ids.size and top <= slots.values.size,
        "it has more columns than slots, or more values than room",
    )
    starts, lengths, ids = slots.starts[:used], slots.lengths[:used], slots.ids[:used]
    order = np.argsort(starts, kind="stable")
    ends = np.append(starts[order][1:], top)
    ensure(
        not used or ((lengths <= n_rows).all() and (lengths[order] <= ends - starts[order]).all()),
        "columns overlap, or have more values than rows",
    )
    ensure(slots.rows.max(initial=-1) < n_rows, "a column has a row that there is not")
    ensure(
        np.unique(ids).size == used and ids.max(initial=-1) < features,
        "a feature is held twice, or there is no such feature",
    )
    ensure((slots.scales[:used] > MIN_SCALE).all(), "a column that does not vary is held")


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
