"""A run in one plain dictionary, from which the terminal and JSON are made."""

from __future__ import annotations

from typing import Any

from ..runs import RunRecord

MOST_SHOWN = 10  # features; all of them are under ``selected``


def summarize(record: RunRecord) -> dict[str, Any]:
    """All that is to be said of a run, as JSON can hold it: its record and what a reader looks for first."""
    best = record.selection.top(MOST_SHOWN).ranked()
    mistakes, rows = record.mistakes, record.n_rows
    return {
        **record.to_dict(),
        "mistake_rate": None if mistakes is None or not rows else mistakes / rows,
        "best": best,
    }
