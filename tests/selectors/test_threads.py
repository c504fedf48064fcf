"""The number of threads changes only the time."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import streamsieve as ss
from streamsieve import machine, registry
from streamsieve.parallel import PARTS, Threads, cut, in_parts
from streamsieve.selectors.matrix.learner import MatrixLearner
from tests.effort import FULL

COUNTS = ("1", "2", "3", "8") if FULL else ("1", "3")
MATRIX = [
    ss.LocalLearning(sigma="auto"),
    ss.ReliefF(),
    ss.IRelief(max_iter=3, tol=1.0),
    ss.ProjectedGradient(20),
]
COLUMNS = [
    ss.SAOLA(20),
    ss.SAOLA(bins="mdl", missing="skip"),
    ss.GroupSAOLA(measure="su", bins=3),
    ss.AlphaInvesting(),
    ss.OGFS(),
    ss.OSFS(max_condition=1),
    ss.FastOSFS(measure="g2", max_condition=1),
    ss.FCBF(),
    ss.MRMR(5, bins=3),
    ss.IAMB(),
    ss.MMMB(max_condition=1),
    ss.OnlineSubstitution(20),
    ss.AsyOS(20, step=0.1),
    ss.Grafting(8),
]


def selected(estimator: Any, X: np.ndarray, y: np.ndarray) -> list[bytes]:
    selection = estimator.fit(X, y).selection()
    return [selection.indices.tobytes(), selection.scores.tobytes()]


def test_no_method_that_uses_threads_is_forgotten():
    reads = {name: registry.find_method(name).reads for name in registry.METHODS}
    assert {estimator.method.name for estimator in MATRIX} == {
        name for name, kind in reads.items() if kind == "matrix"
    }
    assert {estimator.method.name for estimator in COLUMNS} == {
        name for name, kind in reads.items() if kind == "columns"
    }


@pytest.mark.parametrize("estimator", MATRIX, ids=lambda estimator: estimator.method.name)
def test_methods_of_the_whole_matrix_do_not_depend_on_threads(monkeypatch, estimator):
    random = np.random.default_rng(0)
    X = random.standard_normal((150, 3000)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + 0.3 * X[:, 2] > 0).astype(int)
    selections = []
    for count in COUNTS:
        monkeypatch.setenv("STREAMSIEVE_THREADS", count)
        selections.append(selected(estimator, X, y))
        assert len(selections[-1][0])
    assert all(answer == selections[0] for answer in selections)


@pytest.mark.parametrize("estimator", COLUMNS, ids=lambda estimator: estimator.method.name)
def test_methods_of_columns_do_not_depend_on_threads(monkeypatch, estimator):
    random = np.random.default_rng(1)
    X = random.integers(1, 4, (1000, 300)).astype(float)
    X[:, ::3] = random.standard_normal((1000, 100))
    y = (X[:, 0] + X[:, 1] + 0.5 * X[:, 2] > 3).astype(int)
    assert X.size > 4 * 2**16  # several parts
    selections = []
    for count in COUNTS:
        monkeypatch.setenv("STREAMSIEVE_THREADS", count)
        selections.append(selected(estimator, X, y))
        assert len(selections[-1][0])
    assert all(answer == selections[0] for answer in selections)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_parts_come_back_in_order_and_the_first_error_is_raised(count):
    ended = {1: threading.Event(), 6: threading.Event()}

    def square(part: int) -> int:
        if part in ended:
            ended[part].set()
        elif part + 1 in ended and count > 1:
            assert ended[part + 1].wait(10), "another thread does the next part meanwhile"
        if part in (5, 6, 11) and failing:
            raise ValueError(str(part))
        return part * part

    with Threads(count) as threads:
        failing = False
        assert threads.each(20, square) == [part * part for part in range(20)]
        assert threads.each(0, square) == []
        failing = True
        ended[6].clear()
        with pytest.raises(ValueError, match=r"^5$"):
            threads.each(20, square)


def test_cuts_depend_on_the_work_alone():
    assert cut(0) == [0, 0]
    assert cut(7, 10) == [0, 7]
    assert cut(25, 10) == [0, 12, 25]
    assert len(cut(10**9)) == PARTS + 1
    assert in_parts(cut(100), lambda first, last: last - first) == np.diff(cut(100)).tolist()


def test_threads_are_the_cores_unless_a_variable_says_otherwise(monkeypatch):
    monkeypatch.delenv("STREAMSIEVE_THREADS", raising=False)
    assert machine.cores() >= 1
    monkeypatch.setenv("STREAMSIEVE_THREADS", "5")
    assert machine.cores() == 5
    for wrong in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv("STREAMSIEVE_THREADS", wrong)
        with pytest.raises(
            ss.UsageError, match=f"STREAMSIEVE_THREADS={wrong}: must be an integer of 1 or more"
        ):
            machine.cores()


@pytest.mark.parametrize(
    ("estimator", "unit"),
    [
        (ss.LocalLearning(sigma="auto"), "rounds"),
        (ss.IRelief(), "rounds"),
        (ss.ReliefF(), "blocks"),
    ],
)
def test_methods_of_the_whole_matrix_report_how_far_they_are(monkeypatch, estimator, unit):
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 1500))
    reports = []
    monkeypatch.setattr(MatrixLearner, "report", lambda self, *said: reports.append(said))
    estimator.fit(X, X[:, 0] > 0)
    assert [done for _, done, _ in reports] == list(range(1, len(reports) + 1))
    assert {said for said, _, _ in reports} == {unit}
    assert all(total in (None, len(reports)) for _, _, total in reports)
    assert len(reports) >= 2
