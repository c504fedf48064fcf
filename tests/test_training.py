"""The driver: passes, progress, checkpoints of columns, invalid input."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streamsieve as ss
from streamsieve import workflow
from streamsieve.blocks import columns_of
from streamsieve.registry import METHODS, find_method
from streamsieve.runs import RunDirectory
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.writers import write_rows
from streamsieve.training import Progress
from tests.checks.data import sparse_stream


class StopHereError(Exception):
    """Raised to interrupt a run."""


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    random = np.random.default_rng(3)
    X = random.integers(-2, 3, (60, 90)).astype(float)
    y = np.where(X[:, 5] + X[:, 70] + random.normal(0, 0.5, 60) > 0, 1, -1)
    path = tmp_path / "wide.arrow"
    write_rows(path, ArraySource(X, y).row_blocks(), n_features=90)
    return path


def interrupted(path: Path, folder: Path, method: str, after: int) -> None:
    def watch(now: Progress) -> None:
        if now.unit == "features" and now.done >= after:
            raise StopHereError

    with pytest.raises(StopHereError):
        workflow.select(path, method, output=folder, checkpoint_every=20, watch=watch)


@pytest.mark.parametrize(
    "method", [name for name in METHODS if find_method(name).reads == "columns"]
)
def test_a_run_over_columns_goes_on_from_its_checkpoint(
    wide: Path, tmp_path: Path, method: str
) -> None:
    expected = workflow.select(wide, method)
    folder = tmp_path / "run"
    interrupted(wide, folder, method, 40)
    assert ss.load(folder / "checkpoint").n_features_seen_ == 40
    offered: list[int] = []
    record = workflow.resume(
        folder, lambda now: offered.append(now.done) if now.unit == "features" else None
    )
    assert offered[0] == 60
    assert record.selection.indices.tolist() == expected.selection.indices.tolist()
    assert record.selection.scores.tolist() == expected.selection.scores.tolist()
    assert not (folder / "checkpoint").exists()


def test_progress_of_every_kind(wide: Path) -> None:
    units: dict[str, list[Progress]] = {}
    for method in ("sofs", "saola", "local-learning"):
        seen: list[Progress] = []
        workflow.select(wide, method, watch=seen.append)
        units[method] = seen
    assert [(now.done, now.total) for now in units["sofs"]] == [(60, 60)]
    assert {now.unit for now in units["saola"]} == {
        "rows read",
        "features",
    }, "reading rows to transpose them shows too"
    assert units["saola"][-1][:3] == (90, 90, "features")
    assert "rounds" in {now.unit for now in units["local-learning"]}


def test_all_passes_count(wide: Path) -> None:
    seen: list[Progress] = []
    record = workflow.select(wide, "sofs", n_epochs=3, watch=seen.append)
    assert record.n_rows == 180
    assert [(now.done, now.total) for now in seen] == [(60, 180), (120, 180), (180, 180)]


def test_what_can_be_read_once_takes_one_pass() -> None:
    X, y = sparse_stream()
    blocks = ArraySource(X, y).row_blocks()
    with pytest.raises(ss.UsageError, match="can be read only once, but 2 passes are needed"):
        ss.SOFS(5, n_epochs=2).fit_source(blocks)


def test_seconds_are_told_apart(wide: Path) -> None:
    seconds = workflow.select(wide, "sofs").seconds
    assert set(seconds) == {"total", "read", "learn", "compile"}
    assert seconds["total"] == pytest.approx(
        seconds["read"] + seconds["learn"] + seconds["compile"], abs=0.05
    )


@pytest.mark.parametrize("method", [name for name in METHODS if find_method(name).reads == "rows"])
@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 1e308])
def test_weights_that_are_none_are_refused_by_name(method: str, weight: float) -> None:
    X, y = sparse_stream()
    weights = np.ones(len(y))
    weights[7] = weight
    selector = ss.estimators.estimator_class(method)(5)
    if "classes" not in selector.method.targets:
        with pytest.raises(ss.DataError, match="row 8: its sample_weight is"):
            selector.fit_source(ArraySource(X, y, sample_weight=weights))
        return
    for labels, classes in ((y, [-1, 1]), (np.arange(len(y)) % 3, [0, 1, 2])):
        if len(classes) > 2 and selector.method.two_classes_only:
            continue
        source = ArraySource(X, labels, sample_weight=weights)
        with pytest.raises(ss.DataError, match="row 8: its sample_weight is"):
            selector.fit_source(source, classes=classes)
    with pytest.raises(
        ValueError, match=r"class_weight=.*must be a weight from 0 to 1e\+12 for class 1"
    ):
        selector.set_params(class_weight={1: weight}).fit(X, y)


def test_groups_are_in_every_form_of_the_result(wide: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups"
    groups.write_text("".join(f"{feature // 10}\n" for feature in range(90)))
    record = workflow.select(wide, "group-saola", groups=groups, output=tmp_path / "run")
    expected = record.selection.indices // 10
    assert record.selection.groups.tolist() == expected.tolist()
    assert record.to_dict()["details"]["groups"] == expected.tolist()
    with (tmp_path / "run" / "selection.csv").open() as file:
        assert {
            int(line["index"]) // 10 == int(line["group"]) for line in csv.DictReader(file)
        } == {True}
    again = RunDirectory(tmp_path / "run").result()
    assert again is not None
    assert again.selection.groups.tolist() == expected.tolist()


def test_reading_a_run_folder_changes_nothing(wide: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    workflow.select(wide, "sofs", output=folder)
    (folder / "checkpoint").write_bytes(
        (folder / "model").read_bytes()
    )  # as if killed just before it was removed
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    RunDirectory(folder).result()
    RunDirectory(folder).request()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_prediction_builds_its_lookup_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamsieve.selectors.rows import rules

    built: list[Any] = []
    real = rules.table_addresses
    monkeypatch.setattr(rules, "table_addresses", lambda ids: built.append(ids) or real(ids))
    X, y = sparse_stream()
    learner = ss.SOFS(5).fit(X, y).learner
    parts = workflow.predictions(learner, ArraySource(X, y, block_rows=10))
    assert sum(predictions.labels.size for predictions, _ in parts) == len(y)
    assert len(built) == 1


def test_blocks_of_columns_with_ids_beyond_the_groups_are_refused() -> None:
    from streamsieve.sources.base import ColumnBlockSource
    from streamsieve.training import train

    X, y = np.eye(4), np.array([0, 1, 0, 1])
    source = ColumnBlockSource([columns_of(X, 3)], y)
    with pytest.raises(ss.DataError, match="4 groups for 7 features"):
        train(find_method("group-saola").make(), source, groups=np.arange(4))
    stream = ColumnBlockSource(iter([columns_of(X, 3)]), y)
    with pytest.raises(ss.DataError, match="4 groups, but the data has feature 6"):
        train(find_method("group-saola").make(), stream, groups=np.arange(4))
