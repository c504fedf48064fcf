"""What every method shares, without scikit-learn: its description, learning, what was learned, saving.

A method is described by a ``Method``. A ``Learner`` of its kind (rows, columns, matrix) learns by
it, and ``Results`` read what was learned. ``streamsieve.estimators`` has scikit-learn's interface:
an estimator has a learner. The two are apart because a run from a file needs no scikit-learn, whose
import alone costs most of a second and 100 megabytes.
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
from ..errors import DataError, UsageError, prefix
from ..kernels.types import F64, I64
from ..machine import available_memory
from ..model import NAMES, Model, refusing_damage, texts_of_arrays, texts_to_arrays
from ..selection import Selection
from ..sources.base import DataSource, Missing, Report, refuse_weight
from ..sources.encoding import Encoding
from ..sources.wrapped import KeptFeatures
from ..state import Arrays
from ..targets import ONLY_CLASSES, TASK_OF_KIND, Kind
from .diagnosis import Look, Remark, describe_duplicates, describe_no_limit, find_equal_columns
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
ClassWeight = str | dict[Any, float] | None  # by label, which may be anything
Seed = int | np.random.Generator | None

B = TypeVar("B")  # the kind of block a learner takes
M = TypeVar("M")  # what holds all that it has learned


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method: its parameters, how it touches the data, and what it can do."""

    name: str  # in the registry and on the command line
    parameters: type[
        Any
    ]  # a dataclass of declared parameters, which for rows also makes the rule that learns
    learner: type[Learner[Any, Any]]
    targets: frozenset[Kind] = ONLY_CLASSES  # what it can learn
    rule: Any = None  # of columns, made of parameters and a target, or of the matrix, made of parameters and a method
    predicts: bool = False
    knows_groups: bool = False
    merges: bool = False  # models that learned different rows can become one
    is_asynchronous: bool = (
        False  # workers can learn different columns at the same time, for one model
    )
    selects_again: bool = (
        False  # what several of it kept of different columns can be selected from once more
    )
    two_classes_only: bool = False
    draws: bool = False  # from all features: their number must be known before the first row
    asks: bool = False  # for the values that it reads, and looks at no others: they may be missing
    # For the shared checks: parameters to try beside the defaults, and promises that cannot hold,
    # with the reason.
    check_variants: tuple[dict[str, Any], ...] = ()
    exempt_from_checks: Mapping[str, str] = field(default_factory=dict)
    # scikit-learn's checks that cannot hold, beside those that cannot hold for all methods of its
    # kind
    expected_failed_checks: Mapping[str, str] = field(default_factory=dict)
    own_doc: str | None = None  # where the parameters are those of another method

    @property
    def doc(self) -> str:
        """Return what the method is and what its parameters mean."""
        return self.own_doc or self.parameters.__doc__ or ""

    @property
    def reads(self) -> Reads:
        """Return how the method touches the data."""
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
        """Return parameters by which any target is taken for one of a kind: integers may be classes or numbers."""
        if self.fits_model:
            return {"loss": AUTO_LOSS[kind]}
        return {"task": TASK_OF_KIND[kind]} if "task" in self.parameter_names else {}

    def make(self, *budget: Any, **params: Any) -> AnyLearner:
        """Return a learner with these parameters, which are checked; ``n_features_to_select`` alone may come first."""
        parameters = self.parameters(*budget, **params)
        check_parameters(parameters)
        return self.learner(self, parameters)

    def load(self, model: Model, origin: str = "a model in memory") -> AnyLearner:
        """Return a learner that goes on where a model was made."""
        with refusing_damage(origin):
            learner = self.make(**{name: from_json(value) for name, value in model.params.items()})
            learner.take_up(model)
        return learner


@dataclass(slots=True, eq=False)
class FeatureInfo:
    """What is known of all features of the data."""

    width: int = 0  # how many there are, or the widest row had
    names: NDArray[Any] | None = None
    first_id: int = 0  # what the data calls feature 0, where features have no names
    encoding: Encoding | None = (
        None  # how the columns of a table became features, if they are not just numbers
    )
    kept: KeptFeatures | None = None  # what names, drop and only have left of data that has ids

    def start(self, width: int | None, names: Any | None) -> None:
        """Begin with what is known before the first block."""
        self.width, self.names = (
            width or 0,
            None if names is None else np.asarray(names, dtype=object),
        )

    def widen(self, width: int) -> None:
        """Be so wide; names are forgotten where features have come by that have none."""
        self.width = width
        if self.names is not None and self.names.size < width:
            self.names = None if self.encoding is None else self.encoding.feature_names[:width]

    def refuse_more(self, n_features: int, origin: str) -> None:
        """Refuse data with features that the table did not have: a model could not say how to read them."""
        if self.encoding is not None and n_features > self.encoding.n_features:
            raise DataError(
                f"{prefix(origin)}feature {n_features - 1:,} is not of the table that was learned,"
                f" which gives {self.encoding.n_features:,} features (0 to"
                f" {self.encoding.n_features - 1:,}); give one table with all columns, or begin"
                " anew"
            )

    def title(self, feature: int, name: Any | None) -> str:
        """Return what a feature of a name, or of none, is called in messages."""
        return naming.title(feature, name, self.first_id)

    def header(self) -> dict[str, Any]:
        """Return what a model keeps beside the names."""
        header: dict[str, Any] = {"first_id": self.first_id} if self.first_id else {}
        if self.kept is not None:
            header["kept"] = self.kept.to_dict()
        return header if self.encoding is None else {**header, "encoding": self.encoding.to_dict()}

    @classmethod
    def from_model(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        """Take what a model knows of features out of its header and arrays."""
        width = count_of(header, "n_features")
        encoding, kept = header.pop("encoding", None), header.pop("kept", None)
        features = cls(width, None, count_of(header, "first_id", 1) if "first_id" in header else 0)
        if encoding is not None:
            features.encoding = Encoding.from_dict(encoding)
            n_encoded = features.encoding.n_features
            ensure(n_encoded >= width, f"its encoding has {n_encoded:,} of {width:,} features")
        if kept is not None:
            features.kept = KeptFeatures.from_dict(kept)
        if "named_ids" not in arrays:
            features.names = texts_of_arrays(NAMES, arrays)
            if features.names is not None:
                ensure(
                    features.names.size == width,
                    f"it has {features.names.size:,} names for {width:,} features",
                )
                for part in ("text", "offsets"):
                    del arrays[f"{NAMES}.{part}"]
        return features


class Findings(NamedTuple):
    """What a run reports beside the selection; None where a method has no such thing."""

    mistakes: int | None = None  # rows predicted wrongly before they were learned
    updates: int | None = None  # rows that something was learned from
    curve: dict[str, list[Any]] | None = None  # accuracy by number of features
    measures: dict[str, int] | None = None  # how many relevant features were measured by what
    details: Mapping[str, Any] = MappingProxyType({})  # what only this method has


class Counters(NamedTuple):
    """What is counted while rows are learned; None for methods that do not learn row by row, or do not predict."""

    mistakes: int | None = None  # rows predicted wrongly before they were learned
    updates: int | None = None  # rows that something was learned from
    r2: float | None = None  # the fraction of the target's variance that was predicted


class Results(ABC):
    """What a learner has learned so far, to be read at any time; reading changes nothing.

    Estimators show the attributes whose names end with ``_``; one that a method does not have
    raises AttributeError.
    """

    uses_lengths: bool = (
        False  # whether predictions depend on how long rows are with all of their features
    )
    predicts_with_all: bool = (
        False  # whether they need all features, not those alone that were selected
    )
    advice_if_empty: str = "look whether the data was read as it should be: streamsieve info"
    advice_if_all: str = (
        "try a smaller number"  # where as many features may be selected as there are
    )

    def __init__(self, learner: Any) -> None:
        self.learner, self.lock = learner, learner.lock
        self.method, self.params, self.memory = learner.method, learner.params, learner.memory
        self.features: FeatureInfo = learner.features
        self.n_features_in_ = self.features.width  # or that of the widest row
        self.n_rows_, self.n_nonzero_ = 0, 0

    def counters(self) -> Counters:
        """Return what is counted while rows are learned."""
        return Counters()

    @abstractmethod
    def selected(self) -> tuple[I64, F64]:
        """Return the chosen ids, ascending, and their scores."""

    @alone
    def selection(self) -> Selection:
        """Return the selected features, with scores and names; its size is that of the selection."""
        indices, scores = self.selected()
        return Selection(indices, scores, self.names_of(indices))

    def kept_now(self) -> tuple[I64, F64] | None:
        """Return ids and scores of the selection, in any order, as far as it is known on the way.

        It is read very often, so what a method does at the end of the data alone is not done for
        it; None where reading it would take much of the time of learning.
        """
        return self.selected()

    def class_rows(self) -> dict[Any, int] | None:
        """Return how many rows of the data every class has; None where numbers are learned."""
        return None

    def findings(self) -> Findings:
        """Return what a run reports beside the selection."""
        return Findings()

    @alone
    def diagnosis(self, look: Look) -> list[Remark]:
        """Return what a user should know of the result; ``look`` is what there still is of the data."""
        selection = self.selection()
        if len(selection):
            return self.remarks(selection, look)
        return [
            Remark("nothing selected", "warning", "no feature was selected", self.advice_if_empty)
        ]

    def remarks(self, selection: Selection, look: Look) -> list[Remark]:
        """Return what is to be said of features that were selected."""
        remarks = []
        wanted: Any = parameters_of(self.params).get("n_features_to_select")
        if is_integer(wanted) and wanted >= self.features.width:
            remarks.append(describe_no_limit(wanted, self.features.width, self.advice_if_all))
        evidence = self.evidence(selection)
        groups = [] if evidence is None else find_equal_columns(selection.indices, evidence, look)
        if groups:
            remarks.append(
                describe_duplicates([list(map(self.title, group.tolist())) for group in groups])
            )
        return remarks

    def evidence(self, selection: Selection) -> F64 | None:
        """Return what was learned of each selected feature, a line each, equal for equal columns; None if unknown."""
        return None

    def names_of(self, indices: I64) -> NDArray[Any] | None:
        """Return the names of some features, if they are known."""
        return None if self.features.names is None else self.features.names[indices]

    def title(self, feature: int) -> str:
        """Return what a feature is called in messages."""
        names = self.names_of(np.array([feature]))
        return self.features.title(feature, None if names is None else names[0])

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Return the names of all features, where they have names."""
        if self.features.names is None:
            raise AttributeError("the features have no names")
        return self.features.names

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Return a mask over all features, made anew whenever it is asked for: one byte for each."""
        width = self.features.width
        if width > available_memory():
            raise UsageError(
                f"a mask over {width:,} features needs a byte for each, more than there are; ask"
                " for get_support(indices=True)"
            )
        mask = np.zeros(width, np.bool_)
        mask[self.selection().indices] = True
        return mask

    @property
    def scores_(self) -> F64:
        """Return the scores of the selected features, in ascending order of id; larger is better.

        Unlike those of scikit-learn's ``SelectKBest`` they are of the selected features alone: of
        all others a method in fixed memory may know nothing.
        """
        return self.selection().scores

    # ---- predictions, of methods that predict

    def predictor(self) -> Predictor:
        """Return what predicts rows, with what was learned so far."""
        if not self.method.predicts:
            raise UsageError(f"{self.method.name} selects features and predicts nothing")
        return self.linear_model().predictor(self.lock)

    def linear_model(self) -> LinearModel:
        """Return the model of the selected features, for values as they come."""
        raise AttributeError(f"{self.method.name} fits no linear model")

    @property
    def classes_(self) -> NDArray[Any]:
        """Return the two classes, sorted; there only after classes were learned."""
        classes = self.linear_model().classes
        if classes is None:
            raise AttributeError("numbers were learned, not classes")
        return classes

    @property
    def coef_(self) -> Any:
        """Return the weights, for values as they come, of the selected features in ascending order of id."""
        return self.linear_model().weights

    @property
    def intercept_(self) -> Any:
        """Return the score of a row whose selected features are all 0."""
        return self.linear_model().intercept


class Learner(ABC, Generic[B, M]):
    """Learns by a method from blocks of one kind. Threads may share a learner: one call waits for the other."""

    reads: ClassVar[Reads]
    results_type: ClassVar[type[Results]]
    missing_rows: Missing = "error"  # what is to be done with missing values in rows

    def __init__(self, method: Method, params: Any) -> None:
        self.method, self.params = method, params
        self.lock = Lock()  # an estimator's learners have that of the estimator
        self.features = FeatureInfo()
        self._memory: M | None = None  # nothing has been learned yet
        self.listener: Report | None = None  # who wants to know how far the work inside a block is

    # ---- learning

    def passes_over(self, source: DataSource) -> int:
        """Return how often a source is read."""
        return 1

    def width_of(self, source: DataSource) -> int | None:
        """Return the number of features of a source, as far as it is known beforehand."""
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
        """Forget everything and be ready for the first block.

        ``n_features``, ``classes`` and ``feature_names`` are what is known beforehand; ``y`` has
        the target of every row, for methods that see all rows at once. ``origin`` is where the data
        comes from, for messages.
        """

    def note_source(self, source: DataSource) -> None:
        """Take note of what the data calls feature 0, for messages, and of how columns of a table become features."""
        self.refuse_weight(source.facts.weight)
        encoding = source.encoding  # numbers as they are need none
        self.features.first_id, self.features.kept = source.facts.first_id, source.facts.kept
        self.features.encoding = None if encoding is None or encoding.is_plain else encoding

    def refuse_weight(self, weight: str | None) -> None:
        """Refuse a column of weights, unless this learns row by row."""
        if self.reads != "rows":
            refuse_weight(
                weight, f"{self.method.name} does not learn row by row and cannot weigh rows"
            )

    @alone
    def reset(self) -> None:
        """Be as if nothing had ever been learned."""
        self._memory = None

    def name_groups(self, names: NDArray[Any] | None) -> None:
        """Take note of what groups of features are called, by their number; for methods that know groups."""

    def begin_pass(self, number: int) -> None:
        """Be ready for the first block of a pass, the first of all being number 0."""

    @abstractmethod
    def partial_fit_block(self, block: B) -> Self:
        """Learn one more block; ``start`` comes before the first."""

    def finish(self, origin: str = "") -> Self:
        """End the data: refuse what cannot have taught anything, naming ``origin``."""
        return self

    def report(self, unit: str, done: int, total: int | None) -> None:
        """Say how far the work inside a block is, to whoever listens."""
        if self.listener:
            self.listener(unit, done, total)

    # ---- what was learned

    @property
    def memory(self) -> M:
        """Return all that was learned."""
        if self._memory is None:
            raise UsageError(
                f"{self.method.name} has not learned anything yet; call start or fit first"
            )
        return self._memory

    @property
    def started(self) -> bool:
        """Return True if there is something to go on with."""
        return self._memory is not None

    @property
    @abstractmethod
    def n_learned(self) -> int:
        """Return how much has been learned, over all passes: rows, or features for methods that take columns."""

    @property
    def results(self) -> Any:
        """Return what reads all that was learned so far."""
        return self.results_type(self)

    # ---- saving

    @abstractmethod
    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        """Return all that was learned: what JSON can hold, and arrays."""

    @abstractmethod
    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take up what ``_saved`` gave, once it is clear that it fits together."""

    @alone
    def model(self, note: dict[str, Any] | None = None) -> Model:
        """Return all that was learned; its arrays are those learning goes on with, so copy it before more is learned.

        They stay valid while the model is held, but what they hold is then neither the old state
        nor the new one.
        """
        params = {name: as_json(value) for name, value in parameters_of(self.params).items()}
        (header, arrays), features = self._saved(), self.features
        header = {"n_features": features.width, **header, **features.header()}
        if features.names is not None:
            arrays |= texts_to_arrays(NAMES, features.names)
        return Model(self.method.name, params, header, arrays, note)

    @alone
    def take_up(self, model: Model) -> None:
        """Go on where a model was made, with the same parameters; its arrays are those learning goes on with."""
        header, arrays = dict(model.header), dict(model.arrays)
        self.features = FeatureInfo.from_model(header, arrays)
        self._restore(header, arrays)

    @alone
    def save(self, path: str | Path, note: dict[str, Any] | None = None) -> None:
        """Write the model to one file, without pickle; ``streamsieve.load`` gives it back and learning can go on.

        ``note`` is kept in the file as JSON, for whoever wrote it.
        """
        self.model(note).save(path)


AnyLearner = Learner[Any, Any]  # where all methods are treated alike
