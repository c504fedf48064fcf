"""Run the cells of a comparison.

A cell is one method, budget, seed and part of the data, one selection from it, and one model that
is measured on the selected features. A trial is the cells of one selection. It runs in a process of
its own, so that its memory can be measured, and a crash affects no other trial.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..display import printable
from ..errors import DataError, ParameterError, UsageError
from ..json_text import Count, Measure, to_json
from ..kernels.jit import compile_seconds
from ..machine import peak_memory, reset_peak_memory
from ..registry import METHODS, find_method, make_learner, methods_for
from ..runs.data import arrays_of, digest
from ..selectors.base import AnyLearner
from ..selectors.parameters import parameters_of
from ..sources.arrays import ArraySource
from ..targets import TASK_OF_KIND, Kind
from ..training import train
from ..values import is_sparse
from ..version import __version__
from .models import downstream
from .quality import Fit, Quality, fit_of_numbers, hold_out, quality_of_labels
from .rivals import RIVALS, select_by

OWN = "own"  # the model in a line that has the method's own predictions
BUDGET, AUTO = "n_features_to_select", "auto"
MIN_DENSE_SHARE = 0.5  # of values not 0, above which models get a sparse matrix as a dense one
MAX_ERROR_LENGTH = 500
SKLEARN_MODULES = (
    "ensemble",
    "feature_selection",
    "linear_model",
    "model_selection",
    "neighbors",
    "svm",
)
WARM_UP_SHAPE = 24, 6  # rows and features that load a method
OUT_OF_MEMORY = (
    "out of memory; take fewer rows or features, fewer jobs, or a machine with more memory"
)

FIGURES = (  # the columns that describe a selection, whatever model is measured on it
    "n_selected",
    "online_mistake_rate",
    "seconds",
    "learn_seconds",
    "compile_seconds",
    "peak_memory_bytes",
    "selected",
)

Line = dict[str, Any]  # the values of a line, by column of the table
COLUMNS: dict[str, Any] = {  # the types of the values, in JSON
    "data": str,
    "method": str,
    "k": Count | None,
    "seed": Count,
    "fold": Count | None,
    "model": str,
    "n_selected": Count | None,
    "accuracy": Measure,
    "balanced_accuracy": Measure,
    "auc": Measure,
    "r2": Measure,
    "online_mistake_rate": Measure,
    "seconds": Measure,
    "learn_seconds": Measure,
    "compile_seconds": Measure,
    "peak_memory_bytes": Count | None,
    "selected": list[Count] | None,
    "error": str | None,
}
EMPTY_LINE: Line = dict.fromkeys(COLUMNS)


class Rows(NamedTuple):
    """Rows with their labels; ``X`` is an array or a CSR matrix."""

    X: Any
    y: NDArray[Any]

    def part(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows, with their labels."""
        return Rows(self.X[rows], self.y[rows])

    def columns(self, features: NDArray[np.int64]) -> Any:
        """Return some of the features of all rows."""
        return densify_if_full(self.X[:, features])


class DataSet(NamedTuple):
    """A data set of a comparison, in memory; without ``test`` it is split into folds."""

    name: str
    kind: Kind
    train: Rows
    test: Rows | None = None
    groups: list[str] | None = None  # the column of a table that each feature comes from

    @property
    def n_features(self) -> int:
        """Return the number of features."""
        return int(self.train.X.shape[1])

    def fingerprint(self) -> str:
        """Return a digest that is the same for the same data, wherever it comes from."""
        parts: list[Any] = [f"{self.kind} {self.groups}"]
        for rows in (self.train, *([] if self.test is None else [self.test])):
            for array in (*arrays_of(rows.X), rows.y):
                parts += f"{array.shape} {array.dtype.kind} {rows.X.shape}", array
        return digest(*parts)


class Trial(NamedTuple):
    """One selection, and the models that are measured on it.

    ``fold`` is one of ``folds``, or None for both if there are test rows.
    """

    method: str
    params: dict[str, Any]
    k: int | str | None  # "auto" if the method is to choose; None if it has no such parameter
    seed: int
    fold: int | None
    folds: int | None
    models: tuple[str, ...]
    earlier_line: Line | None = None  # a line of the same selection, which is not made again then

    def digest(self, fingerprint: str, model: str) -> str:
        """Return the key of a cell: a digest of everything that determines its result."""
        trial_fields = self._replace(models=(), earlier_line=None)._asdict()
        programs = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")} | {
            "streamsieve": __version__
        }
        content = {"data": fingerprint, "model": model, **trial_fields, "programs": programs}
        return digest(to_json(content, sort_keys=True))


class SelectionResult(NamedTuple):
    """The features that a method selected, and the figures of the selection.

    ``learner`` is the trained learner, if the method predicts.
    """

    features: NDArray[np.int64]
    figures: Line
    learner: AnyLearner | None = None


class TrialRunner:
    """A runner of trials, in a process of its own."""

    def __init__(self) -> None:
        # loaded now, or the first methods would seem to take less memory than later ones
        for module in SKLEARN_MODULES:
            import_module(f"sklearn.{module}")
        self.warm: set[tuple[Any, ...]] = set()  # what is loaded and compiled

    def run(self, data: DataSet, trial: Trial) -> list[Line]:
        """Return the lines of a trial, one per model; failures are reported in them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # many lines would repeat them
            try:
                rows, test = split_rows(data, trial)
                selection = (
                    restore_selection(trial.earlier_line)
                    if trial.earlier_line
                    else self._select(data, rows, trial)
                )
            except Exception as error:
                return failed(data.name, trial, message_of(error))
            results = [
                measure_model(data.kind, rows, test, selection, model, trial.seed)
                for model in trial.models
            ]
        return [
            EMPTY_LINE | trial_columns(data.name, trial, model) | selection.figures | result
            for model, result in zip(trial.models, results, strict=True)
        ]

    def _select(self, data: DataSet, rows: Rows, trial: Trial) -> SelectionResult:
        """Return what a method selects.

        Code that the method needs is loaded and compiled first, with a few rows, so that this does
        not count in its time.
        """
        warm_up_key = (
            trial.method,
            str(trial.params),
            trial.k == AUTO,
            data.kind,
            is_sparse(rows.X),
            rows.X.dtype,
        )
        compile_time = compile_seconds()
        if warm_up_key not in self.warm:
            warm_up(data, trial)
            self.warm.add(warm_up_key)
        compile_time = compile_seconds() - compile_time
        selection = run_selection(data, rows, trial)
        selection.figures["compile_seconds"] += compile_time
        return selection


def warm_up(data: DataSet, trial: Trial) -> None:
    """Select from a few rows of the same kind, to load and compile code; errors are ignored."""
    random = np.random.default_rng(0)
    X: Any = np.abs(random.normal(size=WARM_UP_SHAPE)).astype(data.train.X.dtype)
    labels = (
        random.normal(size=WARM_UP_SHAPE[0])
        if data.kind == "numbers"
        else np.resize(np.unique(data.train.y), WARM_UP_SHAPE[0])
    )
    rows = Rows(type(data.train.X)(X) if is_sparse(data.train.X) else X, labels)
    small = trial._replace(k=2 if isinstance(trial.k, int) else trial.k)
    try:
        run_selection(DataSet(data.name, data.kind, rows), rows, small)
    except Exception:
        pass  # an error of the trial occurs again, with all rows


def failed(data: str, trial: Trial, error: str) -> list[Line]:
    """Return the lines of a trial whose selection failed."""
    return [
        EMPTY_LINE | trial_columns(data, trial, model) | {"error": error} for model in trial.models
    ]


def trial_columns(data: str, trial: Trial, model: str) -> Line:
    """Return the columns of a line that repeat its trial."""
    k = trial.k if isinstance(trial.k, int) else None
    return {
        "data": data,
        "method": trial.method,
        "k": k,
        "seed": trial.seed,
        "fold": trial.fold,
        "model": model,
    }


# ---- the data of a trial


def split_rows(data: DataSet, trial: Trial) -> tuple[Rows, Rows]:
    """Return the rows to learn from and those to test on.

    Test rows of the data set stay as they are; then a seed other than 0 shuffles the rows to learn
    from. Otherwise the seed determines the folds, in which all classes have the same fractions, and
    rows stay in their order.
    """
    if data.test is not None:
        if not trial.seed:
            return data.train, data.test
        return (
            data.train.part(np.random.default_rng(trial.seed).permutation(data.train.y.size)),
            data.test,
        )
    from sklearn.model_selection import KFold, StratifiedKFold

    splitter = StratifiedKFold if data.kind == "classes" else KFold
    folds = splitter(trial.folds or 2, shuffle=True, random_state=trial.seed)
    parts = list(folds.split(np.empty((data.train.y.size, 0)), data.train.y))
    train_rows, test_rows = parts[trial.fold or 0]
    return data.train.part(train_rows), data.train.part(test_rows)


def densify_if_full(X: Any) -> Any:
    """Return a sparse matrix that is mostly not 0 as an array, any other matrix as it is.

    Models are faster on arrays, and centre their columns.
    """
    return X.toarray() if is_sparse(X) and X.nnz > MIN_DENSE_SHARE * X.shape[0] * X.shape[1] else X


# ---- selecting


def run_selection(data: DataSet, rows: Rows, trial: Trial) -> SelectionResult:
    """Select features from rows; measure the time without compiling, and the memory."""
    reset_peak_memory()
    return (
        select_rival(data, rows, trial)
        if trial.method in RIVALS
        else select_with_learner(data, rows, trial)
    )


def restore_selection(line: Line) -> SelectionResult:
    """Return the selection in a line that was made earlier."""
    figures = {name: line[name] for name in FIGURES}
    return SelectionResult(np.array(figures["selected"], np.int64), figures)


def select_rival(data: DataSet, rows: Rows, trial: Trial) -> SelectionResult:
    """Select features with a method of scikit-learn."""
    assert isinstance(trial.k, int), "rivals do not choose the number of features"
    X = densify_if_full(rows.X)
    start = time.perf_counter()
    features = select_by(trial.method, X, rows.y, data.kind, trial.k, trial.seed)
    elapsed = time.perf_counter() - start
    return SelectionResult(features, figures_of(features, elapsed, elapsed, 0.0))


def select_with_learner(data: DataSet, rows: Rows, trial: Trial) -> SelectionResult:
    """Select features with a method of this package."""
    learner = make_trial_learner(trial, data.kind)
    source = ArraySource(rows.X, rows.y, name=data.name)
    training = train(
        learner, source, groups=data.groups if learner.method.supports_groups else None
    )
    seconds, features = training.seconds, learner.results.selection().indices
    figures = figures_of(
        features, seconds["total"] - seconds["compile"], seconds["learn"], seconds["compile"]
    )
    mistakes = learner.results.counters().mistakes
    if mistakes is not None:
        figures["online_mistake_rate"] = mistakes / learner.n_learned
    return SelectionResult(features, figures, learner if learner.method.predicts else None)


def make_trial_learner(trial: Trial, target: Kind) -> AnyLearner:
    """Return the learner of a trial for a kind of target, with its parameters checked."""
    method = find_method(trial.method)
    if target not in method.targets:
        others = "numbers" if target == "classes" else "classes"
        able = ", ".join(methods_for(target, method.reads))
        raise DataError(
            f"{trial.method} learns {others}, but the target holds {target}; methods that learn"
            f" {target}: {able}"
        )
    params = dict(trial.params)
    if isinstance(trial.k, int) or (trial.k == AUTO and default_budget(trial.method) is not None):
        params[BUDGET] = trial.k
    return make_learner(trial.method, {**method.parameters_for(target), **params}, trial.seed)


def budgets_for(method: str, ks: Sequence[int | str]) -> list[int | str | None]:
    """Return the numbers of features that a method supports; [None] if it always chooses itself."""
    if method not in RIVALS and BUDGET not in find_method(method).parameter_names:
        return [None]
    return [k for k in ks if k != AUTO or can_choose(method)]


def can_choose(method: str) -> bool:
    """Return True if a method with a budget can choose the number of features by itself."""
    if method in RIVALS:
        return False
    if default_budget(method) is None:
        return True
    try:
        find_method(method).make(**{BUDGET: AUTO})
    except ParameterError:
        return False
    return True


def default_budget(method: str) -> Any:
    """Return the default of the budget of a method; None if it chooses the number itself."""
    return parameters_of(find_method(method).parameters())[BUDGET]


def predicts(method: str) -> bool:
    """Return True if a method predicts by itself."""
    return method in METHODS and find_method(method).predicts


def figures_of(
    features: NDArray[np.int64], seconds: float, learning: float, compiling: float
) -> Line:
    """Return the columns of a line that describe a selection."""
    return {
        "n_selected": int(features.size),
        "online_mistake_rate": None,
        "seconds": seconds,
        "learn_seconds": learning,
        "compile_seconds": compiling,
        "peak_memory_bytes": peak_memory(),
        "selected": features.tolist(),
    }


# ---- measuring


def measure_model(
    kind: Kind, rows: Rows, test: Rows, selection: SelectionResult, model: str, seed: int
) -> Line:
    """Measure how well a model on the selected features, or the method itself, predicts."""
    try:
        if not selection.features.size:
            raise DataError("no feature was selected")
        if model == OWN:
            quality = measure_learner(selection.learner, test)
        else:
            quality = hold_out(
                downstream(model, TASK_OF_KIND[kind], seed),
                rows.columns(selection.features),
                rows.y,
                test.columns(selection.features),
                test.y,
            )
        return {"r2": quality.r2} if isinstance(quality, Fit) else quality._asdict()
    except Exception as error:
        return {"error": message_of(error)}


def measure_learner(learner: AnyLearner | None, test: Rows) -> Quality | Fit:
    """Return the quality of a method's own predictions, as ``select`` measures it."""
    assert learner is not None, "a method that predicts has been trained"
    predictor = learner.results.predictor()
    predictions = [predictor(block) for block in ArraySource(test.X).row_blocks()]
    labels = np.concatenate([prediction.labels for prediction in predictions])
    if predictor.classes is None:
        return fit_of_numbers(test.y, labels)
    evidence = [
        scores[:, None] if scores.ndim == 1 or probabilities is None else probabilities
        for _, scores, probabilities in predictions
    ]
    return quality_of_labels(test.y, labels == test.y, np.concatenate(evidence), predictor.classes)


def message_of(error: Exception) -> str:
    """Return the message of an error, with its type if it is not one for users."""
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    is_for_users = isinstance(error, DataError | UsageError | ParameterError)
    return printable(
        error if is_for_users else f"{type(error).__name__}: {error}", MAX_ERROR_LENGTH
    )
