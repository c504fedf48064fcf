"""The Ray cluster that an engine works on: one that runs already, or one started here and stopped at the end."""

from __future__ import annotations

import importlib
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray

from ..errors import RunError, UsageError, spell
from ..machine import available_memory
from .local import ONE_THREAD

CONNECT_SECONDS = 5.0  # for a machine of the cluster to answer; Ray itself would try for minutes
STORE_FRACTION = 5  # of the memory available, one part in so many is for Ray's object store
STORE_BYTES = (
    80 << 20,
    4 << 30,
)  # at least (Ray wants 75 MiB) and at most; what does not fit is written to disk
INLINE_BYTES = (
    1 << 20
)  # of a message that goes along with a call: four times as fast as through the object store
MAX_ADDRESS_LENGTH = 300  # bytes of HOST:PORT: names of hosts have up to 253
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}

# What a client of HTTP/2 says first (RFC 9113, 3.4), with settings that change nothing; a server
# answers with its own.
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
SETTINGS = 4


class Cluster:
    """A connection to Ray, closed at the end unless it was there before."""

    def __init__(self, n_workers: int, address: str | None) -> None:
        self.started = self.connected = False  # by us
        self.folder: str | None = None
        try:
            with _own_signals():
                self._open(n_workers, address)
            if self.connected:
                _silence()
            self.check(n_workers)
        except BaseException:
            self.close()
            raise

    def _open(self, n_workers: int, address: str | None) -> None:
        address = address or os.environ.get("RAY_ADDRESS") or None
        if ray.is_initialized():
            _check_same(address)
        elif address is not None and address not in ("auto", "local"):
            _check_address(address)
            self._connect(address, {})
        elif address != "local" and (running := _running_here()) is not None:
            self._connect_here(running, n_workers, optional=address is None)
        elif address == "auto":
            raise UsageError(
                "auto: no Ray cluster runs on this machine; start one with 'ray start --head'"
            )
        else:
            self._start(n_workers)

    def _connect_here(self, address: str, n_workers: int, optional: bool) -> None:
        """Connect to a cluster of this machine; if nobody has asked for it and it is somebody else's, start another."""
        use_token = (
            "RAY_AUTH_MODE" not in os.environ and _has_token()
        )  # as Ray itself does, on this machine
        try:
            self._connect(address, {"RAY_AUTH_MODE": "token"} if use_token else {})
        except RunError as error:
            if not optional:
                raise
            warnings.warn(
                f"{error}; now one is started for this run ({spell('address', 'local')} says so)",
                stacklevel=2,
            )
            self.connected = False
            self._start(n_workers)

    def _connect(self, address: str, given: dict[str, str]) -> None:
        try:
            with _environment(given | {"RAY_USAGE_STATS_ENABLED": "0"}):
                _read_settings()
                _raylet().GcsClient(address=address)  # asks once; what follows would ask 20 times
                self.connected = True
                ray.init(address, **QUIET)
        except ray.exceptions.AuthenticationError as error:
            raise RunError(
                f"{address}: the Ray cluster did not accept our token: set RAY_AUTH_MODE=token, and"
                " RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH as on the machines of the cluster"
            ) from error
        except (RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
            raise RunError(
                f"{address}: could not connect to the Ray cluster: {_first_line(error)}; this must"
                " run on a machine of the cluster, with the same versions of Python and Ray"
            ) from error

    def _start(self, n_workers: int) -> None:
        """Start a cluster for this run alone: a token nobody else knows, and a folder only this user can look into."""
        given = {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_max_direct_call_object_size": str(INLINE_BYTES),
        }
        given |= dict.fromkeys(ONE_THREAD, "1")
        given |= {"RAY_AUTH_MODE": os.environ.get("RAY_AUTH_MODE", "token")}
        if not _has_token():
            given |= {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self.folder = tempfile.mkdtemp(prefix="sieve-", dir=_temporary_folder())
        least, most = STORE_BYTES
        self.started = self.connected = True
        try:
            with _uninterrupted(), _environment(given):
                _read_settings()
                ray.init(
                    "local",
                    num_cpus=n_workers,
                    num_gpus=0,
                    include_dashboard=False,
                    object_store_memory=min(max(available_memory() // STORE_FRACTION, least), most),
                    _temp_dir=f"{self.folder}/ray",  # Ray opens its own folder to everybody, but not this one
                    **QUIET,
                )
        except (RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
            raise RunError(
                f"Ray could not be started on this machine: {_first_line(error)}"
            ) from error

    def check(self, n_workers: int) -> None:
        """Refuse more workers than can run at the same time: Ray would wait for machines that may never come."""
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < n_workers:
            raise RunError(
                f"{n_workers} workers need a CPU each, and the Ray cluster has {cpus}: take fewer"
                " workers, or add machines"
            )

    def close(self) -> None:
        """Disconnect, and stop what was started here."""
        if self.connected:
            self.connected = False
            ray.shutdown(wait_for_processes=True)
            if (
                "RAY_AUTH_MODE" not in os.environ
            ):  # or Ray might look for a token that is gone, and abort
                _read_settings()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None


def _check_same(address: str | None) -> None:
    """Refuse an address if this process is connected to another one."""
    connected = ray.get_runtime_context().gcs_address
    if address is None or address == "auto":
        return
    if address == "local" or _resolved(address) != _resolved(connected):
        raise UsageError(
            f"{address}: Ray is connected to {connected} in this process; call ray.shutdown()"
            " before"
        )


def _check_address(address: str) -> None:
    """Refuse an address at which no Ray cluster answers."""
    if "://" in address:
        raise UsageError(
            f"{address}: only HOST:PORT, auto and local are Ray addresses here; instead of using"
            " the Ray Client, run this on a machine of the cluster ('ray job submit')"
        )
    if not _is_address(address):
        raise UsageError(
            f"{address}: not an address of a Ray cluster; it is HOST:PORT, port 6379 by default"
        )
    if not _answers(address):
        raise RunError(
            f"{address}: no Ray cluster answers there; check the address (its port is 6379 by"
            " default), whether the cluster runs ('ray status' on its head) and firewalls"
        )


def _is_address(text: str) -> bool:
    """Return True for HOST:PORT."""
    host, _, port = text.rpartition(":")
    return bool(host) and host.isprintable() and port.isdecimal()


def _answers(address: str) -> bool:
    """Whether something speaks Ray's protocol there, gRPC over HTTP/2."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS) as connection:
            connection.settimeout(CONNECT_SECONDS)
            connection.sendall(HELLO)
            return connection.recv(9)[3:4] == bytes([SETTINGS])
    except (OSError, OverflowError, UnicodeError):  # the last one of a host that cannot be a name
        return False


def _resolved(address: str) -> tuple[str, str]:
    """An address with the host as a number."""
    host, _, port = address.rpartition(":")
    try:
        return socket.gethostbyname(host), port
    except OSError:
        return host, port


def _running_here() -> str | None:
    """Return the cluster that this user last started with ``ray start`` on this machine, if it still runs.

    Everybody can write to the folder in which Ray names it, and whoever runs a cluster can run
    programs as its users.
    """
    path = Path(_temporary_folder()) / "ray" / "ray_current_cluster"
    try:
        with open(path, "rb", opener=_open_plain) as file:
            ours, content = (
                os.fstat(file.fileno()).st_uid == os.getuid(),
                file.read(MAX_ADDRESS_LENGTH),
            )
    except OSError:
        return None
    address = content.decode(errors="replace").strip()
    if not ours:
        warnings.warn(
            f"{path} belongs to another user and is ignored; name the cluster to use it: "
            f"{spell('address', 'HOST:PORT')}",
            stacklevel=2,
        )
    elif not _is_address(address):
        warnings.warn(
            f"{path} does not name a cluster as HOST:PORT and is ignored; remove it", stacklevel=2
        )
    elif _answers(address):
        return address
    return None


def _open_plain(path: str, flags: int) -> int:
    """Open a file without following a link or waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _temporary_folder() -> str:
    """Where Ray has its files; paths of sockets are there, so it must be short."""
    on_linux = os.environ.get("TMPDIR") if sys.platform.startswith("linux") else None
    return os.environ.get("RAY_TMPDIR") or on_linux or "/tmp"


@contextmanager
def _environment(given: dict[str, str]) -> Iterator[None]:
    """Set variables for processes that are started meanwhile; put them back, and those that Ray sets, too."""
    before = dict(os.environ)
    os.environ.update(given)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Let SIGTERM do afterwards what it does now: Ray would have it end the process on the spot."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until Ray has started: what is half started is not known yet, and could not be stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
        if interrupts:
            signal.raise_signal(signal.SIGINT)


def _has_token() -> bool:
    """Whether this user has set a token, or has one in the home folder."""
    _read_settings()
    return bool(_raylet().AuthenticationTokenLoader.instance().has_token(ignore_auth_mode=True))


def _read_settings() -> None:
    """Make Ray read the environment again: it remembers the token of an earlier cluster, which is of no use now."""
    _raylet().Config.initialize(
        ""
    )  # first: a thread of Ray's that wants the token must not find that there is none
    _raylet().AuthenticationTokenLoader.instance().reset_cache()


def _raylet() -> Any:
    """Ray's compiled part, whose types are not declared."""
    return importlib.import_module("ray._raylet")


def _silence() -> None:
    """End the thread of Ray's that prints on standard output that a worker died: results are printed there."""
    worker: Any = importlib.import_module("ray._private.worker").global_worker
    worker.threads_stopped.set()
    worker.gcs_error_subscriber.close()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(". ")
