"""AsyOS by workers on a Ray cluster."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from streamsieve.distributed import asyos
from streamsieve.distributed.driving import open_engine
from streamsieve.distributed.engine import Engine
from streamsieve.engine_choice import EngineChoice

from .mortal import Mortal
from .test_asyos import (
    CLOSE,
    centre_of,
    check_the_centre,
    error_of,
    in_one_process,
    on_engine,
    planted,
    recall_of,
)


@pytest.fixture
def engine(ray_cluster: Any) -> Iterator[Engine]:
    with open_engine(EngineChoice("ray", 2)) as engine:
        yield engine


@pytest.mark.slow
def test_two_workers_reach_the_error_of_one_process(engine):
    X, y, true = planted()
    made = centre_of(engine)
    learner = on_engine(engine, X, y)
    assert error_of(learner, X, y) < CLOSE * error_of(in_one_process(X, y), X, y)
    assert recall_of(learner, true) == 1.0
    check_the_centre(made[0], learner)


def test_a_killed_worker_does_not_lose_the_run(engine, monkeypatch):
    import ray

    from streamsieve.distributed.ray_engine import unpack_parcel

    monkeypatch.setattr(asyos, "SubstitutionWorker", Mortal)
    X, y, true = planted(2)
    killed = []

    def watch(progress):
        if not killed and progress.done >= 0.2 * progress.total and engine.pending:
            victim = max(engine.pending.values())
            pid, _ = unpack_parcel(ray.get(engine.actors[victim].answer.remote("pid")))
            killed.append(engine.actors[victim])
            # when it is at work again
            threading.Timer(0.05, os.kill, (pid, signal.SIGKILL)).start()

    made = centre_of(engine)
    learner = on_engine(engine, X, y, watch=watch, n_scans=4)
    assert killed
    assert killed[0] not in engine.actors.values()
    assert error_of(learner, X, y) < CLOSE * error_of(in_one_process(X, y, n_scans=4), X, y)
    assert recall_of(learner, true) == 1.0
    assert learner.n_learned == 4 * X.shape[1]
    check_the_centre(made[0], learner)
