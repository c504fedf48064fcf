"""A run in one plain dictionary, from which the terminal and JSON are made."""

from __future__ import annotations

from typing import Any

from ..runs import RunRecord

MOST_SHOWN = 10  # features; all of them are under ``selected``


def summarize(record: RunRecord) -> dict[str, Any]:
    """All that is to be said of a run, as JSON can hold it: its record and what a reader looks for first."""
    mistakes, rows, majority = record.mistakes, record.n_rows, record.details.get("majority")
    return {
        **record.to_dict(),
        "mistake_rate": None if mistakes is None or not rows else mistakes / rows,
        "majority_mistake_rate": None if majority is None else 1.0 - majority["rate"],
        "best": record.ranked(MOST_SHOWN),
    }
