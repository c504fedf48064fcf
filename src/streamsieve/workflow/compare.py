"""Compare methods on several data sets, with several budgets, seeds and models."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from ..distributed.engine import Engine
from ..distributed.local import ProcessEngine
from ..errors import UsageError, spell
from ..evaluation.cells import (
    AUTO,
    BUDGET,
    OUT_OF_MEMORY,
    OWN,
    DataSet,
    Line,
    Trial,
    TrialRunner,
    budgets_for,
    failed,
    predicts,
    trial_columns,
)
from ..evaluation.comparison import Comparison
from ..evaluation.models import downstream
from ..evaluation.rivals import RIVALS
from ..evaluation.store import ComparisonFolder
from ..machine import cores, resets_peak_memory
from ..registry import find_method, make_learner, method_named
from ..selectors.parameters import is_integer, to_builtin
from ..sources.options import ReadKeywords, ReadOptions, document_options
from ..targets import BOTH, TASKS
from ..training import Progress, Watch, watching
from ..values import is_sparse
from ..version import __version__
from .sets import OpenSet, load, open_sets

LOST = (
    "its process was ended by the system, which may be out of memory; take fewer jobs, or fewer"
    " rows or features"
)
TRANSIENT = OUT_OF_MEMORY, LOST  # failures that may not happen again: they are not kept
MAX_JOBS = 1024
MAX_SEED = (1 << 32) - 1


class ComparisonSettings(NamedTuple):
    """The settings of a comparison: what is run on every data set."""

    methods: tuple[str, ...]
    params: dict[str, dict[str, Any]]
    ks: tuple[int | str, ...]
    seeds: tuple[int, ...]
    folds: int | None
    models: tuple[str, ...]
    task: str

    def trials(self) -> Iterator[Trial]:
        """Yield all selections to be made, in order."""
        for method in self.methods:
            models = (*self.models, OWN) if predicts(method) else self.models
            for k in budgets_for(method, self.ks):
                for seed in self.seeds:
                    for fold in (None,) if self.folds is None else range(self.folds):
                        yield Trial(
                            method, self.params.get(method, {}), k, seed, fold, self.folds, models
                        )

    def request(self, data: Sequence[dict[str, Any]], options: ReadOptions) -> dict[str, Any]:
        """Return the settings as a JSON dictionary, with the facts about the data."""
        return {
            "data": list(data),
            **self._asdict(),
            "reading": asdict(options),
            "version": __version__,
        }


@document_options
def compare(
    data: Any,
    methods: str | Iterable[str] = ("sofs", "saola", "chi2", "l1-svm"),
    ks: int | str | Iterable[int | str] = (10, 50, 100),
    *,
    test: Any = None,
    seeds: int | Iterable[int] = 1,
    models: str | Iterable[str] = ("linear",),
    folds: int = 5,
    output: str | Path | None = None,
    jobs: int | None = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    task: str = "auto",
    target: str | None = None,
    zero_based: bool = False,
    watch: Watch | None = None,
    progress: bool = False,
    **read: Unpack[ReadKeywords],
) -> Comparison:
    """Compare methods by the accuracy of models on the selected features, time and memory.

    Without ``test`` every data set is split into folds: features are selected from all folds but
    one, a model learns from the same rows, and its accuracy is measured on the remaining fold.

    Parameters
    ----------
    data : path, source, table or pair (X, y); a list or a dict of these
        One data set, a list of several, or a dict of several by name. Unlike in ``select``, every
        file of a list is a data set of its own; a folder, a pattern, or a list as a value of a dict
        is one data set.
    methods : str or iterable of str
        Names that ``streamsieve methods`` lists, and these methods of scikit-learn: chi2, f-test,
        mutual-information, l1-svm, lasso, rfe, trees.
    ks : int, "auto" or iterable of these
        How many features to select. With "auto", methods that can choose the number do so. Methods
        without such a parameter always choose it.
    test : as ``data``, optional
        Rows to test on, for every data set, in place of folds.
    seeds : int or iterable of int
        The number of seeds, which are then 0, 1, ..., or the seeds themselves. A seed determines
        the folds and all random numbers of the methods. With ``test``, a seed other than 0 shuffles
        the rows to learn from, since methods that learn row by row depend on their order.
    models : str or iterable of str
        The models to fit on the selected features: linear, logistic, knn, tree, forest. Methods
        that predict also have a line for their own predictions, with the model "own".
    folds : int
        The number of folds of the cross-validation, stratified by class.
    output : path, optional
        A folder for the finished cells and the table. If the same comparison, or a larger one, is
        repeated with the same folder, only the missing cells are computed.
    jobs : int, optional
        The number of processes; by default one per core.
    params : dict of dict, optional
        The parameters of methods, by method.
    task : {"auto", "classification", "regression"}
        What to predict. With "auto", integers are classes unless all methods learn numbers only.
    target, zero_based, names, drop, only, strings, n_buckets, missing, dates
        As in ``select``, for all data sets.
    watch : callable, optional
        Called with the progress after every cell.
    progress : bool
        Show a progress bar, in a terminal or a notebook.

    Examples
    --------
    >>> import streamsieve as ss
    >>> data = ss.open_source("synthetic:x1?rows=300")
    >>> comparison = ss.compare(data, methods=["sofs", "pet"], ks=[20], folds=2, seeds=[0])
    >>> sorted(set(comparison.table["method"].to_pylist()))
    ['pet', 'sofs']
    """
    options = ReadOptions.of(target=target, zero_based=zero_based, **read).with_absolute_paths()
    settings = check_settings(
        methods, params or {}, ks, seeds, None if test is not None else folds, models, task
    )
    n_jobs = check_positive("jobs", cores() if jobs is None else jobs, MAX_JOBS)
    sets = open_sets(data, test, options)
    folder = None if output is None else ComparisonFolder(output)
    with (
        folder or nullcontext(),
        ProcessEngine(n_jobs) as engine,
        watching(watch, progress) as observer,
    ):
        comparison = ComparisonRun(settings, options, folder, engine, observer).execute(sets)
        if output is not None:
            comparison.save(output)
    return comparison


# ---- check the settings


def check_settings(
    methods: Any,
    params: Mapping[str, Any],
    ks: Any,
    seeds: Any,
    folds: int | None,
    models: Any,
    task: str,
) -> ComparisonSettings:
    """Return the settings that a user has given, checked before any data is read."""
    chosen = unique("method", [find_method_name(name) for name in as_list(methods)])
    params_by_method = {
        find_method_name(method): params_of(find_method_name(method), given)
        for method, given in params.items()
    }
    for method in params_by_method:
        if method not in chosen:
            raise UsageError(
                f"parameters are given for {method}, which is not compared; add it to the methods"
            )
    budgets = unique("number of features", [check_budget(k) for k in as_list(ks)])
    for method in chosen:
        if not budgets_for(method, budgets):
            raise UsageError(
                f"{method} cannot choose the number of features by itself; give one:"
                f" {spell('ks', [10])}"
            )
    numbers = (
        range(check_positive("seeds", seeds, 1 << 20))
        if is_integer(seeds)
        else [
            check_integer("seeds", seed, 0, MAX_SEED, "integers of 0 or more, below 2^32")
            for seed in seeds
        ]
    )
    model_names = unique("model", as_list(models))
    for model in model_names:
        if model == OWN:
            raise UsageError(
                "the model 'own' is added automatically for methods that predict; omit it"
            )
        downstream(model)
    if task not in TASKS:
        raise UsageError("task", f"must be {', '.join(TASKS)}, got {task!r}")
    folds = (
        None
        if folds is None
        else check_integer("folds", folds, 2, sys.maxsize, "an integer of 2 or more")
    )
    return ComparisonSettings(
        chosen, params_by_method, budgets, unique("seed", numbers), folds, model_names, task
    )


def as_list(given: Any) -> list[Any]:
    """Return one or several values as a list; text is split at commas."""
    if isinstance(given, str):
        return [part.strip() for part in given.split(",")]
    return list(given) if isinstance(given, Iterable) else [given]


def unique(noun: str, given: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values without repetitions; raise UsageError if there are none."""
    values = tuple(dict.fromkeys(given))
    if not values:
        raise UsageError(f"no {noun} is given; give one or more")
    return values


def find_method_name(name: str) -> str:
    """Return the method, or the method of scikit-learn, that a text names."""
    rival = str(name).lower().replace("_", "-")
    if rival in RIVALS:
        return rival
    try:
        return method_named(str(name))
    except UsageError as error:
        raise UsageError(f"{error}; methods of scikit-learn are {', '.join(RIVALS)}") from None


def params_of(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a method, checked."""
    params = {name: to_builtin(value) for name, value in given.items()}
    if method in RIVALS and params:
        raise UsageError(
            f"{method} is of scikit-learn: its parameters cannot be set; omit {', '.join(params)}"
        )
    if BUDGET in params:
        raise UsageError(f"{method}: a comparison varies {BUDGET}; give it as {spell('ks')}")
    if method not in RIVALS:
        make_learner(method, params, origin=method)
    return params


def check_budget(k: Any) -> int | str:
    """Return a number of features, checked, or "auto"."""
    if k == AUTO:
        return AUTO
    number = int(k) if isinstance(k, str) and k.isdecimal() else k
    if not is_integer(number) or number < 1:
        raise UsageError("ks", f"must be integers of 1 or more, or 'auto', got {k!r}")
    return int(number)


def check_integer(name: str, value: Any, low: int, high: int, expected: str) -> int:
    """Return ``value`` if it is an integer within a range; raise UsageError otherwise."""
    if not is_integer(value) or not low <= value <= high:
        raise UsageError(name, f"must be {expected}, got {value!r}")
    return int(value)


def check_positive(name: str, value: Any, high: int) -> int:
    """Return ``value`` if it is an integer from 1 to ``high``."""
    return check_integer(name, value, 1, high, f"an integer from 1 to {high:,}")


# ---- run the comparison


class ComparisonRun:
    """A comparison in progress."""

    def __init__(
        self,
        settings: ComparisonSettings,
        options: ReadOptions,
        folder: ComparisonFolder | None,
        engine: Engine,
        watch: Watch | None,
    ) -> None:
        self.settings, self.options, self.folder, self.engine, self.watch = (
            settings,
            options,
            folder,
            engine,
            watch,
        )
        self.trials = list(settings.trials())
        self.started: set[int] = set()  # workers
        self.done = self.total = 0

    def execute(self, sets: Sequence[OpenSet]) -> Comparison:
        """Run the comparison on all data sets, with one set in memory at a time."""
        self.total = len(sets) * sum(len(trial.models) for trial in self.trials)
        kinds = [
            BOTH if method in RIVALS else find_method(method).targets
            for method in self.settings.methods
        ]
        lines: list[Line] = []
        facts: list[dict[str, Any]] = []
        for opened in sets:
            data = load(opened, self.settings.task, kinds, self.settings.folds)
            fingerprint = data.fingerprint()
            facts.append(facts_of(data, opened, fingerprint))
            if self.folder is not None:
                self.folder.check_unchanged(data.name, fingerprint)
                self.folder.write_request(self.settings.request(facts, self.options))
            lines += self._run_set(data, fingerprint)
        return Comparison.of(lines, self.settings.request(facts, self.options))

    def _run_set(self, data: DataSet, fingerprint: str) -> list[Line]:
        """Return the lines of one data set in order, from the folder or computed now."""
        kept = [self._load_finished(data, trial, fingerprint) for trial in self.trials]
        self.done += sum(map(len, kept))
        unfinished = [
            (number, remaining_trial(trial, lines))
            for number, (trial, lines) in enumerate(zip(self.trials, kept, strict=True))
            if len(lines) < len(trial.models)
        ]

        def take(number: int, trial: Trial, lines: list[Line]) -> None:
            # The method's own predictions first: they cannot be computed again from other lines.
            for line in reversed(lines):
                if self.folder is not None and line["error"] not in TRANSIENT:
                    self.folder.keep(trial.digest(fingerprint, line["model"]), line)
            kept[number] |= {line["model"]: line for line in lines}
            self.done += len(lines)

        if unfinished:
            self._run(data, unfinished, take)
        return [
            lines[model]
            for trial, lines in zip(self.trials, kept, strict=True)
            for model in trial.models
        ]

    def _load_finished(self, data: DataSet, trial: Trial, fingerprint: str) -> dict[str, Line]:
        """Return the lines of a trial that an earlier run has finished, by model."""
        if self.folder is None:
            return {}
        saved = {
            model: self.folder.cell(trial.digest(fingerprint, model)) for model in trial.models
        }
        return {
            m: line | trial_columns(data.name, trial, m)
            for m, line in saved.items()
            if line is not None
        }

    def _run(
        self,
        data: DataSet,
        unfinished: list[tuple[int, Trial]],
        take: Callable[[int, Trial, list[Line]], None],
    ) -> None:
        """Run trials on the workers; a worker that is free gets the next trial."""
        shared, waiting = self.engine.share(data), deque(unfinished)
        busy: dict[int, tuple[int, Trial]] = {}

        def start_next(worker: int) -> None:
            if worker not in self.started or not resets_peak_memory():
                self.engine.start(worker, TrialRunner)
                self.started.add(worker)
            busy[worker] = waiting.popleft()
            self.engine.call(worker, "run", shared, busy[worker][1])
            self._report(busy[worker][1].method)

        for worker in range(min(self.engine.n_workers, len(unfinished))):
            start_next(worker)
        while busy:
            answer = self.engine.next()
            number, trial = busy.pop(answer.worker)
            if answer.error is not None:
                raise answer.error
            if answer.lost:
                self.started.discard(answer.worker)
            take(number, trial, failed(data.name, trial, LOST) if answer.lost else answer.value)
            self._report(trial.method)
            if waiting:
                start_next(answer.worker)

    def _report(self, method: str) -> None:
        if self.watch:
            self.watch(Progress(self.done, self.total, f"of {self.total:,} cells, {method}"))


def remaining_trial(trial: Trial, kept: Mapping[str, Line]) -> Trial:
    """Return a trial without the models that are finished.

    A finished selection is reused, unless the predictions of its own model are needed as well.
    """
    models = tuple(model for model in trial.models if model not in kept)
    finished = next((line for line in kept.values() if line["selected"] is not None), None)
    return trial._replace(models=models, earlier_line=None if OWN in models else finished)


def facts_of(data: DataSet, opened: OpenSet, fingerprint: str) -> dict[str, Any]:
    """Return the facts about a data set that a report shows."""
    X, y = data.train
    labels, counts = np.unique(y, return_counts=True) if data.kind == "classes" else (y[:0], y[:0])
    classes = [
        {"label": label, "rows": rows}
        for label, rows in zip(labels.tolist(), counts.tolist(), strict=True)
    ]
    facts = {
        "name": data.name,
        "source": opened.train.name,
        "rows": int(y.size),
        "features": data.n_features,
        "nonzeros": int(X.count_nonzero() if is_sparse(X) else np.count_nonzero(X)),
        "kind": data.kind,
        "test_rows": None if data.test is None else int(data.test.y.size),
        "fingerprint": fingerprint,
    }
    return facts | ({"classes": classes} if data.kind == "classes" else {})
