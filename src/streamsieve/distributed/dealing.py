"""Assign parts of the data to workers before a run, by their sizes alone.

Timing has no influence on the assignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

P = TypeVar("P")


def assign_shards(pieces: Sequence[P], sizes: Sequence[float], n_workers: int) -> list[list[P]]:
    """Return the pieces of each worker, in order: each goes to the worker with the smallest total.

    Among workers with equal totals the first gets the piece. A worker without any piece comes
    before all others, so that none is idle unless there are fewer pieces than workers.
    """
    assignments: list[list[P]] = [[] for _ in range(n_workers)]
    totals = [0.0] * n_workers
    for piece, size in zip(pieces, sizes, strict=True):
        worker = min(
            range(n_workers), key=lambda number: (bool(assignments[number]), totals[number])
        )
        assignments[worker].append(piece)
        totals[worker] += size
    return assignments
