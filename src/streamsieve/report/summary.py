"""A run in one plain dictionary, from which the terminal and JSON are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runs import RunRecord

MOST_SHOWN = 10  # features; all of them are under ``selected``
WINDOWS = 16  # of rows; a run looks at itself so often that the last half of them is known as finely
LEAST_ROWS = 1000  # for windows that say something


def summarize(record: RunRecord) -> dict[str, Any]:
    """All that is to be said of a run, as JSON can hold it: its record and what a reader looks for first."""
    mistakes, rows, majority = record.mistakes, record.n_rows, record.details.get("majority")
    return {
        **record.to_dict(),
        "mistake_rate": None if mistakes is None or not rows else mistakes / rows,
        "majority_mistake_rate": None if majority is None else 1.0 - majority["rate"],
        "best": record.ranked(MOST_SHOWN),
    }


def windowed_mistakes(trace: list[dict[str, Any]]) -> list[float]:
    """Mistakes per row in windows of equal length, from the first rows to the last; empty where too little is known.

    Where the number of features is chosen on the way, mistakes are those of another number from look to look. They may
    become fewer then, and there are no windows.
    """
    known = [(point["rows"], point["mistakes"]) for point in trace if {"rows", "mistakes"} <= point.keys()]
    if len(known) <= WINDOWS or known[-1][0] < LEAST_ROWS:
        return []
    rows, mistakes = zip((0, 0), *known, strict=True)
    ends = np.linspace(0, rows[-1], WINDOWS + 1)
    rates = np.diff(np.interp(ends, rows, mistakes)) / np.diff(ends)
    return [] if (np.diff(mistakes) < 0).any() else [float(rate) for rate in rates]
