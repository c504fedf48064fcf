"""Rows in shards on a Ray cluster."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from streamsieve import open_source
from streamsieve.distributed import rows
from streamsieve.distributed.driving import open_engine
from streamsieve.distributed.local import ThreadEngine
from streamsieve.distributed.rows import train_row_shards
from streamsieve.engine_choice import EngineChoice
from streamsieve.registry import find_method
from streamsieve.training import Progress

from .cases import assert_same
from .mortal import MortalRowWorker

X1 = "synthetic:x1?rows=20000&features=400"


def train_on(engine: Any, **options: Any) -> Any:
    learner: Any = find_method("sofs").make(20)
    learner.training = train_row_shards(learner, open_source(X1), engine, **options)
    return learner


@pytest.fixture(scope="module")
def expected() -> Any:
    with ThreadEngine(2) as engine:
        return train_on(engine)


def test_a_killed_worker_changes_nothing(ray_cluster, expected, monkeypatch):
    import ray

    from streamsieve.distributed.ray_engine import unpack_parcel

    monkeypatch.setattr(rows, "RowWorker", MortalRowWorker)
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if progress.done > 5000 and not killed:
            pid, _ = unpack_parcel(ray.get(engine.actors[1].answer.remote("pid")))
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    with open_engine(EngineChoice("ray", 2)) as engine:
        learner = train_on(engine, watch=kill)
    assert killed
    assert learner.training.details["lost_workers"] == 1
    assert_same(expected, learner)
