"""What a record, and the note of a checkpoint, hold as JSON."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from ..json_check import Count, Group, Label, Measure, conforms

Labels = list[Label]
Majority = TypedDict("Majority", {"class": Label, "rate": float})


class HistoryFields(TypedDict):
    """When features entered and left the selection."""

    unit: str
    at: list[Count]
    entered: list[list[Count]]
    left: list[list[Count]]
    complete: bool


class CurveFields(TypedDict):
    """Numbers of features and, for each, an accuracy or R2."""

    n_features: list[Count]
    accuracy: NotRequired[list[Measure]]
    r2: NotRequired[list[Measure]]


class RemarkFields(TypedDict):
    """What a user should know of a result."""

    kind: str
    level: str
    message: str
    advice: str


class StabilityFields(TypedDict):
    """How alike the selections from subsamples are."""

    value: Measure
    low: Measure
    high: Measure
    resamples: Count


class Survivors(TypedDict):
    """How many features the workers have kept between them."""

    survivors: Count


class EngineFields(TypedDict):
    """Who has worked on a run."""

    workers: Count
    name: str
    lost_workers: Count
    rounds: NotRequired[Count]
    approximate: NotRequired[Survivors]


def is_rectangle(lines: list[list[Measure]]) -> bool:
    """Return True for lines of the same length, of which there must be one."""
    return bool(lines) and bool(lines[0]) and len({len(line) for line in lines}) == 1


def is_in_order(history: HistoryFields) -> bool:
    """Return True if there is something that entered or left for each moment, and these ascend."""
    at = history["at"]
    ascending = all(before < after for before, after in pairwise(at))
    return ascending and len(at) == len(history["entered"]) == len(history["left"])


def is_measured(curve: CurveFields) -> bool:
    """Return True if there is a measure for every number of features."""
    return len(curve.get("accuracy", curve.get("r2", ()))) == len(curve["n_features"])


History: TypeAlias = Annotated[HistoryFields, is_in_order]
TracePoint: TypeAlias = Annotated[dict[str, Measure], lambda point: conforms(point.get("rows"), Count)]
Weights: TypeAlias = list[Measure] | Annotated[list[list[Measure]], is_rectangle]


class NoteFields(TypedDict):
    """What a checkpoint notes of the run up to there."""

    trace: NotRequired[list[TracePoint]]
    history: NotRequired[History | None]


class DetailFields(TypedDict):
    """What only some methods have."""

    weights: NotRequired[Weights]
    speaks_for: NotRequired[Labels]
    majority: NotRequired[Majority | None]
    diagnosis: NotRequired[list[RemarkFields]]
    groups: NotRequired[list[Group]]
    first_id: NotRequired[Literal[0, 1]]
    renumbered: NotRequired[str | None]
    online_r2: NotRequired[Measure]
    test_error: NotRequired[float]
    test_balanced_accuracy: NotRequired[Measure]
    test_auc: NotRequired[Measure]
    history: NotRequired[History]
    frequency: NotRequired[list[float]]
    stability: NotRequired[StabilityFields]
    engine: NotRequired[EngineFields]


class ClassFields(TypedDict):
    """A class, and how many rows it has."""

    label: Label
    rows: Count


class DataFields(TypedDict):
    """The data of a run, as far as it is known."""

    n_bytes: NotRequired[Count]
    fingerprint: NotRequired[str]
    density: NotRequired[float]
    classes: NotRequired[list[ClassFields]]


class Times(TypedDict):
    """Seconds that a run took."""

    total: float
    read: float
    learn: float
    compile: NotRequired[float]


class RecordFields(TypedDict):
    """The record of a run."""

    method: str
    params: dict[str, Any]
    n_rows: Count
    n_features: Count
    n_nonzero: Count
    selected: list[Count]
    scores: list[Measure]
    mistakes: Count | None
    updates: Count | None
    seconds: Times
    peak_memory_bytes: Count
    trace: NotRequired[list[dict[str, Measure]]]
    data: NotRequired[DataFields]
    details: NotRequired[DetailFields]
    names: NotRequired[list[str]]
    test_accuracy: NotRequired[float]
    test_r2: NotRequired[Measure]
    curve: NotRequired[Annotated[CurveFields, is_measured]]
    measures: NotRequired[dict[str, Count]]
