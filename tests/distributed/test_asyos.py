"""AsyOS by workers that run at the same time.

Errors are those of the model on the data, never those that the centre has.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.distributed import asyos, asyos_worker
from streamsieve.distributed.asyos import MAX_COLUMNS, block_size, train_asyos
from streamsieve.distributed.engine import Answer, Engine
from streamsieve.distributed.local import ProcessEngine, ThreadEngine
from streamsieve.errors import RunError
from streamsieve.selectors.columns.asyos import ASYOS
from streamsieve.selectors.columns.substitution import ONLINE_SUBSTITUTION
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.base import ColumnBlockSource
from streamsieve.training import train

from .mortal import Mortal

ENGINES = {"processes": ProcessEngine, "threads": ThreadEngine}
# Times the error of one process: which columns are kept beside the planted ones depends on timing.
CLOSE = 1.05


@pytest.fixture(params=list(ENGINES))
def engine(request) -> Iterator[Engine]:
    with ENGINES[request.param](2) as engine:
        yield engine


def planted(seed=0, n_rows=2000, n_columns=1500, n_true=20, correlation=0.0):
    """Return columns, a target that depends on some of them, and the ids of these."""
    random = np.random.default_rng(seed)
    common = random.normal(0, 1, (n_rows, 1))
    X = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * random.normal(
        0, 1, (n_rows, n_columns)
    )
    true = random.choice(n_columns, n_true, replace=False)
    y = X[:, true] @ random.choice([-1.0, 1.0], n_true) + random.normal(0, 0.5, n_rows)
    return X, y, np.sort(true)


def error_of(learner, X, y):
    """Return ||X w - y|| for the selected columns and their weights."""
    model = learner.results.linear_model()
    return float(np.linalg.norm(X[:, model.ids] @ model.weights + model.intercept - y))


def recall_of(learner, true):
    return np.isin(true, learner.results.selection().indices).mean()


def on_engine(engine, X, y, wanted=40, watch=None, **params):
    learner = ASYOS.make(wanted, **params)
    train_asyos(learner, ArraySource(X, y), engine, watch=watch)
    return learner


def in_one_process(X, y, wanted=40, **params):
    learner = ONLINE_SUBSTITUTION.make(wanted, solver="paper", **params)
    train(learner, ArraySource(X, y))
    return learner


def centre_of(engine):
    """Return a list to which the engine appends the centres it makes from now on."""
    made, make = [], engine.centre
    engine.centre = lambda n_rows: made.append(make(n_rows)) or made[-1]
    return made


def check_the_centre(centre, learner):
    """Assert that the scores in the centre are those of the workers' columns."""
    np.testing.assert_allclose(
        centre.scores(), learner.memory.state.parts.sum(axis=0), rtol=0, atol=1e-9
    )


# ---- the answer


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_reaches_the_error_of_one_process(engine, seed):
    X, y, true = planted(seed)
    made = centre_of(engine)
    learner, alone = on_engine(engine, X, y), in_one_process(X, y)
    assert error_of(learner, X, y) < CLOSE * error_of(alone, X, y)
    assert recall_of(learner, true) >= recall_of(alone, true) - 0.05
    check_the_centre(made[0], learner)


def test_the_level_is_found_by_all_workers(engine):
    X, y, _ = planted()
    y = np.where(y > np.quantile(y, 0.8), "rare", "usual")
    learner = on_engine(engine, X, y, 6, refit=False)
    scores = (
        X[:, learner.results.linear_model().ids] @ learner.results.linear_model().weights
        + learner.results.linear_model().intercept
    )
    assert (1 / (1 + np.exp(scores))).mean() == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
@pytest.mark.parametrize("sparse", [False, True])
def test_one_worker_is_one_process_to_the_bit(sparse, loss):
    X, y, _ = planted(n_rows=500, n_columns=700)
    if sparse:
        X = X * (np.random.default_rng(1).random(X.shape) < 0.2)
    y = y if loss == "squared" else np.where(y > 1, 1, 0)
    alone = in_one_process(csc_array(X) if sparse else X, y, loss=loss)
    with ThreadEngine(1) as engine:
        learner = on_engine(engine, csc_array(X) if sparse else X, y, loss=loss)
    check_same(learner, alone)
    simulated = ASYOS.make(40, workers=1, loss=loss)
    train(simulated, ArraySource(csc_array(X) if sparse else X, y))
    assert (
        simulated.results.linear_model().ids.tolist() == learner.results.linear_model().ids.tolist()
    )
    np.testing.assert_allclose(
        simulated.results.linear_model().weights,
        learner.results.linear_model().weights,
        rtol=0,
        atol=1e-9,
    )


def test_one_worker_in_a_process_is_one_process_to_the_bit():
    X, y, _ = planted(n_rows=500, n_columns=700)
    with ProcessEngine(1) as engine:
        check_same(on_engine(engine, X, y), in_one_process(X, y))


def check_same(learner, alone):
    ours, theirs = learner.memory.state, alone.memory.state
    used = ours.ids.size
    assert ours.ids.tolist() == theirs.slots.ids[:used].tolist()
    assert ours.weights.tolist() == theirs.weights[:used].tolist()
    assert ours.level.tolist() == theirs.level.tolist()
    assert (
        learner.results.linear_model().weights.tolist()
        == alone.results.linear_model().weights.tolist()
    )
    assert learner.results.linear_model().intercept == alone.results.linear_model().intercept


def test_counts_and_names_are_those_of_all_columns(engine, tmp_path):
    X, y, _ = planted(n_columns=300)
    X[:, [5, 77]] = 3.0
    names = np.array([f"c{column}" for column in range(300)], object)
    learner, alone, seen = ASYOS.make(40, n_scans=3), ASYOS.make(40, n_scans=3), []
    done = train_asyos(learner, ArraySource(X, y, names), engine, watch=seen.append)
    train(alone, ArraySource(X, y, names))
    for name in ("n_features_seen_", "n_nonzero_", "n_constant_", "n_features_in_", "n_rows_"):
        assert getattr(learner.results, name) == getattr(alone.results, name)
    assert learner.n_learned == alone.n_learned
    assert learner.results.n_constant_ == 2
    selection = learner.results.selection()
    assert selection.names.tolist() == [f"c{column}" for column in selection.indices]
    assert (seen[-1].done, seen[-1].total, seen[-1].unit) == (900, 900, "features")
    assert set(done.seconds) == {"total", "read", "learn", "compile"}
    learner.save(tmp_path / "model")
    assert ss.load(tmp_path / "model").selection().indices.tolist() == selection.indices.tolist()


def test_a_column_is_kept_by_one_worker_only():
    X, y, _ = planted(n_columns=90)
    with ThreadEngine(4) as engine:
        learner = on_engine(engine, X, y, 60, m=8.0, n_scans=5)
    ids = learner.memory.state.ids
    assert np.unique(ids).size == ids.size == 60


def test_blocks_are_as_long_as_the_data_allows():
    assert block_size(500, 10**6, 40, 2) == block_size(500, None, 40, 2) == MAX_COLUMNS
    assert block_size(500, 4000, 40, 2) == 20  # a hundred exchanges in a scan
    assert block_size(500, 4000, 40, 1) == MAX_COLUMNS
    assert block_size(500, 5, 40, 2) == 1
    assert block_size(500, 10**6, 20_000, 2) == 13  # a fraction of a second


# ---- losses


@pytest.mark.parametrize("fraction", [0.0, 0.4])
def test_a_killed_worker_does_not_lose_the_run(fraction, monkeypatch):
    monkeypatch.setattr(asyos, "SubstitutionWorker", Mortal)
    X, y, true = planted(2)
    alone = in_one_process(X, y, n_scans=4)
    killed = {}
    with ProcessEngine(2) as engine:

        def watch(progress):
            if not killed and progress.done >= fraction * progress.total and engine.pending:
                victim = max(engine.pending)
                killed[victim] = engine.processes[victim].process.pid
                os.kill(killed[victim], signal.SIGKILL)

        made = centre_of(engine)
        learner = on_engine(engine, X, y, watch=watch, n_scans=4)
        assert all(engine.processes[victim].process.pid != pid for victim, pid in killed.items())
    assert killed
    assert error_of(learner, X, y) < CLOSE * error_of(alone, X, y)
    assert recall_of(learner, true) == 1.0
    assert learner.n_learned == 4 * X.shape[1]
    check_the_centre(made[0], learner)


class LosingEngine(ThreadEngine):
    """An engine that loses chosen answers of workers, with all that the workers knew."""

    def __init__(self, n_workers, losses):
        super().__init__(n_workers)
        self.losses, self.answered = losses, dict.fromkeys(range(n_workers), 0)

    def next(self):
        answer = super().next()
        self.answered[answer.worker] += 1
        lost = (answer.worker, self.answered[answer.worker]) in self.losses
        return Answer(answer.worker, lost=True) if lost else answer


@pytest.mark.parametrize(
    "losses",
    [{(0, 1)}, {(1, 2)}, {(0, 40), (1, 41)}, {(1, 150)}, {(0, 5), (0, 9), (0, 100), (1, 199)}],
    ids=["never ready", "first block", "both", "second scan", "often"],
)
def test_a_lost_worker_starts_again_from_what_it_had_handed_over(losses, monkeypatch):
    monkeypatch.setattr(asyos_worker, "SLICE_SECONDS", 0.0)  # every block is handed over
    X, y, true = planted(3)
    with LosingEngine(2, losses) as engine:
        made = centre_of(engine)
        learner = on_engine(engine, X, y)
        assert engine.answered[0] > 150
    assert error_of(learner, X, y) < CLOSE * error_of(in_one_process(X, y), X, y)
    assert recall_of(learner, true) == 1.0
    assert learner.n_learned == 2 * X.shape[1]
    assert learner.results.n_features_seen_ == X.shape[1]
    check_the_centre(made[0], learner)


def test_a_lost_worker_that_is_alone_ends_as_if_it_had_not_been_lost(monkeypatch):
    monkeypatch.setattr(asyos_worker, "SLICE_SECONDS", 0.0)
    X, y, _ = planted(n_rows=500, n_columns=600)
    with LosingEngine(1, {(0, 3), (0, 6), (0, 10), (0, 11), (0, 21), (0, 30)}) as engine:
        learner = on_engine(engine, X, y)
    check_same(learner, in_one_process(X, y))


def test_a_worker_that_is_lost_again_and_again_ends_the_run(monkeypatch):
    """Being ready each time does not count as progress."""
    monkeypatch.setattr(asyos_worker, "SLICE_SECONDS", 0.0)
    X, y, _ = planted(n_rows=500, n_columns=600)
    with LosingEngine(2, {(0, answer) for answer in range(20, 40)}) as engine:
        with pytest.raises(RunError, match="worker 1 of 2 was lost 3 times without progress"):
            on_engine(engine, X, y)
        assert engine.answered[0] == 22


def test_a_worker_that_is_ready_has_made_no_progress(monkeypatch):
    monkeypatch.setattr(asyos_worker, "SLICE_SECONDS", 0.0)
    X, y, _ = planted(n_rows=500, n_columns=600)
    losses = {(0, 1), (0, 2), (0, 4)}  # the third answer says that the worker is ready
    with (
        LosingEngine(1, losses) as engine,
        pytest.raises(RunError, match="worker 1 of 1 was lost 3 times without"),
    ):
        on_engine(engine, X, y)


def test_the_part_of_a_lost_worker_is_taken_back(monkeypatch):
    """While a lost worker has no successor, the centre has only the parts of the others."""
    monkeypatch.setattr(asyos_worker, "SLICE_SECONDS", 0.0)
    X, y, _ = planted(3)
    forgotten = []
    with LosingEngine(2, {(0, 60)}) as engine:
        made = centre_of(engine)
        start = engine.start

        def watched_start(worker, *args):
            if engine.answered[0] >= 60:
                forgotten.append(np.abs(made[0].parts[worker]).max())
            start(worker, *args)

        engine.start = watched_start
        on_engine(engine, X, y)
    assert forgotten == [0.0]


# ---- edges


def test_fewer_columns_than_workers():
    X, y, _ = planted(n_columns=3, n_true=2)
    with ThreadEngine(5) as engine:
        learner = on_engine(engine, X, y, 20)
    assert learner.params.workers == 3
    assert learner.results.selection().indices.tolist() == [0, 1, 2]


def test_fewer_columns_wanted_than_workers():
    X, y, _ = planted(n_true=2)
    with ThreadEngine(4) as engine:
        learner = on_engine(engine, X, y, 2, workers=2)
    assert learner.params.workers == 2
    assert len(learner.results.selection()) == 2


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_value_is_the_same_error(engine, value):
    X, y, _ = planted(n_columns=300)
    X[7, 123] = value
    with pytest.raises(ss.DataError) as alone:
        in_one_process(X, y)
    with pytest.raises(ss.DataError) as distributed:
        on_engine(engine, X, y)
    assert str(distributed.value) == str(alone.value)


def test_weights_that_diverge_are_an_error(engine):
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (100, 1)) + 0.1 * random.normal(0, 1, (100, 300))
    with pytest.raises(
        ss.DataError, match=r"the weights diverge.* step=0.5 and m=1.0;.* solver='pool'"
    ):
        on_engine(engine, X, X[:, 0], 20, n_scans=10)


def test_a_staleness_is_refused():
    X, y, _ = planted(n_columns=30)
    with (
        ThreadEngine(2) as engine,
        pytest.raises(ss.UsageError, match="staleness=3 is a parameter of the simulation"),
    ):
        on_engine(engine, X, y, staleness=3)


def test_parameters_without_meaning_are_refused():
    X, y, _ = planted(n_columns=30)
    with (
        ThreadEngine(2) as engine,
        pytest.raises(ValueError, match="n_features_to_select=None: must be an integer"),
    ):
        on_engine(engine, X, y, None)


def test_columns_that_cannot_be_split_are_refused():
    X, y, _ = planted(n_columns=30)
    blocks = (block for block in ArraySource(X, y).column_blocks())
    with (
        ThreadEngine(2) as engine,
        pytest.raises(ss.UsageError, match="these columns cannot be split into parts"),
    ):
        train_asyos(ASYOS.make(5), ColumnBlockSource(blocks, y), engine)


SCRIPT = """
import numpy as np
from streamsieve.distributed.asyos import train_asyos
from streamsieve.distributed.local import ProcessEngine
from streamsieve.selectors.columns.asyos import ASYOS
from streamsieve.selectors.columns.substitution import ONLINE_SUBSTITUTION
from streamsieve.sources.arrays import ArraySource

random = np.random.default_rng(0)
X = random.normal(0, 1, (500, 2000))
with ProcessEngine(2) as engine:
    def watch(progress):
        pids = [process.process.pid for process in engine.processes.values()]
        print(*pids, flush=True)

    train_asyos(ASYOS.make(20, n_scans=10_000), ArraySource(X, X[:, 0]), engine, watch=watch)
"""


def test_an_interrupt_leaves_no_process():
    run = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(4):  # until the workers are well at work
        pids = [int(pid) for pid in run.stdout.readline().split()]
    assert len(pids) == 2
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
