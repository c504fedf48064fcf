"""Compare methods: several of them, on several data sets, with several numbers of features, seeds and models."""

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
    Bench,
    DataSet,
    Line,
    Trial,
    asked_of,
    budgets_for,
    failed,
    predicts,
)
from ..evaluation.comparison import Comparison
from ..evaluation.models import downstream
from ..evaluation.rivals import RIVALS
from ..evaluation.store import ComparisonFolder
from ..machine import cores, resets_peak_memory
from ..registry import find_method, make_learner, method_named
from ..selectors.parameters import is_integer, to_builtin
from ..sources.options import ReadKeywords, ReadOptions, shows_options
from ..targets import BOTH, TASKS
from ..training import Progress, Watch, watching
from ..values import is_sparse
from ..version import __version__
from .sets import Opened, load, open_sets

LOST = (
    "its process was ended by the system, which may be out of memory; take fewer jobs, or fewer"
    " rows or features"
)
PASSING = OUT_OF_MEMORY, LOST  # failures that another day may not have: they are not kept
MAX_JOBS = 1024
MAX_SEED = (1 << 32) - 1


class Asked(NamedTuple):
    """What is to be compared on every data set."""

    methods: tuple[str, ...]
    params: dict[str, dict[str, Any]]
    ks: tuple[int | str, ...]
    seeds: tuple[int, ...]
    folds: int | None
    models: tuple[str, ...]
    task: str

    def trials(self) -> Iterator[Trial]:
        """All selections that are to be made, in order."""
        for method in self.methods:
            models = (*self.models, OWN) if predicts(method) else self.models
            for k in budgets_for(method, self.ks):
                for seed in self.seeds:
                    for fold in (None,) if self.folds is None else range(self.folds):
                        yield Trial(
                            method, self.params.get(method, {}), k, seed, fold, self.folds, models
                        )

    def request(self, data: Sequence[dict[str, Any]], options: ReadOptions) -> dict[str, Any]:
        """The same as a dictionary that JSON can hold, with what is known of the data."""
        return {
            "data": list(data),
            **self._asdict(),
            "reading": asdict(options),
            "version": __version__,
        }


@shows_options
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
    """Compare methods by the accuracy of models on the features that they select, by time and by memory.

    Without ``test`` every data set is cut into folds; features are selected from all but one of
    them, and a model that learns from the same rows is measured on that one.

    Parameters
    ----------
    data : path, source, table or pair (X, y); a list or a dict of these
        One data set, a list of several or several by name. Unlike in ``select``, a list of files is
        not one set; a folder or a pattern is, and so is a list as a value of a dict.
    methods : str or iterable of str
        Names that ``streamsieve methods`` lists, and rivals of scikit-learn: chi2, f-test,
        mutual-information, l1-svm, lasso, rfe, trees.
    ks : int, "auto" or iterable of these
        How many features to select; "auto" lets methods choose that can. Methods without such a
        parameter choose.
    test : as ``data``, optional
        Rows to test on, for every data set, in place of folds.
    seeds : int or iterable of int
        How many seeds, 0, 1, ..., or which. A seed decides the folds and all that methods draw.
        Where there are rows to test on, a seed other than 0 shuffles the rows to learn from:
        methods that take them one by one depend on that.
    models : str or iterable of str
        What is fitted on the selected features: linear, logistic, knn, tree, forest. Methods that
        predict by themselves have a line for that, too, with the model "own".
    folds : int
        Of the cross-validation; those of classes have them in the same fractions.
    output : path, optional
        A folder for the cells that are finished and the table. The same comparison with the same
        folder does only what is missing; one that asks for more does what is new.
    jobs : int, optional
        How many processes work at the same time; as many as there are cores, if nothing is said.
    params : dict of dict, optional
        Parameters of methods, by method.
    task : {"auto", "classification", "regression"}
        What the target holds; integers are classes unless only methods for numbers are compared.
    target, zero_based, names, drop, only, strings, missing
        As in ``select``, for all data sets.
    watch : callable, optional
        Called with how far the comparison is, after every cell.
    progress : bool
        Show a bar, in a terminal or a notebook.
    """
    options = ReadOptions.of(target=target, zero_based=zero_based, **read).located()
    asked = as_asked(
        methods, params or {}, ks, seeds, None if test is not None else folds, models, task
    )
    n_jobs = positive("jobs", cores() if jobs is None else jobs, MAX_JOBS)
    sets = open_sets(data, test, options)
    folder = None if output is None else ComparisonFolder(output)
    with (
        folder or nullcontext(),
        ProcessEngine(n_jobs) as engine,
        watching(watch, progress) as observer,
    ):
        comparison = Work(asked, options, folder, engine, observer).on(sets)
        if output is not None:
            comparison.save(output)
    return comparison


# ---- what is asked


def as_asked(
    methods: Any,
    params: Mapping[str, Any],
    ks: Any,
    seeds: Any,
    folds: int | None,
    models: Any,
    task: str,
) -> Asked:
    """What a user has asked for, checked before anything is read."""
    chosen = once("method", [contender(name) for name in as_list(methods)])
    known = {
        contender(method): params_of(contender(method), given) for method, given in params.items()
    }
    for method in known:
        if method not in chosen:
            raise UsageError(
                f"there are parameters of {method}, which is not compared; add it to the methods"
            )
    budgets = once("number of features", [budget(k) for k in as_list(ks)])
    for method in chosen:
        if not budgets_for(method, budgets):
            raise UsageError(
                f"{method} cannot choose the number of features by itself; give one:"
                f" {spell('ks', [10])}"
            )
    numbers = (
        range(positive("seeds", seeds, 1 << 20))
        if is_integer(seeds)
        else [
            integer("seeds", seed, 0, MAX_SEED, "integers of 0 or more, below 2^32")
            for seed in seeds
        ]
    )
    judges = once("model", as_list(models))
    for model in judges:
        if model == OWN:
            raise UsageError("the model 'own' comes by itself, for methods that predict; omit it")
        downstream(model)
    if task not in TASKS:
        raise UsageError("task", f"must be {', '.join(TASKS)}, got {task!r}")
    folds = (
        None
        if folds is None
        else integer("folds", folds, 2, sys.maxsize, "an integer of 2 or more")
    )
    return Asked(chosen, known, budgets, once("seed", numbers), folds, judges, task)


def as_list(given: Any) -> list[Any]:
    """One or several of something, as a list; text may have commas."""
    if isinstance(given, str):
        return [part.strip() for part in given.split(",")]
    return list(given) if isinstance(given, Iterable) else [given]


def once(what: str, given: Iterable[Any]) -> tuple[Any, ...]:
    """The same without repetitions; there must be one at least."""
    found = tuple(dict.fromkeys(given))
    if not found:
        raise UsageError(f"there is no {what}; give one or more")
    return found


def contender(name: str) -> str:
    """The method, or the rival, that a text names."""
    rival = str(name).lower().replace("_", "-")
    if rival in RIVALS:
        return rival
    try:
        return method_named(str(name))
    except UsageError as error:
        raise UsageError(f"{error}; rivals of scikit-learn are {', '.join(RIVALS)}") from None


def params_of(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a method, checked."""
    found = {name: to_builtin(value) for name, value in given.items()}
    if method in RIVALS and found:
        raise UsageError(
            f"{method} is scikit-learn's and has no parameters here; omit {', '.join(found)}"
        )
    if BUDGET in found:
        raise UsageError(
            f"{BUDGET} of {method} is what a comparison varies; give it as {spell('ks')}"
        )
    if method not in RIVALS:
        make_learner(method, found, origin=method)
    return found


def budget(k: Any) -> int | str:
    """A number of features, or "auto"."""
    if k == AUTO:
        return AUTO
    number = int(k) if isinstance(k, str) and k.isdecimal() else k
    if not is_integer(number) or number < 1:
        raise UsageError("ks", f"must be integers of 1 or more, or 'auto', got {k!r}")
    return int(number)


def integer(name: str, value: Any, low: int, high: int, expected: str) -> int:
    """Return a number that must be an integer within a range."""
    if not is_integer(value) or not low <= value <= high:
        raise UsageError(name, f"must be {expected}, got {value!r}")
    return int(value)


def positive(name: str, value: Any, high: int) -> int:
    return integer(name, value, 1, high, f"an integer from 1 to {high:,}")


# ---- what is done


class Work:
    """A comparison that is going on."""

    def __init__(
        self,
        asked: Asked,
        options: ReadOptions,
        folder: ComparisonFolder | None,
        engine: Engine,
        watch: Watch | None,
    ) -> None:
        self.asked, self.options, self.folder, self.engine, self.watch = (
            asked,
            options,
            folder,
            engine,
            watch,
        )
        self.trials = list(asked.trials())
        self.started: set[int] = set()  # workers
        self.done = self.total = 0

    def on(self, sets: Sequence[Opened]) -> Comparison:
        """Everything that is asked, set by set: one at a time is in memory."""
        self.total = len(sets) * sum(len(trial.models) for trial in self.trials)
        kinds = [
            BOTH if method in RIVALS else find_method(method).targets
            for method in self.asked.methods
        ]
        lines: list[Line] = []
        facts: list[dict[str, Any]] = []
        for opened in sets:
            data = load(opened, self.asked.task, kinds, self.asked.folds)
            fingerprint = data.fingerprint()
            facts.append(facts_of(data, opened, fingerprint))
            if self.folder is not None:
                self.folder.refuse_changed(data.name, fingerprint)
                self.folder.ask(self.asked.request(facts, self.options))
            lines += self._cells(data, fingerprint)
        return Comparison.of(lines, self.asked.request(facts, self.options))

    def _cells(self, data: DataSet, fingerprint: str) -> list[Line]:
        """The lines of one set, in order: those that are kept already, and all others."""
        kept = [self._kept(data, trial, fingerprint) for trial in self.trials]
        self.done += sum(map(len, kept))
        left = [
            (number, rest_of(trial, lines))
            for number, (trial, lines) in enumerate(zip(self.trials, kept, strict=True))
            if len(lines) < len(trial.models)
        ]

        def take(number: int, trial: Trial, lines: list[Line]) -> None:
            for line in reversed(
                lines
            ):  # the method's own predictions first: no other line can give them again
                if self.folder is not None and line["error"] not in PASSING:
                    self.folder.keep(trial.digest(fingerprint, line["model"]), line)
            kept[number] |= {line["model"]: line for line in lines}
            self.done += len(lines)

        if left:
            self._run(data, left, take)
        return [
            lines[model]
            for trial, lines in zip(self.trials, kept, strict=True)
            for model in trial.models
        ]

    def _kept(self, data: DataSet, trial: Trial, fingerprint: str) -> dict[str, Line]:
        """The lines of a trial that an earlier run has finished, by model."""
        if self.folder is None:
            return {}
        known = {
            model: self.folder.cell(trial.digest(fingerprint, model)) for model in trial.models
        }
        return {
            m: line | asked_of(data.name, trial, m) for m, line in known.items() if line is not None
        }

    def _run(
        self,
        data: DataSet,
        left: list[tuple[int, Trial]],
        take: Callable[[int, Trial, list[Line]], None],
    ) -> None:
        """Have the workers run trials, each the next one as soon as it is free."""
        shared, waiting = self.engine.share(data), deque(left)
        busy: dict[int, tuple[int, Trial]] = {}

        def give(worker: int) -> None:
            if worker not in self.started or not resets_peak_memory():
                self.engine.start(worker, Bench)
                self.started.add(worker)
            busy[worker] = waiting.popleft()
            self.engine.call(worker, "run", shared, busy[worker][1])
            self._report(busy[worker][1].method)

        for worker in range(min(self.engine.n_workers, len(left))):
            give(worker)
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
                give(answer.worker)

    def _report(self, method: str) -> None:
        if self.watch:
            self.watch(Progress(self.done, self.total, f"of {self.total:,} cells, {method}"))


def rest_of(trial: Trial, kept: Mapping[str, Line]) -> Trial:
    """What is left of a trial; a selection that is known is not made again, unless its model is needed as well."""
    models = tuple(model for model in trial.models if model not in kept)
    known = next((line for line in kept.values() if line["selected"] is not None), None)
    return trial._replace(models=models, known=None if OWN in models else known)


def facts_of(data: DataSet, opened: Opened, fingerprint: str) -> dict[str, Any]:
    """What a report says of a data set."""
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
