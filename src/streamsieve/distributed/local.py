"""Run workers on this machine: in processes that share memory, or in threads.

Threads work at the same time because kernels release the interpreter's lock.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import numpy as np

from ..errors import RunError
from ..machine import THREADS_VARIABLE, cores
from ..selectors.columns.asyos import Centre
from .engine import Answer, CentreLike, Engine
from .memory import Message, SharedMemory, pack, receive, send

STOP_SECONDS = 1.0  # for a worker to end by itself
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
COMMAND = (
    "import sys; sys.path[:] = {path!r}; from streamsieve.distributed.local import serve;"
    " serve({file})"
)


class Worker:
    """An object whose methods are called by name.

    An error raised while it is made is the answer to the first call.
    """

    def __init__(self, make: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.failure: Exception | None = None
        try:
            self.instance = make(*args)
        except Exception as error:
            self.failure = error

    def answer(self, method: str, args: tuple[Any, ...]) -> tuple[Any, Exception | None]:
        """Call a method by name; return its value, or the error that it raised."""
        if self.failure is not None:
            return None, self.failure
        try:
            return getattr(self.instance, method)(*args), None
        except Exception as error:
            return None, error


# ---- processes


class SharedValue(NamedTuple):
    """A value that is packed once, for several workers."""

    message: Message


class SharedCentre(Centre):
    """A centre in memory that all workers map: each writes its own line and reads all."""

    def __init__(self, memory: SharedMemory, n_workers: int, n_rows: int) -> None:
        self.arguments = memory, n_workers, n_rows
        super().__init__(
            np.frombuffer(memory.map(), np.float64, n_workers * n_rows).reshape(n_workers, n_rows)
        )

    def __reduce__(self) -> Any:
        return SharedCentre, self.arguments


class Process:
    """A process with one worker. It ends when its connection is closed."""

    def __init__(self, threads: int) -> None:
        ours, theirs = socket.socketpair()
        file = theirs.fileno()
        variables = dict.fromkeys(ONE_THREAD, "1") | {THREADS_VARIABLE: str(threads)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND.format(path=sys.path, file=file)],
            env=os.environ | variables,
            pass_fds=[file],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # only the main process handles Ctrl-C
        )
        theirs.close()
        self.connection = Connection(ours.detach())

    def send(self, parts: list[Message]) -> None:
        """Send messages; if the process has ended, ``receive`` finds out later."""
        try:
            send(self.connection, self.process.pid, parts)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def receive(self) -> tuple[Any, Exception | None] | None:
        """Return a value and an error, or None if the process has ended."""
        try:
            value, error = receive(self.connection)
        except (EOFError, OSError):
            return None
        return value, error

    def close(self) -> None:
        """Stop the process, and kill it if it does not end by itself in time."""
        self.connection.close()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class ProcessEngine(Engine):
    """An engine with a process per worker."""

    name = "local"

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self.processes: dict[int, Process] = {}
        self.pending: set[int] = set()

    def share(self, value: Any) -> SharedValue:
        return SharedValue(pack(value))

    def centre(self, n_rows: int) -> CentreLike:
        return SharedCentre(
            SharedMemory.create(self.n_workers * n_rows * 8), self.n_workers, n_rows
        )

    def start(self, worker: int, make: Callable[..., Any], *args: Any) -> None:
        parts = self._parts(make, args)
        if worker in self.processes:
            self.processes.pop(worker).close()
        self.processes[worker] = Process(max(1, cores() // self.n_workers))
        self.processes[worker].send(parts)

    def call(self, worker: int, method: str, *args: Any) -> None:
        self.processes[worker].send(self._parts(method, args))
        self.pending.add(worker)

    @staticmethod
    def _parts(first: Any, args: tuple[Any, ...]) -> list[Message]:
        return [
            pack(first),
            *(arg.message if isinstance(arg, SharedValue) else pack(arg) for arg in args),
        ]

    def next(self) -> Answer:
        waiting = {self.processes[worker].connection: worker for worker in sorted(self.pending)}
        if not waiting:
            raise RunError("no worker was asked for anything")
        ready = wait(list(waiting))[0]
        worker = next(number for connection, number in waiting.items() if connection is ready)
        self.pending.discard(worker)
        answer = self.processes[worker].receive()
        return Answer(worker, lost=True) if answer is None else Answer(worker, *answer)

    def close(self) -> None:
        # close all connections first, so that the processes end at the same time
        for process in self.processes.values():
            process.connection.close()
        while self.processes:
            self.processes.popitem()[1].close()


def serve(file: int) -> None:
    """Run the worker of a process, until its connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection, parent = Connection(file), os.getppid()
    threading.Thread(target=exit_with_parent, args=(parent,), daemon=True).start()
    try:
        make, *arguments = receive(connection)
        worker = Worker(make, tuple(arguments))
        while True:
            method, *arguments = receive(connection)
            value, error = worker.answer(method, tuple(arguments))
            send(connection, parent, [pack(value), pack(make_picklable(error))])
            del arguments, value, error  # or they would stay in memory until the next call
    except (EOFError, OSError):
        pass
    os._exit(0)  # threads that read ahead may be inside Arrow


def exit_with_parent(parent: int) -> None:
    """End this process when its parent is gone, for instance killed, whatever it computes."""
    while os.getppid() == parent:
        time.sleep(STOP_SECONDS)
    os._exit(0)


def make_picklable(error: Exception | None) -> Exception | None:
    """Return an error that can be pickled: the error itself, or a RunError with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RunError(f"{type(error).__name__}: {error}")
    return error


# ---- threads


class ThreadEngine(Engine):
    """An engine with a thread per worker, for data in memory: nothing is copied."""

    name = "local"

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self.calls: dict[int, queue.SimpleQueue[Any]] = {}
        self.answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self.threads: list[threading.Thread] = []

    def share(self, value: Any) -> Any:
        return value

    def centre(self, n_rows: int) -> CentreLike:
        return Centre(np.zeros((self.n_workers, n_rows)))

    def start(self, worker: int, make: Callable[..., Any], *args: Any) -> None:
        if worker in self.calls:
            self.calls[worker].put(None)
        calls = self.calls[worker] = queue.SimpleQueue()
        thread = threading.Thread(target=self._serve, args=(worker, calls, make, args), daemon=True)
        self.threads.append(thread)
        thread.start()

    def _serve(
        self,
        number: int,
        calls: queue.SimpleQueue[Any],
        make: Callable[..., Any],
        args: tuple[Any, ...],
    ) -> None:
        worker = Worker(make, args)
        while (call := calls.get()) is not None:
            self.answers.put(Answer(number, *worker.answer(*call)))

    def call(self, worker: int, method: str, *args: Any) -> None:
        self.calls[worker].put((method, args))

    def next(self) -> Answer:
        return self.answers.get()

    def close(self) -> None:
        for calls in self.calls.values():
            calls.put(None)
        for thread in self.threads:
            thread.join()
        self.calls, self.threads = {}, []
