"""What happened while the data passed by: mistakes in windows, and which features entered and left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..naming import shown
from ..runs import RunRecord
from .intervals import wilson

LEAST_WINDOW = 30  # rows
MOST_WINDOWS = 6  # of one size
MOST_SELECTED = 25  # features in the picture that were selected in the end, the best ones
MOST_GONE = 15  # and that were not, those that stayed longest


def mistakes_of(trace: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Mistakes up to each point of a trace, and in windows between some of them; of numbers R2."""
    points = [point for point in trace if point.get("rows")]
    if points and all("mistakes" in point for point in points):
        rows = [point["rows"] for point in points]
        so_far = [point["mistakes"] / point["rows"] for point in points]
        return {"rows": rows, "so_far": so_far, "windows": windows_of(points)}
    points = [point for point in points if point.get("r2") is not None]
    if not points:
        return None
    return {"rows": [point["rows"] for point in points], "r2": [point["r2"] for point in points]}


def windows_of(points: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Mistakes since the window before, with 95% intervals; later windows are larger, as points are farther apart.

    With an automatic number of features the mistakes are those of the best number so far, which may be fewer than
    those of another number before: of such a window nothing is known, and it is omitted.
    """
    windows: dict[str, list[Any]] = {"rows": [], "rate": [], "low": [], "high": []}
    before, mistakes = 0, 0
    for point in points:
        size, made = point["rows"] - before, point["mistakes"] - mistakes
        if size < max(LEAST_WINDOW, point["rows"] // MOST_WINDOWS) and point is not points[-1]:
            continue
        if size > 0 and 0 <= made <= size:
            (low,), (high,) = wilson([made / size], size)
            for key, value in (("rows", point["rows"]), ("rate", made / size), ("low", low), ("high", high)):
                windows[key].append(value)
        before, mistakes = point["rows"], point["mistakes"]
    return windows


def changes_of(record: RunRecord, selected: list[dict[str, Any]], names: Mapping[int, str]) -> dict[str, Any] | None:
    """Which features entered and left, and when: how many at each look, and the stays of some of them.

    ``selected`` are those of the end, best first; ``names`` has those of all others, as far as they are known.
    """
    history = record.details.get("history")
    if not history or not history["at"]:
        return None
    unit, at = history["unit"], history["at"]
    end = max(at[-1], record.n_rows if unit == "rows" else record.n_features)
    stays = stays_of(history, end)
    known = {line["index"]: line["feature"] for line in selected}
    kept = [line["index"] for line in selected if line["index"] in stays]
    gone = sorted(stays.keys() - set(kept), key=lambda one: (-lasted(stays[one]), one))
    picture = [*((one, True) for one in kept[:MOST_SELECTED]), *((one, False) for one in gone[:MOST_GONE])]
    return {
        "unit": unit,
        "end": end,
        "complete": history.get("complete", True),
        "at": at,
        "entered": [len(ids) for ids in history["entered"]],
        "left": [len(ids) for ids in history["left"]],
        "n_gone": len(gone),
        "features": [
            {
                "name": shown(one, known.get(one, names.get(one)), record.first_id),
                "index": one,
                "selected": is_kept,
                "stays": stays[one],
            }
            for one, is_kept in picture
        ],
    }


def stays_of(history: Mapping[str, Any], end: int) -> dict[int, list[list[int]]]:
    """From when to when each feature was among the selected; what never left stays to the end."""
    stays: dict[int, list[list[int]]] = {}
    for at, entered, left in zip(history["at"], history["entered"], history["left"], strict=True):
        for feature in left:
            if feature in stays:
                stays[feature][-1][1] = at
        for feature in entered:
            stays.setdefault(feature, []).append([at, end])
    return stays


def lasted(stays: list[list[int]]) -> int:
    return sum(stop - start for start, stop in stays)
