"""Tests of the contract of every engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamsieve.distributed.driving import open_engine
from streamsieve.distributed.engine import Engine, Supervisor
from streamsieve.engine_choice import EngineChoice
from streamsieve.errors import DataError, RunError, UsageError
from tests.waiting import wait_for

from .workers import Counter, Stubborn


def open_for_test(name: str, request: pytest.FixtureRequest) -> Engine:
    if name == "ray":
        request.getfixturevalue("ray_cluster")
        return open_engine(EngineChoice("ray", 2))
    return open_engine(EngineChoice("local", 2), in_memory=name == "threads")


@pytest.fixture(params=["processes", "threads", "ray"])
def engine(request) -> Iterator[Engine]:
    with open_for_test(request.param, request) as engine:
        yield engine


@pytest.fixture(params=["processes", "ray"])
def processes(request) -> Iterator[Engine]:
    """Yield engines whose workers can be killed."""
    with open_for_test(request.param, request) as engine:
        yield engine


def answers(engine: Engine, count: int) -> dict[int, Any]:
    replies = [engine.next() for _ in range(count)]
    assert all(answer.error is None and not answer.lost for answer in replies)
    return {answer.worker: answer.value for answer in replies}


def is_gone(pid: int) -> bool:
    """Return True if a process has ended, even if it is still in the table of processes."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until_gone(pid: int) -> None:
    wait_for(lambda: is_gone(pid), seconds=10.0)


def test_every_worker_is_an_object_of_its_own(engine):
    for worker in range(2):
        engine.start(worker, Counter, 10 * worker)
        engine.call(worker, "add", 1)
    assert answers(engine, 2) == {0: 1, 1: 11}
    engine.call(1, "add", 5)
    assert answers(engine, 1) == {1: 16}


@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_arrays_of_any_size_come_and_go(engine, size):
    array = np.arange(float(size))
    engine.start(0, Counter, 0)
    engine.call(0, "twice", array, {"same": array[::2]})
    np.testing.assert_array_equal(answers(engine, 1)[0], 2 * array)


def test_a_shared_value_arrives_as_it_is(engine):
    shared = engine.share({"numbers": np.arange(50_000), "text": "a"})
    for worker in range(2):
        engine.start(worker, Counter, 0)
        engine.call(worker, "sum_of", shared)
    assert set(answers(engine, 2).values()) == {sum(range(50_000))}


def test_a_shared_value_can_be_given_at_the_start(engine):
    engine.start(0, Counter, engine.share(np.full(20_000, 2.0)))
    engine.call(0, "total")
    assert answers(engine, 1)[0] == 40_000.0


def test_an_error_comes_back_as_it_was(engine):
    engine.start(0, Counter, 0)
    engine.call(0, "fail", "a.svm:3: no number")
    answer = engine.next()
    assert isinstance(answer.error, DataError)
    assert str(answer.error) == "a.svm:3: no number"
    engine.call(0, "add", 1)  # the worker goes on
    assert answers(engine, 1) == {0: 1}


def test_an_error_while_a_worker_is_made_is_the_answer_to_its_first_call(engine):
    engine.start(1, Stubborn)
    engine.call(1, "add", 1)
    answer = engine.next()
    assert (answer.worker, str(answer.error)) == (1, "no")


def test_an_error_that_cannot_be_sent_keeps_its_text(processes):
    processes.start(0, Counter, 0)
    processes.call(0, "fail_oddly")
    answer = processes.next()
    assert isinstance(answer.error, RunError)
    assert "OddError: one, two" in str(answer.error)


def test_workers_share_a_centre(engine):
    centre = engine.centre(4)
    for worker in range(2):
        engine.start(worker, Counter, 0)
        engine.call(worker, "push", centre, worker, np.full(4, 1.0 + worker))
        answers(engine, 1)
    np.testing.assert_array_equal(centre.scores(), np.full(4, 3.0))
    np.testing.assert_array_equal(centre.forget(0), np.full(4, 2.0))


def test_a_killed_worker_is_lost_and_can_be_started_again(processes):
    for worker in range(2):
        processes.start(worker, Counter, 0)
        processes.call(worker, "pid")
    pids = answers(processes, 2)
    assert os.getpid() not in pids.values()
    processes.call(0, "sleep", 60.0)
    os.kill(pids[0], signal.SIGKILL)
    answer = processes.next()
    assert (answer.worker, answer.lost) == (0, True)
    processes.start(0, Counter, 5)
    processes.call(0, "add", 1)
    assert answers(processes, 1) == {0: 6}


def test_a_worker_that_is_lost_between_two_calls(processes):
    processes.start(0, Counter, 0)
    processes.call(0, "pid")
    (pid,) = answers(processes, 1).values()
    os.kill(pid, signal.SIGKILL)
    wait_until_gone(pid)
    processes.call(0, "add", 1)
    assert processes.next().lost


def test_a_worker_that_is_lost_again_and_again_ends_the_run(processes):
    def start_worker(worker: int) -> None:
        processes.start(worker, Counter, 0)
        processes.call(worker, "die")

    supervisor = Supervisor(processes, start_worker)
    start_worker(0)
    with pytest.raises(RunError, match="worker 1 of 2 was lost 3 times without progress"):
        supervisor.next_answer()
    assert supervisor.losses == 3


class Script:
    """A class that seems to be defined in the script that is running."""


def test_a_class_of_the_running_script_is_refused_before_a_worker_is_started(
    processes, monkeypatch
):
    monkeypatch.setattr(Script, "__module__", "__main__")
    monkeypatch.setattr("__main__.Script", Script, raising=False)
    message = "Script cannot be sent to a worker: .*; move it to a module"
    with pytest.raises(UsageError, match=message):
        processes.start(0, Counter, [Script()])
    with pytest.raises(UsageError, match=message):
        processes.share({"a": Script})
    assert not vars(processes).get("processes")
    assert not vars(processes).get("actors")


def test_a_class_inside_a_function_is_refused_before_a_worker_is_started(processes):
    class Inner:
        pass

    with pytest.raises(
        UsageError, match=r"Inner cannot be sent to a worker: .*; move it to a module"
    ):
        processes.start(0, Counter, Inner())


def test_no_process_is_left(processes):
    for worker in range(2):
        processes.start(worker, Counter, 0)
        processes.call(worker, "pid")
    pids = answers(processes, 2)
    processes.call(0, "sleep", 60.0)  # busy
    processes.close()
    for pid in pids.values():
        wait_until_gone(pid)


SCRIPT = """
import os, sys
from streamsieve.distributed.local import ProcessEngine
from tests.distributed.workers import Counter
engine = ProcessEngine(1)
engine.start(0, Counter, 0)
engine.call(0, "pid")
print(engine.next().value, flush=True)
engine.call(0, "sleep", 60.0)  # busy
os.kill(os.getpid(), 9)
"""


def test_workers_end_when_the_process_that_asks_is_killed():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    wait_until_gone(int(run.stdout))
