"""Run workers on a Ray cluster: an actor for each worker, on any machine of the cluster."""

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
from .local import Worker, make_picklable
from .memory import MIN_SHARED_BYTES, CheckedPickler
from .ray_cluster import Cluster

CHECK_SECONDS = 5.0  # between two checks whether the cluster is still large enough

LOST_ERRORS = (
    ray.exceptions.RayActorError,
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.NodeDiedError,
    ray.exceptions.OutOfMemoryError,
    ray.exceptions.ObjectLostError,  # the answer, with the machine that had it
)
FULL_ERRORS = ray.exceptions.ObjectStoreFullError, ray.exceptions.OutOfDiskError


# ---- messages


class Parcel(NamedTuple):
    """A pickled value, whose large arrays Ray puts into shared memory."""

    body: bytes
    arrays: list[NDArray[np.uint8]]


def make_parcel(value: Any) -> Parcel:
    """Return a value as a parcel."""
    arrays: list[NDArray[np.uint8]] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        raw = np.frombuffer(buffer.raw(), np.uint8)
        if raw.nbytes >= MIN_SHARED_BYTES:
            arrays.append(raw)
        return raw.nbytes < MIN_SHARED_BYTES

    body = io.BytesIO()
    CheckedPickler(body, protocol=5, buffer_callback=is_small).dump(value)
    return Parcel(body.getvalue(), arrays)


def unpack_parcel(sent: Parcel) -> Any:
    """Return the value of a parcel, with copies of its arrays.

    Arrays from Ray are read-only, and kernels are not compiled for these.
    """
    return pickle.loads(sent.body, buffers=[array.copy() for array in sent.arrays])


# ---- what runs in the cluster


class RemoteWorker:
    """A worker in a process of the cluster; its answers are parcels of a value and an error."""

    def __init__(self, threads: int, make: Parcel, *args: Parcel) -> None:
        os.environ[THREADS_VARIABLE] = str(threads)
        self.worker = Worker(unpack_parcel(make), tuple(unpack_parcel(arg) for arg in args))

    def answer(self, method: str, *args: Parcel) -> Parcel:
        try:
            value, error = self.worker.answer(method, tuple(unpack_parcel(arg) for arg in args))
            return make_parcel((value, make_picklable(error)))
        except Exception as error:  # an argument or an answer that cannot be pickled
            return make_parcel((None, make_picklable(error)))

    def ping(self) -> None:
        """Return as soon as the worker can be reached."""


def make_centre(n_workers: int, n_rows: int) -> Centre:
    """Return a centre whose scores are all 0."""
    return Centre(np.zeros((n_workers, n_rows)))


class RemoteCentre:
    """A handle to a centre for workers and the driver, which find its actor by name."""

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
            with explain_full_store():
                if self.actor is None:
                    self.actor = ray.get_actor(self.name)
                value, error = unpack_parcel(
                    ray.get(self.actor.answer.remote(method, *map(make_parcel, args)))
                )
        except (ValueError, *LOST_ERRORS) as failure:  # a ValueError if no actor has this name
            raise RunError(
                "the process that had the scores of all workers was lost; start the run again"
            ) from failure
        if error is not None:
            raise error
        scores: F64 = value
        return scores


@contextmanager
def explain_full_store() -> Iterator[None]:
    """Raise RunError with advice if there is no room for a message."""
    try:
        yield
    except FULL_ERRORS as error:
        raise RunError(
            "Ray's object store is full, and so is the disk that it spills to: make room on that"
            " disk (Ray's temporary folder), or start the cluster with more memory for the store"
            " (ray start --object-store-memory)"
        ) from error


# ---- the engine


class RayEngine(Engine):
    """An engine with an actor per worker, each with one CPU; the driver restarts lost workers."""

    name = "ray"

    def __init__(self, n_workers: int, address: str | None = None) -> None:
        """Connect to a cluster, or start one.

        ``address`` is HOST:PORT, "auto" (a cluster that runs on this machine) or "local" (a cluster
        that is started here). Without it, the first of these is used: the connection of this
        process, the cluster that ``RAY_ADDRESS`` names, a cluster that runs on this machine, a
        cluster that is started here.
        """
        super().__init__(n_workers)
        self.actors: dict[int, Any] = {}
        self.centres: list[Any] = []
        self.pending: dict[Any, int] = {}  # reference of an answer -> worker
        self.unreachable: set[int] = set()
        self.cluster = Cluster(n_workers, address)
        # In a cluster that runs already, a worker has one CPU.
        self.threads = max(1, cores() // n_workers) if self.cluster.started else 1
        self.remote = ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(
            RemoteWorker
        )

    def share(self, value: Any) -> Any:
        with explain_full_store():
            return ray.put(make_parcel(value))

    def centre(self, n_rows: int) -> CentreLike:
        name = f"streamsieve-centre-{secrets.token_hex(8)}"
        # on the driver's machine: if that is lost, so is the run
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
        actor = self.remote.options(num_cpus=0, name=name, scheduling_strategy=here)
        self.centres.append(
            actor.remote(1, *map(make_parcel, (make_centre, self.n_workers, n_rows)))
        )
        return RemoteCentre(name)

    def start(self, worker: int, make: Callable[..., Any], *args: Any) -> None:
        if worker in self.actors:
            self._stop(worker)
            self.cluster.check(self.n_workers)  # a machine may be lost
        with explain_full_store():
            self.actors[worker] = self.remote.remote(
                self.threads, make_parcel(make), *self._parts(args)
            )

    def _stop(self, worker: int) -> None:
        ray.kill(self.actors.pop(worker))
        self.unreachable.discard(worker)
        self.pending = {
            answer: number for answer, number in self.pending.items() if number != worker
        }

    def call(self, worker: int, method: str, *args: Any) -> None:
        with explain_full_store():
            self.pending[self.actors[worker].answer.remote(method, *self._parts(args))] = worker

    @staticmethod
    def _parts(args: tuple[Any, ...]) -> list[Any]:
        return [arg if isinstance(arg, ray.ObjectRef) else make_parcel(arg) for arg in args]

    def next(self) -> Answer:
        if not self.pending:
            raise RunError("no worker was asked for anything")
        while True:
            while not (ready := ray.wait(list(self.pending), timeout=CHECK_SECONDS)[0]):
                self.cluster.check(self.n_workers)
            answer = self._answer(ready[0])
            if answer is not None:
                return answer

    def _answer(self, ready: Any) -> Answer | None:
        """Return the answer of a reference; None while it is unknown whether the worker is lost."""
        worker = self.pending.pop(ready)
        try:
            with explain_full_store():
                sent = ray.get(ready)
        except ray.exceptions.ActorUnavailableError:
            # Until Ray notices that a machine is lost, it would start the next worker there.
            self.unreachable.add(worker)
            self.pending[self.actors[worker].ping.remote()] = worker
            return None
        except LOST_ERRORS as failure:
            if isinstance(failure, ray.exceptions.RayActorError) and failure.actor_init_failed:
                raise _start_error(worker, failure) from failure
            return Answer(worker, lost=True)
        except ray.exceptions.RayError as failure:
            raise RunError(f"Ray failed: {failure}") from failure
        # A worker may be reached again, but its last call may not have arrived.
        if worker in self.unreachable:
            return Answer(worker, lost=True)
        return Answer(worker, *unpack_parcel(sent))

    def close(self) -> None:
        if ray.is_initialized():
            for worker in list(self.actors):
                self._stop(worker)
            while self.centres:
                ray.kill(self.centres.pop())
        self.cluster.close()


def _start_error(worker: int, failure: Exception) -> RunError:
    last = str(failure).strip().splitlines()[-1]
    return RunError(
        f"worker {worker + 1} could not be started: {last}; every machine of the cluster needs the"
        " same versions of Python, Ray and streamsieve"
    )
