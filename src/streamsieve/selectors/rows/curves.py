"""How accuracy depends on the number of features, and which number is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...errors import UsageError, spell
from ...kernels.rows.batch import Rows
from ...kernels.rows.curve import Curve, count_rows
from ...kernels.types import F64, I64
from ...state import State, empty
from ..parameters import is_integer

if TYPE_CHECKING:
    from .memory import RowMemory

S = TypeVar("S", bound=State)

Update = Callable[[S, I64, Rows, Curve | None], None]

LARGEST = 2000
RANKED_EVERY = 1024  # rows; more often at the start, at every power of two
FIRST_RANKING = 16  # rows: before, hardly anything is known


def default_grid(largest: int) -> I64:
    """1, 2, 5, 10, 20, 50, ... up to ``largest``, which ends it."""
    steps = [lead * 10**power for power in range(len(str(largest))) for lead in (1, 2, 5)]
    return np.array([step for step in steps if step < largest] + [largest])


def grid_of(curve: bool | Sequence[int], budget: int) -> I64:
    """Return the grid that ``curve`` stands for, numbers or a truth value; it ends at the budget."""
    if isinstance(curve, bool):
        return default_grid(budget)
    chosen = np.unique(np.asarray(curve, np.int64))
    return np.append(chosen[chosen < budget], budget)


def whole_curve(memory: RowMemory[Any], curve: bool | Sequence[int]) -> Curve:
    """Return the curve of a learner and the small learners beside it."""
    if memory.curve is None:
        raise AttributeError("curve_ is there after learning with curve=True, a grid, or n_features_to_select='auto'")
    return memory.curve if memory.rungs is None else memory.rungs.joined(memory.curve, grid_of(curve, memory.budget))


def start_curve(grid: I64, n_vectors: int) -> Curve:
    curve = empty(Curve, grid=grid.size, budget=int(grid[-1]), vectors=n_vectors)
    curve.grid[:], curve.bucket[:] = grid, grid.size - 1
    return curve


def learn_counting(update: Update[S], state: S, ids: I64, rows: Rows, curve: Curve | None) -> None:
    """Learn rows, and judge them with every number of features; the budget alone needs no look into the scores."""
    alone = curve is not None and curve.grid.size == 1
    update(state, ids, rows, None if alone else curve)
    if curve is not None and alone:
        count_rows(curve.mistakes, curve.errors, rows.scores, rows.codes, rows.numbers)


def rank_slots(curve: Curve, scores: F64, ids: I64) -> I64:
    """Put every slot in the bucket of its present rank; the slots, the best first."""
    order = np.lexsort((ids, -scores))
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size)
    curve.bucket[: ranks.size] = np.searchsorted(curve.grid, ranks, side="right")
    return order


def next_ranking(rows: int) -> int:
    """The first number of rows after ``rows`` at which slots are ranked anew."""
    if rows >= RANKED_EVERY:
        return (rows // RANKED_EVERY + 1) * RANKED_EVERY
    return max(FIRST_RANKING, 1 << rows.bit_length())


def most_accurate(accuracy: F64, rows: int) -> int:
    """The first entry whose accuracy over so many rows is within one standard error of the best."""
    known = np.clip(accuracy, 0.0, 1.0)  # that of a model whose counts were changed may be anything
    best = float(known.max())
    error = np.sqrt(best * (1.0 - best) / rows)
    return int(np.flatnonzero(known >= best - error)[0])


def least_wrong(errors: F64, rows: int) -> int:
    """The first entry whose sum of squared errors over so many rows is within one standard error of the smallest.

    As if errors were normal: then the variance of their squares is twice the square of their mean.
    """
    most = float(errors.min()) * (1.0 + np.sqrt(2.0 / rows))
    return int(np.flatnonzero(errors <= most)[0])


def budget_of(wanted: int | float | str, curve: bool | Sequence[int], width: int) -> int:
    """How many features a learner keeps room for; "auto" is as many as the curve looks at, a float needs a width."""
    if isinstance(wanted, str):
        return min(width or LARGEST, LARGEST) if isinstance(curve, bool) else int(max(curve))
    if is_integer(wanted):
        return int(wanted)
    if not width:
        raise UsageError(
            f"{spell('n_features_to_select', wanted)} is a fraction of a width that is not known yet; give a number"
        )
    return max(1, round(wanted * width))
