"""More than two classes that are not given.

They are found where the data can be read again, and named in an error where it cannot.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

import streamsieve as ss
from streamsieve import class_search, workflow
from streamsieve.distributed.driving import train_on
from streamsieve.engine_choice import EngineChoice
from streamsieve.recording import Recording
from streamsieve.registry import find_method, methods_for
from streamsieve.sources import labels
from streamsieve.sources.base import DataSource
from streamsieve.sources.writers import write_rows
from streamsieve.targets import NewLabelError, NotClassesError
from streamsieve.training import train

ROWS, CLASSES = 300, [0, 1, 2, 5]


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    y = random.choice(CLASSES, ROWS)
    X = random.standard_normal((ROWS, 12)).astype(np.float32) * (random.random((ROWS, 12)) < 0.5)
    X[:, 0] += y
    X[:, 1] += y == 2
    return X, y


@pytest.fixture
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search 20 rows first, as if files were long."""
    monkeypatch.setattr(labels, "FIRST_ROWS", 20)
    monkeypatch.setattr(class_search, "FIRST_ROWS", 20)


def svmlight(path: Path, X: np.ndarray, y: np.ndarray, block_rows: int = 10) -> ss.Source:
    """Write the rows to a file, and return its source, which reads a few rows at a time."""
    write_rows(path, blocks_of(X, y, block_rows))
    source: Any = ss.open_source(path)
    source.chunk_bytes = 400
    return source


def blocks_of(X: np.ndarray, y: np.ndarray, block_rows: int = 10) -> list[ss.RowBlock]:
    from streamsieve.sources.arrays import ArraySource

    return list(ArraySource(csr_array(X), y, block_rows=block_rows).row_blocks())


def trained(
    source: DataSource, classes: Any = None, method: str = "sofs", **params: Any
) -> tuple[Any, Any]:
    learner = find_method(method).make(3, **params)
    return learner, train(learner, source, classes=classes, recording=Recording())


def assert_same(learner: Any, other_learner: Any) -> None:
    a, b = learner.model().arrays, other_learner.model().arrays
    assert sorted(a) == sorted(b)
    for name, array in a.items():
        np.testing.assert_array_equal(array, b[name], err_msg=name)


@pytest.mark.filterwarnings("ignore:the class changes only", "ignore:the first")
@pytest.mark.parametrize(
    ("order", "params"),
    [("as it is", {}), ("sorted", {"n_epochs": 2}), ("late", {"curve": [1, 3]})],
)
@pytest.mark.usefixtures("short_looks")
def test_classes_are_those_of_all_rows(
    rows, tmp_path: Path, order: str, params: dict[str, Any]
) -> None:
    X, y = rows
    if order != "as it is":
        by_label = (
            np.argsort(y, kind="stable") if order == "sorted" else np.argsort(y == 5, kind="stable")
        )
        X, y = X[by_label], y[by_label]
    source = svmlight(tmp_path / "rows.svm", X, y)
    searched, training = trained(source, **params)
    named, other = trained(source, np.array(CLASSES, float), **params)
    assert_same(searched, named)
    assert training.trace == other.trace
    notes = [finding for finding in training.findings if finding.kind == "began again"]
    assert bool(notes) == (order != "as it is")
    assert all("classes=[0, 1, 2, '...'" in note.advice for note in notes)
    assert training.seconds["total"] >= training.seconds["read"] >= 0.0


def test_classes_of_every_kind_of_source_are_found(rows, tmp_path: Path) -> None:
    X, y = rows
    words = np.array(["ant", "bee", "cat", "", "", "dog"])[y]
    svm = svmlight(tmp_path / "rows.svm", X, y)
    svmlight(tmp_path / "part-1.svm", X[:150], y[:150])
    svmlight(tmp_path / "part-2.svm", X[150:], y[150:])
    pq.write_table(
        pa.table([*X.T, words], [*"abcdefghijkl", "y"]),
        tmp_path / "table.parquet",
        row_group_size=50,
    )
    np.savetxt(
        tmp_path / "table.csv",
        X,
        delimiter=",",
        header=",".join("abcdefghijkl"),
        comments="",
        fmt="%.9g",
    )
    lines = (tmp_path / "table.csv").read_text().splitlines()
    (tmp_path / "table.csv").write_text(
        "\n".join(f"{line},{word}" for line, word in zip(lines, ["y", *words], strict=True))
    )
    write_rows(tmp_path / "sparse.arrow", svm.row_blocks())
    write_rows(tmp_path / "sparse.parquet", svm.row_blocks())
    expected = ss.SOFS(3).fit(X, y).selection().indices.tolist()
    for name in (
        "rows.svm",
        "part-*.svm",
        "table.csv",
        "table.parquet",
        "sparse.arrow",
        "sparse.parquet",
    ):
        source = ss.open_source(
            str(tmp_path / name), target="y" if name.startswith("table") else None
        )
        estimator = ss.SOFS(3).fit_source(source)
        assert estimator.selection().indices.tolist() == expected, name
        classes = ["ant", "bee", "cat", "dog"] if name.startswith("table") else CLASSES
        assert estimator.classes_.tolist() == classes
        np.testing.assert_array_equal(np.concatenate(list(source.labels())), source.targets())
    for source in (blocks_of(X, y), ss.sources.open_source((X, y))):
        assert ss.SOFS(3).fit_source(source).selection().indices.tolist() == expected


def test_two_classes_are_found_on_the_way(rows, tmp_path: Path) -> None:
    X, y = rows
    learner, training = trained(svmlight(tmp_path / "rows.svm", X, (y > 1).astype(int)))
    assert not learner.memory.target.labels.given
    assert not [finding for finding in training.findings if finding.kind == "began again"]


class StoppedError(Exception):
    pass


@pytest.mark.usefixtures("short_looks")
def test_a_run_that_was_stopped_goes_on_with_all_classes(rows, tmp_path: Path) -> None:
    X, y = rows
    order = np.argsort(
        y == 5, kind="stable"
    )  # after a checkpoint with three classes, the fourth comes
    path = tmp_path / "rows.svm"
    svmlight(path, X[order], y[order])
    expected = workflow.select(path, "sofs", 3, classes=CLASSES)

    def watch(progress: Any) -> None:
        if progress.done >= 100:
            raise StoppedError

    with pytest.raises(StoppedError):
        workflow.select(path, "sofs", 3, output=tmp_path / "run", checkpoint_every=40, watch=watch)
    record = workflow.resume(tmp_path / "run")
    assert record.selection.indices.tolist() == expected.selection.indices.tolist()
    assert record.mistakes == expected.mistakes
    assert record.trace == expected.trace
    assert ss.load(tmp_path / "run" / "model").classes_.tolist() == CLASSES


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("short_looks")
def test_workers_find_all_classes(rows, workers: int) -> None:
    X, y = (np.concatenate([part] * 8) for part in rows)
    order = np.argsort(y == 5, kind="stable")
    source = ss.sources.open_source((X[order], y[order]))
    learner, other = find_method("sofs").make(3), find_method("sofs").make(3)
    choice = EngineChoice("local", workers)
    train_on(choice, learner, source)
    train_on(choice, other, source, classes=CLASSES)
    assert (
        learner.results.selection().indices.tolist() == other.results.selection().indices.tolist()
    )
    assert learner.results.counters().mistakes == other.results.counters().mistakes
    assert learner.memory.target.labels.classes.tolist() == CLASSES


def test_a_stream_names_the_cure(rows) -> None:
    X, y = rows
    with pytest.raises(ss.DataError, match=r"is a third class beside .* classes="):
        ss.SOFS(3).fit_source(iter(blocks_of(X, y)))
    with pytest.raises(ss.DataError, match="label 5 is not one of the classes given"):
        ss.SOFS(3).fit_source(blocks_of(X, y), classes=[0, 1, 2])


def test_text_among_numbers_is_refused(rows) -> None:
    X, y = rows
    blocks = [*blocks_of(X[:10], y[:10] % 2), *blocks_of(X[10:20], np.full(10, "ant"))]
    with pytest.raises(ss.DataError, match="label 'ant' is a third class beside 0 and 1"):
        ss.SOFS(3).fit_source(blocks)


def test_a_method_for_two_classes_says_so(rows) -> None:
    X, y = rows
    with pytest.raises(
        ss.DataError,
        match="ofs-partial learns two classes, and there are 4; sofs learns any number",
    ):
        ss.OFSPartial(3).fit_source(blocks_of(X, y))


# ---- numbers


def test_numbers_are_named_with_the_methods_that_learn_them(rows) -> None:
    X, _ = rows
    with pytest.raises(
        ss.DataError,
        match=(
            r"third one beside 0.5 and 1.5, .* use a method that learns numbers: sofs-regressor,"
        ),
    ):
        ss.SOFS(3).fit_source(blocks_of(X, np.arange(ROWS) + 0.5))
    with pytest.raises(
        ss.DataError, match=r"have 300 different ones; .* learns numbers: sofs-regressor, arow-regr"
    ):
        ss.SOFS(3).fit_source(
            blocks_of(
                X, np.where(np.arange(ROWS) < 10, np.arange(ROWS), np.arange(ROWS) + 0.5), 300
            )
        )
    with pytest.raises(
        ss.DataError, match=r"learns numbers: saola, group-saola, .*, sofs-regressor, "
    ):
        ss.FCBF().fit(X, X[:, 0])
    with pytest.raises(ss.DataError, match="learns numbers: projected-gradient, "):
        ss.ReliefF(n_neighbors=3).fit(X, X[:, 0])
    with pytest.raises(ss.DataError, match="learns numbers: saola, "):
        ss.OGFS().partial_fit_columns(X, X[:, 0])
    assert methods_for("numbers", "rows")[:2] == ["sofs-regressor", "arow-regressor"]


def test_labels_that_nearly_all_occur_once_are_refused(rows) -> None:
    X, _ = rows
    with pytest.raises(
        ss.DataError,
        match=r"300 different labels in 300 rows are hardly classes; .* sofs-regressor",
    ):
        ss.SOFS(3).fit_source(blocks_of(X, np.arange(ROWS)))


def test_many_integers_are_warned_of(rows) -> None:
    X, _ = rows
    with pytest.warns(
        UserWarning,
        match=r"the target has 60 different integers, .* \(sofs-regressor, arow-regressor\)",
    ):
        ss.SOFS(3).fit_source(blocks_of(X, np.arange(ROWS) % 60))
    with pytest.warns(UserWarning, match=r"set task='regression', otherwise task='classification'"):
        ss.SAOLA().fit(X, np.arange(ROWS) % 60)


def test_errors_can_be_sent() -> None:
    new, numbers = pickle.loads(pickle.dumps((NewLabelError("row 7", 3), NotClassesError("row 8"))))
    assert (str(new), new.label) == ("row 7", 3)
    assert (type(numbers), str(numbers)) == (NotClassesError, "row 8")
