"""Comparisons: against a naive loop, interrupted and resumed, in processes, with failing cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv
from scipy.sparse import csr_array
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import streamsieve as ss
from streamsieve.distributed.engine import Answer
from streamsieve.distributed.local import ProcessEngine, ThreadEngine
from streamsieve.errors import DataError, UsageError
from streamsieve.evaluation import cells
from streamsieve.evaluation.cells import DataSet, Trial, TrialRunner
from streamsieve.training import Progress
from streamsieve.workflow import compare as comparing

TIMES = ["seconds", "learn_seconds", "compile_seconds", "peak_memory_bytes"]
HOSTILE = "<script>\x1b[31m"


def problem(seed: int = 0, rows: int = 60) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, rows)
    X = random.normal(size=(rows, 8))
    X[:, 1] += 1.5 * y
    X[:, 5] -= y
    return X, np.array(["no", "yes"])[y]


class Counting(TrialRunner):
    """A bench that counts what all benches run."""

    trials: ClassVar[list[Trial]] = []

    def run(self, data: DataSet, trial: Trial) -> Any:
        Counting.trials.append(trial)
        return super().run(data, trial)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> list[Trial]:
    """Run trials on a thread, which starts at once, and return the list of trials."""
    monkeypatch.setattr(comparing, "ProcessEngine", lambda jobs: ThreadEngine(1))
    monkeypatch.setattr(comparing, "TrialRunner", Counting)
    Counting.trials = []
    return Counting.trials


def without_times(comparison: ss.Comparison) -> pa.Table:
    return comparison.table.drop_columns(TIMES)


def test_figures_are_those_of_a_naive_loop(in_this_process: list[Trial]) -> None:
    X, y = problem()
    lines = iter(ss.compare((X, y), ["sofs", "f-test"], [1, 3], folds=2, seeds=2).lines())
    for method in ("sofs", "f-test"):
        for k in (1, 3):
            for seed in (0, 1):
                folds = StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y)
                for fold, (train, test) in enumerate(folds):
                    line = next(lines)
                    if method == "sofs":
                        selector = ss.SOFS(k).fit(X[train], y[train])
                        chosen = selector.get_support(indices=True)
                    else:
                        best = SelectKBest(f_classif, k=k).fit(X[train], y[train])
                        chosen = best.get_support(indices=True)
                    asked = {
                        "method": method,
                        "k": k,
                        "seed": seed,
                        "fold": fold,
                        "model": "linear",
                    }
                    assert asked.items() <= line.items()
                    assert line["selected"] == chosen.tolist()
                    assert line["n_selected"] == k
                    model = make_pipeline(StandardScaler(), LinearSVC(dual=False))
                    model.fit(X[train][:, chosen], y[train])
                    predicted, scores = (
                        ask(X[test][:, chosen]) for ask in (model.predict, model.decision_function)
                    )
                    assert line["accuracy"] == accuracy_score(y[test], predicted)
                    assert line["balanced_accuracy"] == pytest.approx(
                        balanced_accuracy_score(y[test], predicted)
                    )
                    assert line["auc"] == pytest.approx(roc_auc_score(y[test], scores))
                    if method == "sofs":
                        own_line = next(lines)
                        assert own_line["model"] == "own"
                        assert own_line["accuracy"] == selector.score(X[test], y[test])
                        assert own_line["auc"] == pytest.approx(
                            roc_auc_score(y[test], selector.decision_function(X[test]))
                        )
    assert next(lines, None) is None


def test_hold_out_is_what_select_measures(in_this_process: list[Trial]) -> None:
    """Check test rows with more features, or fewer; seeds but 0 shuffle the training rows."""
    X, y = problem(1)
    wide = csr_array(np.hstack([X, np.ones((60, 2))]))
    for test in (wide, csr_array(X[:, :6])):
        lines = ss.compare((csr_array(X), y), "sofs", 3, test=(test, y), seeds=2).lines()
        for line in lines:
            rows = np.arange(60) if line["seed"] == 0 else np.random.default_rng(1).permutation(60)
            record = ss.select((csr_array(X)[rows], y[rows]), "sofs", 3, test=(test, y))
            assert line["selected"] == record.selection.indices.tolist()
            assert line["fold"] is None
            if line["model"] == "own":
                assert line["accuracy"] == record.test_accuracy
                assert line["auc"] == pytest.approx(record.details["test_auc"])
            assert line["online_mistake_rate"] == record.mistakes / 60
    assert (
        lines[0]["selected"] != lines[2]["selected"] or lines[0]["accuracy"] != lines[2]["accuracy"]
    )


def test_an_interrupted_comparison_goes_on(
    tmp_path: Path, in_this_process: list[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, asked = {"one": problem(0), HOSTILE: problem(1)}, {"ks": [1, 2], "folds": 2}
    whole = ss.compare(data, ["sofs", "f-test"], **asked)
    total = len(in_this_process)
    in_this_process.clear()

    def stop(now: Progress) -> None:
        if now.done == 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ss.compare(data, ["sofs", "f-test"], **asked, output=tmp_path, watch=stop)
    before = len(in_this_process)
    assert len(list((tmp_path / "cells").iterdir())) == 14
    with pytest.raises(UsageError, match="not finished"):
        ss.Comparison.load(tmp_path)
    in_this_process.clear()
    again = ss.compare(data, ["sofs", "f-test"], **asked, output=tmp_path)
    assert 0 < len(in_this_process) == total - before < total
    assert without_times(again).equals(without_times(whole))
    assert ss.Comparison.load(tmp_path).table.equals(again.table)

    in_this_process.clear()  # more of everything: only that is run, and no selection is made twice
    selected: list[Trial] = []
    monkeypatch.setattr(cells, "run_selection", lambda data, rows, trial: selected.append(trial))
    monkeypatch.setattr(cells, "warm_up", lambda data, trial: None)
    more = ss.compare(data, ["sofs", "f-test"], **asked, output=tmp_path, models=["linear", "knn"])
    assert not selected
    assert len(in_this_process) == total
    assert all(trial.models == ("knn",) for trial in in_this_process)
    assert more.table.num_rows == whole.table.num_rows + total
    assert more.table["error"].null_count == more.table.num_rows

    with pytest.raises(UsageError, match="the data 'one' has changed"):
        ss.compare(data | {"one": problem(2)}, ["sofs"], **asked, output=tmp_path)
    (tmp_path / "request.json").unlink()
    with pytest.raises(UsageError, match="does not hold a comparison"):
        ss.compare(data, ["sofs"], **asked, output=tmp_path)


def test_processes_give_the_same_table_and_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {"methods": ["sofs", "trees"], "ks": [2], "folds": 2}
    engines: list[ProcessEngine] = []

    def open_engine(jobs: int) -> ProcessEngine:
        engines.append(ProcessEngine(jobs))
        engines[-1].processes = Kept()
        return engines[-1]

    class Kept(dict[int, Any]):
        """Remembers what it has had."""

        had: ClassVar[list[Any]] = []

        def __setitem__(self, worker: int, process: Any) -> None:
            self.had.append(process.process)
            super().__setitem__(worker, process)

    monkeypatch.setattr(comparing, "ProcessEngine", open_engine)
    seen: list[Progress] = []

    def stop(now: Progress) -> None:
        seen.append(now)
        if now.done > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ss.compare(problem(), **asked, jobs=2, output=tmp_path, watch=stop)
    assert len(Kept.had) == 2
    assert all(process.poll() is not None for process in Kept.had)
    assert seen[-1].total == 6
    assert seen[-1].unit in ("of 6 cells, sofs", "of 6 cells, trees")
    monkeypatch.setattr(comparing, "ProcessEngine", lambda jobs: ThreadEngine(jobs))
    resumed = ss.compare(problem(), **asked, jobs=1, output=tmp_path)
    alone = ss.compare(problem(), **asked, jobs=1)
    assert without_times(resumed).equals(without_times(alone))
    assert all(line["peak_memory_bytes"] > 1e7 for line in resumed.lines())


def test_what_fails_is_a_line_with_the_reason(tmp_path: Path, in_this_process: list[Trial]) -> None:
    X, _ = problem()
    numbers = X[:, 0] + 0.1 * X[:, 1]
    comparison = ss.compare((X, numbers), ["sofs", "chi2", "saola"], 2, folds=2, output=tmp_path)
    errors = {line["method"]: line["error"] for line in comparison.lines()}
    assert (
        "but the target holds numbers; methods that learn numbers: sofs-regressor" in errors["sofs"]
    )
    assert "chi2 is for classes" in errors["chi2"]
    assert errors["saola"] is None
    assert comparison.best()[0]["method"] == "saola"
    assert "(6 failed)" in repr(comparison)
    in_this_process.clear()
    ss.compare((X, numbers), ["sofs", "chi2", "saola"], 2, folds=2, output=tmp_path)
    assert not in_this_process  # a reason that lasts is kept


def test_lost_workers_and_lack_of_memory_are_tried_again(
    tmp_path: Path, in_this_process: list[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Losing(ThreadEngine):
        lost = 1

        def next(self) -> Answer:
            answer = super().next()
            lost, Losing.lost = Losing.lost > 0, Losing.lost - 1
            return Answer(answer.worker, lost=True) if lost else answer

    monkeypatch.setattr(comparing, "ProcessEngine", lambda jobs: Losing(1))
    comparison = ss.compare(problem(), "f-test", [1, 2], folds=2, output=tmp_path)
    errors = [line["error"] for line in comparison.lines()]
    assert errors == [comparing.LOST, None, None, None]

    def without_memory(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(cells, "select_rival", without_memory)
    again = ss.compare(problem(), "f-test", [1, 2, 3], folds=2, output=tmp_path)
    assert [line["error"] for line in again.lines()] == [
        cells.OUT_OF_MEMORY,
        None,
        None,
        None,
        *[cells.OUT_OF_MEMORY] * 2,
    ]
    monkeypatch.undo()
    monkeypatch.setattr(comparing, "ProcessEngine", lambda jobs: ThreadEngine(1))
    last = ss.compare(problem(), "f-test", [1, 2, 3], folds=2, output=tmp_path)
    assert last.table["error"].null_count == 6


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_integers_are_what_the_task_says_for_every_method(
    in_this_process: list[Trial], task: str
) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 6))
    y = np.round(10 * X[:, 2]).astype(int) if task == "regression" else (X[:, 2] > 0).astype(int)
    methods = ("online-substitution", "grafting", "projected-gradient", "saola", "alpha-investing")
    lines = ss.compare((X, y), methods, 2, folds=2, task=task).lines()
    assert [line["error"] for line in lines if line["error"]] == []
    assert all((line["r2"] is None) == (task == "classification") for line in lines)


def test_methods_get_the_numbers_of_features_that_they_can_take(
    in_this_process: list[Trial],
) -> None:
    comparison = ss.compare(
        problem(),
        ["saola", "osfs", "f-test"],
        [2, "auto"],
        folds=2,
        params={"saola": {"alpha": 0.2}},
    )
    asked = {(line["method"], line["k"]) for line in comparison.lines()}
    assert asked == {("saola", 2), ("saola", None), ("osfs", None), ("f-test", 2)}
    assert {trial.params.get("alpha") for trial in in_this_process if trial.method == "saola"} == {
        0.2
    }
    with pytest.raises(UsageError, match="f-test cannot choose"):
        ss.compare(problem(), ["saola", "f-test"], "auto")


def test_damaged_cells_are_made_again(tmp_path: Path, in_this_process: list[Trial]) -> None:
    whole = ss.compare(problem(), "f-test", [1, 2], folds=2, output=tmp_path)
    first, second, third, _ = sorted((tmp_path / "cells").iterdir())
    first.write_text("{")
    second.write_text(json.dumps(json.loads(second.read_text()) | {"selected": "all"}))
    in_this_process.clear()
    again = ss.compare(problem(), "f-test", [1, 2], folds=2, output=tmp_path)
    assert len(in_this_process) == 2
    assert without_times(again).equals(without_times(whole))
    third.unlink()
    third.symlink_to(first)
    with pytest.raises(DataError, match="is a link"):
        ss.compare(problem(), "f-test", [1, 2], folds=2, output=tmp_path)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"methods": "sosf"}, "did you mean sofs.*methods of scikit-learn are chi2"),
        ({"methods": []}, "no method is given"),
        ({"ks": [0]}, "ks: must be .* got 0"),
        ({"ks": [2.5]}, "ks: must be .* got 2.5"),
        ({"seeds": 0}, "seeds: .* got 0"),
        ({"seeds": [-1]}, "seeds: .* got -1"),
        ({"folds": 1}, "folds: .* got 1"),
        ({"jobs": 0}, "jobs: .* got 0"),
        ({"models": "own"}, "is added automatically"),
        ({"models": "forst"}, "did you mean forest"),
        ({"task": "guess"}, "task: .* got 'guess'"),
        (
            {"params": {"saola": {"alpha": 0.1}}},
            "parameters are given for saola, which is not compared",
        ),
        ({"params": {"f-test": {"alpha": 0.1}}}, "its parameters cannot be set"),
        ({"params": {"sofs": {"n_features_to_select": 3}}}, "give it as ks"),
        ({"params": {"sofs": {"gama": 3}}}, "did you mean gamma"),
        ({"params": {"sofs": {"gamma": -3}}}, "sofs: gamma=-3: must be"),
        ({"missing": "skip"}, "do not support missing values"),
        ({"test": [problem(), problem()]}, "1 data sets and 2 to test on"),
        ({"test": {"other": problem()}}, "must have the names"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_done(
    asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        ss.compare(problem(), **{"methods": ["sofs", "f-test"], "ks": 2, **asked})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((np.eye(4), [0, 1, 0, 1]), "4 rows are too few for 5 folds"),
        ((np.eye(12), [0] * 11 + [1]), "class 1 has 1 rows, too few for 5 folds"),
        ((np.eye(12), [1] * 12), "in all rows"),
        (
            (np.where(np.eye(12) > 0, np.nan, 1.0), [0, 1] * 6),
            "row 1: the value of feature 0 is missing",
        ),
    ],
)
def test_data_that_cannot_be_compared_on_is_refused(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ss.compare(data, "f-test", 2)


def test_data_is_named_by_its_files(tmp_path: Path) -> None:
    from streamsieve.workflow.sets import name_sets

    assert list(name_sets(["a/one.svm.xz", "b/two.csv"])) == ["one", "two"]
    assert list(name_sets(["a/one.svm", "b/one.svm"])) == ["a/one.svm", "b/one.svm"]
    assert list(name_sets([problem(), problem()])) == ["data 1", "data 2"]
    assert list(name_sets(problem())) == ["data"]
    with pytest.raises(UsageError, match="the same"):
        name_sets(["one.svm", "one.svm"])
    with pytest.raises(UsageError, match="no data"):
        name_sets([])


# ---- what a comparison says


def lines_of(figures: dict[tuple[str, str, int], list[float]]) -> list[dict[str, Any]]:
    """Lines by data, method and k, with accuracies of seeds."""
    return [
        cells.EMPTY_LINE
        | {
            "data": data,
            "method": method,
            "k": k,
            "seed": seed,
            "model": "linear",
            "accuracy": accuracy,
        }
        | {"n_selected": k, "selected": list(range(k)), "seconds": 0.5, "peak_memory_bytes": 10**6}
        for (data, method, k), accuracies in figures.items()
        for seed, accuracy in enumerate(accuracies)
    ]


def request_of(*names: str, methods: tuple[str, ...] = ("a", "b", "c")) -> dict[str, Any]:
    data = [{"name": name, "features": 10, "fingerprint": "f", "kind": "classes"} for name in names]
    return {
        "data": data,
        "methods": list(methods),
        "models": ["linear"],
        "ks": [1, 2],
        "seeds": [0, 1],
    }


def test_summary_best_and_stability_by_hand() -> None:
    lines = lines_of(
        {("one", "a", 1): [0.5, 0.7], ("one", "a", 2): [0.9, 0.9], ("one", "b", 2): [0.9]}
    )
    lines[-1]["n_selected"] = 1
    lines.append(lines[-1] | {"seed": 1, "accuracy": None, "selected": None, "error": "it broke"})
    comparison = ss.Comparison.of(lines, request_of("one", methods=("a", "b")))
    first, _, last = comparison.summary()
    assert first["accuracy"] == pytest.approx(0.6)
    assert first["accuracy_sd"] == pytest.approx(0.2 / np.sqrt(2))
    assert (last["n"], last["failed"], last["error"], last["accuracy_sd"]) == (
        1,
        1,
        "it broke",
        None,
    )
    assert [(line["method"], line["k"]) for line in comparison.best()] == [
        ("b", 2)
    ]  # fewer features, at the same accuracy
    assert [(line["method"], line["value"]) for line in comparison.stability()] == [
        ("a", 1.0),
        ("a", 1.0),
    ]
    assert comparison.ranks().average == {"b": 1.0, "a": 2.0}  # a: the mean of 0.6 and 0.9
    assert comparison.ranks(k=2).average == {"a": 1.5, "b": 1.5}
    assert comparison.ranks().critical_difference is None
    with pytest.raises(UsageError, match="unknown measure"):
        comparison.ranks("beauty")


def test_ranks_over_data_sets_are_friedmans() -> None:
    from scipy.stats import friedmanchisquare

    scores = {"a": [0.9, 0.8, 0.7, 0.95], "b": [0.8, 0.9, 0.6, 0.9], "c": [0.1, 0.2, 0.3, 0.4]}
    names = ["w", "x", "y", "z"]
    lines = lines_of({(name, m, 1): [scores[m][i]] for i, name in enumerate(names) for m in scores})
    ranks = ss.Comparison.of(lines, request_of(*names)).ranks()
    assert ranks.average == {"a": 1.25, "b": 1.75, "c": 3.0}
    assert ranks.friedman is not None
    assert ranks.friedman.p_value == pytest.approx(friedmanchisquare(*scores.values()).pvalue)
    assert ranks.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 4)), rel=1e-3)
    assert ranks.cliques == [["a", "b"], ["b", "c"]]
    without = [line for line in lines if (line["data"], line["method"]) != ("w", "b")]
    assert ss.Comparison.of(without, request_of(*names)).ranks().omitted == ["b"]


def test_a_saved_comparison_is_the_same(tmp_path: Path) -> None:
    lines = lines_of({(HOSTILE, "a", 1): [0.5, float("nan")], (HOSTILE, "b", 2): [0.9]})
    whole = ss.Comparison.of(lines, request_of(HOSTILE, methods=("a", "b")))
    whole.save(tmp_path)
    assert ss.Comparison.load(tmp_path).table.equals(whole.table)
    table = csv.read_csv(tmp_path / "comparison.csv")
    assert table["selected"].to_pylist() == [0, 0, "0 1"] or table["selected"].to_pylist() == [
        "0",
        "0",
        "0 1",
    ]
    content = json.loads((tmp_path / "comparison.json").read_text(), parse_constant=pytest.fail)
    assert {"data", "methods", "ks", "seeds", "lines", "summary", "ranks"} <= set(content)
    (tmp_path / "comparison.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="damaged"):
        ss.Comparison.load(tmp_path)
    with pytest.raises(UsageError, match="no comparison"):
        ss.Comparison.load(tmp_path / "cells")


def test_hostile_names_are_shown_as_text() -> None:
    lines = lines_of({(HOSTILE, "a", 1): [0.5], (HOSTILE, "b", 2): [0.9]})
    comparison = ss.Comparison.of(lines, request_of(HOSTILE, methods=("a", "b")))
    assert "\x1b" not in repr(comparison)
    assert "b k=2 (90.0%)" in repr(comparison)
    page = comparison._repr_html_()
    assert "\x1b" not in page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert len(comparison.to_pandas()) == 2
    assert "<script>" not in comparison.plot()._repr_html_()


@pytest.mark.parametrize("kind", ["object", "string", "category"])
def test_labels_are_text_of_pandas(kind: str) -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(60, 5)), columns=list("abcde"))
    labels = pd.Series(np.where(table["c"] > 0, "ill", "well"), dtype=kind)
    comparison = ss.compare((table, labels), methods=["saola"], ks=[1], folds=3, seeds=[0])
    assert set(comparison.table["selected"].to_pylist()[0]) == {2}
