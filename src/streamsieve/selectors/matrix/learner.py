"""The learner of the whole matrix, all rows and all features at once, and its results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from ...errors import DataError, UsageError, prefix
from ...kernels.arrays import ArraySpec
from ...kernels.types import F64, I64
from ...selection import Selection
from ...sources.base import Report
from ...state import Arrays, Schema, State, arrays_of, check_arrays, empty, schema_of, with_arrays
from ...targets import Target
from ..base import Learner, Method, Reads, Results, ResultSummary
from ..columns.memory import COARSE, ColumnWarnings, findings_of
from ..diagnosis import MAX_NAMED, DataSample, Finding
from ..fitting import target_for
from ..parameters import ensure, is_integer, parameters_of
from ..prediction import LinearModel
from ..serial import alone
from .data import Matrix

COUNTS: Schema = {"counts": ArraySpec((2,), 0, dtype=np.int64)}

S = TypeVar("S", bound=State)


class Solution(NamedTuple, Generic[S]):
    """The result of learning a matrix."""

    state: S  # a NamedTuple of arrays
    n_nonzero: int
    fitted: Mapping[str, Any] = MappingProxyType({})  # values for JSON that a run reports


class MatrixRule(ABC, Generic[S]):
    """A rule that learns a matrix, made for parameters."""

    state_type: ClassVar[type[Any]]

    def __init__(self, params: Any, method: Method) -> None:
        self.params, self.method = params, method

    @abstractmethod
    def learn(self, matrix: Matrix, target: Target, report: Report) -> Solution[S]:
        """Learn a matrix; ``report`` receives the progress."""

    @abstractmethod
    def selected(self, state: S) -> tuple[I64, F64]:
        """Return the selected ids, ascending, and their scores."""

    def weights(self, state: S) -> tuple[I64, F64] | None:
        """Return the features with a weight and their weights, if the method weighs features."""
        return None

    def linear_model(self, state: S) -> LinearModel | None:
        """Return the linear model of the selected features, if the method fits one."""
        return None

    def details(self, state: S) -> dict[str, Any]:
        """Return details for the record of a run."""
        return {}

    def advice(self) -> str | None:
        """Return what to try if no feature was selected."""
        return None

    def check(self, state: Any) -> None:
        """Raise ValueError if the arrays of a state from a file do not fit: ids must ascend."""
        ensure(not (np.diff(state.ids) <= 0).any(), "its feature ids do not ascend")


@dataclass(slots=True, eq=False)
class MatrixMemory(Generic[S]):
    """State, counters and reports of a learner of the whole matrix."""

    state: S
    counts: I64  # rows, non-zeros
    fitted: Mapping[str, Any]
    warnings: dict[str, ColumnWarnings] = field(default_factory=dict)  # not saved
    class_rows: dict[Any, int] | None = None  # number of rows by class; not saved


class MatrixResults(Results):
    """Results of a learner of the whole matrix."""

    memory: MatrixMemory[Any]

    def __init__(self, learner: Any) -> None:
        super().__init__(learner)
        self.n_rows_, self.n_nonzero_ = map(int, self.memory.counts)
        self.rule: MatrixRule[Any] = learner.rule
        self.advice_if_empty = self.rule.advice() or Results.advice_if_empty

    def __getattr__(self, name: str) -> Any:
        fitted = self.__dict__["memory"].fitted
        if name.removesuffix("_") not in fitted:
            raise AttributeError(name)
        return fitted[name.removesuffix("_")]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(f"{name}_" for name in self.memory.fitted)]

    def selected(self) -> tuple[I64, F64]:
        return self.rule.selected(self.memory.state)

    def class_rows(self) -> dict[Any, int] | None:
        return self.memory.class_rows

    @alone
    def diagnosis(self, sample: DataSample) -> list[Finding]:
        return [*super().diagnosis(sample), *findings_of(self.memory.warnings)]

    def evidence(self, selection: Selection) -> F64 | None:
        return None if self.rule.weights(self.memory.state) is None else selection.scores[:, None]

    def result_summary(self) -> ResultSummary:
        model = self.rule.linear_model(self.memory.state)
        details = {} if model is None else model.details()
        return ResultSummary(
            details={**self.memory.fitted, **self.rule.details(self.memory.state), **details}
        )

    @property
    def feature_weights_(self) -> F64:
        """Return the weights of all features, most of them 0."""
        weighed = self.rule.weights(self.memory.state)
        if weighed is None:
            raise AttributeError(f"{self.method.name} does not weigh features")
        weights = np.zeros(self.features.width)
        weights[weighed[0]] = weighed[1]
        return weights

    @property
    def n_iter_(self) -> int:
        """Return the number of rounds."""
        fitted = self.memory.fitted
        if not fitted:
            raise AttributeError(f"{self.method.name} does not learn in rounds")
        return int(fitted["n_iter"]) if "n_iter" in fitted else len(fitted["rounds"])

    def linear_model(self) -> LinearModel:
        return self.rule.linear_model(self.memory.state) or super().linear_model()


class MatrixLearner(Learner[Matrix, MatrixMemory[Any]]):
    """Learns all rows and all features together, by a ``rule``."""

    reads: ClassVar[Reads] = "matrix"
    results_type: ClassVar[type[Results]] = MatrixResults

    def __init__(self, method: Method, params: Any) -> None:
        super().__init__(method, params)
        self.rule: MatrixRule[Any] = method.rule(params, method)
        self._target: Target | None = None

    @alone
    def start(
        self,
        n_features: int | None = None,
        classes: Any | None = None,
        feature_names: Any | None = None,
        *,
        y: Any | None = None,
        origin: str = "",
    ) -> Self:
        """Reset the learner and prepare it for the matrix, given the target of every row."""
        if y is None:
            raise UsageError(f"{self.method.name} needs the target of every row; start with y=...")
        if classes is not None:
            raise UsageError(f"{self.method.name} takes the classes from the target; omit classes")
        self._target = target_for(self.method, self.params, y, origin)
        self._memory = None
        self.features.start(n_features, feature_names)
        return self

    @alone
    def partial_fit_block(self, block: Matrix) -> Self:
        """Learn a matrix; call ``start`` first."""
        target = self._target
        if target is None:
            raise UsageError(
                f"{self.method.name} has not been started; call start with y=... first"
            )
        if target.n_rows != block.n_rows:
            raise DataError(
                f"{prefix(block.origin)}{self.method.name} needs a target for each of"
                f" {block.n_rows:,} rows, and there are {target.n_rows:,}"
            )
        state, n_nonzero, fitted = self.rule.learn(block, target, self.report)
        self._target = None
        memory = self._memory = MatrixMemory(
            state, np.array([block.n_rows, n_nonzero]), dict(fitted), class_rows=target.class_rows()
        )
        self.features.width = block.n_features
        coarse_titles = block.coarse_titles()
        memory.warnings = (
            {COARSE: ColumnWarnings(len(coarse_titles), coarse_titles[:MAX_NAMED])}
            if coarse_titles
            else {}
        )
        return self

    @property
    def n_learned(self) -> int:
        return 0 if self._memory is None else self.features.width

    def _state_to_save(self) -> tuple[dict[str, Any], Arrays]:
        memory = self.memory
        return {"fitted": dict(memory.fitted)}, {**arrays_of(memory.state), "counts": memory.counts}

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        rule = self.rule
        initial_state: Any = empty(rule.state_type, features=0, selected=0, heavy=0, classes=0)
        check_arrays(
            arrays, {**schema_of(initial_state), **COUNTS}, {"features": self.features.width}
        )
        state = with_arrays(initial_state, arrays)
        rule.check(state)
        fitted = header["fitted"]
        ensure(isinstance(fitted, dict), "its reported values are not a dictionary")
        wanted: Any = parameters_of(self.params).get("n_features_to_select")
        ensure(
            not (is_integer(wanted) and rule.selected(state)[0].size > wanted),
            f"it selects more than n_features_to_select={wanted} features",
        )
        self._memory = MatrixMemory(state, arrays["counts"], fitted)
