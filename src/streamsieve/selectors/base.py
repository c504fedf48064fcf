"""Shared parts of all methods, without scikit-learn: description, learner, results, saving.

A method is described by a ``Method``. A ``Learner`` of its kind (rows, columns, matrix) learns by
it, and ``Results`` give access to what was learned. ``streamsieve.estimators`` has scikit-learn's
interface: an estimator has a learner. The two are separate because a run from a file needs no
scikit-learn, whose import alone costs most of a second and 100 megabytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import naming
from ..errors import DataError, UsageError, prefix, spell
from ..kernels.types import F64, I64
from ..machine import available_memory
from ..model import NAMED_IDS, NAMES, Model, pop_texts, refusing_damage, texts_to_arrays
from ..selection import Selection
from ..sources.base import DataSource, Missing, Report, check_no_weight
from ..sources.encoding import Encoding
from ..sources.wrapped import KeptFeatures
from ..state import Arrays
from ..targets import ONLY_CLASSES, TASK_OF_KIND, Kind
from .diagnosis import (
    DataSample,
    Finding,
    describe_duplicates,
    find_equal_columns,
)
from .fitting import AUTO_LOSS
from .parameters import (
    as_json,
    check_parameters,
    count_of,
    ensure,
    from_json,
    is_integer,
    parameters_of,
)
from .prediction import LinearModel, Predictor
from .serial import Lock, alone

Reads = Literal["rows", "columns", "matrix"]
ClassWeight = str | dict[Any, float] | None  # by label, which may be of any type
Seed = int | np.random.Generator | None

B = TypeVar("B")  # the kind of block a learner takes
M = TypeVar("M")  # the memory: everything that it has learned


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method: its parameters, how it reads the data, and what it can do."""

    name: str  # in the registry and on the command line
    # A dataclass of declared parameters; for rows it also makes the learning rule.
    parameters: type[Any]
    learner: type[Learner[Any, Any]]
    targets: frozenset[Kind] = ONLY_CLASSES  # what it can learn
    # The rule of columns, made of parameters and a target, or of the matrix, made of parameters
    # and a method.
    rule: Any = None
    predicts: bool = False
    supports_groups: bool = False
    merges: bool = False  # models that learned different rows can be merged
    # Workers can learn different columns of one model at the same time.
    is_asynchronous: bool = False
    # The features that several learners kept of different columns can be selected from again.
    can_select_again: bool = False
    two_classes_only: bool = False
    draws: bool = False  # draws from all features, so the width must be known before the first row
    asks: bool = False  # reads only the values that it asks for; others may be missing
    # For the shared checks: parameters to try beside the defaults, and checks that cannot hold,
    # with the reason.
    check_variants: tuple[dict[str, Any], ...] = ()
    exempt_from_checks: Mapping[str, str] = field(default_factory=dict)
    # Checks of scikit-learn that cannot hold for this method, beside those of its whole kind.
    expected_failed_checks: Mapping[str, str] = field(default_factory=dict)
    doc_override: str | None = None  # set where the parameters are those of another method

    @property
    def doc(self) -> str:
        """Return the description of the method and of its parameters."""
        return self.doc_override or self.parameters.__doc__ or ""

    @property
    def reads(self) -> Reads:
        """Return what the method reads: rows, columns or the whole matrix."""
        return self.learner.reads

    @property
    def parameter_names(self) -> list[str]:
        """Return the names of the parameters in their order."""
        return [declared.name for declared in fields(self.parameters)]

    @property
    def fits_model(self) -> bool:
        """Return True for methods that fit a linear model with a loss, of classes or numbers."""
        return len(self.targets) > 1 and "loss" in self.parameter_names

    def parameters_for(self, kind: Kind) -> dict[str, Any]:
        """Return the parameters that make the method treat any target as one of the given kind.

        They settle the case of integers, which may be classes or numbers.
        """
        if self.fits_model:
            return {"loss": AUTO_LOSS[kind]}
        return {"task": TASK_OF_KIND[kind]} if "task" in self.parameter_names else {}

    def make(self, *budget: Any, **params: Any) -> AnyLearner:
        """Return a learner with these parameters, which are checked.

        ``n_features_to_select`` alone may be given by position.
        """
        parameters = self.parameters(*budget, **params)
        check_parameters(parameters)
        return self.learner(self, parameters)

    def load(self, model: Model, origin: str = "a model in memory") -> AnyLearner:
        """Return a learner that continues from a model."""
        with refusing_damage(origin):
            learner = self.make(**{name: from_json(value) for name, value in model.params.items()})
            learner.load_state(model)
        return learner


@dataclass(slots=True, eq=False)
class FeatureInfo:
    """Width, names and encoding of the features of the data."""

    width: int = 0  # the number of features, or the width of the widest row
    given_names: NDArray[Any] | None = None
    first_id: int = 0  # the id of feature 0 in the data, where features have no names
    # How table columns became features, unless all of them are numbers.
    encoding: Encoding | None = None
    kept: KeptFeatures | None = None  # what the options names, drop and only left of ids
    checked: Encoding | None = None  # the last encoding of rows, which was that of these features

    @property
    def names(self) -> Any:
        """Return the names of all features, like an array, or None if they have none."""
        return (
            self.given_names if self.encoding is None else self.encoding.feature_names[: self.width]
        )

    def start(self, width: int | None, names: Any | None) -> None:
        """Set what is known before the first block."""
        self.width = width or 0
        if self.encoding is None:
            self.given_names = None if names is None else np.asarray(names, dtype=object)

    def set_width(self, width: int) -> None:
        """Set the width; drop the names if features without names have been added."""
        self.width = width
        if self.given_names is not None and self.given_names.size < width:
            self.given_names = None

    def check_encoding(self, encoding: Encoding | None, origin: str, are_first: bool) -> None:
        """Raise DataError for rows of a table whose features have other ids than these.

        The first rows of a table say what the features are, if nothing else does.
        """
        if encoding is None or encoding is self.checked:
            return
        if are_first and self.encoding is None and self.given_names is None:
            self.encoding = None if encoding.is_plain else encoding
            self.given_names = np.asarray(encoding.feature_names) if encoding.is_plain else None
        names = None if self.given_names is None else self.given_names.tolist()
        is_same = encoding == self.encoding or (
            encoding.is_plain and names in (None, encoding.column_names)
        )
        if not is_same:
            raise DataError(
                f"{prefix(origin)}the columns of this table are other features than those that were"
                " learned, or have other numbers; let the model read the table itself:"
                " partial_fit_source, or select with continue_from"
            )
        self.checked = encoding

    def check_width(self, n_features: int, origin: str) -> None:
        """Raise DataError if the data has more features than the table that was learned.

        A model could not say how to read them.
        """
        if self.encoding is not None and n_features > self.encoding.n_features:
            raise DataError(
                f"{prefix(origin)}feature {n_features - 1:,} is not in the table that was learned,"
                f" which has {self.encoding.n_features:,} features (0 to"
                f" {self.encoding.n_features - 1:,}); give one table with all columns, or start"
                " a new model"
            )

    def title(self, feature: int, name: Any | None) -> str:
        """Return how messages call a feature, by its name or, without one, by its id."""
        return naming.title(feature, name, self.first_id)

    def header(self) -> dict[str, Any]:
        """Return what a model stores beside the names."""
        header: dict[str, Any] = {"first_id": self.first_id} if self.first_id else {}
        if self.kept is not None:
            header["kept"] = self.kept.to_dict()
        return header if self.encoding is None else {**header, "encoding": self.encoding.to_dict()}

    @classmethod
    def from_model(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        """Return the features of a model; their entries are removed from header and arrays."""
        width = count_of(header, "n_features")
        encoding, kept = header.pop("encoding", None), header.pop("kept", None)
        features = cls(width, None, count_of(header, "first_id", 1) if "first_id" in header else 0)
        if encoding is not None:
            features.encoding = Encoding.from_model(encoding, arrays)
            n_encoded = features.encoding.n_features
            ensure(n_encoded >= width, f"its encoding has {n_encoded:,} of {width:,} features")
        if kept is not None:
            features.kept = KeptFeatures.from_dict(kept)
        if NAMED_IDS not in arrays:
            features.given_names = names = pop_texts(NAMES, arrays)
            if names is not None:
                ensure(
                    names.size == width,
                    f"it has {names.size:,} names for {width:,} features",
                )
        return features


class ResultSummary(NamedTuple):
    """Values that a run reports beside the selection; None where a method has none."""

    mistakes: int | None = None  # rows predicted wrongly before they were learned
    updates: int | None = None  # rows that something was learned from
    curve: dict[str, list[Any]] | None = None  # accuracy by number of features
    measures: dict[str, int] | None = None  # number of relevant features by measure
    details: Mapping[str, Any] = MappingProxyType({})  # values that only this method has


class Counters(NamedTuple):
    """Counts made while rows are learned.

    None for methods that do not learn row by row, or do not predict.
    """

    mistakes: int | None = None  # rows predicted wrongly before they were learned
    updates: int | None = None  # rows that something was learned from
    r2: float | None = None  # the fraction of the target's variance that was predicted


class Results(ABC):
    """The results of a learner, which can be read at any time; reading changes nothing.

    Estimators show the attributes whose names end with ``_``; an attribute that a method does not
    have raises AttributeError.
    """

    # Whether predictions depend on the length of rows with all of their features.
    uses_row_lengths: bool = False
    # Whether predictions need all features, not only the selected ones.
    uses_all_features: bool = False
    advice_if_empty: str = "check how the data was read: streamsieve info"
    # For a budget of at least the number of features.
    advice_if_all: str = "try a smaller number"

    def __init__(self, learner: Any) -> None:
        self.learner, self.lock = learner, learner.lock
        self.method, self.params, self.memory = learner.method, learner.params, learner.memory
        self.features: FeatureInfo = learner.features
        self.n_features_in_ = self.features.width  # or the width of the widest row
        self.n_rows_, self.n_nonzero_ = 0, 0

    def counters(self) -> Counters:
        """Return the counts made while rows are learned."""
        return Counters()

    @abstractmethod
    def selected(self) -> tuple[I64, F64]:
        """Return the selected ids, ascending, and their scores."""

    @alone
    def selection(self) -> Selection:
        """Return the selected features, with scores and names.

        Its size is that of the selection, not of the data.
        """
        indices, scores = self.selected()
        return Selection(indices, scores, self.names_of(indices))

    def current_selection(self) -> tuple[I64, F64] | None:
        """Return ids and scores of the current selection, in any order, while learning goes on.

        It is read very often, so work that a method does only at the end of the data is skipped;
        None where reading it would take a large part of the learning time.
        """
        return self.selected()

    def class_rows(self) -> dict[Any, int] | None:
        """Return the number of rows of every class; None for numeric targets."""
        return None

    def result_summary(self) -> ResultSummary:
        """Return what a run reports beside the selection."""
        return ResultSummary()

    @alone
    def diagnosis(self, sample: DataSample) -> list[Finding]:
        """Return the remarks on a result that a user should know.

        ``sample`` gives access to the part of the data that is still available.
        """
        selection = self.selection()
        if len(selection):
            return self.findings(selection, sample)
        return [
            Finding("nothing selected", "warning", "no feature was selected", self.advice_if_empty)
        ]

    def findings(self, selection: Selection, sample: DataSample) -> list[Finding]:
        """Return the remarks on a selection that is not empty."""
        findings = []
        wanted: Any = parameters_of(self.params).get("n_features_to_select")
        if is_integer(wanted) and wanted >= self.features.width:
            message = (
                f"{spell('n_features_to_select', wanted)} has no effect: the data has"
                f" {self.features.width:,} features"
            )
            findings.append(Finding("no limit", "note", message, self.advice_if_all))
        evidence = self.evidence(selection)
        groups = [] if evidence is None else find_equal_columns(selection.indices, evidence, sample)
        if groups:
            findings.append(
                describe_duplicates([list(map(self.title, group.tolist())) for group in groups])
            )
        return findings

    def evidence(self, selection: Selection) -> F64 | None:
        """Return what was learned of each selected feature, one line each; None if unknown.

        Equal columns have equal lines.
        """
        return None

    def names_of(self, indices: I64) -> NDArray[Any] | None:
        """Return the names of some features, or None if features have no names."""
        return None if self.features.names is None else self.features.names[indices]

    def title(self, feature: int) -> str:
        """Return how messages call a feature."""
        names = self.names_of(np.array([feature]))
        return self.features.title(feature, None if names is None else names[0])

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Return the names of all features; raise AttributeError if they have none."""
        if self.features.names is None:
            raise AttributeError("the features have no names")
        return np.asarray(self.features.names)

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Return a boolean mask over all features.

        It is built on every access and takes one byte per feature.
        """
        width = self.features.width
        if width > available_memory():
            raise UsageError(
                f"a mask over {width:,} features needs one byte each, more memory than is"
                " available; use get_support(indices=True)"
            )
        mask = np.zeros(width, np.bool_)
        mask[self.selection().indices] = True
        return mask

    @property
    def scores_(self) -> F64:
        """Return the scores of the selected features, in ascending order of id; larger is better.

        Unlike in scikit-learn's ``SelectKBest``, only selected features have scores: a method in
        fixed memory may know nothing of the others.
        """
        return self.selection().scores

    # ---- predictions, of methods that predict

    def predictor(self) -> Predictor:
        """Return a predictor of rows that uses what was learned so far."""
        if not self.method.predicts:
            raise UsageError(f"{self.method.name} selects features and predicts nothing")
        return self.linear_model().predictor(self.lock)

    def linear_model(self) -> LinearModel:
        """Return the linear model of the selected features, for unscaled values."""
        raise AttributeError(f"{self.method.name} fits no linear model")

    @property
    def classes_(self) -> NDArray[Any]:
        """Return the two classes, sorted; raise AttributeError for a numeric target."""
        classes = self.linear_model().classes
        if classes is None:
            raise AttributeError("classes_ is not available: the target is numeric")
        return classes

    @property
    def coef_(self) -> Any:
        """Return the weights of the selected features in ascending order of id.

        They are for unscaled values.
        """
        return self.linear_model().weights

    @property
    def intercept_(self) -> Any:
        """Return the score of a row whose selected features are all 0."""
        return self.linear_model().intercept


class Learner(ABC, Generic[B, M]):
    """A learner that learns by a method from blocks of one kind.

    Threads may share a learner: a call waits until the one before it has ended.
    """

    reads: ClassVar[Reads]
    results_type: ClassVar[type[Results]]
    missing_rows: Missing = "error"  # how missing values in rows are treated

    def __init__(self, method: Method, params: Any) -> None:
        self.method, self.params = method, params
        self.lock = Lock()  # the learners of an estimator share its lock
        self.features = FeatureInfo()
        self._memory: M | None = None  # None until learning starts
        self.listener: Report | None = None  # receives the progress inside a block

    # ---- learning

    def passes_over(self, source: DataSource) -> int:
        """Return how often a source is read."""
        return 1

    def width_of(self, source: DataSource) -> int | None:
        """Return the number of features of a source, or None if it is not known beforehand."""
        return source.n_features

    @abstractmethod
    def start(
        self,
        n_features: int | None = None,
        classes: Any | None = None,
        feature_names: Any | None = None,
        *,
        y: Any | None = None,
        origin: str = "",
    ) -> Self:
        """Discard everything learned and prepare for the first block.

        Give what is known beforehand: ``n_features``, ``classes`` and ``feature_names``. ``y`` has
        the target of every row, for methods that see all rows at once. ``origin`` names the source
        of the data in messages.
        """

    def use_source(self, source: DataSource) -> None:
        """Store how the source calls feature 0, for messages, and how table columns are encoded."""
        check_supports_weight(self.method, source.facts.weight)
        encoding = source.encoding  # None or plain for unencoded numbers
        self.features.first_id, self.features.kept = source.facts.first_id, source.facts.kept
        self.features.encoding = None if encoding is None or encoding.is_plain else encoding

    @alone
    def reset(self) -> None:
        """Discard everything that was learned."""
        self._memory = None

    def name_groups(self, names: NDArray[Any] | None) -> None:
        """Store the names of groups by their number; for methods that know groups."""

    def begin_pass(self, number: int) -> None:
        """Prepare for the first block of a pass; passes are counted from 0."""

    @abstractmethod
    def partial_fit_block(self, block: B) -> Self:
        """Learn one more block; ``start`` must be called before the first."""

    def finish(self, origin: str = "") -> Self:
        """End the data; raise an error, naming ``origin``, if nothing can be learned from it."""
        return self

    def report(self, unit: str, done: int, total: int | None) -> None:
        """Report the progress of the work inside a block to the listener, if there is one."""
        if self.listener:
            self.listener(unit, done, total)

    # ---- what was learned

    @property
    def memory(self) -> M:
        """Return everything that was learned; raise UsageError before ``start``."""
        if self._memory is None:
            raise UsageError(
                f"{self.method.name} has not learned anything yet; call start or fit first"
            )
        return self._memory

    @property
    def started(self) -> bool:
        """Return True once ``start`` was called or a model was loaded."""
        return self._memory is not None

    @property
    @abstractmethod
    def n_learned(self) -> int:
        """Return how much has been learned, over all passes.

        It counts rows, or features for methods that take columns.
        """

    @property
    def results(self) -> Any:
        """Return the results of what was learned so far."""
        return self.results_type(self)

    # ---- saving

    @abstractmethod
    def _state_to_save(self) -> tuple[dict[str, Any], Arrays]:
        """Return everything that was learned: a header that JSON can hold, and arrays."""

    @abstractmethod
    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Restore what ``_state_to_save`` returned, after checking that it is consistent."""

    @alone
    def model(self, note: dict[str, Any] | None = None) -> Model:
        """Return everything that was learned as a model; copy it before more is learned.

        Its arrays are the learner's own: they stay valid while the model is held, but after more
        learning they hold neither the old state nor the new one.
        """
        params = {name: as_json(value) for name, value in parameters_of(self.params).items()}
        (header, arrays), features = self._state_to_save(), self.features
        header = {"n_features": features.width, **header, **features.header()}
        if features.encoding is not None:
            arrays |= features.encoding.to_arrays()
        elif features.given_names is not None:
            arrays |= texts_to_arrays(NAMES, features.given_names)
        return Model(self.method.name, params, header, arrays, note)

    @alone
    def load_state(self, model: Model) -> None:
        """Continue from a model, with the same parameters.

        The learner goes on with the model's own arrays.
        """
        header, arrays = dict(model.header), dict(model.arrays)
        self.features = FeatureInfo.from_model(header, arrays)
        self._restore(header, arrays)

    @alone
    def save(self, path: str | Path, note: dict[str, Any] | None = None) -> None:
        """Write the model to one file, without pickle; ``streamsieve.load`` reads it.

        Learning can continue from the file. ``note`` is stored in the file as JSON, for the
        caller's own use.
        """
        self.model(note).save(path)


AnyLearner = Learner[Any, Any]  # for code that treats all methods alike


def check_supports_weight(method: Method, weight: str | None) -> None:
    """Raise UsageError for a column of weights, unless the method learns row by row."""
    if method.reads != "rows":
        check_no_weight(weight, f"{method.name} does not learn row by row and cannot weigh rows")
