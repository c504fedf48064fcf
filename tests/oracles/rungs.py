"""Rungs: learners of small budgets beside a main one, for the small numbers of a curve.

They are in no paper. For the first 256 rows a rung is SOFS with its budget r. After 256, 512, 1024,
2048, 3072, ... rows, candidates are chosen: the features kept by the rung and by smaller ones, and
the best 5 r + 20 features of the main learner. Until the next choice the rung learns from these
alone and forgets all others. The length of a row, for gamma and for the limit of long rows, is that
of all its features.
"""

from __future__ import annotations

from typing import Any

from . import sofs
from .pet import Row


def learn(
    rows: list[Row], n_classes: int = 2, *, budgets: list[int], main_budget: int, **options: Any
) -> dict[int, dict[str, Any]]:
    """Return the results of every rung by its budget; ``options`` are those of SOFS."""
    seen: dict[int, list[set[int] | None]] = {r: [None for _ in rows] for r in budgets}
    choices = [256, 512, *range(1024, len(rows), 1024)]
    for n in [n for n in choices if n < len(rows)]:
        main = sofs.learn(rows[:n], n_classes, n_features_to_select=main_budget, **options)[
            "scores"
        ]
        best = sorted(main, key=lambda j: (-main[j], j))
        members: set[int] = set()
        for r in sorted(budgets):
            rung = sofs.learn(
                rows[:n], n_classes, n_features_to_select=r, seen=seen[r][:n], **options
            )
            members = members | set(rung["scores"])
            for t in range(n, len(rows)):
                seen[r][t] = members | set(best[: 5 * r + 20])
    return {
        r: sofs.learn(rows, n_classes, n_features_to_select=r, seen=seen[r], **options)
        for r in budgets
    }
