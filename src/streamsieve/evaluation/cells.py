"""The cells of a comparison: one method, budget, seed and part of the data, one selection, judged by several models.

A trial is what is done together, the cells of one selection. It runs in a process of its own, so
that what it takes of memory can be measured and what kills it kills nothing else.
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
from ..json_text import to_json
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

OWN = "own"  # the model of a line that has the method's own predictions
BUDGET, AUTO = "n_features_to_select", "auto"
MIN_DENSE_SHARE = 0.5  # of the values not 0: a sparse matrix with more is taken as dense by models
MAX_ERROR_LENGTH = 500
LOADED = (
    "ensemble",
    "feature_selection",
    "linear_model",
    "model_selection",
    "neighbors",
    "svm",
)  # of scikit-learn
WARM = 24, 6  # rows and features that a method is loaded with
OUT_OF_MEMORY = (
    "out of memory; take fewer rows or features, fewer jobs, or a machine with more memory"
)

FIGURES = (  # what is known of a selection, whatever judges it
    "n_selected",
    "online_mistake_rate",
    "seconds",
    "learn_seconds",
    "compile_seconds",
    "peak_memory_bytes",
    "selected",
)

Line = dict[str, Any]  # by column of the table
EMPTY: Line = dict.fromkeys(
    (
        "data",
        "method",
        "k",
        "seed",
        "fold",
        "model",
        "accuracy",
        "balanced_accuracy",
        "auc",
        "r2",
        *FIGURES,
        "error",
    )
)


class Rows(NamedTuple):
    """Some rows with their labels; ``X`` is an array or CSR."""

    X: Any
    y: NDArray[Any]

    def part(self, rows: NDArray[np.int64]) -> Rows:
        return Rows(self.X[rows], self.y[rows])

    def columns(self, features: NDArray[np.int64]) -> Any:
        return dense_if_full(self.X[:, features])


class DataSet(NamedTuple):
    """Data to compare on, in memory; without ``test`` it is cut into folds."""

    name: str
    kind: Kind
    train: Rows
    test: Rows | None = None
    groups: list[str] | None = None  # the column of a table that every feature is of

    @property
    def n_features(self) -> int:
        return int(self.train.X.shape[1])

    def fingerprint(self) -> str:
        """What shows whether it is the same data, wherever it comes from."""
        parts: list[Any] = [f"{self.kind} {self.groups}"]
        for rows in (self.train, *([] if self.test is None else [self.test])):
            for array in (*arrays_of(rows.X), rows.y):
                parts += f"{array.shape} {array.dtype.kind} {rows.X.shape}", array
        return digest(*parts)


class Trial(NamedTuple):
    """One selection, and the models that it is judged by; ``fold`` of ``folds``, or None where there are test rows."""

    method: str
    params: dict[str, Any]
    k: int | str | None  # "auto" where the method is to choose; None where it has no such parameter
    seed: int
    fold: int | None
    folds: int | None
    models: tuple[str, ...]
    known: Line | None = None  # a line of the same selection, which need not be made again

    def digest(self, fingerprint: str, model: str) -> str:
        """What a cell is kept under: everything that decides it."""
        asked = self._replace(models=(), known=None)._asdict()
        programs = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")} | {
            "streamsieve": __version__
        }
        content = {"data": fingerprint, "model": model, **asked, "programs": programs}
        return digest(to_json(content, sort_keys=True))


class Selected(NamedTuple):
    """What a method has selected and what it took; ``learner`` predicts, if the method does."""

    features: NDArray[np.int64]
    figures: Line
    learner: AnyLearner | None = None


class Bench:
    """Runs trials, in a process of its own."""

    def __init__(self) -> None:
        for module in LOADED:  # or the first methods would seem to take less memory than the others
            import_module(f"sklearn.{module}")
        self.warm: set[tuple[Any, ...]] = set()  # what is loaded, and compiled

    def run(self, data: DataSet, trial: Trial) -> list[Line]:
        """The lines of a trial, one per model; what fails is said in them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what many lines would repeat
            try:
                rows, test = split(data, trial)
                found = (
                    selected_again(trial.known) if trial.known else self._select(data, rows, trial)
                )
            except Exception as error:
                return failed(data.name, trial, message_of(error))
            done = [
                judged(data.kind, rows, test, found, model, trial.seed) for model in trial.models
            ]
        return [
            EMPTY | asked_of(data.name, trial, model) | found.figures | part
            for model, part in zip(trial.models, done, strict=True)
        ]

    def _select(self, data: DataSet, rows: Rows, trial: Trial) -> Selected:
        """What a method selects. What it needs is loaded before, by a few rows, and so takes none of its time."""
        needs = (
            trial.method,
            str(trial.params),
            trial.k == AUTO,
            data.kind,
            is_sparse(rows.X),
            rows.X.dtype,
        )
        compiled = compile_seconds()
        if needs not in self.warm:
            warm_up(data, trial)
            self.warm.add(needs)
        compiled = compile_seconds() - compiled
        found = selected_by(data, rows, trial)
        found.figures["compile_seconds"] += compiled
        return found


def warm_up(data: DataSet, trial: Trial) -> None:
    """Select from a few rows of the same kind, whatever comes of it."""
    random = np.random.default_rng(0)
    X: Any = np.abs(random.normal(size=WARM)).astype(data.train.X.dtype)
    labels = (
        random.normal(size=WARM[0])
        if data.kind == "numbers"
        else np.resize(np.unique(data.train.y), WARM[0])
    )
    rows = Rows(type(data.train.X)(X) if is_sparse(data.train.X) else X, labels)
    small = trial._replace(k=2 if isinstance(trial.k, int) else trial.k)
    try:
        selected_by(DataSet(data.name, data.kind, rows), rows, small)
    except Exception:
        pass  # what is wrong with the trial is found again, with all rows


def failed(data: str, trial: Trial, error: str) -> list[Line]:
    """The lines of a trial without a selection."""
    return [EMPTY | asked_of(data, trial, model) | {"error": error} for model in trial.models]


def asked_of(data: str, trial: Trial, model: str) -> Line:
    """What a line repeats of its trial."""
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


def split(data: DataSet, trial: Trial) -> tuple[Rows, Rows]:
    """The rows to learn from and those to test on.

    Test rows that were given stay as they are; a seed other than 0 shuffles the rows to learn from.
    Otherwise the seed decides the folds, which have the classes in the same fractions, and rows
    stay in their order.
    """
    if data.test is not None:
        if not trial.seed:
            return data.train, data.test
        return (
            data.train.part(np.random.default_rng(trial.seed).permutation(data.train.y.size)),
            data.test,
        )
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if data.kind == "classes" else KFold
    folds = kind(trial.folds or 2, shuffle=True, random_state=trial.seed)
    parts = list(folds.split(np.empty((data.train.y.size, 0)), data.train.y))
    learned, tested = parts[trial.fold or 0]
    return data.train.part(learned), data.train.part(tested)


def dense_if_full(X: Any) -> Any:
    """A sparse matrix that is mostly not 0 as an array: models are quicker then, and centre its columns."""
    return X.toarray() if is_sparse(X) and X.nnz > MIN_DENSE_SHARE * X.shape[0] * X.shape[1] else X


# ---- selecting


def selected_by(data: DataSet, rows: Rows, trial: Trial) -> Selected:
    """What a method selects from rows, and what it takes: time without compiling, memory of this process."""
    reset_peak_memory()
    return (
        select_rival(data, rows, trial)
        if trial.method in RIVALS
        else select_learned(data, rows, trial)
    )


def selected_again(line: Line) -> Selected:
    """A selection that was made before."""
    figures = {name: line[name] for name in FIGURES}
    return Selected(np.array(figures["selected"], np.int64), figures)


def select_rival(data: DataSet, rows: Rows, trial: Trial) -> Selected:
    assert isinstance(trial.k, int), "rivals do not choose the number of features"
    X = dense_if_full(rows.X)
    began = time.perf_counter()
    features = select_by(trial.method, X, rows.y, data.kind, trial.k, trial.seed)
    taken = time.perf_counter() - began
    return Selected(features, figures_of(features, taken, taken, 0.0))


def select_learned(data: DataSet, rows: Rows, trial: Trial) -> Selected:
    learner = new_learner(trial, data.kind)
    source = ArraySource(rows.X, rows.y, name=data.name)
    training = train(learner, source, groups=data.groups if learner.method.knows_groups else None)
    seconds, features = training.seconds, learner.results.selection().indices
    figures = figures_of(
        features, seconds["total"] - seconds["compile"], seconds["learn"], seconds["compile"]
    )
    mistakes = learner.results.counters().mistakes
    if mistakes is not None:
        figures["online_mistake_rate"] = mistakes / learner.n_learned
    return Selected(features, figures, learner if learner.method.predicts else None)


def new_learner(trial: Trial, target: Kind) -> AnyLearner:
    """The learner of a trial, its parameters checked, for a kind of target."""
    method = find_method(trial.method)
    if target not in method.targets:
        others = "numbers" if target == "classes" else "classes"
        able = ", ".join(methods_for(target, method.reads))
        raise DataError(
            f"{trial.method} learns {others}, and the target holds {target}; methods that learn"
            f" them: {able}"
        )
    params = dict(trial.params)
    if isinstance(trial.k, int) or (trial.k == AUTO and not decides_alone(trial.method)):
        params[BUDGET] = trial.k
    return make_learner(trial.method, {**method.parameters_for(target), **params}, trial.seed)


def budgets_for(method: str, ks: Sequence[int | str]) -> list[int | str | None]:
    """Of some numbers of features those that a method can be given; None for one that always chooses by itself."""
    if not takes_budget(method):
        return [None]
    return [k for k in ks if k != AUTO or can_choose(method)]


def takes_budget(method: str) -> bool:
    """Whether a number of features can be given to a method."""
    return method in RIVALS or BUDGET in find_method(method).parameter_names


def can_choose(method: str) -> bool:
    """Whether a method can choose the number of features by itself."""
    if method in RIVALS:
        return False
    if decides_alone(method):
        return True
    try:
        find_method(method).make(**{BUDGET: AUTO})
    except ParameterError:
        return False
    return True


def decides_alone(method: str) -> bool:
    """Whether a method chooses the number of features unless one is given."""
    return (
        not takes_budget(method) or parameters_of(find_method(method).parameters())[BUDGET] is None
    )


def predicts(method: str) -> bool:
    """Whether a method predicts by itself."""
    return method in METHODS and find_method(method).predicts


def figures_of(
    features: NDArray[np.int64], seconds: float, learning: float, compiling: float
) -> Line:
    return {
        "n_selected": int(features.size),
        "online_mistake_rate": None,
        "seconds": seconds,
        "learn_seconds": learning,
        "compile_seconds": compiling,
        "peak_memory_bytes": peak_memory(),
        "selected": features.tolist(),
    }


# ---- judging


def judged(kind: Kind, rows: Rows, test: Rows, found: Selected, model: str, seed: int) -> Line:
    """How well the test rows are predicted: by a model on the selected features, or by the method itself."""
    try:
        if not found.features.size:
            raise DataError("no feature was selected")
        if model == OWN:
            return measures(own_quality(found.learner, test))
        fresh = downstream(model, TASK_OF_KIND[kind], seed)
        return measures(
            hold_out(
                fresh, rows.columns(found.features), rows.y, test.columns(found.features), test.y
            )
        )
    except Exception as error:
        return {"error": message_of(error)}


def own_quality(learner: AnyLearner | None, test: Rows) -> Quality | Fit:
    """The quality of a method's own predictions, as ``select`` measures it."""
    assert learner is not None, "a method that predicts has been trained"
    predictor = learner.results.predictor()
    parts = [predictor(block) for block in ArraySource(test.X).row_blocks()]
    labels = np.concatenate([part.labels for part in parts])
    if predictor.classes is None:
        return fit_of_numbers(test.y, labels)
    chances = [None if part.scores.ndim == 1 else part.probabilities for part in parts]
    evidence = [
        part.scores if known is None else known for part, known in zip(parts, chances, strict=True)
    ]
    scores = np.concatenate([one[:, None] if one.ndim == 1 else one for one in evidence])
    return quality_of_labels(test.y, labels == test.y, scores, predictor.classes)


def measures(quality: Quality | Fit) -> Line:
    """A quality as a line has it."""
    return {"r2": quality.r2} if isinstance(quality, Fit) else quality._asdict()


def message_of(error: Exception) -> str:
    """What went wrong, in the user's words where they are known."""
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    known = isinstance(error, DataError | UsageError | ParameterError)
    return printable(error if known else f"{type(error).__name__}: {error}", MAX_ERROR_LENGTH)
