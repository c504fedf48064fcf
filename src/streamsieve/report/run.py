"""A run as the report shows it: a plain dictionary with all that the page needs, and nothing that is not data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UsageError
from ..json_text import finite
from ..manual import describe_method
from ..runs import RunDirectory, RunRecord, RunRequest
from ..sources.writers import label_text
from .intervals import wilson
from .look import Look, look_at_data
from .stream import changes_of, mistakes_of
from .summary import summarize
from .wording import headline_of_run

MOST_IN_MAP = 30  # features whose redundancy is shown
MEASURES = {  # how good predictions are: where a record has it
    "test_balanced_accuracy": "details",
    "test_auc": "details",
    "test_error": "details",
    "online_r2": "details",
    "majority": "details",
    "test_accuracy": "summary",
    "test_r2": "summary",
    "mistakes": "summary",
    "mistake_rate": "summary",
    "majority_mistake_rate": "summary",
}


def describe_run(source: str | Path | RunRecord, read_data: bool = True) -> dict[str, Any]:
    """All that a report says of a run, as JSON can hold it.

    ``source`` is the folder of a finished run, or a record. The data of a folder is read again, as far as the picture
    of redundancy needs it and if it is still the same; not without ``read_data``.
    """
    if isinstance(source, RunRecord):
        record, request, title = source, None, source.method
    else:
        folder = RunDirectory(source)
        found = folder.result()
        if found is None:
            folder.model()  # says what to do where a run is not finished, or not there
            raise UsageError(f"{source}: the run is not finished; go on with it: streamsieve select --resume {source}")
        record, request, title = found, folder.request(), Path(source).resolve().name
    lines = record.table()
    best = lines[:MOST_IN_MAP]
    look = look_at_data(request, [line["index"] for line in best], read_data)
    summary = summarize(record)
    quality = {name: (summary if place == "summary" else record.details).get(name) for name, place in MEASURES.items()}
    if quality["majority"] is not None:
        quality["majority"] = quality["majority"] | {"class": label_text(quality["majority"]["class"])}
    described = {
        "kind": "run",
        "title": title,
        "folder": None if isinstance(source, RunRecord) else str(Path(source).resolve()),
        "method": record.method,
        "n_rows": record.n_rows,
        "n_features": record.n_features,
        "n_selected": len(record.selection),
        "asked": asked_of(record, request),
        "data": data_of(record),
        "diagnosis": record.details.get("diagnosis", []),
        "quality": quality,
        "selected": selected_of(lines),
        "curve": curve_of(record),
        "mistakes": mistakes_of(record.trace),
        "changes": changes_of(record, lines, look.names),
        "redundancy": redundancy_of(best, look),
        "cost": {
            "seconds": record.seconds,
            "peak_memory_bytes": record.peak_memory_bytes,
            "engine": record.details.get("engine"),
        },
    }
    described["headline"] = headline_of_run(described)
    return dict(finite(described))


def asked_of(record: RunRecord, request: RunRequest | None) -> dict[str, Any]:
    """What was asked: the method with its paper, parameters that are not the defaults, and all others; the data."""
    try:
        method = describe_method(record.method)
    except UsageError:  # of another version
        method = {"class": None, "paper": None, "summary": None, "params": {}}
    defaults = method["params"]
    given = set() if request is None else set(request.params)
    changed = {
        name: value
        for name, value in record.params.items()
        if name in given or name not in defaults or value != defaults[name]
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
    """The data: where it was, how to know it again, its size, density and classes, as far as they are known."""
    data = record.data
    size = record.n_rows * record.n_features
    passes = record.params.get("n_epochs") or 1
    known: dict[str, Any] = {
        "path": data.get("path", data.get("name", data.get("first"))),
        "n_files": data.get("n_files"),
        "n_bytes": data.get("n_bytes", data.get("bytes")),
        "fingerprint": data.get("fingerprint", data.get("sha256_of_first_mib")),
        "n_rows": record.n_rows,
        "n_features": record.n_features,
        "n_nonzero": record.n_nonzero,
        "density": data.get("density", record.n_nonzero / size if size and passes == 1 else None),
        "classes": data.get("classes"),
    }
    if known["classes"] is not None:
        known["classes"] = [{"label": label_text(one["label"]), "rows": one["rows"]} for one in known["classes"]]
    return known


def selected_of(lines: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The selected features by columns, best first: every feature as its file names it, and its 0-based index."""
    columns = {name: [line[name] for line in lines] for name in (lines[0] if lines else ["feature", "index", "score"])}
    if "class" in columns:
        columns["class"] = [None if label is None else label_text(label) for label in columns["class"]]
    return columns


def curve_of(record: RunRecord) -> dict[str, Any] | None:
    """Accuracy, or R2, against the number of features, with 95 % intervals, and the number that was taken."""
    curve = record.curve
    if curve is None or not curve["n_features"]:
        return None
    measure = "accuracy" if "accuracy" in curve else "r2"
    low, high = curve.get("low"), curve.get("high")
    if measure == "accuracy" and low is None:
        low, high = wilson(curve[measure], record.n_rows)
    return {
        "n_features": curve["n_features"],
        "measure": measure,
        "value": curve[measure],
        "low": low,
        "high": high,
        "taken": len(record.selection),
        "automatic": record.params.get("n_features_to_select") == "auto",
    }


def redundancy_of(best: list[dict[str, Any]], look: Look) -> dict[str, Any]:
    """How much the best features say the same: their correlations, or why these are not known."""
    if len(best) < 2:
        return {"missing": "there are no two selected features to compare"}
    if look.matrix is None:
        return {"missing": look.missing}
    return {
        "names": [line["feature"] for line in best],
        "correlation": np.round(look.matrix, 4).tolist(),
        "n_rows": look.n_rows,
    }
