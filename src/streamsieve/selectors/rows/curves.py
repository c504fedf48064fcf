"""Accuracy by the number of features: curves, and the small learners beside the main one.

The weights of a large budget are poor for a far smaller number of features, because they leave out
what the other features express. So the accuracy with few features is that of a small budget: a
learner of its own, taught by the same kernels. Number k of a curve's grid is answered by the best k
features of the smallest of these with a budget of at least k, and by the main learner where there
is none.

For the first ``OPEN_ROWS`` rows a small budget sees all features and is, to the last bit, a
separate run with that budget. From then on it sees only its candidates, which are chosen at every
ranking: the features that it keeps, those that smaller ones keep, and the best
``5 * budget + 20`` features of the main learner, which sees all. It forgets the others.

All small budgets share a table of the features that any of them sees, so the entries of a row are
looked up once. Candidates of one are candidates of all larger ones, so each is given a part of the
row that the next larger one was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple

import numpy as np

from ...errors import UsageError, spell
from ...kernels.arrays import ArraySpec, array
from ...kernels.rows.batch import Rows, copy_allowed_entries, copy_table_entries
from ...kernels.rows.calibration import ENTRIES, calibrate
from ...kernels.rows.curve import Curve, count_rows
from ...kernels.types import F64, I64, U8, Bool
from ...state import (
    Arrays,
    arrays_of,
    empty,
    moved,
    resized,
    schema_of,
    with_arrays,
)
from ..parameters import ensure, is_integer
from .addresses import Addresses, look_up, look_up_or_add, move_members, table_addresses
from .calibration import check_calibration, swap_calibration
from .rules import Kept, S

MAX_FEATURES = 2000  # of the default grid, for a budget of "auto"
RANKED_EVERY = 1024  # rows; more often at the start, at every power of two
FIRST_RANKING = 16  # rows; earlier rankings would say little
BUDGETS = (1, 2, 5, 10, 20, 50, 200)
OPEN_ROWS = 256  # rows of which small budgets see all features
PREFIX = "rungs."  # of the names of their arrays in a model
ROOM = 1 << 12  # for features, at the start
SPARSENESS = 4  # of the table of candidates: capacity over positions in use
MARKS = 1 << 15

KeptOf = Callable[[S], Kept]
Check = Callable[[S, dict[str, int], I64], None]
Update = Callable[[S, I64, Rows, Curve | None], None]


def make_default_grid(largest: int) -> I64:
    """Return 1, 2, 5, 10, 20, 50, ... up to ``largest``, which ends the grid."""
    steps = (lead * 10**power for power in range(len(str(largest))) for lead in (1, 2, 5))
    return np.array([*(step for step in steps if step < largest), largest])


def grid_of(curve: bool | Sequence[int], budget: int) -> I64:
    """Return the grid for the parameter ``curve``, a list or a boolean; it ends at the budget."""
    if isinstance(curve, bool):
        return make_default_grid(budget)
    chosen = np.unique(np.asarray(curve, np.int64))
    return np.append(chosen[chosen < budget], budget)


def start_curve(grid: I64, n_vectors: int) -> Curve:
    """Return an empty curve for a grid."""
    curve = empty(Curve, grid=grid.size, budget=int(grid[-1]), vectors=n_vectors)
    curve.grid[:], curve.bucket[:] = grid, grid.size - 1
    return curve


def learn_and_count(update: Update[S], state: S, ids: I64, rows: Rows, curve: Curve | None) -> None:
    """Learn rows and count mistakes for every number of features.

    If the budget is the only number, the scores of the update are enough.
    """
    has_one_number = curve is not None and curve.grid.size == 1
    update(state, ids, rows, None if has_one_number else curve)
    if curve is not None and has_one_number:
        count_rows(curve.mistakes, curve.errors, rows.scores, rows.codes, rows.numbers)


def rank_slots(curve: Curve, scores: F64, ids: I64) -> I64:
    """Put every slot into the bucket of its current rank; return the slots, best first."""
    order = np.lexsort((ids, -scores))
    curve.bucket[order] = np.searchsorted(curve.grid, np.arange(order.size), side="right")
    return order


def next_ranking(rows: int) -> int:
    """Return the first number of rows after ``rows`` at which slots are ranked again."""
    early = max(FIRST_RANKING, 1 << rows.bit_length())
    return early if rows < RANKED_EVERY else (rows // RANKED_EVERY + 1) * RANKED_EVERY


def choose_by_accuracy(accuracy: F64, rows: int) -> int:
    """Return the first entry whose accuracy is within one standard error of the best.

    The accuracies were measured on ``rows`` rows.
    """
    clipped = np.clip(accuracy, 0.0, 1.0)  # a changed model may have any counts
    best = float(clipped.max())
    error = np.sqrt(best * (1.0 - best) / rows)
    return int(np.flatnonzero(clipped >= best - error)[0])


def budget_of(wanted: int | float | str, curve: bool | Sequence[int], width: int) -> int:
    """Return the number of features that a learner keeps room for.

    "auto" is the largest number of the curve; a float needs a width.
    """
    if isinstance(wanted, str):
        return (
            min(width or MAX_FEATURES, MAX_FEATURES) if isinstance(curve, bool) else int(max(curve))
        )
    if is_integer(wanted):
        return int(wanted)
    if not width:
        raise UsageError(
            f"{spell('n_features_to_select', wanted)} is a fraction, but the number of features is"
            " not known yet; give an integer"
        )
    return max(1, round(wanted * width))


# ---- small learners


def split_grid(grid: I64) -> list[I64]:
    """Split a grid by the learner that answers: small budgets first, the main learner last.

    Each part ends with the budget of its learner, whether that is on the grid or not.
    """
    budgets = [*(budget for budget in BUDGETS if budget < grid[-1]), int(grid[-1])]
    parts = np.split(grid, np.searchsorted(grid, budgets[:-1], side="right"))
    return [
        np.union1d(part, budget) for part, budget in zip(parts, budgets, strict=True) if part.size
    ]


class SmallBudget(NamedTuple, Generic[S]):
    """A learner of a small budget beside the main one."""

    state: S
    curve: Curve  # ends at the budget
    allowed: Bool = array("features", start=1)  # per position: True if it sees the feature
    calibration: F64 = array(ENTRIES, finite=False)  # of probabilities, where they are needed

    @property
    def budget(self) -> int:
        """Return the number of features that it keeps."""
        return int(self.curve.grid[-1])

    @property
    def prefix(self) -> str:
        """Return the prefix of its arrays in a model."""
        return f"{PREFIX}{self.budget}."


def start_small_budget(state: S, grid: I64) -> SmallBudget[S]:
    """Return a small budget that has learned nothing and answers for a grid."""
    return SmallBudget(
        state, start_curve(grid, state.bias.shape[0]), np.ones(0, np.bool_), np.zeros(ENTRIES)
    )


@dataclass(slots=True, eq=False)
class SmallBudgets(Generic[S]):
    """The small budgets of a learner, in ascending order."""

    members: list[SmallBudget[S]]
    addresses: Addresses = field(
        default_factory=lambda: table_addresses(np.empty(0, np.int64), ROOM)
    )
    marks: U8 = field(default_factory=lambda: marks_of(np.empty(0, np.int64)))

    def join_curves(self, main: Curve, grid: I64) -> Curve:
        """Return the curve of small budgets and main learner for a grid."""
        curves = [*(small.curve for small in self.members), main]
        positions = np.searchsorted(np.concatenate([curve.grid for curve in curves]), grid)
        mistakes, errors = (
            np.concatenate([getattr(part, name) for part in curves])
            for name in ("mistakes", "errors")
        )
        return main._replace(grid=grid, mistakes=mistakes[positions], errors=errors[positions])

    # ---- learning

    def learn(
        self, rows: Rows, width: int, seen: int, weights: F64 | None, update: Update[S]
    ) -> None:
        """Learn rows whose ``indices`` are ids below ``width``, after ``seen`` others.

        ``weights`` has the weight of every row for probabilities; None if they are not needed.
        """
        visible = self._add_positions(rows, width) if seen < OPEN_ROWS else self._keep_known(rows)
        visible = visible._replace(scores=np.empty_like(rows.scores))
        for small in reversed(self.members):
            if seen >= OPEN_ROWS and not small.allowed.all():
                visible = keep_allowed_features(visible, small.allowed)
            learn_and_count(update, small.state, self.addresses.ids, visible, small.curve)
            if weights is not None and visible.codes.size:
                calibrate(visible.scores, visible.codes, weights, small.calibration)

    def _add_positions(self, rows: Rows, width: int) -> Rows:
        """Return the rows with positions for ids, making room for all of them."""
        self.addresses, positions = look_up_or_add(self.addresses, rows.indices, width)
        room, old_room = self.addresses.ids.size, self.members[0].allowed.size
        if old_room < room:
            present = slice(old_room)
            self.members = [
                moved(small, present, present, room)._replace(allowed=np.ones(room, bool))
                for small in self.members
            ]
        return rows._replace(indices=positions)

    def _keep_known(self, rows: Rows) -> Rows:
        """Return the rows with positions for ids, without features that none of them sees."""
        table, ids, _ = self.addresses
        indptr, positions = np.zeros_like(rows.indptr), np.empty(rows.indices.size, np.int32)
        values = np.empty_like(rows.values)
        filled = copy_table_entries(
            self.marks,
            table,
            ids,
            rows.indptr,
            rows.indices,
            rows.values,
            indptr,
            positions,
            values,
        )
        return rows._replace(indptr=indptr, indices=positions[:filled], values=values[:filled])

    def rank(self, kept: KeptOf[S], best: I64, seen: int) -> None:
        """Rank the slots of every small budget, and choose candidates after the first rows.

        ``best`` has the features that the main learner keeps, best first.
        """
        for small in self.members:
            if small.curve.grid.size > 1:
                ids, _, ranks = kept(small.state)
                rank_slots(small.curve, ranks, ids)
        if seen < OPEN_ROWS:
            return
        members = np.empty(0, np.int64)
        chosen = []
        for small in self.members:
            members = np.append(members, kept(small.state)[0])
            chosen.append(np.append(members, best[: 5 * small.budget + 20]))
        self._choose(chosen)

    def _choose(self, chosen: Sequence[I64]) -> None:
        """Restrict every small budget to its features; some ids may appear twice."""
        # The largest small budget sees every feature that the others see.
        old_addresses, ids = self.addresses, np.unique(chosen[-1])
        self._look_up(ids)
        old_positions = look_up(old_addresses, ids)
        for number, (small, wanted) in enumerate(zip(self.members, chosen, strict=True)):
            allowed = np.zeros(ids.size, np.bool_)
            allowed[look_up(self.addresses, wanted)] = True
            is_retained = allowed & (old_positions >= 0)
            state = moved(small.state, old_positions[is_retained], is_retained, ids.size)
            state = move_members(state, old_addresses, self.addresses)
            self.members[number] = small._replace(state=state, allowed=allowed)

    def _look_up(self, ids: I64) -> None:
        self.addresses, self.marks = table_addresses(ids, SPARSENESS * ids.size), marks_of(ids)

    def swap_classes(self, negate: Callable[[S], None]) -> None:
        """Swap the two classes."""
        for number, small in enumerate(self.members):
            negate(small.state)
            self.members[number] = small._replace(calibration=swap_calibration(small.calibration))

    # ---- to and from a model

    def arrays(self) -> Arrays:
        """Return everything that was learned, by name."""
        used = self.addresses.used
        arrays: Arrays = {PREFIX + "ids": self.addresses.ids[:used]}
        for small in self.members:
            arrays |= arrays_of(small, small.prefix, features=used)
        return arrays

    def schema(self) -> dict[str, ArraySpec]:
        """Return the specifications of the arrays in a model."""
        features = "rung_features"
        schema = {PREFIX + "ids": ArraySpec((features,), 0, "width", dtype=np.int64)}
        for small in self.members:
            sizes = {"features": features, "budget": small.budget, "grid": small.curve.grid.size}
            schema |= {
                name: resized(spec, sizes) for name, spec in schema_of(small, small.prefix).items()
            }
        return schema

    def restore(self, arrays: Arrays, sizes: dict[str, int], check: Check[S]) -> None:
        """Restore arrays that fit the schema."""
        ids = arrays[PREFIX + "ids"]
        ensure(np.unique(ids).size == ids.size, "a feature appears twice in its small budgets")
        self._look_up(ids)
        for number, initial in enumerate(self.members):
            small = self.members[number] = with_arrays(initial, arrays, initial.prefix)
            ensure(
                np.array_equal(small.curve.grid, initial.curve.grid),
                "its small budgets do not match its grid",
            )
            check_calibration(small.calibration, small.state.bias.shape[0])
            check(
                small.state,
                {**sizes, "features": ids.size, "budget": small.budget},
                self.addresses.ids,
            )


def keep_allowed_features(rows: Rows, allowed: Bool) -> Rows:
    """Return the rows without features that are not allowed."""
    indptr, indices, values = (
        np.zeros_like(rows.indptr),
        np.empty_like(rows.indices),
        np.empty_like(rows.values),
    )
    filled = copy_allowed_entries(
        allowed, rows.indptr, rows.indices, rows.values, indptr, indices, values
    )
    return rows._replace(indptr=indptr, indices=indices[:filled], values=values[:filled])


def marks_of(ids: I64) -> U8:
    """Return marks that are 1 at the lowest bits of every id."""
    marks = np.zeros(MARKS, np.uint8)
    marks[ids & (MARKS - 1)] = 1
    return marks
