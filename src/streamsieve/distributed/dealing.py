"""Which worker gets which part of the data: decided before a run, by sizes alone, so that timing has no part in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

P = TypeVar("P")


def deal(pieces: Sequence[P], sizes: Sequence[float], n_workers: int) -> list[list[P]]:
    """The pieces of each worker, in their order: a piece goes to the worker that has least so far.

    Of several the first; one that has nothing comes before all others, so that none is idle unless
    pieces are fewer.
    """
    hands: list[list[P]] = [[] for _ in range(n_workers)]
    totals = [0.0] * n_workers
    for piece, size in zip(pieces, sizes, strict=True):
        worker = min(range(n_workers), key=lambda number: (bool(hands[number]), totals[number]))
        hands[worker].append(piece)
        totals[worker] += size
    return hands
