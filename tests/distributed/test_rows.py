"""Rows in shards: learning on several workers, also when some of them are lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamsieve import DataError, UsageError, open_source
from streamsieve.distributed import rows
from streamsieve.distributed.local import ProcessEngine, ThreadEngine
from streamsieve.distributed.rows import train_row_shards
from streamsieve.errors import RunError
from streamsieve.registry import find_method
from streamsieve.training import Checkpoint, Progress, train

from .cases import Losing, LosingAfterAnAnswer, assert_same

X1 = "synthetic:x1?rows=6000&features=400"


def learner_of(method: str = "sofs", **params: Any) -> Any:
    return find_method(method).make(**{"n_features_to_select": 20, **params})


def sequential(data: Any, method: str = "sofs", classes: Any = None, **params: Any) -> Any:
    learner = learner_of(method, **params)
    train(learner, open_source(data), classes=classes)
    return learner


def in_shards(data: Any, n_workers: int, method: str = "sofs", **options: Any) -> Any:
    params = options.pop("params", {})
    learner = learner_of(method, **params)
    with ThreadEngine(n_workers) as engine:
        learner.training = train_row_shards(learner, open_source(data), engine, **options)
    return learner


@pytest.fixture
def lines(tmp_path) -> Path:
    """Return a file of rows in svmlight format, of which the first 40 are of one class."""
    random = np.random.default_rng(0)
    path = tmp_path / "rows.svm"
    with path.open("w") as file:
        for row in range(3000):
            label = 1 if row < 40 else int(random.integers(2))
            x = random.normal(size=5) + (label - 0.5) * (np.arange(5) < 2)
            file.write(f"{label} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x)) + "\n")
    return path


# ---- one worker


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("sofs", {}),
        ("sofs", {"criterion": "confidence", "n_epochs": 2}),
        ("sofs", {"curve": True, "forget": 500.0}),
        ("arow", {"normalize": "standard"}),
        ("sofs-regressor", {}),
        ("pet", {}),
    ],
)
def test_one_worker_is_one_pass_bit_for_bit(method, params):
    single, sharded = sequential(X1, method, **params), in_shards(X1, 1, method, params=params)
    assert_same(single, sharded)
    assert [point["rows"] for point in sharded.training.trace][:3] == [1000, 2000, 4000]


def test_one_worker_finds_the_classes(lines):
    assert_same(sequential(lines), in_shards(lines, 1))


def test_one_worker_can_be_a_process(lines):
    learner = learner_of()
    with ProcessEngine(1) as engine:
        train_row_shards(learner, open_source(lines), engine)
    assert_same(sequential(lines), learner)


# ---- several


@pytest.mark.parametrize(
    "n_workers", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 8))]
)
def test_shards_are_nearly_as_good_as_one_pass(n_workers):
    test = open_source("synthetic:x1?rows=4000&features=400&seed=1")

    def accuracy(learner: Any) -> float:
        predict = learner.results.predictor()
        return float(
            np.mean(
                np.concatenate([predict(block).labels == block.y for block in test.row_blocks()])
            )
        )

    single, sharded = sequential(X1), in_shards(X1, n_workers)
    assert sharded.results.n_rows_ == single.results.n_rows_
    assert sharded.results.n_nonzero_ == single.results.n_nonzero_
    assert abs(accuracy(single) - accuracy(sharded)) <= 0.01
    assert sharded.training.details["workers"] == n_workers
    assert sharded.training.details["rounds"] > 3


def test_the_answer_does_not_depend_on_what_runs_the_workers(lines, monkeypatch):
    expected = in_shards(lines, 3)
    learner = learner_of()
    with ProcessEngine(3) as engine:
        train_row_shards(learner, open_source(lines), engine)
    assert_same(expected, learner)
    monkeypatch.setattr(rows, "SLICE_SECONDS", 0.0)
    assert_same(expected, in_shards(lines, 3))


def test_few_rows_are_learned_in_order(tmp_path, lines):
    path = tmp_path / "few.svm"
    path.write_text("\n".join(lines.read_text().splitlines()[:500]) + "\n")
    single, sharded = sequential(path, classes=[0, 1]), in_shards(path, 4)
    assert_same(single, sharded)


def test_lost_workers_change_nothing(lines):
    learner = learner_of()
    with Losing(3) as engine:
        training = train_row_shards(learner, open_source(lines), engine)
    assert training.details["lost_workers"] > 0
    assert_same(in_shards(lines, 3), learner)


def test_a_killed_worker_changes_nothing(lines):
    learner = learner_of()
    killed = []

    def kill(progress: Progress) -> None:
        if progress.done > 1500 and not killed:
            killed.append(engine.processes[1].process.pid)
            os.kill(killed[0], signal.SIGKILL)

    with ProcessEngine(2) as engine:
        training = train_row_shards(learner, open_source(lines), engine, watch=kill)
    assert killed
    assert training.details["lost_workers"] == 1
    assert_same(in_shards(lines, 2), learner)


def test_a_worker_that_is_lost_after_every_answer_ends_the_run(lines, monkeypatch):
    # one answer for the rows of a round, another for the model
    monkeypatch.setattr(rows, "SLICE_SECONDS", 0.0)
    with (
        LosingAfterAnAnswer(1) as engine,
        pytest.raises(RunError, match="lost 3 times without progress"),
    ):
        train_row_shards(learner_of(), open_source(lines), engine)


def test_progress_goes_up_to_the_last_row(lines):
    seen: list[Progress] = []
    in_shards(lines, 2, watch=seen.append)
    assert [now.done for now in seen] == sorted(now.done for now in seen)
    assert seen[-1].done == 3000
    assert seen[-1].bytes == seen[-1].n_bytes == lines.stat().st_size


# ---- checkpoints


@pytest.mark.parametrize("n_workers", [1, 3])
def test_a_run_goes_on_from_a_checkpoint(lines, tmp_path, n_workers):
    whole = in_shards(lines, n_workers)
    path = tmp_path / "checkpoint"

    class StopError(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.done > 2200:
            raise StopError

    with pytest.raises(StopError):
        in_shards(lines, n_workers, checkpoint=Checkpoint(path, 500), watch=stop)
    from streamsieve.registry import load_learner

    learner, model = load_learner(path)
    assert 0 < learner.n_learned < 3000
    with ThreadEngine(n_workers) as engine:
        train_row_shards(learner, open_source(lines), engine, note=model.note or {})
    assert_same(whole, learner)


@pytest.mark.parametrize(
    "note",
    [
        {},
        *(
            {"positions": positions, "times": 1}
            for positions in (None, [1], [1, -1], [1, "2"], {"a": 1})
        ),
        *({"positions": [1, 2], "times": times} for times in (None, 0, 3, 1.0, True)),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(lines, note):
    learner = learner_of().start(5, [0, 1])
    with ThreadEngine(2) as engine, pytest.raises(DataError, match="how far every worker was"):
        train_row_shards(learner, open_source(lines), engine, note=note)


# ---- what can be wrong


def test_shards_without_one_of_the_classes(tmp_path):
    for name, label in (("a", -1), ("b", 1)):
        rows = "".join(f"{label} 1:{label * (1 + k % 3)} 2:{k % 7}\n" for k in range(2000))
        (tmp_path / f"{name}.svm").write_text(rows)
    with pytest.warns(UserWarning, match="class"):
        learner = in_shards([tmp_path / "a.svm", tmp_path / "b.svm"], 2)
    assert learner.results.classes_.tolist() == [-1, 1]
    assert learner.memory.target.labels.counts.tolist() == [2000, 2000]


def test_shards_of_different_width(tmp_path):
    random = np.random.default_rng(0)
    for name, width in (("a", 5), ("b", 500)):
        with (tmp_path / f"{name}.svm").open("w") as file:
            for _ in range(2000):
                label = int(random.integers(2))
                file.write(
                    f"{label} 1:{label + random.normal():.3f} {random.integers(2, width + 1)}:1\n"
                )
    learner = in_shards([tmp_path / "a.svm", tmp_path / "b.svm"], 2)
    assert learner.results.n_features_in_ == 500


def test_a_third_label_is_named_without_a_row_that_nobody_knows(lines, tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text(lines.read_text() + "7 1:1\n")
    with pytest.raises(DataError, match=r"bad.svm: label 7.* is not one of the classes"):
        in_shards(path, 2, classes=[0, 1])


def test_one_class_is_refused(tmp_path):
    path = tmp_path / "one.svm"
    path.write_text("1 1:1\n" * 3000)
    with pytest.raises(DataError, match="all 3,000 rows are of one class"):
        in_shards(path, 2)


def test_a_bad_line_is_named(lines, tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text(lines.read_text() + "1 1:x\n")
    with ProcessEngine(2) as engine, pytest.raises(DataError, match=r"bad.svm.*'x'"):
        train_row_shards(learner_of(), open_source(path), engine)


def test_methods_that_do_not_merge_take_one_worker():
    with pytest.raises(UsageError, match=r"models of pet .* cannot be merged.* sofs, "):
        in_shards(X1, 2, "pet")


def test_rows_that_cannot_be_read_again():
    from streamsieve.sources.base import BlockSource

    blocks = open_source(X1).row_blocks()
    with pytest.raises(UsageError, match="can be read only once"):
        in_shards(BlockSource(blocks), 2)
