"""Connect to a running Ray cluster, or start one and stop it at the end."""

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
STORE_DIVISOR = 5  # available memory divided by this is for Ray's object store
# Minimum (Ray needs 75 MiB) and maximum of the object store; what does not fit is written to disk.
STORE_BYTES = 80 << 20, 4 << 30
# Messages up to this size are sent with a call: four times as fast as through the object store.
INLINE_BYTES = 1 << 20
MAX_ADDRESS_LENGTH = 300  # bytes of HOST:PORT; host names have up to 253
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}

# The preface of an HTTP/2 client (RFC 9113, 3.4), with settings that change nothing; a server
# answers with its own settings.
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
SETTINGS = 4


class Cluster:
    """A connection to Ray, closed at the end unless the process was connected before."""

    def __init__(self, n_workers: int, address: str | None) -> None:
        self.started = self.connected = False  # by us
        self.folder: str | None = None
        try:
            with _keep_sigterm_handler():
                self._open(n_workers, address)
            if self.connected:
                _stop_error_thread()
            self.check(n_workers)
        except BaseException:
            self.close()
            raise

    def _open(self, n_workers: int, address: str | None) -> None:
        address = address or os.environ.get("RAY_ADDRESS") or None
        if ray.is_initialized():
            _check_connected_to(address)
        elif address is not None and address not in ("auto", "local"):
            _check_address(address)
            self._connect(address, {})
        elif address != "local" and (running := _find_local_cluster()) is not None:
            self._connect_here(running, n_workers, optional=address is None)
        elif address == "auto":
            raise UsageError(
                "auto: no Ray cluster runs on this machine; start one with 'ray start --head'"
            )
        else:
            self._start(n_workers)

    def _connect_here(self, address: str, n_workers: int, optional: bool) -> None:
        """Connect to a cluster of this machine.

        If that fails and the user did not ask for this cluster, start another one.
        """
        # as Ray itself does, on this machine
        use_token = "RAY_AUTH_MODE" not in os.environ and _has_token()
        try:
            self._connect(address, {"RAY_AUTH_MODE": "token"} if use_token else {})
        except RunError as error:
            if not optional:
                raise
            warnings.warn(
                f"{error}; starting a new cluster for this run ({spell('address', 'local')} does so"
                " without this warning)",
                stacklevel=2,
            )
            self.connected = False
            self._start(n_workers)

    def _connect(self, address: str, variables: dict[str, str]) -> None:
        try:
            with _set_environment(variables | {"RAY_USAGE_STATS_ENABLED": "0"}):
                _read_settings()
                _raylet().GcsClient(address=address)  # tries once; ray.init would try 20 times
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
        """Start a cluster for this run, with a secret token and a folder private to this user."""
        variables = {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_max_direct_call_object_size": str(INLINE_BYTES),
        }
        variables |= dict.fromkeys(ONE_THREAD, "1")
        variables |= {"RAY_AUTH_MODE": os.environ.get("RAY_AUTH_MODE", "token")}
        if not _has_token():
            variables |= {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self.folder = tempfile.mkdtemp(prefix="sieve-", dir=_temporary_folder())
        min_bytes, max_bytes = STORE_BYTES
        self.started = self.connected = True
        try:
            with _delay_interrupt(), _set_environment(variables):
                _read_settings()
                ray.init(
                    "local",
                    num_cpus=n_workers,
                    num_gpus=0,
                    include_dashboard=False,
                    object_store_memory=min(
                        max(available_memory() // STORE_DIVISOR, min_bytes), max_bytes
                    ),
                    # inside a private folder: Ray makes its own readable by everybody
                    _temp_dir=f"{self.folder}/ray",
                    **QUIET,
                )
        except (RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
            raise RunError(
                f"Ray could not be started on this machine: {_first_line(error)}"
            ) from error

    def check(self, n_workers: int) -> None:
        """Raise RunError if there are more workers than CPUs: Ray would wait, maybe forever."""
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < n_workers:
            raise RunError(
                f"{n_workers} workers need a CPU each, and the Ray cluster has {cpus}: take fewer"
                " workers, or add machines"
            )

    def close(self) -> None:
        """Disconnect, and stop the cluster if it was started here."""
        if self.connected:
            self.connected = False
            ray.shutdown(wait_for_processes=True)
            # Otherwise Ray might look for a token that no longer exists, and abort.
            if "RAY_AUTH_MODE" not in os.environ:
                _read_settings()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None


def _check_connected_to(address: str | None) -> None:
    """Raise UsageError if this process is connected to a cluster at another address."""
    connected = ray.get_runtime_context().gcs_address
    if address is None or address == "auto":
        return
    if address == "local" or _resolve(address) != _resolve(connected):
        raise UsageError(
            f"{address}: Ray is connected to {connected} in this process; call ray.shutdown() first"
        )


def _check_address(address: str) -> None:
    """Raise an error if an address is not valid, or if no Ray cluster answers there."""
    if "://" in address:
        raise UsageError(
            f"{address}: must be HOST:PORT, auto or local; the Ray Client is not supported, run"
            " this on a machine of the cluster ('ray job submit')"
        )
    if not _is_address(address):
        raise UsageError(
            f"{address}: not an address of a Ray cluster; it must be HOST:PORT (port 6379 by"
            " default)"
        )
    if not _is_cluster_at(address):
        raise RunError(
            f"{address}: no Ray cluster answers there; check the address (its port is 6379 by"
            " default), whether the cluster runs ('ray status' on its head) and firewalls"
        )


def _is_address(text: str) -> bool:
    """Return True for HOST:PORT."""
    host, _, port = text.rpartition(":")
    return bool(host) and host.isprintable() and port.isdecimal()


def _is_cluster_at(address: str) -> bool:
    """Return True if a server at an address speaks Ray's protocol, gRPC over HTTP/2."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS) as connection:
            connection.settimeout(CONNECT_SECONDS)
            connection.sendall(HTTP2_PREFACE)
            return connection.recv(9)[3:4] == bytes([SETTINGS])
    except (OSError, OverflowError, UnicodeError):  # UnicodeError: not a valid host name
        return False


def _resolve(address: str) -> tuple[str, str]:
    """Return the host of an address, as an IP address if it can be resolved, and the port."""
    host, _, port = address.rpartition(":")
    try:
        return socket.gethostbyname(host), port
    except OSError:
        return host, port


def _find_local_cluster() -> str | None:
    """Return the address of this user's cluster on this machine, or None if none runs.

    Ray writes the address of the cluster that was last started with ``ray start`` to a file.
    Everybody can write to the folder of this file, and whoever runs a cluster can run programs as
    its users; therefore a file of another user is ignored.
    """
    path = Path(_temporary_folder()) / "ray" / "ray_current_cluster"
    try:
        with open(path, "rb", opener=_open_regular_file) as file:
            is_ours, content = (
                os.fstat(file.fileno()).st_uid == os.getuid(),
                file.read(MAX_ADDRESS_LENGTH),
            )
    except OSError:
        return None
    address = content.decode(errors="replace").strip()
    if not is_ours:
        warnings.warn(
            f"{path} belongs to another user and is ignored; name the cluster to use it: "
            f"{spell('address', 'HOST:PORT')}",
            stacklevel=2,
        )
    elif not _is_address(address):
        warnings.warn(
            f"{path} does not name a cluster as HOST:PORT and is ignored; remove it", stacklevel=2
        )
    elif _is_cluster_at(address):
        return address
    return None


def _open_regular_file(path: str, flags: int) -> int:
    """Open a file without following a link or waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _temporary_folder() -> str:
    """Return the folder for Ray's files; it must be short, as paths of sockets are in it."""
    on_linux = os.environ.get("TMPDIR") if sys.platform.startswith("linux") else None
    return os.environ.get("RAY_TMPDIR") or on_linux or "/tmp"


@contextmanager
def _set_environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables inside the block; afterwards undo these and those that Ray sets."""
    previous = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in os.environ.keys() - previous.keys():
            del os.environ[name]
        os.environ.update(previous)


@contextmanager
def _keep_sigterm_handler() -> Iterator[None]:
    """Restore the handler of SIGTERM after the block: Ray's would end the process at once."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler or signal.SIG_DFL)


@contextmanager
def _delay_interrupt() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block: a cluster that is half started cannot be stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupts: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
        if interrupts:
            signal.raise_signal(signal.SIGINT)


def _has_token() -> bool:
    """Return True if this user has set a token, or has one in the home folder."""
    _read_settings()
    return bool(_raylet().AuthenticationTokenLoader.instance().has_token(ignore_auth_mode=True))


def _read_settings() -> None:
    """Make Ray read the environment again: it remembers the token of an earlier cluster."""
    # first, so that a thread of Ray's never finds that there is no token
    _raylet().Config.initialize("")
    _raylet().AuthenticationTokenLoader.instance().reset_cache()


def _raylet() -> Any:
    """Return Ray's compiled module, which has no declared types."""
    return importlib.import_module("ray._raylet")


def _stop_error_thread() -> None:
    """Stop Ray's thread that prints errors of workers to standard output, where results go."""
    worker: Any = importlib.import_module("ray._private.worker").global_worker
    worker.threads_stopped.set()
    worker.gcs_error_subscriber.close()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(". ")
