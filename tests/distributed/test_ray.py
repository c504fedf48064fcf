"""Tests of the engine on Ray alone: the cluster it works on, and how the cluster is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from streamsieve.distributed.driving import open_engine
from streamsieve.distributed.engine import Engine
from streamsieve.engine_choice import EngineChoice
from streamsieve.errors import RunError, UsageError

from .conftest import STORE_BYTES
from .workers import Counter


@pytest.fixture
def engine(ray_cluster) -> Iterator[Engine]:
    with open_engine(EngineChoice("ray", 2)) as engine:
        yield engine


def ask(engine: Engine, worker: int, method: str, *args: Any) -> Any:
    engine.call(worker, method, *args)
    answer = engine.next()
    assert answer.error is None
    assert not answer.lost
    return answer.value


def test_arrays_arrive_writable_as_kernels_need_them(engine):
    arrays = [np.zeros(10), np.zeros(200_000)]
    engine.start(0, Counter, 0)
    assert ask(engine, 0, "is_writable", arrays) == [True, True]
    assert ask(engine, 0, "is_writable", engine.share(arrays)) == [True, True]
    assert ask(engine, 0, "twice", arrays[1], {"same": arrays[0]}).flags.writeable
    assert engine.centre(200_000).scores().flags.writeable


def test_a_lost_centre_ends_the_run(engine):
    import ray

    centre = engine.centre(3)
    engine.start(0, Counter, 0)
    assert ask(engine, 0, "push", centre, 1, np.ones(3)).tolist() == [1.0, 1.0, 1.0]
    ray.kill(engine.centres[0])
    with pytest.raises(RunError, match="scores of all workers was lost"):
        centre.scores()
    engine.call(0, "push", centre, 1, np.ones(3))
    assert "scores of all workers was lost" in str(engine.next().error)


def test_a_worker_whose_code_is_not_on_the_other_machine(engine, monkeypatch):
    module = ModuleType("only_here")
    module.Here = type("Here", (), {"__module__": "only_here"})
    monkeypatch.setitem(sys.modules, "only_here", module)
    engine.start(0, module.Here)
    engine.call(0, "add", 1)
    with pytest.raises(
        RunError, match=r"worker 1 could not be started: .*only_here.*same versions"
    ):
        engine.next()


def test_more_workers_than_cpus(ray_cluster):
    with pytest.raises(
        RunError, match="99 workers need a CPU each, and the Ray cluster has 3: take fewer"
    ):
        open_engine(EngineChoice("ray", 99))


@pytest.mark.slow
def test_a_lost_machine(ray_cluster):
    other = ray_cluster.add_node(num_cpus=2, object_store_memory=STORE_BYTES)
    with open_engine(EngineChoice("ray", 3)) as engine:
        for worker in range(3):
            engine.start(worker, Counter, worker)
        machines = [ask(engine, worker, "machine") for worker in range(3)]
        lost = machines.index(other.node_id)
        engine.call(lost, "sleep", 600.0)
        ray_cluster.remove_node(other, allow_graceful=False)
        assert engine.next() == (lost, None, None, True)
        engine.start(lost, Counter, 5)
        assert ask(engine, lost, "machine") != other.node_id
        assert ask(engine, lost, "add", 1) == 6
        for kept in {0, 1, 2} - {lost}:
            if machines[kept] != other.node_id:
                assert ask(engine, kept, "add", 1) == kept + 1


# ---- the cluster


@pytest.fixture
def unconnected(monkeypatch) -> None:
    """Pretend that the process has not used Ray so far."""
    monkeypatch.setattr("ray.is_initialized", lambda: False)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no.such.host.invalid:6379"])
def test_an_address_where_nothing_answers(unconnected, address):
    with pytest.raises(RunError, match=f"{address}: no Ray cluster answers there"):
        open_engine(EngineChoice("ray", 2, address))


def test_an_address_where_something_else_answers(unconnected):
    def serve() -> None:
        with server.accept()[0] as connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(RunError, match="no Ray cluster answers there"):
            open_engine(EngineChoice("ray", 2, f"127.0.0.1:{server.getsockname()[1]}"))
        thread.join()


@pytest.mark.parametrize("address", ["ray://127.0.0.1:10001", "somewhere", ":6379", "host:port"])
def test_what_is_not_an_address(unconnected, address):
    with pytest.raises(UsageError, match="HOST:PORT"):
        open_engine(EngineChoice("ray", 2, address))


def test_no_cluster_on_this_machine(unconnected, monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(UsageError, match="no Ray cluster runs on this machine"):
        open_engine(EngineChoice("ray", 2, "auto"))


@pytest.fixture
def current_cluster(unconnected, monkeypatch, tmp_path) -> Path:
    """Return the path of the file in which Ray names the cluster of this machine.

    Any address in it seems to answer.
    """
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setattr("streamsieve.distributed.ray_cluster._is_cluster_at", lambda address: True)
    (tmp_path / "ray").mkdir()
    return tmp_path / "ray" / "ray_current_cluster"


def test_a_cluster_that_another_user_names_is_ignored(current_cluster, monkeypatch):
    from streamsieve.distributed.ray_cluster import _find_local_cluster

    current_cluster.write_text("127.0.0.1:6379")
    assert _find_local_cluster() == "127.0.0.1:6379"
    monkeypatch.setattr("os.getuid", lambda: current_cluster.stat().st_uid + 1)
    with (
        pytest.warns(
            UserWarning,
            match="ray_current_cluster belongs to another user and is ignored.*address=",
        ),
        pytest.raises(UsageError, match="no Ray cluster runs on this machine"),
    ):
        open_engine(EngineChoice("ray", 2, "auto"))


@pytest.mark.parametrize(
    "junk", [b"", b"junk", b":6379", b"host:port", b"\xff\xfe", b"x" * 100_000, b"a\0b:1"]
)
def test_junk_in_place_of_the_cluster_of_this_machine_is_ignored(current_cluster, junk):
    current_cluster.write_bytes(junk)
    with (
        pytest.warns(
            UserWarning,
            match="ray_current_cluster does not name a cluster as HOST:PORT and is ignored",
        ),
        pytest.raises(UsageError, match="no Ray cluster runs on this machine"),
    ):
        open_engine(EngineChoice("ray", 2, "auto"))


@pytest.mark.filterwarnings("ignore:.*ray_current_cluster")
@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/etc/hostname", path)]
)
def test_what_is_not_a_file_in_place_of_the_cluster_of_this_machine_is_ignored(
    current_cluster, make
):
    from streamsieve.distributed.ray_cluster import _find_local_cluster

    make(current_cluster)
    assert _find_local_cluster() is None


def test_a_host_that_cannot_be_a_name_does_not_answer():
    from streamsieve.distributed.ray_cluster import _is_cluster_at

    assert not _is_cluster_at(f"{'a' * 70}:6379")


def test_a_connection_of_this_process_is_used_and_kept(ray_cluster):
    import ray

    host, port = ray_cluster.address.split(":")
    for address in (None, "auto", ray_cluster.address):
        open_engine(EngineChoice("ray", 2, address)).close()
        assert ray.is_initialized()
    with pytest.raises(
        UsageError, match=f"other:{port}: Ray is connected to {host}:{port} in this process"
    ):
        open_engine(EngineChoice("ray", 2, f"other:{port}"))


REFUSED = """
import sys
from streamsieve.distributed.driving import open_engine
from streamsieve.engine_choice import EngineChoice
from streamsieve.errors import RunError
try:
    open_engine(EngineChoice("ray", 1, sys.argv[1]))
except RunError as error:
    print(error)
"""


def test_a_cluster_that_wants_another_token(ray_cluster):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    printed = subprocess.check_output(
        [sys.executable, "-c", REFUSED, ray_cluster.address], env=environment, text=True
    )
    assert printed.startswith(
        f"{ray_cluster.address}: the Ray cluster did not accept our token: set RAY_AUTH_MODE=token"
    )


OWN = """
import os, sys
import numpy as np
from streamsieve.distributed import ray_cluster
from streamsieve.distributed.driving import open_engine
from streamsieve.engine_choice import EngineChoice
from streamsieve.errors import RunError
from tests.distributed.workers import Counter

ray_cluster.STORE_BYTES = 80 << 20, 80 << 20
before = dict(os.environ)
with open_engine(EngineChoice("ray", 1)) as engine:
    import ray

    assert os.stat(engine.cluster.folder).st_mode & 0o77 == 0
    engine.start(0, Counter, 1)
    engine.call(0, "die")
    assert engine.next().lost
    engine.start(0, Counter, 2)
    engine.call(0, "add", 1)
    assert engine.next().value == 3
    try:
        kept = [engine.share(np.ones(1 << 21)) for _ in range(10)]
    except RunError as error:
        print(error)
    kept = None
    assert dict(os.environ) == before
    engine.call(0, "sleep", 600.0)
    try:
        print("ready", flush=True)
        engine.next()
    except KeyboardInterrupt:
        print("interrupted")
assert not ray.is_initialized()
"""


def marked(mark: str) -> list[str]:
    """Return the commands of running processes that have a variable in their environment."""
    commands = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                commands.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            pass
    return [command for command in commands if command]


@pytest.mark.slow
def test_a_cluster_started_here_leaves_nothing(short_folder):
    """Not even after Ctrl-C; a full object store is reported, and only results are printed."""
    mark = f"STREAMSIEVE_TEST={short_folder}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {
        "HOME": str(short_folder),
        "RAY_TMPDIR": str(short_folder),
        "STREAMSIEVE_TEST": str(short_folder),
    }
    environment |= {"RAY_local_fs_capacity_threshold": "0"}  # any disk is full
    options = {
        "env": environment,
        "stdout": subprocess.PIPE,
        "text": True,
        "start_new_session": True,
    }
    with subprocess.Popen([sys.executable, "-c", OWN], **options) as run:
        lines = [run.stdout.readline(), run.stdout.readline()]
        assert lines[0].startswith("Ray's object store is full")
        assert lines[1] == "ready\n"
        assert len(marked(mark)) > 3
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        assert run.stdout.read() == "interrupted\n"
    assert run.returncode == 0
    assert marked(mark) == []
    assert list(short_folder.iterdir()) == []


# ---- engines by name


def test_names_of_engines():
    with pytest.raises(UsageError, match="spark: unknown engine; the engines are local and ray"):
        EngineChoice.of("spark", 2, None)
    with pytest.raises(UsageError, match="an address is only for the ray engine"):
        EngineChoice.of("local", 2, "auto")


def test_without_ray_installed(monkeypatch):
    for name in list(sys.modules):
        if name.startswith("streamsieve.distributed.ray"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        UsageError, match=r"the ray engine needs Ray: pip install 'streamsieve\[ray\]'"
    ):
        open_engine(EngineChoice("ray", 2))


def test_ray_is_imported_only_if_it_is_used():
    code = "import sys, streamsieve.distributed.driving; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
