"""Columns in shards: selections on several workers, also when some of them are lost."""

from __future__ import annotations

import os
import signal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from streamsieve import DataError, UsageError, open_source
from streamsieve.blocks import ColumnBlock, columns_of
from streamsieve.distributed import columns
from streamsieve.distributed.columns import Survivors, train_column_shards
from streamsieve.distributed.local import ProcessEngine, ThreadEngine
from streamsieve.errors import RunError
from streamsieve.registry import METHODS, find_method
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.base import ColumnBlockSource, ColumnSource, DataSource
from streamsieve.sources.columns import as_column_source
from streamsieve.sources.synthetic import SubstitutionSource
from streamsieve.sources.writers import write_columns
from streamsieve.training import Progress, train
from tests.paths import DATA

from .cases import LosingAfterAnAnswer, LosingAll, LosingOften, LosingOnce, assert_same

LEUKEMIA = DATA / "leukemia.svm.xz"
METHODS_AND_PARAMETERS = [
    ("saola", {}),
    ("saola", {"measure": "su", "bins": 3}),
    ("saola", {"n_features_to_select": 10, "variant": "lofs", "measure": "fisher_z"}),
    ("group-saola", {}),
    ("online-substitution", {"n_features_to_select": 20}),
    ("online-substitution", {"n_features_to_select": 5, "solver": "paper", "n_scans": 3}),
]
VARIANTS = pytest.mark.parametrize(("method", "params"), METHODS_AND_PARAMETERS)


@cache
def leukemia() -> ColumnSource:
    return as_column_source(open_source(LEUKEMIA))


def correlated(n_rows: int = 300, n_features: int = 600, seed: int = 0) -> ArraySource:
    """Return columns in families of six that vary together.

    One in ten families is informative about the target.
    """
    random = np.random.default_rng(seed)
    families = random.normal(size=(n_rows, n_features // 6))
    X = np.repeat(families, 6, axis=1) + 0.5 * random.normal(size=(n_rows, n_features))
    y = families[:, ::10] @ random.normal(size=-(-families.shape[1] // 10)) + random.normal(
        size=n_rows
    )
    names = np.array([f"column {i}" for i in range(n_features)], object)
    return ArraySource(X[:, random.permutation(n_features)], y, names)


def sequential(data: DataSource, method: str = "saola", groups: Any = None, **params: Any) -> Any:
    learner: Any = find_method(method).make(**params)
    train(learner, data, groups=groups)
    return learner


def in_shards(
    data: DataSource,
    n_workers: int,
    method: str = "saola",
    engine: Any = ThreadEngine,
    **options: Any,
) -> Any:
    learner: Any = find_method(method).make(**options.pop("params", {}))
    with engine(n_workers) as running:
        learner.training = train_column_shards(learner, data, running, **options)
    return learner


def jaccard(first: Any, second: Any) -> float:
    a, b = (set(learner.results.selection().indices.tolist()) for learner in (first, second))
    return len(a & b) / len(a | b)


def explained(learner: Any, source: ArraySource) -> float:
    """Return R2 of a least squares fit on the selected columns."""
    X = np.column_stack(
        [np.ones(source.n_rows or 0), source.matrix[:, learner.results.selection().indices]]
    )
    rest = source.y - X @ np.linalg.lstsq(X, source.y, rcond=None)[0]
    return float(1 - rest.var() / np.var(source.y))


# ---- one worker


@VARIANTS
def test_one_worker_is_one_pass_bit_for_bit(method, params):
    single, sharded = (
        sequential(leukemia(), method, **params),
        in_shards(leukemia(), 1, method, params=params),
    )
    assert_same(single, sharded)
    assert "approximate" not in sharded.training.details


# ---- several


@pytest.mark.parametrize("n_workers", [2, 4, 8])
def test_what_saola_selects_of_correlated_columns_is_nearly_the_same(n_workers):
    source = correlated()
    single, sharded = sequential(source), in_shards(source, n_workers)
    assert jaccard(single, sharded) >= 0.8
    assert abs(explained(single, source) - explained(sharded, source)) < 0.02
    assert sharded.training.details["workers"] == n_workers
    approximate = sharded.training.details["approximate"]
    assert approximate["shards"] == n_workers
    assert len(sharded.results.selection()) <= approximate["survivors"] < 600


def accuracy(learner: Any, X: Any, y: Any) -> float:
    """Return the cross-validated accuracy of a simple model on the selected columns."""
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return float(cross_val_score(model, X[:, learner.results.selection().indices], y, cv=5).mean())


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [2, 4])
@pytest.mark.parametrize(("method", "params"), METHODS_AND_PARAMETERS[:4])
def test_what_is_selected_of_leukemia_is_as_good(method, params, n_workers):
    """Compare with the reverse order of columns, as SAOLA depends on the order.

    More features are the same in shards than in reverse order.
    """
    X, y = leukemia().matrix.toarray(), leukemia().targets()
    single, sharded = (
        sequential(leukemia(), method, **params),
        in_shards(leukemia(), n_workers, method, params=params),
    )
    backwards = sequential(ArraySource(X[:, ::-1], y), method, **params)
    same = np.intersect1d(
        single.results.selection().indices, X.shape[1] - 1 - backwards.results.selection().indices
    ).size
    assert jaccard(single, sharded) > same / (
        len(single.results.selection()) + len(backwards.results.selection()) - same
    )
    assert jaccard(single, sharded) >= (0.9 if "bins" in params else 0.5)
    assert accuracy(sharded, X, y) >= accuracy(single, X, y) - 0.04


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("n_workers", [2, 4])
def test_online_substitution_finds_as_many_informative_columns(task, n_workers):
    source = SubstitutionSource(rows=600, features=2000, informative=20, noise=1, task=task)
    test = SubstitutionSource(rows=2000, features=2000, informative=20, noise=1, task=task, seed=1)
    blocks = list(test.row_blocks())

    def quality(learner: Any) -> float:
        predicted, y = (
            np.concatenate([learner.results.predictor()(block).labels for block in blocks]),
            test.targets(),
        )
        return float(
            np.mean(predicted == y)
            if task == "classification"
            else 1 - np.var(y - predicted) / np.var(y)
        )

    def informative(learner: Any) -> int:
        return int(np.isin(source.informative_ids, learner.results.selection().indices).sum())

    params = {"n_features_to_select": 20}
    single = sequential(source, "online-substitution", **params)
    sharded = in_shards(source, n_workers, "online-substitution", params=params)
    assert informative(sharded) >= informative(single) - 1 >= 10
    assert abs(quality(single) - quality(sharded)) < 0.02


@VARIANTS
@pytest.mark.parametrize("n_workers", [2, 5])
def test_counts_are_those_of_all_columns(method, params, n_workers):
    source = correlated()
    if params.get("measure") == "su":
        source = ArraySource(source.matrix, source.y > 0)
    single, sharded = (
        sequential(source, method, **params),
        in_shards(source, n_workers, method, params=params),
    )
    for name in ("n_features_in_", "n_features_seen_", "n_nonzero_", "n_constant_", "n_rows_"):
        assert getattr(single.results, name) == getattr(sharded.results, name), name
    assert single.n_learned == sharded.n_learned
    if "saola" in method:
        assert single.results.measures_ == sharded.results.measures_
        assert single.results.counts_["irrelevant"] == sharded.results.counts_["irrelevant"]
        assert sum(sharded.results.counts_.values()) == 600
        assert sharded.results.counts_["kept"] == len(sharded.results.selection())


def test_columns_without_values_and_constant_ones_are_counted():
    X = np.random.default_rng(0).normal(size=(50, 40))
    X[:, ::4], X[:, 1::8] = 0, 3
    source = ArraySource(X, X[:, 2] > 0)
    single, sharded = sequential(source), in_shards(source, 3)
    assert single.results.n_constant_ == sharded.results.n_constant_ == 15
    assert (
        single.results.result_summary().details["constant"]
        == sharded.results.result_summary().details["constant"]
    )


def test_names_are_those_of_the_columns():
    source = correlated()
    selection = in_shards(source, 3).results.selection()
    assert selection.names.tolist() == [
        f"column {feature}" for feature in selection.indices.tolist()
    ]


@pytest.mark.parametrize("n_workers", [2, 3, 7])
@pytest.mark.parametrize("length", [1, 4, 90])
def test_groups_may_be_cut(n_workers, length):
    source, groups = correlated(), np.arange(600) // length
    single = sequential(source, "group-saola", groups)
    sharded = in_shards(source, n_workers, "group-saola", groups=groups)
    assert jaccard(single, sharded) >= 0.7
    selection = sharded.results.selection()
    np.testing.assert_array_equal(selection.groups, selection.indices // length)
    assert sharded.results.result_summary().details["groups"] == selection.groups.tolist()


def test_groups_of_a_file_are_known(tmp_path):
    source = correlated()
    block = columns_of(source.matrix, groups=np.arange(600) // 20, names=source.feature_names)
    write_columns(tmp_path / "columns.arrow", ColumnBlockSource([block], source.y, n_features=600))
    expected = in_shards(source, 3, "group-saola", groups=np.arange(600) // 20)
    learner = in_shards(open_source(tmp_path / "columns.arrow"), 3, "group-saola", ProcessEngine)
    assert_same(expected, learner)


def test_nothing_may_be_left():
    random = np.random.default_rng(0)
    source = ArraySource(random.normal(size=(50, 20)), random.integers(0, 2, 50))
    learner = in_shards(source, 3, params={"alpha": 1e-12})
    assert len(learner.results.selection()) == 0
    assert learner.results.counts_["irrelevant"] == 20
    assert [finding.kind for finding in learner.training.findings] == ["nothing selected"]


def test_fewer_columns_than_workers():
    source = ArraySource(np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2)
    learner = in_shards(source, 8, params={"alpha": 0.9})
    assert learner.training.details["workers"] == 3
    assert learner.results.n_features_seen_ == 3


# ---- what runs the workers


@pytest.mark.parametrize(("method", "params"), [METHODS_AND_PARAMETERS[i] for i in (0, 3, 4)])
def test_the_answer_does_not_depend_on_what_runs_the_workers(tmp_path, monkeypatch, method, params):
    write_columns(tmp_path / "columns.parquet", leukemia())
    data = open_source(tmp_path / "columns.parquet")
    expected = in_shards(data, 3, method, params=params)
    assert_same(expected, in_shards(data, 3, method, ProcessEngine, params=params))
    monkeypatch.setattr(columns, "SLICE_SECONDS", 0.0)
    assert_same(expected, in_shards(data, 3, method, params=params))


def test_rows_are_transposed_first():
    assert_same(in_shards(leukemia(), 2), in_shards(open_source(LEUKEMIA), 2))


@pytest.mark.parametrize(("method", "params"), [METHODS_AND_PARAMETERS[i] for i in (0, 4)])
@pytest.mark.parametrize("n_workers", [1, 3])
def test_lost_workers_change_nothing(method, params, n_workers):
    expected = in_shards(leukemia(), n_workers, method, params=params)
    learner = in_shards(
        leukemia(), n_workers, method, LosingOften if n_workers > 1 else LosingOnce, params=params
    )
    assert learner.training.details["lost_workers"] > 0
    assert_same(expected, learner)


def test_a_worker_that_is_lost_again_and_again_ends_the_run():
    with pytest.raises(RunError, match="was lost 3 times without progress"):
        in_shards(leukemia(), 2, engine=LosingAll)


def test_a_worker_that_is_lost_after_every_answer_ends_the_run(monkeypatch):
    monkeypatch.setattr(columns, "SLICE_SECONDS", 0.0)  # an answer for every block
    with pytest.raises(RunError, match="was lost 3 times without progress"):
        in_shards(leukemia(), 1, engine=LosingAfterAnAnswer)


def test_a_killed_worker_changes_nothing():
    source = SubstitutionSource(rows=2000, features=20_000, informative=20)
    params = {"n_features_to_select": 20, "n_scans": 1}
    learner: Any = find_method("online-substitution").make(**params)
    killed = []

    def kill(progress: Progress) -> None:
        if progress.done and not killed:
            killed.append(engine.processes[1].process.pid)
            os.kill(killed[0], signal.SIGKILL)

    with ProcessEngine(2) as engine:
        training = train_column_shards(learner, source, engine, watch=kill)
    assert killed
    assert training.details["lost_workers"] == 1
    assert_same(in_shards(source, 2, "online-substitution", params=params), learner)


@pytest.mark.parametrize(("method", "passes"), [("saola", 1), ("online-substitution", 2)])
def test_progress_goes_up_to_the_last_feature(method, passes):
    seen: list[Progress] = []
    in_shards(leukemia(), 2, method, watch=seen.append)
    width = leukemia().n_features or 0
    assert [now.done for now in seen] == sorted(now.done for now in seen)
    assert (seen[-1].done, seen[-1].total, seen[-1].unit) == (
        passes * width,
        passes * width,
        "features",
    )


def test_what_a_training_took_is_noted():
    training = in_shards(leukemia(), 2).training
    assert set(training.seconds) == {"total", "read", "learn", "compile"}
    assert training.details["worker_memory_bytes"] > 1e6
    assert training.details["lost_workers"] == 0


# ---- what can be wrong


def test_methods_that_do_not_select_again_take_one_worker():
    can = [method for method in METHODS if find_method(method).can_select_again]
    assert can == ["saola", "group-saola", "online-substitution"]
    with pytest.raises(
        UsageError, match=r"alpha-investing needs all columns .* saola, group-saola, online-subst"
    ):
        in_shards(leukemia(), 2, "alpha-investing")
    assert_same(
        sequential(leukemia(), "alpha-investing"), in_shards(leukemia(), 1, "alpha-investing")
    )


def test_a_value_that_is_missing_is_named_with_its_file(tmp_path):
    source = correlated(n_features=60)
    source.matrix[17, 43] = np.nan
    write_columns(tmp_path / "columns.arrow", as_column_source(source))
    for engine in (ThreadEngine, ProcessEngine):
        with pytest.raises(
            DataError, match=r"columns\.arrow: column 'column 43' is missing in row 18"
        ):
            in_shards(open_source(tmp_path / "columns.arrow"), 3, engine=engine)


def test_a_damaged_file_is_named(tmp_path):
    path = Path(tmp_path / "columns.arrow")
    write_columns(path, correlated(n_features=60))
    source = open_source(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"columns\.arrow: has changed since it was opened"):
        in_shards(source, 2)


def test_columns_that_cannot_be_split():
    source = ColumnBlockSource(
        (block for block in leukemia().column_blocks()), leukemia().targets()
    )
    with pytest.raises(UsageError, match="these columns cannot be split into parts"):
        in_shards(source, 2)


def test_too_few_groups_are_refused_before_anything_starts():
    with pytest.raises(DataError, match="599 groups for 600 features"):
        in_shards(correlated(), 2, "group-saola", groups=np.arange(599))


def test_a_target_can_be_given_by_itself():
    source = correlated()
    alone = ArraySource(source.matrix, None, source.feature_names)
    assert_same(in_shards(source, 3), in_shards(alone, 3, y=source.y))


# ---- what a worker keeps


def test_survivors_are_the_columns_that_are_remembered():
    X = np.random.default_rng(0).normal(size=(20, 30))
    names, survivors = np.array([f"x{i}" for i in range(30)], object), Survivors()
    blocks = [
        columns_of(X[:, i : i + 10], i, names=names[i : i + 10], groups=np.arange(10))
        for i in (0, 10, 20)
    ]
    survivors.update(blocks[0], np.array([7, 2, 5]))
    held = survivors.columns[7]
    survivors.update(blocks[1], np.array([7, 13]))
    survivors.update(blocks[2], np.array([13, 7, 29]))
    survivors.update(blocks[0], np.array([7, 29, 0]))  # a second pass
    assert survivors.columns[7] is held
    block = survivors.block()
    assert isinstance(block, ColumnBlock)
    assert block.ids.tolist() == [0, 7, 29]
    assert block.names is not None
    assert block.names.tolist() == ["x0", "x7", "x29"]
    assert block.groups is not None
    assert block.groups.tolist() == [0, 7, 9]
    assert (X[:, [0, 7, 29]] == block.values.reshape(3, 20).T).all()
    in_other_order = survivors.block(np.array([3, 29, 7, 1, 0]))
    assert isinstance(in_other_order, ColumnBlock)
    assert in_other_order.ids.tolist() == [29, 7, 0]
    assert not any(np.shares_memory(block.values, whole.values) for whole in blocks)
    assert not np.shares_memory(held.values, blocks[0].values)


def test_a_worker_holds_what_its_learner_remembers():
    source = correlated()
    learner: Any = find_method("saola").make().start(y=source.y)
    worker = columns.ColumnWorker(learner.model(), source, None, 1, alone=False)
    while (result := worker.step().result) is None:
        pass
    assert result.survivors is not None
    assert result.survivors.ids.tolist() == sorted(worker.learner.remembered().tolist())
    assert (
        source.matrix[:, result.survivors.ids] == result.survivors.values.reshape(-1, 300).T
    ).all()
