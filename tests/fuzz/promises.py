"""Promises about every combination of options, tried on the command line and in Python."""

from __future__ import annotations

import json
import logging
import shlex
import shutil
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from click.testing import CliRunner
from sklearn.metrics import accuracy_score, r2_score

import streamsieve as ss
from streamsieve.blocks import RowBlock
from streamsieve.cli import main as command_line
from streamsieve.estimators import estimator_class
from streamsieve.registry import find_method
from streamsieve.sources.writers import label_text

from .combination_data import (
    TARGET,
    WEIGHT,
    Rows,
    make_rows,
    matrix_of,
    table_of,
    write,
    write_columns,
)
from .differences import (
    TOLERANCE,
    TRACEBACK,
    Tried,
    alike,
    attempt,
    compare,
    in_columns,
    same_names,
    same_predictions,
    same_run,
    same_run_in_memory,
    same_values,
    to_array,
)

if TYPE_CHECKING:
    from .combinations import Combination

READING = "target", "zero_based", "names", "drop", "only", "strings", "missing", "weight"

PROMISES = {
    "traceback": "a command ends with a result or with a refusal (exit code 1 or 2)",
    "python": (
        "select of the command line and of Python give the same features and scores, or refuse"
        " alike"
    ),
    "resume": "a run that is killed and resumed selects what an uninterrupted one does",
    "worker": "one worker of an engine selects what no engine does",
    "test": "the accuracy, or R2, of --test is that of predict",
    "estimator": "predict gives what the loaded model predicts of the same rows in memory",
    "transform": "apply writes what transform of the loaded model gives of the same rows in memory",
    "reduced": "predict of what apply wrote gives what predict of the complete rows gives",
    "order": "predict and apply find the columns of a table by name, in any order",
    "training order": (
        "columns of a table in another order give the same selected names and the same predictions"
    ),
}


def exemption(promise: str, c: Combination) -> str:
    """Return why a promise is not made of a combination, or nothing. Nothing else is left out."""
    learner = find_method(c.method).make()
    reads_as_is = not (c.drop or c.only or c.names or c.classes) and (c.strings, c.missing) == (
        "auto",
        "error",
    )
    no_argument = bool(c.groups and not learner.method.supports_groups) or (
        c.classes and learner.reads != "rows"
    )
    useless_test = c.test and not learner.method.predicts
    unknown_width = (
        c.layout == "sparse"
        and c.suffix[:3] == "svm"
        and dict(c.params).get("n_features_to_select") == 0.5
    )
    no_prediction = (
        not learner.method.predicts,
        "the method selects features and predicts nothing",
    )
    renumbers_table = (
        c.renumber and c.reduced_is_table,
        "tables have columns by name: apply refuses to renumber them",
    )
    words_in_svmlight = (
        c.labels == "words" and c.reduced_suffix[:3] == "svm",
        "labels of svmlight text are numbers",
    )
    has_rivals = learner.reads == "rows" and not learner.rule.keeps_all
    has_rivals &= (
        "n_features_to_select" in dict(c.params) or c.strings == "hash"
    )  # or there is room for all
    no_table = (not c.is_table, "the data is not a table")
    reasons = {
        "python": [
            (
                c.python == "fit" and c.weighted and learner.reads != "rows",
                "the estimator has no such argument",
            ),
            (c.python in ("fit", "fit_source") and c.holds_out, "estimators learn all rows"),
            (
                c.python == "fit" and not reads_as_is,
                "fit takes arrays as they are: it drops, fills and names nothing",
            ),
            (
                c.python in ("fit", "fit_source") and c.workers > 0,
                "estimators learn in their own process",
            ),
            (
                c.python in ("fit", "fit_source") and no_argument,
                "the estimator has no such argument",
            ),
            (
                c.python not in ("path", "sequences", "memory") and useless_test,
                "there are no rows to test on",
            ),
            (
                c.python in ("fit", "memory") and unknown_width,
                "svmlight text does not say its width, as a matrix does",
            ),
            (
                c.python in ("fit", "memory") and "columns" in c.layout,
                "in memory there are no files of columns",
            ),
            (
                c.python == "memory" and c.workers > 1,
                "how rows are divided among workers depends on the file",
            ),
        ],
        "resume": [
            (not c.checkpoint_every, "no checkpoints are asked for"),
            (learner.reads == "matrix", "methods on the whole matrix refuse checkpoints"),
            (
                learner.reads == "columns" and c.workers > 0,
                "methods on columns refuse checkpoints on an engine",
            ),
        ],
        "worker": [
            (not c.workers, "no engine is asked for"),
            (c.workers > 1, "what workers learn apart is merged, which is another result"),
        ],
        "test": [no_prediction, (not c.test, "no test is asked for")],
        "estimator": [no_prediction],
        "transform": [
            renumbers_table,
            words_in_svmlight,
            (
                c.gaps and c.missing == "skip" and c.reduced_suffix[:3] == "svm",
                "svmlight text holds no missing values",
            ),
        ],
        "reduced": [
            no_prediction,
            renumbers_table,
            words_in_svmlight,
            (
                learner.reads == "rows" and learner.rule.keeps_all,
                "the method predicts with all features, and says so of reduced rows",
            ),
        ],
        "order": [no_table],
        "training order": [
            no_table,
            (
                learner.reads == "columns",
                "the method takes columns as they come: their order is part of its input",
            ),
            (
                has_rivals,
                (
                    "the first rows fill the budget with features that are alike so far, in order"
                    " of their ids"
                ),
            ),
            (c.random_state is not None, "the method draws features by their ids"),
            ("max_cells" in dict(c.params), "which features share a cell depends on their ids"),
        ],
    }
    return next((reason for holds, reason in reasons.get(promise, []) if holds), "")


class Trial:
    """A combination in a folder: commands that were run, and violated promises."""

    def __init__(self, combination: Combination, folder: Path, only: str | None = None) -> None:
        self.c, self.folder, self.only, self.out = combination, folder, only, folder / "out"
        self.run_dir, self.options, self.score_option = (
            self.out / "run",
            dict[str, Any](),
            list[str](),
        )
        self.rows, self.new_rows = make_rows(combination, 0), make_rows(combination, 1)
        self.train, self.new = (
            folder / f"train.{combination.suffix}",
            folder / f"new.{combination.new_suffix}",
        )
        self.commands: list[str] = []
        self.violations: list[str] = []
        self.counts: Counter[str] = Counter()
        self.out.mkdir()

    def check(self, promise: str, difference: Callable[[], str]) -> None:
        """Record a violation if a promise applies to the combination and there is a difference.

        ``difference`` describes the difference in words.
        """
        if self.only not in (None, promise):
            return
        reason = exemption(promise, self.c)
        self.counts[f"{promise}: {reason or 'checked'}"] += 1
        try:
            problem = "" if reason else difference()
        except Exception:
            problem = traceback.format_exc(limit=-4)
        if problem:
            self.violations.append(f"{promise}: {problem}")

    def run(self) -> None:
        """Write the data, select from it, and use what was selected."""
        c = self.c
        (
            write_columns(self.train, self.rows, c)
            if "columns" in c.layout
            else write(self.train, self.rows, c, c.is_table)
        )
        write(self.new, self.new_rows, c, c.new_is_table)
        (self.folder / "names.txt").write_text("".join(f"{word}\n" for word in self.words))
        pairs = groups_of(c).items()
        lines = ("\t".join(pair) if c.groups == "pairs" else pair[1] for pair in pairs)
        (self.folder / "groups.txt").write_text("".join(f"{line}\n" for line in lines))
        self.options = self.select_options()
        selected = self.select(self.train, "-o", self.run_dir)
        self.counts["refused" if selected.code else "selected"] += 1
        self.check("python", lambda: self.compare_python(selected))
        if selected.code:
            return
        self.check("resume", lambda: compare(selected, self.resumed(), same_run))
        others = {
            name: value for name, value in self.options.items() if name not in ("engine", "workers")
        }
        self.check(
            "worker", lambda: compare(selected, self.select(self.train, options=others), same_run)
        )
        self.use(selected)

    def use(self, selected: Tried) -> None:
        """Check what is promised of a finished run."""
        c, model, memory = self.c, ss.load(self.run_dir), self.new_in_memory()
        self.score_option = ["--scores"] if hasattr(model, "classes_") else []
        expected, reduced = self.predict(self.new), self.out / f"reduced.{c.reduced_suffix}"
        self.check(
            "estimator",
            lambda: compare(expected, self.predict_with(model, memory), same_predictions),
        )
        self.check("test", lambda: self.compare_test(selected.value, expected))
        applied = self.apply(self.new, reduced)
        again = applied if applied.code else self.predict(reduced)
        self.check(
            "transform",
            lambda: compare(
                applied, attempt(lambda: to_array(model.transform(memory))), same_values
            ),
        )
        self.check("reduced", lambda: compare(expected, again, same_predictions))
        train, new = (self.folder / f"shuffled-{path.name}" for path in (self.train, self.new))
        if c.is_table:
            order = np.random.default_rng(c.seed).permutation(c.n_columns)
            for path, rows in ((train, self.rows), (new, self.new_rows)):
                write(path, rows._replace(frame=rows.frame.iloc[:, order]), c, True, target_at=0)
        self.check("order", lambda: compare(expected, self.predict(new), same_predictions))
        self.check("order", lambda: compare(applied, self.apply(new, reduced), same_values))
        self.check("training order", lambda: self.compare_trained(train, selected, expected))

    def compare_trained(self, train: Path, selected: Tried, expected: Tried) -> str:
        """Compare with a run on other data, by selected names and by predictions."""
        run_dir = self.out / "shuffled"
        names = compare(selected, self.select(train, "-o", run_dir), same_names)
        return names or compare(expected, self.predict(self.new, run_dir), same_predictions)

    # ---- commands

    def command(self, *words: Any) -> Tried:
        """Run a command in this process."""
        self.commands.append(shlex.join(["streamsieve", *map(str, words)]))
        done = CliRunner().invoke(command_line, [*map(str, words), "--quiet"])
        if done.exception is None or isinstance(done.exception, SystemExit):
            return Tried(done.exit_code, done.stdout, done.stderr.strip())
        lines = "".join(traceback.format_exception(done.exception, limit=-3))
        self.violations.append(f"traceback: {self.commands[-1]}\n{lines}")
        return Tried(TRACEBACK)

    @property
    def words(self) -> list[str]:
        return [f"word{column}" for column in range(self.c.n_columns)]

    def select_options(self) -> dict[str, Any]:
        """Return the keyword arguments of ``select``, which are named as on the command line."""
        c = self.c
        given = {
            "method": c.method,
            **dict(c.params),
            "target": TARGET if c.is_table else None,
            "zero_based": c.zero_based or None,
            "names": str(self.folder / "names.txt") if c.names else None,
            "drop": [c.written(column) for column in c.drop] or None,
            "only": None if c.only is None else [c.written(column) for column in c.only],
            "strings": c.strings,
            "missing": c.missing,
            "classes": sorted(map(label_text, set(self.rows.y.tolist()))) if c.classes else None,
            "groups": str(self.folder / "groups.txt") if c.groups else None,
            "seed": c.random_state,
            "engine": "local" if c.workers else None,
            "workers": c.workers or None,
            "test": str(self.new) if c.test else 0.3 if c.holds_out else None,
            "weight": WEIGHT if c.weighted else None,
        }
        return {name: value for name, value in given.items() if value is not None}

    def select(self, data: Path, *more: Any, options: dict[str, Any] | None = None) -> Tried:
        done = self.command("select", data, *typed(options or self.options), *more, "--json")
        return done if done.code else done._replace(value=json.loads(done.value))

    def resumed(self) -> Tried:
        """Interrupt the run at a report of its progress, and resume it from its folder."""
        c, folder, killed, reports = self.c, self.out / "first", self.out / "killed", 0

        def watch(progress: Any) -> None:
            nonlocal reports
            reports += 1
            if reports == c.stop:
                shutil.copytree(folder, killed)
                raise KeyboardInterrupt

        words = [
            "streamsieve",
            "select",
            self.train,
            *typed(self.options),
            "--checkpoint-every",
            c.checkpoint_every,
        ]
        self.commands.append(
            f"{shlex.join(map(str, words))} -o {folder}  # killed at report {c.stop}: {killed}"
        )
        try:
            ss.select(
                self.train,
                output=folder,
                checkpoint_every=c.checkpoint_every,
                watch=watch,
                **self.options,
            )
        except KeyboardInterrupt:
            pass
        done = self.command("select", "--resume", killed if killed.exists() else folder, "--json")
        return done if done.code else done._replace(value=json.loads(done.value))

    @property
    def base(self) -> list[str]:
        return ["--zero-based"] if self.c.zero_based and self.c.says_base else []

    def predict(self, data: Path, run_dir: Path | None = None) -> Tried:
        """Return the predicted labels, if there are such, and the scores or numbers."""
        output = self.out / "predicted.csv"
        done = self.command(
            "predict", run_dir or self.run_dir, data, *self.base, *self.score_option, "-o", output
        )
        if done.code:
            return done
        lines = [line.split(",") for line in output.read_text().splitlines()]
        if not self.score_option:
            return done._replace(value=(None, np.array(lines, float)))
        return done._replace(
            value=(
                [line[0] for line in lines[1:]],
                np.array([line[1:] for line in lines[1:]], float),
            )
        )

    def apply(self, data: Path, output: Path) -> Tried:
        """Return the selected features of rows as they were written."""
        c = self.c
        done = self.command(
            "apply", self.run_dir, data, "-o", output, *self.base, *["--renumber"] * c.renumber
        )
        if done.code:
            return done
        target = (TARGET if c.is_table else "label") if c.reduced_is_table else None
        selected, n_rows = ss.load(self.run_dir).get_support(indices=True), len(self.new_rows.y)
        if not selected.size:  # a table of its target alone cannot be read
            return done._replace(value=np.zeros((n_rows, 0)))
        source = ss.open_source(output, target, zero_based=c.zero_based)
        written = RowBlock.joined(list(source.row_blocks("keep"))).to_dense()
        wide = np.zeros((n_rows, max(c.n_columns, selected[-1] + 1, written.shape[1])))
        wide[:, : written.shape[1]] = written
        return done._replace(
            value=(
                wide[:, : selected.size] if c.renumber or c.reduced_is_table else wide[:, selected]
            )
        )

    # ---- their likes in Python

    def compare_python(self, selected: Tried) -> str:
        """Compare with Python, which may refuse to read an open source in another way."""
        c, python = self.c, attempt(self.select_in_python)
        if c.python == "open source" and python.code == 2:
            return ""
        if c.python == "path" and TRACEBACK != selected.code != python.code:
            return f"the command line ends with {selected}, Python with {python}"
        return compare(
            selected, python, same_run_in_memory if c.python in ("memory", "fit") else same_run
        )

    def select_in_python(self) -> dict[str, Any]:
        """Return what Python selects from the same data, given in the way that was drawn."""
        c, way, options = self.c, self.c.python, dict(self.options)
        method = options.pop("method")
        if way == "path":
            return ss.select(self.train, method, **options).to_dict()
        if way in ("sequences", "memory", "fit"):
            written = (
                c if way == "sequences" else replace(c, zero_based=True)
            )  # ids in memory count from 0
            given = {
                name: [written.written(i) for i in getattr(c, name) or ()]
                for name in ("drop", "only")
            }
            groups = groups_of(written)
            given["groups"] = groups if c.groups == "pairs" else list(groups.values())
            given |= {"names": self.words} if way == "sequences" else {}
            options |= {name: value for name, value in given.items() if name in options}
        if way == "sequences":
            return ss.select([self.train], method, **options).to_dict()
        X, y = self.rows.frame if c.is_table else matrix_of(self.rows), self.rows.y
        if way == "memory":
            return ss.select(self.table if c.is_table else (X, y), method, **options).to_dict()
        if c.test:
            options.pop("test")  # a source says nothing of how other rows are read
        reading = {name: options.pop(name) for name in READING if name in options}
        options |= (
            {"missing": "skip"} if c.missing == "skip" else {}
        )  # a parameter of the method, too
        if way == "source":
            return ss.select(ss.open_source(self.train, **reading), method, **options).to_dict()
        if way == "open source":
            plain = {
                name: reading.pop(name) for name in ("target", "zero_based") if name in reading
            }
            return ss.select(
                ss.open_source(self.train, **plain), method, **(reading | options)
            ).to_dict()
        fit_options = {name: options.pop(name) for name in ("classes", "groups") if name in options}
        options |= {"random_state": options.pop("seed")} if "seed" in options else {}
        model = estimator_class(method)(**options)
        if way == "fit":
            fit_options |= {"sample_weight": self.rows.weights} if c.weighted else {}
            return facts_of(model.fit(X, y, **fit_options))
        return facts_of(model.fit_source(ss.open_source(self.train, **reading), **fit_options))

    @property
    def table(self) -> pd.DataFrame:
        """Return the rows to learn from in memory, as they are in the file."""
        return table_of(self.rows, self.c, None)

    def new_in_memory(self) -> Any:
        """Return new rows as the model has learned them: tables or matrices of kept columns."""
        c, frame = self.c, self.new_rows.frame
        if c.is_table:
            return frame.iloc[:, c.kept]
        zeroed = frame * np.isin(np.arange(c.n_columns), c.kept)
        return zeroed if c.has_titles else matrix_of(Rows(zeroed, self.new_rows.y))

    def predict_with(self, model: Any, X: Any) -> Tried:
        if not self.score_option:
            return attempt(lambda: (None, in_columns(model.predict(X))))
        return attempt(
            lambda: (
                list(map(label_text, model.predict(X).tolist())),
                in_columns(model.decision_function(X)),
            )
        )

    def compare_test(self, result: dict[str, Any], expected: Tried) -> str:
        if expected.code:
            return f"select has tested the rows, and predict ends with {expected}"
        (labels, scores), y = expected.value, self.new_rows.y
        if labels is None:
            name, value = "test_r2", r2_score(y, scores[:, 0])
        else:
            name, value = "test_accuracy", accuracy_score(list(map(label_text, y.tolist())), labels)
        return (
            ""
            if alike(result[name], value, TOLERANCE)
            else f"{name} is {result[name]}, and {value} by predict"
        )


def groups_of(c: Combination) -> dict[str, str]:
    """Return the group of every feature; what drop and only leave out of a table is not one."""
    columns = c.kept if c.is_table else range(c.n_columns)
    return {f"word{i}" if c.names else c.written(i): f"group {i // 3}" for i in columns}


def typed(options: dict[str, Any]) -> list[str]:
    """Return options as they are typed."""
    words = []
    for name, value in options.items():
        words.append(
            {"method": "-m", "n_features_to_select": "-k"}.get(name, f"--{name.replace('_', '-')}")
        )
        if value is not True:
            words.append(
                ",".join(value)
                if isinstance(value, list)
                else value
                if isinstance(value, str)
                else json.dumps(value)
            )
    return words


def facts_of(model: Any) -> dict[str, Any]:
    selection = model.selection()
    facts = {
        "selected": selection.indices.tolist(),
        "scores": selection.scores.tolist(),
        "n_rows": model.n_rows_,
    }
    names = None if selection.names is None else selection.names.tolist()
    return facts | {"n_features": model.n_features_in_, "names": names}


@contextmanager
def silence() -> Iterator[None]:
    """Keep the warnings and notes of many small runs to themselves."""
    notes = logging.getLogger("streamsieve")
    handlers, level, propagate = notes.handlers, notes.level, notes.propagate
    notes.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        notes.handlers, notes.propagate = handlers, propagate
        notes.setLevel(level)


def try_promises(combination: Combination, folder: Path, only: str | None = None) -> Trial:
    """Try a combination in an empty folder."""
    trial = Trial(combination, folder, only)
    with silence():
        try:
            trial.run()
        except Exception:  # of what is neither a command nor compared
            trial.violations.append(f"traceback: {traceback.format_exc(limit=-4)}")
    return trial
