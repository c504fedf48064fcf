"""What the files of a run folder must hold: a folder may come from a stranger, or have been edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from ..selectors.diagnosis import Remark

Shape = Callable[[Any], bool]

LARGEST = 2**63 - 1


def is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) <= LARGEST)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_label(value: Any) -> bool:
    return value is None or isinstance(value, bool | str) or is_number(value)


def is_group(value: Any) -> bool:
    return is_count(value) or is_text(value)


def is_pair(value: Any) -> bool:
    """A feature and its group."""
    return isinstance(value, list) and len(value) == 2 and all(map(is_group, value))


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def or_none(shape: Shape) -> Shape:
    return lambda value: value is None or shape(value)


def list_of(shape: Shape) -> Shape:
    return lambda value: isinstance(value, list) and all(map(shape, value))


def object_of(shape: Shape) -> Shape:
    """An object whose values are all alike."""
    return lambda value: isinstance(value, dict) and all(map(shape, value.values()))


def fields(needed: Mapping[str, Shape], known: Mapping[str, Shape]) -> Shape:
    """An object with some fields that must be there, and some that may be; of others nothing is asked."""
    return lambda value: not wrong_fields(value, needed, known)


def wrong_fields(value: Any, needed: Mapping[str, Shape], known: Mapping[str, Shape]) -> list[str]:
    """The fields of an object that are not there or not what they should be."""
    if not isinstance(value, dict):
        return ["all"]
    there = {**needed, **{name: shape for name, shape in known.items() if name in value}}
    return [name for name, shape in there.items() if name not in value or not shape(value[name])]


is_measure = or_none(is_number)  # JSON has no number that is not finite
is_trace = list_of(object_of(is_measure))
is_trace_by_rows = list_of(fields({"rows": is_count}, {}))


is_classes = list_of(fields({"label": is_label, "rows": is_count}, {}))


def is_curve(value: Any) -> bool:
    """Numbers of features and, for each, an accuracy or R2."""
    if not fields({"n_features": list_of(is_count)}, {})(value):
        return False
    measured = value.get("accuracy", value.get("r2"))
    return list_of(is_measure)(measured) and len(measured) == len(value["n_features"])


def is_weights(value: Any) -> bool:
    """A number per feature, or a number per feature and class."""
    if list_of(is_measure)(value):
        return True
    return list_of(list_of(is_measure))(value) and len({len(line) for line in value}) == 1 and bool(value[0])


def is_history(value: Any) -> bool:
    """When features entered and left the selection, in order."""
    of_ids = list_of(list_of(is_count))
    known = {"unit": is_text, "at": list_of(is_count), "entered": of_ids, "left": of_ids}
    if not fields({**known, "complete": lambda value: isinstance(value, bool)}, {})(value):
        return False
    at = value["at"]
    in_order = all(before < after for before, after in pairwise(at))
    return in_order and len(at) == len(value["entered"]) == len(value["left"])


DETAILS: Mapping[str, Shape] = {
    "weights": is_weights,
    "speaks_for": list_of(is_label),
    "majority": or_none(fields({"class": is_label, "rate": is_number}, {})),
    "diagnosis": list_of(lambda value: object_of(is_text)(value) and sorted(value) == sorted(Remark._fields)),
    "groups": list_of(is_group),
    "first_id": lambda value: type(value) is int and value in (0, 1),
    "renumbered": or_none(is_text),
    "online_r2": is_measure,
    "test_error": is_number,
    "test_balanced_accuracy": is_measure,
    "test_auc": is_measure,
    "history": is_history,
    "frequency": list_of(is_number),
    "stability": fields({"value": is_measure, "low": is_measure, "high": is_measure, "resamples": is_count}, {}),
    "engine": fields(
        {"workers": is_count, "name": is_text, "lost_workers": is_count},
        {"rounds": is_count, "approximate": fields({"survivors": is_count}, {})},
    ),
}
RECORD: Mapping[str, Shape] = {
    "method": is_text,
    "params": is_object,
    "n_rows": is_count,
    "n_features": is_count,
    "n_nonzero": is_count,
    "selected": list_of(is_count),
    "scores": list_of(is_measure),
    "mistakes": or_none(is_count),
    "updates": or_none(is_count),
    "seconds": lambda value: (
        object_of(is_number)(value) and fields(dict.fromkeys(("total", "read", "learn"), is_number), {})(value)
    ),
    "peak_memory_bytes": is_count,
}
MORE_OF_RECORD: Mapping[str, Shape] = {
    "trace": is_trace,
    "data": fields({}, {"n_bytes": is_count, "fingerprint": is_text, "density": is_number, "classes": is_classes}),
    "details": fields({}, DETAILS),
    "names": list_of(is_text),
    "test_accuracy": is_number,
    "test_r2": is_measure,
    "curve": is_curve,
    "measures": object_of(is_count),
}
