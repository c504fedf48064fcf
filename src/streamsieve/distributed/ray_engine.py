"""Workers on a Ray cluster: an actor each, on any of its machines."""

from __future__ import annotations

import io
import os
import pickle
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import ray
from numpy.typing import NDArray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ..errors import RunError
from ..machine import THREADS_VARIABLE, cores
from ..selectors.columns.asyos import Centre
from .engine import F64, Answer, CentreLike, Engine
from .local import Worker, sendable
from .memory import LARGE, CheckedPickler
from .ray_cluster import Cluster

CHECK_SECONDS = 5.0  # between two looks at whether the cluster is still large enough

LOST = (
    ray.exceptions.RayActorError,
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.NodeDiedError,
    ray.exceptions.OutOfMemoryError,
    ray.exceptions.ObjectLostError,  # the answer, with the machine that had it
)
FULL = ray.exceptions.ObjectStoreFullError, ray.exceptions.OutOfDiskError


# ---- messages


class Parcel(NamedTuple):
    """A value on its way: pickled, but for its large arrays, which Ray puts into memory that processes share."""

    body: bytes
    arrays: list[NDArray[np.uint8]]


def parcel(value: Any) -> Parcel:
    arrays: list[NDArray[np.uint8]] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        raw = np.frombuffer(buffer.raw(), np.uint8)
        if raw.nbytes >= LARGE:
            arrays.append(raw)
        return raw.nbytes < LARGE

    body = io.BytesIO()
    CheckedPickler(body, protocol=5, buffer_callback=is_small).dump(value)
    return Parcel(body.getvalue(), arrays)


def opened(sent: Parcel) -> Any:
    """The value of a parcel. Arrays from Ray are read-only, which kernels are not compiled for: these are copies."""
    return pickle.loads(sent.body, buffers=[array.copy() for array in sent.arrays])


# ---- what runs in the cluster


class RemoteWorker:
    """A worker in a process of the cluster; its answers are parcels of a value and an error."""

    def __init__(self, threads: int, make: Parcel, *args: Parcel) -> None:
        os.environ[THREADS_VARIABLE] = str(threads)
        self.worker = Worker(opened(make), tuple(opened(arg) for arg in args))

    def answer(self, method: str, *args: Parcel) -> Parcel:
        try:
            value, error = self.worker.answer(method, tuple(opened(arg) for arg in args))
            return parcel((value, sendable(error)))
        except Exception as error:  # an argument or an answer that cannot be pickled
            return parcel((None, sendable(error)))

    def is_there(self) -> None:
        """Answer, if it is."""


def make_centre(n_workers: int, n_rows: int) -> Centre:
    return Centre(np.zeros((n_workers, n_rows)))


class RemoteCentre:
    """What workers and the driver have of a centre: its name, by which any of them finds it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.actor: Any = None

    def __reduce__(self) -> Any:
        return RemoteCentre, (self.name,)

    def scores(self) -> F64:
        return self._ask("scores")

    def register(self, worker: int, part: F64 | None = None) -> F64:
        return self._ask("register", worker, part)

    def forget(self, worker: int) -> F64:
        return self._ask("forget", worker)

    def _ask(self, method: str, *args: Any) -> F64:
        try:
            with storing():
                if self.actor is None:
                    self.actor = ray.get_actor(self.name)
                value, error = opened(ray.get(self.actor.answer.remote(method, *map(parcel, args))))
        except (ValueError, *LOST) as failure:  # a ValueError if there is no such actor
            raise RunError(
                "the process that had the scores of all workers was lost, and the run with it:"
                " start it again"
            ) from failure
        if error is not None:
            raise error
        scores: F64 = value
        return scores


@contextmanager
def storing() -> Iterator[None]:
    """Say what to do if there is no room for what is sent."""
    try:
        yield
    except FULL as error:
        raise RunError(
            "Ray's object store is full, and so is the disk that it writes to then: make room on"
            " that disk (Ray's temporary folder), or start the cluster with more memory for it (ray"
            " start --object-store-memory)"
        ) from error


# ---- the engine


class RayEngine(Engine):
    """An actor per worker, with one CPU; the driver starts another one for an actor that is lost."""

    name = "ray"

    def __init__(self, n_workers: int, address: str | None = None) -> None:
        """``address`` is HOST:PORT, "auto" (a cluster of this machine) or "local" (one that is started here).

        Without it, whatever is there is used: the connection of this process, the cluster that
        ``RAY_ADDRESS`` names, one that runs on this machine; otherwise one is started.
        """
        super().__init__(n_workers)
        self.actors: dict[int, Any] = {}
        self.centres: list[Any] = []
        self.asked: dict[Any, int] = {}  # reference of an answer -> worker
        self.unreachable: set[int] = set()
        self.cluster = Cluster(n_workers, address)
        self.threads = (
            max(1, cores() // n_workers) if self.cluster.started else 1
        )  # elsewhere CPUs are counted
        self.remote = ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(
            RemoteWorker
        )

    def share(self, value: Any) -> Any:
        with storing():
            return ray.put(parcel(value))

    def centre(self, n_rows: int) -> CentreLike:
        name = f"streamsieve-centre-{secrets.token_hex(8)}"
        # where the driver is: that machine is not lost before the run is
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
        actor = self.remote.options(num_cpus=0, name=name, scheduling_strategy=here)
        self.centres.append(actor.remote(1, *map(parcel, (make_centre, self.n_workers, n_rows))))
        return RemoteCentre(name)

    def start(self, worker: int, make: Callable[..., Any], *args: Any) -> None:
        if worker in self.actors:
            self._stop(worker)
            self.cluster.check(self.n_workers)  # a machine may be gone
        with storing():
            self.actors[worker] = self.remote.remote(self.threads, parcel(make), *self._parts(args))

    def _stop(self, worker: int) -> None:
        ray.kill(self.actors.pop(worker))
        self.unreachable.discard(worker)
        self.asked = {answer: number for answer, number in self.asked.items() if number != worker}

    def call(self, worker: int, method: str, *args: Any) -> None:
        with storing():
            self.asked[self.actors[worker].answer.remote(method, *self._parts(args))] = worker

    @staticmethod
    def _parts(args: tuple[Any, ...]) -> list[Any]:
        return [arg if isinstance(arg, ray.ObjectRef) else parcel(arg) for arg in args]

    def next(self) -> Answer:
        if not self.asked:
            raise RunError("no worker was asked for anything")
        while True:
            while not (ready := ray.wait(list(self.asked), timeout=CHECK_SECONDS)[0]):
                self.cluster.check(self.n_workers)
            answer = self._answer(ready[0])
            if answer is not None:
                return answer

    def _answer(self, ready: Any) -> Answer | None:
        """The answer of a reference, unless it remains to be seen whether the worker is lost."""
        worker = self.asked.pop(ready)
        try:
            with storing():
                sent = ray.get(ready)
        except ray.exceptions.ActorUnavailableError:
            # Until Ray has found out that a machine is gone, it would start the next worker there.
            self.unreachable.add(worker)
            self.asked[self.actors[worker].is_there.remote()] = worker
            return None
        except LOST as failure:
            if isinstance(failure, ray.exceptions.RayActorError) and failure.actor_init_failed:
                raise _not_made(worker, failure) from failure
            return Answer(worker, lost=True)
        except ray.exceptions.RayError as failure:
            raise RunError(f"Ray failed: {failure}") from failure
        if (
            worker in self.unreachable
        ):  # it is back, but its last call may or may not have come through
            return Answer(worker, lost=True)
        return Answer(worker, *opened(sent))

    def close(self) -> None:
        if ray.is_initialized():
            for worker in list(self.actors):
                self._stop(worker)
            while self.centres:
                ray.kill(self.centres.pop())
        self.cluster.close()


def _not_made(worker: int, failure: Exception) -> RunError:
    last = str(failure).strip().splitlines()[-1]
    return RunError(
        f"worker {worker + 1} could not be started: {last}; every machine of the cluster needs the"
        " same versions of Python, Ray and streamsieve"
    )
