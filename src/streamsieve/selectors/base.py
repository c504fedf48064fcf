"""What every algorithm shares, without scikit-learn: parameters, the selection, saving and loading.

An algorithm is written as a learner. ``streamsieve.estimators`` gives it scikit-learn's interface. The two are apart
because a run from a file needs no scikit-learn, whose import alone costs most of a second and a hundred megabytes.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import naming
from ..blocks import RowBlock
from ..errors import UsageError
from ..model import NAMES, Model, refusing_damage, texts_of_arrays, texts_to_arrays
from ..selection import Selection
from ..sources.base import DataSource, Missing, Report
from ..sources.encoding import Encoding
from ..state import Arrays
from ..targets import ONLY_CLASSES, TASK_OF_KIND, Kind
from .diagnosis import Look, Remark, duplicates, equal_columns, no_limit, nothing_selected
from .parameters import as_json, from_json, to_builtin
from .prediction import Predictor, Squares
from .requirements import count_of, is_integer
from .serial import serialize

Reads = Literal["rows", "columns", "matrix"]
ClassWeight = str | dict[Any, float] | None  # by label, which may be anything
Seed = int | np.random.Generator | None
CANNOT_MERGE = "models of {} cannot be merged; learn all rows in one pass"

B = TypeVar("B")  # the kind of block a learner takes
M = TypeVar("M")  # what holds all that it has learned


class Findings(NamedTuple):
    """What a run reports beside the selection; None where a method has no such thing."""

    mistakes: int | None = None  # rows predicted wrongly before they were learned
    updates: int | None = None  # rows that something was learned from
    curve: dict[str, list[Any]] | None = None  # accuracy by number of features
    measures: dict[str, int] | None = None  # how many relevant features were measured by what
    details: Mapping[str, Any] = MappingProxyType({})  # what only this method has


class Learner(ABC, Generic[B, M]):
    """The base of all algorithms.

    A class declares how it touches the data and what it can learn; nobody asks for its type. Threads may share a
    learner: one call waits for the other.
    """

    method: ClassVar[str]  # its name in the registry
    reads: ClassVar[Reads]
    targets: ClassVar[frozenset[Kind]] = ONLY_CLASSES  # what it can learn
    predicts: ClassVar[bool] = False
    knows_groups: ClassVar[bool] = False
    merges: ClassVar[bool] = False  # models that learned different rows can become one
    is_asynchronous: ClassVar[bool] = False  # workers can learn different columns at the same time, for one model
    selects_again: ClassVar[bool] = False  # what several of it kept of different columns can be selected from once more

    # For the shared checks: parameters to try beside the defaults, and promises that cannot hold, with the reason.
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = ()
    exempt_from_checks: ClassVar[dict[str, str]] = {}

    _memory: M | None = None  # nothing has been learned yet
    _first_id: int = 0  # what the data calls feature 0, where features have no names
    _listener: Report | None = None  # who wants to know how far the work inside a block is
    n_features_in_: int
    feature_names_in_: NDArray[Any]  # there only if the features have names: scikit-learn's rule
    encoding: Encoding | None = None  # how the columns of a table became features, if they are not just numbers

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        serialize(cls)

    @classmethod
    def parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    @classmethod
    def parameters_for(cls, kind: Kind) -> dict[str, Any]:
        """Parameters by which any target is taken for one of that kind: integers may be classes or numbers."""
        return {"task": TASK_OF_KIND[kind]} if "task" in cls.parameter_names() else {}

    def parameters(self) -> dict[str, Any]:
        """The parameters by name, as JSON can hold them."""
        return {name: to_builtin(getattr(self, name)) for name in self.parameter_names()}

    @abstractmethod
    def check_parameters(self) -> None:
        """Refuse, with a ValueError, parameters that make no sense."""

    # ---- learning

    def passes_over(self, source: DataSource) -> int:
        """How often a source is read."""
        return 1

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

        ``n_features``, ``classes`` and ``feature_names`` are what is known beforehand; ``y`` has the target of every
        row, for methods that see all rows at once. ``origin`` is where the data comes from, for messages.
        """

    def note_source(self, source: DataSource) -> None:
        """Take note of what the data calls feature 0, for messages, and of how columns of a table become features."""
        self._first_id = source.first_id
        self.set_encoding(source.encoding)

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

    def listen(self, listener: Report | None) -> None:
        """Say from now on, or no more, how far the work inside a block is."""
        self._listener = listener

    def report(self, unit: str, done: int, total: int | None) -> None:
        """Say how far the work inside a block is, to whoever listens."""
        if self._listener:
            self._listener(unit, done, total)

    def width_of(self, source: DataSource) -> int | None:
        """The number of features of a source, as far as it is known beforehand."""
        return source.n_features

    @property
    def missing_rows(self) -> Missing:
        """What is to be done with missing values in rows."""
        return "error"

    @property
    def memory(self) -> M:
        """All that was learned."""
        if self._memory is None:
            raise UsageError(f"{self.method} has not learned anything yet; call start or fit first")
        return self._memory

    @property
    def started(self) -> bool:
        """Whether there is something to go on with."""
        return self._memory is not None

    @property
    @abstractmethod
    def n_learned(self) -> int:
        """How much has been learned, over all passes: rows, or features for methods that take columns."""

    @property
    @abstractmethod
    def n_rows_(self) -> int:
        """Rows seen."""

    @property
    @abstractmethod
    def n_nonzero_(self) -> int:
        """Non-zeros seen."""

    @property
    def mistakes(self) -> int | None:
        """Rows predicted wrongly before they were learned; None for methods that do not predict."""
        return None

    @property
    def r2(self) -> float | None:
        """The fraction of the target's variance that was predicted so far; None for methods that do not."""
        return None

    @property
    def updates(self) -> int | None:
        """Rows that something was learned from; None for methods that do not learn row by row."""
        return None

    def finish(self, origin: str = "") -> Self:
        """The end of the data: refuse what cannot have taught anything, naming ``origin``."""
        return self

    # ---- what was learned

    @abstractmethod
    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The chosen ids, ascending, and their scores."""

    def selection(self) -> Selection:
        """The selected features, with scores and names; its size is that of the selection."""
        indices, scores = self._selected()
        return Selection(indices, scores, self._names_of(indices))

    def kept_now(self) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Ids and scores of the selection, in any order, as far as it is known on the way.

        It is read very often, so what a method does at the end of the data alone is not done for it; None where reading
        it would take much of the time of learning.
        """
        return self._selected()

    def class_rows(self) -> dict[Any, int] | None:
        """How many rows of the data every class has; None where numbers are learned."""
        return None

    def findings(self) -> Findings:
        """What a run reports beside the selection."""
        return Findings()

    def diagnosis(self, look: Look) -> list[Remark]:
        """What a user should know of the result, once all is learned; ``look`` is what there still is of the data."""
        selection = self.selection()
        return self._remarks(selection, look) if len(selection) else [nothing_selected(self._advice_if_empty())]

    def _remarks(self, selection: Selection, look: Look) -> list[Remark]:
        """What is to be said of features that were selected."""
        remarks = []
        wanted: Any = self.parameters().get("n_features_to_select")
        if is_integer(wanted) and wanted >= self.n_features_in_:
            remarks.append(no_limit(wanted, self.n_features_in_, self._advice_if_all()))
        evidence = self._evidence(selection)
        groups = [] if evidence is None else equal_columns(selection.indices, evidence, look)
        if groups:
            remarks.append(duplicates([list(map(self.title, group.tolist())) for group in groups]))
        return remarks

    def _evidence(self, selection: Selection) -> NDArray[np.float64] | None:
        """What was learned of each selected feature, a line each, equal for equal columns; None if nothing is."""
        return None

    def _advice_if_empty(self) -> str:
        """What to try where no feature was selected."""
        return "look whether the data was read as it should be: streamsieve info"

    def _advice_if_all(self) -> str:
        """What to try where as many features may be selected as there are."""
        return "try a smaller number"

    def title(self, feature: int) -> str:
        """What a feature is called in messages."""
        names = self._names_of(np.array([feature]))
        return naming.title(feature, None if names is None else names[0], self._first_id)

    def row_squares(self, block: RowBlock) -> Squares:
        """The squared lengths of complete rows, where predictions depend on them; None where they do not."""
        return None

    @property
    def uses_lengths(self) -> bool:
        """Whether predictions depend on how long rows are with all of their features."""
        return False

    @property
    def predicts_with_all(self) -> bool:
        """Whether predictions need all features, not those alone that were selected."""
        return False

    def predictor(self) -> Predictor[B]:
        """What predicts rows, with what was learned so far; for methods that predict."""
        raise UsageError(f"{self.method} selects features and predicts nothing")

    @property
    def feature_names(self) -> NDArray[Any] | None:
        """The names of all features, if they are known."""
        return self.__dict__.get("feature_names_in_")

    def _names_of(self, indices: NDArray[np.int64]) -> NDArray[Any] | None:
        """The names of some features, if they are known."""
        names = self.feature_names
        return None if names is None else names[indices]

    def _drop_names_of_some(self) -> None:
        """Forget the names where features have come by that have none."""
        if self.feature_names is not None and self.feature_names.size < self.n_features_in_:
            self._set_names(None)

    def _set_names(self, names: Any | None) -> None:
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def set_encoding(self, encoding: Encoding | None) -> None:
        """Keep, or forget, how the columns of a table become features."""
        self.__dict__.pop("encoding", None)
        if encoding is not None:
            self.encoding = encoding

    # ---- saving

    @abstractmethod
    def _header(self) -> dict[str, Any]:
        """What is needed beside the arrays, as JSON."""

    @abstractmethod
    def _arrays(self) -> Arrays:
        """All that was learned, as arrays."""

    @abstractmethod
    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take up what ``_header`` and ``_arrays`` gave, once it is clear that it fits together."""

    def model(self, note: dict[str, Any] | None = None) -> Model:
        """All that was learned; its arrays are those learning goes on with, so copy it before more is learned.

        They stay valid while the model is held, but what they hold is then neither the old state nor the new one.
        """
        params = {name: as_json(value) for name, value in self.parameters().items()}
        header, arrays = {"n_features": self.n_features_in_, **self._header()}, self._arrays()
        if self._first_id:
            header["first_id"] = self._first_id
        if self.encoding is not None:
            header["encoding"] = self.encoding.to_dict()
        names = self.feature_names
        if names is not None:
            arrays |= texts_to_arrays(NAMES, names)
        return Model(self.method, params, header, arrays, note)

    @classmethod
    def from_model(cls, model: Model, origin: str = "a model in memory") -> Self:
        """A learner that goes on where the model was made."""
        with refusing_damage(origin):
            learner = cls(**{name: from_json(value) for name, value in model.params.items()})
            learner.check_parameters()
            learner.take_up(model)
        return learner

    def take_up(self, model: Model) -> None:
        """Go on where a model was made, with the same parameters; its arrays are those learning goes on with."""
        header, arrays = dict(model.header), dict(model.arrays)
        self.n_features_in_ = count_of(header, "n_features")
        self._first_id = count_of(header, "first_id", 1) if "first_id" in header else 0
        encoding = header.pop("encoding", None)
        self.set_encoding(None if encoding is None else Encoding.from_dict(encoding))
        if self.encoding is not None and self.encoding.n_features < self.n_features_in_:
            raise ValueError(f"its encoding has {self.encoding.n_features:,} of {self.n_features_in_:,} features")
        if "named_ids" not in arrays:
            names = texts_of_arrays(NAMES, arrays)
            if names is not None and names.size != self.n_features_in_:
                raise ValueError(f"it has {names.size:,} names for {self.n_features_in_:,} features")
            self._set_names(names)
            arrays = {name: array for name, array in arrays.items() if not name.startswith(f"{NAMES}.")}
        self._restore(header, arrays)

    @classmethod
    def merge(cls, base: Model, parts: Sequence[Model], divisor: float | None = None) -> Model:
        """One model of what several learned, each from rows of its own, all going on from the same ``base``.

        For methods that merge. What the parts add is divided by how often their rows have counted (``as_part``), or by
        another number. A single part whose rows counted once is given back as it is, its arrays shared.
        """
        raise UsageError(CANNOT_MERGE.format(cls.method))

    def as_part(self, times: int) -> Self:
        """Go on as one of several parts that learn at once, each from rows of its own, until they are merged.

        For methods that merge. Every row counts so many times, as if so many parts had such a row, and merging makes up
        for it.
        """
        raise UsageError(CANNOT_MERGE.format(self.method))

    def save(self, path: str | Path, note: dict[str, Any] | None = None) -> None:
        """Write the model to one file, without pickle; ``streamsieve.load`` gives it back and learning can go on.

        ``note`` is kept in the file as JSON, for whoever wrote it.
        """
        self.model(note).save(path)


AnyLearner = Learner[Any, Any]  # where all methods are treated alike
