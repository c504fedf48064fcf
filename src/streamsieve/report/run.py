"""Describe a run: a plain dictionary with all that its summary and its report need."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..json_text import finite
from ..manual import describe_method
from ..naming import shown
from ..runs import RunDirectory, RunRecord, RunRequest
from ..sources.writers import label_text
from .redundancy import redundancy_of
from .wording import percent

MAX_BEST = 10  # features of a summary; all of them are under ``selected``
MAX_CORRELATED = 30  # features whose redundancy is shown
WINDOWS = 16  # of rows; traces of a run are fine enough for half of them at the end
MIN_ROWS = 1000  # with fewer, windows are too noisy
MIN_WINDOW_ROWS = 30
WINDOWS_OF_ONE_SIZE = 6  # of one size
MAX_KEPT_DRAWN = 25  # features of the final selection in the figure: the best ones
MAX_GONE_DRAWN = 15  # other features in the figure: those that stayed longest
NORMAL_95 = 1.959963984540054  # standard deviations around the mean with 95 % of a normal
MEASURES = {  # of the quality of predictions, and the part of a record that has them
    "test_balanced_accuracy": "details",
    "test_auc": "details",
    "test_log_loss": "details",
    "test_reliability": "details",
    "test_error": "details",
    "online_r2": "details",
    "majority": "details",
    "test_accuracy": "summary",
    "test_r2": "summary",
    "mistakes": "summary",
    "mistake_rate": "summary",
    "majority_mistake_rate": "summary",
}


def summarize(record: RunRecord) -> dict[str, Any]:
    """Return the summary of a run as a JSON dictionary: its record and the main figures."""
    mistakes, rows, majority = record.mistakes, record.n_rows, record.details.get("majority")
    return {
        **record.to_dict(),
        "mistake_rate": None if mistakes is None or not rows else mistakes / rows,
        "majority_mistake_rate": None if majority is None else 1.0 - majority["rate"],
        "best": record.ranked(MAX_BEST),
    }


def windowed_mistakes(trace: list[dict[str, Any]]) -> list[float]:
    """Return mistakes per row in windows of equal length; empty with too few rows.

    If the number of features is chosen during the run, the mistakes at different looks may be those
    of different numbers. They can then decrease, and no windows are returned.
    """
    points = [
        (point["rows"], point["mistakes"])
        for point in trace
        if {"rows", "mistakes"} <= point.keys()
    ]
    if len(points) <= WINDOWS or points[-1][0] < MIN_ROWS:
        return []
    rows, mistakes = zip((0, 0), *points, strict=True)
    if (np.diff(mistakes) < 0).any():
        return []
    ends = np.linspace(0, rows[-1], WINDOWS + 1)
    return [float(rate) for rate in np.diff(np.interp(ends, rows, mistakes)) / np.diff(ends)]


def describe_run(source: str | Path | RunRecord, read_data: bool = True) -> dict[str, Any]:
    """Return the description of a run for its report, as a JSON dictionary.

    ``source`` is the folder of a finished run, or a record. With ``read_data``, the data of a
    folder is read again for the correlations, if it is still the same.
    """
    request, path = None, None
    if isinstance(source, RunRecord):
        record = source
    else:
        path, folder = Path(source).resolve(), RunDirectory(source)
        finished_record = folder.result()
        if finished_record is None:
            folder.model()  # raises an error if the run is missing or has no model
            raise UsageError(
                f"{source}: the run is not finished; resume it: streamsieve select --resume"
                f" {source}"
            )
        record, request = finished_record, folder.request()
    lines, details = record.table(), record.details
    redundancy, names = redundancy_of(lines[:MAX_CORRELATED], request, read_data)
    summary = summarize(record)
    quality = {
        name: (summary if part == "summary" else details).get(name)
        for name, part in MEASURES.items()
    }
    if quality["majority"] is not None:
        quality["majority"] = quality["majority"] | {
            "class": label_text(quality["majority"]["class"])
        }
    described = {
        "kind": "run",
        "title": record.method if path is None else path.name,
        "folder": None if path is None else str(path),
        "method": record.method,
        "n_rows": record.n_rows,
        "n_features": record.n_features,
        "n_selected": len(record.selection),
        "asked": asked_of(record, request),
        "data": data_of(record),
        "diagnosis": details.get("diagnosis", []),
        "quality": quality,
        "selected": selected_of(lines),
        "curve": curve_of(record),
        "mistakes": mistakes_of(record.trace),
        "changes": changes_of(record, lines, names),
        "redundancy": redundancy,
        "cost": {
            "seconds": record.seconds,
            "peak_memory_bytes": record.peak_memory_bytes,
            "engine": details.get("engine"),
        },
    }
    described["headline"] = headline_of(described)
    return dict(finite(described))


def headline_of(run: dict[str, Any]) -> str:
    """Return the result and its quality in one sentence."""
    kept = f"{run['n_selected']:,} of {run['n_features']:,} features"
    quality = run["quality"]
    if not run["n_selected"]:
        return f"No feature was selected from {run['n_features']:,}."
    if quality["test_accuracy"] is not None:
        return (
            f"With {kept}, {percent(quality['test_accuracy'])} of the test rows are predicted"
            " correctly."
        )
    if quality["test_r2"] is not None:
        return f"With {kept}, R² on the test rows is {quality['test_r2']:.3f}."
    if quality["mistake_rate"] is not None:
        return (
            f"With {kept}, {percent(1.0 - quality['mistake_rate'])} of the rows were predicted"
            " correctly before they were learned."
        )
    if quality["online_r2"] is not None:
        return f"With {kept}, R² of predictions made before learning is {quality['online_r2']:.3f}."
    return f"{kept} were selected from {run['n_rows']:,} rows."


def asked_of(record: RunRecord, request: RunRequest | None) -> dict[str, Any]:
    """Return the request: the method, its paper, changed parameters, defaults, and options."""
    try:
        method = describe_method(record.method)
    except UsageError:  # of another version
        method = {"class": None, "paper": None, "summary": None, "params": {}}
    defaults = method["params"]
    requested = set() if request is None else set(request.params)
    changed = {
        name: value
        for name, value in record.params.items()
        if name in requested or name not in defaults or value != defaults[name]
    }
    others = {name: value for name, value in record.params.items() if name not in changed}
    return {
        "method": record.method,
        "class": method["class"],
        "summary": method["summary"],
        "paper": method["paper"],
        "params": changed,
        "defaults": others,
        "options": {} if request is None else dict(request.asked()),
    }


def data_of(record: RunRecord) -> dict[str, Any]:
    """Return the path, fingerprint, size, density and classes of the data, if known."""
    data = record.data
    size = record.n_rows * record.n_features
    passes = record.params.get("n_epochs") or 1
    classes = data.get("classes")
    return {
        "path": data.get("path", data.get("name", data.get("first"))),
        "n_files": data.get("n_files"),
        "n_bytes": data.get("n_bytes", data.get("bytes")),
        "fingerprint": data.get("fingerprint", data.get("sha256_of_first_mib")),
        "n_rows": record.n_rows,
        "n_features": record.n_features,
        "n_nonzero": record.n_nonzero,
        "density": data.get("density", record.n_nonzero / size if size and passes == 1 else None),
        "classes": (
            classes
            and [{"label": label_text(line["label"]), "rows": line["rows"]} for line in classes]
        ),
    }


def selected_of(lines: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the selected features as columns, best first.

    Each feature has the name that its file gives it, and its 0-based index.
    """
    columns = {
        name: [line[name] for line in lines]
        for name in (lines[0] if lines else ["feature", "index", "score"])
    }
    if "class" in columns:
        columns["class"] = [
            None if label is None else label_text(label) for label in columns["class"]
        ]
    return columns


def curve_of(record: RunRecord) -> dict[str, Any] | None:
    """Return quality against the number of features, with 95 % intervals.

    The number of features that was taken is included.
    """
    curve = record.curve
    if curve is None or not curve["n_features"]:
        return None
    measure = "accuracy" if "accuracy" in curve else "r2"
    low, high = curve.get("low"), curve.get("high")
    if measure == "accuracy" and low is None:
        bounds = [wilson(rate, record.n_rows) for rate in curve[measure]]
        low, high = [bound[0] for bound in bounds], [bound[1] for bound in bounds]
    return {
        "n_features": curve["n_features"],
        "measure": measure,
        "value": curve[measure],
        "low": low,
        "high": high,
        "taken": len(record.selection),
        "automatic": record.params.get("n_features_to_select") == "auto",
    }


def wilson(rate: float | None, n: int) -> tuple[float, float] | tuple[None, None]:
    """Return the 95 % interval of a rate that was counted over ``n`` rows (Wilson 1927)."""
    if rate is None or n < 1:
        return None, None
    z2 = NORMAL_95 * NORMAL_95
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL_95 * (rate * (1 - rate) / n + z2 / (4 * n * n)) ** 0.5 / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def mistakes_of(trace: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return mistakes, or R2, up to each point of a trace, and mistakes in windows."""
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
    """Return mistakes in windows with 95% intervals; windows grow like distances of points.

    With an automatic number of features, the mistakes are those of the best number so far, which
    may be fewer than those of another number before. Such a window is omitted.
    """
    windows: dict[str, list[Any]] = {"rows": [], "rate": [], "low": [], "high": []}
    previous_rows, mistakes = 0, 0
    for point in points:
        size, new_mistakes = point["rows"] - previous_rows, point["mistakes"] - mistakes
        if (
            size < max(MIN_WINDOW_ROWS, point["rows"] // WINDOWS_OF_ONE_SIZE)
            and point is not points[-1]
        ):
            continue
        if size > 0 and 0 <= new_mistakes <= size:
            low, high = wilson(new_mistakes / size, size)
            for key, value in (
                ("rows", point["rows"]),
                ("rate", new_mistakes / size),
                ("low", low),
                ("high", high),
            ):
                windows[key].append(value)
        previous_rows, mistakes = point["rows"], point["mistakes"]
    return windows


def changes_of(
    record: RunRecord, selected: list[dict[str, Any]], names: NDArray[Any] | None
) -> dict[str, Any] | None:
    """Return which features entered and left, and when.

    The result has the counts at each look, and the stays of some features. ``selected`` are the
    features of the final selection, best first; ``names`` are those of all features, if known.
    """
    history = record.details.get("history")
    if not history or not history["at"]:
        return None
    unit, times = history["unit"], history["at"]
    end = max(times[-1], record.n_rows if unit == "rows" else record.n_features)
    stays = stays_of(history, end)
    selected_names = {line["index"]: line["feature"] for line in selected if line["index"] in stays}
    durations = {
        feature: sum(stop - start for start, stop in spans) for feature, spans in stays.items()
    }
    gone = sorted(
        stays.keys() - selected_names.keys(), key=lambda feature: (-durations[feature], feature)
    )
    features = []
    for feature in [*list(selected_names)[:MAX_KEPT_DRAWN], *gone[:MAX_GONE_DRAWN]]:
        name = names[feature] if names is not None and 0 <= feature < len(names) else None
        features.append(
            {
                "name": selected_names.get(feature, shown(feature, name, record.first_id)),
                "index": feature,
                "selected": feature in selected_names,
                "stays": stays[feature],
            }
        )
    return {
        "unit": unit,
        "end": end,
        "complete": history.get("complete", True),
        "at": times,
        "entered": [len(ids) for ids in history["entered"]],
        "left": [len(ids) for ids in history["left"]],
        "n_gone": len(gone),
        "features": features,
    }


def stays_of(history: Mapping[str, Any], end: int) -> dict[int, list[list[int]]]:
    """Return the spans in which each feature was selected; the last may go to the end."""
    stays: dict[int, list[list[int]]] = {}
    for time, entered, left in zip(history["at"], history["entered"], history["left"], strict=True):
        for feature in left:
            if feature in stays:
                stays[feature][-1][1] = time
        for feature in entered:
            stays.setdefault(feature, []).append([time, end])
    return stays
