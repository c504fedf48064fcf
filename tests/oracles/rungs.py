"""Rungs: learners of small budgets beside a main one, for the small numbers of a curve. No paper has them.

For the first 256 rows a rung is SOFS with its budget. When 256, 512, 1024, 2048, 3072, ... rows
have been learned, candidates are chosen: what the rung and smaller ones keep, and the best 5 r + 20
features of the main learner, r being the rung's budget. Until the next choice it learns from these
alone and has forgotten all others. How long a row is, for gamma and for what is too long, goes by
all of it.
"""

from __future__ import annotations

from typing import Any

from . import sofs
from .pet import Row


def learn(
    rows: list[Row], n_classes: int = 2, *, budgets: list[int], main_budget: int, **options: Any
) -> dict[int, dict[str, Any]]:
    """What every rung has learned, by its budget; ``options`` are those of SOFS."""
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
