"""Define the record of a run, its request, result and cost, and the JSON form of a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..display import MAX_CELL_LENGTH, MAX_IN_LIST, MAX_IN_TABLE, html_table, listed, printable
from ..json_text import Count, Group, Label, Measure, conforms, wrong_fields
from ..naming import shown
from ..selection import More, Selection

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from ..estimators import Estimator
    from ..report.figures import Figures

ALIGNED = "weights", "speaks_for", "frequency"  # details with an entry per selected feature
OPTIONAL = "test_accuracy", "test_r2", "curve", "measures"

# ---- the JSON form of a record, and of the note of a checkpoint

Labels = list[Label]
Majority = TypedDict("Majority", {"class": Label, "rate": float})


class HistoryFields(TypedDict):
    """The moments at which features entered and left the selection."""

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
    """A remark for the user about a result."""

    kind: str
    level: str
    message: str
    advice: str


class StabilityFields(TypedDict):
    """The stability of the selections from subsamples."""

    value: Measure
    low: Measure
    high: Measure
    resamples: Count


class Survivors(TypedDict):
    """The number of features that all workers together kept."""

    survivors: Count


class EngineFields(TypedDict):
    """The engine of a run, and its workers."""

    workers: Count
    name: str
    lost_workers: Count
    rounds: NotRequired[Count]
    approximate: NotRequired[Survivors]


def is_rectangle(lines: list[list[Measure]]) -> bool:
    """Return True if there is a line, and all lines have the same length above 0."""
    return bool(lines) and bool(lines[0]) and len({len(line) for line in lines}) == 1


def is_in_order(history: HistoryFields) -> bool:
    """Return True if moments ascend, and each has a list of features that entered and left."""
    at = history["at"]
    ascending = all(earlier < later for earlier, later in pairwise(at))
    return ascending and len(at) == len(history["entered"]) == len(history["left"])


def is_measured(curve: CurveFields) -> bool:
    """Return True if there is a measure for every number of features."""
    return len(curve.get("accuracy", curve.get("r2", ()))) == len(curve["n_features"])


History: TypeAlias = Annotated[HistoryFields, is_in_order]
TracePoint: TypeAlias = Annotated[
    dict[str, Measure], lambda point: conforms(point.get("rows"), Count)
]
Weights: TypeAlias = list[Measure] | Annotated[list[list[Measure]], is_rectangle]


class NoteFields(TypedDict):
    """The note of a checkpoint about the run so far."""

    trace: NotRequired[list[TracePoint]]
    history: NotRequired[History | None]


class DetailFields(TypedDict):
    """The details of a record, which only some methods have."""

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
    test_log_loss: NotRequired[float]
    test_reliability: NotRequired[list[DecileFields]]
    history: NotRequired[History]
    frequency: NotRequired[list[float]]
    stability: NotRequired[StabilityFields]
    engine: NotRequired[EngineFields]


class DecileFields(TypedDict):
    """A group of test rows by their predicted probability."""

    rows: Count
    predicted: float
    observed: float


class ClassFields(TypedDict):
    """A class and its number of rows."""

    label: Label
    rows: Count


class DataFields(TypedDict):
    """Facts about the data of a run, as far as they are known."""

    n_bytes: NotRequired[Count]
    fingerprint: NotRequired[str]
    density: NotRequired[float]
    classes: NotRequired[list[ClassFields]]


class Times(TypedDict):
    """The seconds that a run took."""

    total: float
    read: float
    learn: float
    compile: NotRequired[float]


class RecordFields(TypedDict):
    """The fields of the record of a run."""

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


# ---- the record


@dataclass(slots=True, eq=False, repr=False)
class RunRecord:
    """The request, the result and the cost of a run, as ``select`` returns it.

    Attributes
    ----------
    method : str
        The name of the method, such as "sofs".
    params : dict
        The parameters of the method, with their defaults.
    n_rows : int
        The number of rows.
    n_features : int
        The width of the data.
    n_nonzero : int
        The number of non-zeros.
    selection : Selection
        The selected features.
    mistakes : int or None
        The number of rows predicted wrongly before they were learned; None if the method does not
        learn row by row, or learns numbers.
    updates : int or None
        The number of rows that changed what was learned; None if the method does not learn row by
        row.
    seconds : dict
        The seconds of the run: "total", and its parts "read", "learn" and "compile".
    peak_memory_bytes : int
        The largest memory of the process.
    test_accuracy : float or None
        The fraction of the test rows that were predicted right.
    test_r2 : float or None
        R2 on the test rows, for a numeric target.
    curve : dict or None
        The online accuracy or R2 by number of features, if a curve was asked for.
    measures : dict or None
        The number of relevant features by measure, for SAOLA.
    trace : list of dict
        Mistakes and updates, or R2, at every recording point.
    data : dict
        Where the data is, and what is known about it.
    details : dict
        What only some methods have, such as weights, groups and history.
    open_selector : callable or None
        A function that returns the trained estimator; None for a record that was read from a file.
    selector : estimator or None
        The trained estimator.
    first_id : int
        The id that the data gives to feature 0.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> record = ss.select((X, y), "sofs", 2)
    >>> record.selection.indices
    array([3, 7])
    >>> record.n_rows, record.n_features
    (200, 10)
    >>> record.selector.predict(X[:2]).shape
    (2,)
    """

    method: str
    params: dict[str, Any]
    n_rows: int
    n_features: int
    n_nonzero: int
    selection: Selection
    mistakes: int | None
    updates: int | None
    seconds: dict[str, float]
    peak_memory_bytes: int
    test_accuracy: float | None = None
    test_r2: float | None = None
    curve: dict[str, list[Any]] | None = None
    measures: dict[str, int] | None = None  # the number of relevant features by measure
    trace: list[dict[str, float]] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    open_selector: Callable[[], Estimator] | None = None

    @property
    def selector(self) -> Estimator | None:
        """Return the trained estimator; None for a record that was read from a file."""
        return None if self.open_selector is None else self.open_selector()

    def ranked(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return the selected features, or the ``most`` best, as ``Selection.ranked`` does.

        Features with weights also have the ``weight`` and, where classes are learned, the ``class``
        that it predicts: with more than two classes, the largest weight and its class. With
        resamples they also have the ``frequency``, the fraction of the resamples from which the
        feature was selected.
        """
        return self.selection.ranked(most, self._extra_columns())

    def to_frame(self) -> pandas.DataFrame:
        """Return the selected features as a pandas DataFrame, best first.

        It has ``weight``, ``class`` and ``frequency`` as ``ranked`` does.
        """
        return self.selection.to_frame(self._extra_columns())

    def plot(self, axes: Axes | None = None) -> Figures:
        """Return the figures of a report on this run, by name, except those that need its data.

        A notebook shows them; ``save`` writes them as SVG. The first one is drawn on Matplotlib
        ``axes``, if given.
        """
        from ..report.figures import plot

        return plot(self, axes)

    def _extra_columns(self) -> More:
        """Return the columns of the selected features that are not in the selection."""
        weights, classes, frequency = (self.details.get(key) for key in ALIGNED)
        columns: dict[str, NDArray[Any]] = {}
        if weights is not None:
            columns["weight"] = np.array(weights, np.float64)
        if weights is not None and classes is not None:
            columns["weight"] = (
                columns["weight"].max(axis=1) if columns["weight"].ndim > 1 else columns["weight"]
            )
            columns["class"] = np.empty(len(classes), object)
            columns["class"][:] = classes
        return (
            columns
            if frequency is None
            else columns | {"frequency": np.array(frequency, np.float64)}
        )

    def __repr__(self) -> str:
        lines = [f"<RunRecord: {self._text()}", *self._quality()]
        if len(self.selection):
            lines.append(f"best {listed(self.ranked(MAX_IN_LIST), len(self.selection))}")
        return "\n ".join(lines) + ">"

    def _repr_html_(self) -> str:
        title = "; ".join([self._text(), *self._quality()])
        return html_table(title, self.ranked(MAX_IN_TABLE), len(self.selection))

    def _text(self) -> str:
        """Return a line that says what was selected."""
        return (
            f"{printable(self.method, MAX_CELL_LENGTH)} selected {len(self.selection):,} of"
            f" {self.n_features:,} features from {self.n_rows:,} rows in"
            f" {self.seconds['total']:.2f} s"
        )

    def _quality(self) -> list[str]:
        """Return a line with the quality of predictions, or no line if none was measured."""
        online_r2 = self.details.get("online_r2")
        texts = (
            (
                None
                if self.mistakes is None
                else f"online mistakes {self.mistakes / max(1, self.n_rows):.2%}"
            ),
            None if online_r2 is None else f"online R2 {online_r2:.4f}",
            None if self.test_accuracy is None else f"test accuracy {self.test_accuracy:.2%}",
            None if self.test_r2 is None else f"test R2 {self.test_r2:.4f}",
        )
        return [", ".join(text for text in texts if text)] if any(texts) else []

    def table(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return ``ranked`` for people, with features as their file names them.

        Each line also has the 0-based ``index`` of the feature.
        """
        return to_display_lines(self.ranked(most), self.first_id)

    @property
    def first_id(self) -> int:
        """Return the id of feature 0 in the data."""
        return int(self.details.get("first_id", 0))

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dictionary that JSON can hold.

        ``from_dict`` reads it back, without the selector.
        """
        selection = self.selection
        return {
            "method": self.method,
            "params": self.params,
            "n_rows": self.n_rows,
            "n_features": self.n_features,
            "n_nonzero": self.n_nonzero,
            "n_selected": len(selection),
            "selected": selection.indices.tolist(),
            "scores": selection.scores.tolist(),
            "mistakes": self.mistakes,
            "updates": self.updates,
            "seconds": self.seconds,
            "peak_memory_bytes": self.peak_memory_bytes,
            "trace": self.trace,
            "data": self.data,
            "details": self.details,
            **({} if selection.names is None else {"names": selection.names.tolist()}),
            **{name: getattr(self, name) for name in OPTIONAL if getattr(self, name) is not None},
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> RunRecord:
        """Return the record in a dictionary that ``to_dict`` made.

        Raise ValueError if it is another dictionary.
        """
        invalid = wrong_fields(record, RecordFields)
        if invalid:
            raise ValueError(f"{invalid[0]!r} is {str(record.get(invalid[0], 'missing'))[:40]}")
        names, groups = record.get("names"), record.get("details", {}).get("groups")
        selection = Selection(
            np.array(record["selected"], np.int64),
            np.array(record["scores"], np.float64),  # nan for None, as JSON has it
            None if names is None else np.array(names, dtype=object),
            (
                None
                if groups is None
                else np.array(groups, np.int64 if conforms(groups, list[Count]) else object)
            ),
        )
        aligned = [record.get("details", {}).get(key) for key in ALIGNED]
        for column in (selection.scores, selection.names, selection.groups, *aligned):
            if column is not None and len(column) != len(selection):
                raise ValueError(
                    "scores, names, groups, weights or frequencies do not fit the selected features"
                )
        return cls(
            selection=selection,
            **{key: record[key] for key in cls.__dataclass_fields__ if key in record},
        )


def to_display_lines(ranked: list[dict[str, Any]], first_id: int) -> list[dict[str, Any]]:
    """Return lines of ``ranked`` for people.

    They have features as their file names them, then the 0-based ``index``.
    """
    return [
        {
            "feature": shown(line["feature"], line.get("name"), first_id),
            "index": line["feature"],
            **{title: value for title, value in line.items() if title not in ("feature", "name")},
        }
        for line in ranked
    ]
