"""How accuracy depends on the number of features, and which number is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError
from ...kernels.rows.batch import Rows
from ...kernels.rows.curve import Curve, count_rows
from ...state import State, empty
from ..requirements import is_integer

S = TypeVar("S", bound=State)

Update = Callable[[S, NDArray[np.int64], Rows, Curve | None], None]

STATE, CURVE = "state.", "curve."  # before the names of their arrays in a model

LARGEST = 2000
RANKED_EVERY = 1024  # rows; more often at the start, at every power of two
FIRST_RANKING = 16  # rows: before, hardly anything is known


def default_grid(largest: int) -> NDArray[np.int64]:
    """1, 2, 5, 10, 20, 50, ... up to ``largest``, which ends it."""
    steps = [lead * 10**power for power in range(len(str(largest))) for lead in (1, 2, 5)]
    return np.array([step for step in steps if step < largest] + [largest])


def grid_of(curve: bool | Sequence[int], budget: int) -> NDArray[np.int64]:
    """The grid that ``curve=True`` or ``curve=[...]`` stands for; it ends at the budget."""
    if curve is True:
        return default_grid(budget)
    chosen = np.unique(np.asarray(curve, np.int64))
    return np.append(chosen[chosen < budget], budget)


def start_curve(grid: NDArray[np.int64], n_vectors: int) -> Curve:
    curve = empty(Curve, grid=grid.size, budget=int(grid[-1]), vectors=n_vectors)
    curve.grid[:], curve.bucket[:] = grid, grid.size - 1
    return curve


def learn_counting(update: Update[S], state: S, ids: NDArray[np.int64], rows: Rows, curve: Curve | None) -> None:
    """Learn rows, and judge them with every number of features; the budget alone needs no look into the scores."""
    alone = curve is not None and curve.grid.size == 1
    update(state, ids, rows, None if alone else curve)
    if curve is not None and alone:
        count_rows(curve.mistakes, curve.errors, rows.scores, rows.codes, rows.numbers)


def rank_slots(curve: Curve, scores: NDArray[np.float64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
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


def most_accurate(accuracy: NDArray[np.float64], rows: int) -> int:
    """The first entry whose accuracy over so many rows is within one standard error of the best."""
    known = np.clip(accuracy, 0.0, 1.0)  # that of a model whose counts were changed may be anything
    best = float(known.max())
    error = np.sqrt(best * (1.0 - best) / rows)
    return int(np.flatnonzero(known >= best - error)[0])


def least_wrong(errors: NDArray[np.float64], rows: int) -> int:
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
        raise UsageError(f"n_features_to_select={wanted} is a fraction of a width that is not known yet; give a number")
    return max(1, round(wanted * width))
