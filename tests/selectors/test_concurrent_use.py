"""Threads that share a learner: one learns while others save, select, predict and copy."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.base import clone

import streamsieve as ss
from streamsieve.blocks import columns_of
from streamsieve.model import Model
from streamsieve.registry import load_learner
from streamsieve.sources.arrays import ArraySource

BLOCKS, ROWS = 40, 50

ROW_LEARNERS = {
    "sofs": lambda: ss.SOFS(10),
    "sofs standard": lambda: ss.SOFS(10, normalize="standard"),
    "sofs curve": lambda: ss.SOFS("auto", normalize="l2", criterion="confidence"),
    "sofs cells": lambda: ss.SOFS(10, max_cells=1000),
    "arow standard": lambda: ss.AROW(10, normalize="standard"),
    "regressor": lambda: ss.SOFSRegressor(10),
}
COLUMN_LEARNERS = {
    "saola": lambda: ss.SAOLA(measure="fisher_z", alpha=0.5),
    "osfs": lambda: ss.OSFS(measure="fisher_z", alpha=0.5),
    "substitution": lambda: ss.OnlineSubstitution(5, loss="squared_hinge"),
    "investing": lambda: ss.AlphaInvesting(),
}


def digest(model: Model) -> str:
    """Return a digest that differs for models that learned different things."""
    header = {
        name: value for name, value in model.header.items() if name not in ("random", "warm_up")
    }
    digest_of_parts = sha256(
        json.dumps([model.method, model.params, header], sort_keys=True).encode()
    )
    for name, array in sorted(model.arrays.items()):
        digest_of_parts.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest_of_parts.hexdigest()


def row_blocks() -> list[Any]:
    """Return blocks of rows, each wider than the one before."""
    random, blocks = np.random.default_rng(0), []
    for number in range(BLOCKS):
        X = csr_array(
            random_array((ROWS, 1000 * (number + 1)), density=0.003, rng=random, dtype=np.float32)
        )
        y = np.where(np.asarray(X[:, :300].sum(axis=1)).ravel() > 0.2, 1, -1)
        blocks += ArraySource(X, y, name="").row_blocks()
    return blocks


def column_blocks() -> tuple[list[Any], np.ndarray]:
    random = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    blocks = [
        columns_of(
            random.normal(size=(ROWS, 5)) + 0.3 * y[:, None],
            ids=np.arange(5 * number, 5 * number + 5),
        )
        for number in range(BLOCKS)
    ]
    return blocks, y


def run_together(*calls: Callable[[], None]) -> None:
    """Run the first call, and repeat the others until it has ended, each on its own thread.

    The others run at least once.
    """
    failures: list[BaseException] = []
    ended = threading.Event()

    def work(call: Callable[[], None], once: bool) -> None:
        try:
            call()
            while not once and not ended.is_set():
                call()
            ended.set()
        except BaseException as error:
            failures.append(error)
            ended.set()

    threads = [
        threading.Thread(target=work, args=(call, not number)) for number, call in enumerate(calls)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "threads wait for one another"
    if failures:
        raise failures[0]


@pytest.fixture
def stretching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let arrays of any size grow in place, as those of 64 MB and more do."""
    monkeypatch.setattr("streamsieve.selectors.rows.memory.STRETCHED_BYTES", 1 << 10)


@pytest.mark.usefixtures("stretching")
@pytest.mark.parametrize("name", ROW_LEARNERS)
def test_rows_learned_while_others_save_select_and_predict(tmp_path: Path, name: str) -> None:
    blocks, make, path = row_blocks(), ROW_LEARNERS[name], tmp_path / "model"
    probe = blocks[3]
    prefix = make().start(None, None if name == "regressor" else [-1, 1])
    digests = {digest(prefix.model())}
    scores, selections = (
        {prefix.learner.results.predictor()(probe).scores.tobytes()},
        {prefix.selection().indices.tobytes()},
    )
    for block in blocks:
        prefix.partial_fit_block(block)
        digests.add(digest(prefix.model()))
        scores.add(prefix.learner.results.predictor()(probe).scores.tobytes())
        selections.add(prefix.selection().indices.tobytes())
    learner = make().start(None, None if name == "regressor" else [-1, 1])
    saved = []

    def learn() -> None:
        for block in blocks:
            learner.partial_fit_block(block)

    def save() -> None:
        learner.save(path)
        saved.append(digest(load_learner(path)[1]))

    def read() -> None:
        assert learner.selection().indices.tobytes() in selections
        with (
            learner.lock
        ):  # from the making of a predictor to its use, nothing must be learned in between
            assert learner.learner.results.predictor()(probe).scores.tobytes() in scores
        learner.learner.results.predictor()(probe)
        assert learner.coef_.shape[1] <= 1000 * BLOCKS

    run_together(learn, save, read, save)
    assert set(saved) <= digests
    assert digest(learner.model()) == digest(prefix.model())


@pytest.mark.parametrize("name", COLUMN_LEARNERS)
def test_columns_learned_while_others_save_and_select(tmp_path: Path, name: str) -> None:
    (blocks, y), make, path = column_blocks(), COLUMN_LEARNERS[name], tmp_path / "model"
    prefix = make().start(y=y)
    digests = {digest(prefix.model())}
    for block in blocks:
        digests.add(digest(prefix.partial_fit_block(block).model()))
    learner = make().start(y=y)
    saved = []

    def learn() -> None:
        for block in blocks:
            learner.partial_fit_block(block)

    def save() -> None:
        learner.save(path)
        saved.append(digest(load_learner(path)[1]))

    run_together(
        learn,
        save,
        lambda: learner.selection() and None,
        lambda: learner.learner.results.result_summary() and None,
    )
    assert set(saved) <= digests
    assert digest(learner.model()) == digest(prefix.model())


def test_two_fits_of_one_estimator_come_one_after_the_other(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    narrow, wide = random.normal(size=(40, 5)), random.normal(size=(40, 9))
    y = np.arange(40) % 2
    digests = {digest(ss.ReliefF().fit(X, y).model()) for X in (narrow, wide)}
    estimator, path = ss.ReliefF().fit(narrow, y), tmp_path / "model"

    def fit(X: np.ndarray) -> Callable[[], None]:
        return lambda: [estimator.fit(X, y) for _ in range(30)] and None

    def save() -> None:
        estimator.save(path)
        assert digest(Model.load(path)) in digests

    run_together(fit(narrow), fit(wide), save)


def test_threads_that_save_to_one_path_leave_complete_files(tmp_path: Path) -> None:
    blocks = row_blocks()
    learners = [ss.SOFS(10).start(None, [-1, 1]).partial_fit_block(block) for block in blocks[:3]]
    path, digests = tmp_path / "model", {digest(learner.model()) for learner in learners}
    learners[0].save(path)

    def read() -> None:
        assert digest(load_learner(path)[1]) in digests

    run_together(
        lambda: [learners[0].save(path) for _ in range(60)] and None,
        *(lambda learner=learner: learner.save(path) for learner in learners[1:]),
        read,
    )
    assert [path_in_folder.name for path_in_folder in tmp_path.iterdir()] == ["model"]


def test_copies_have_a_lock_of_their_own() -> None:
    X, y = np.eye(6), np.arange(6) % 2
    estimator = ss.SOFS(2).fit(X, y)
    copies = [
        copy.deepcopy(estimator),
        pickle.loads(pickle.dumps(estimator)),
        clone(estimator).fit(X, y),
    ]
    assert len({id(copied.lock) for copied in (estimator, *copies)}) == 4
    assert copy.copy(estimator).lock is estimator.lock, "their arrays are the same, too"
    with estimator.lock:
        for copied in copies:
            thread = threading.Thread(target=copied.selection)
            thread.start()
            thread.join(30)
            assert not thread.is_alive()
    learner = ss.select((X, y), n_features_to_select=2)
    assert learner.selector.lock is learner.selector.lock


@pytest.mark.parametrize("make", [ss.SAOLA, ss.GroupSAOLA, ss.OGFS])
def test_counts_are_completed_while_nobody_learns(
    monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    """Otherwise results of an earlier block would be kept as those after a later one."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    selector = make().partial_fit_columns(random.standard_normal((60, 5)) + y[:, None], y)
    rule, held = selector.learner.rule, []
    finish = rule.finish

    def finish_and_look(state: Any) -> Any:
        held.append(selector.lock._is_owned())
        return finish(state)

    monkeypatch.setattr(rule, "finish", finish_and_look)
    assert selector.counts_["kept"] > 0
    assert held == [True]


def test_all_that_learns_or_reads_is_serialized() -> None:
    from streamsieve.estimators import estimator_class
    from streamsieve.registry import METHODS, find_method

    learners = {find_method(method).learner for method in METHODS}
    for kind in (
        *map(estimator_class, METHODS),
        *learners,
        *(learner.results_type for learner in learners),
    ):
        for name in (
            "start",
            "partial_fit_block",
            "selection",
            "model",
            "save",
            "fit",
            "diagnosis",
            "load_state",
        ):
            method = getattr(kind, name, None)
            assert method is None or hasattr(method, "__wrapped__"), f"{kind.__name__}.{name}"
