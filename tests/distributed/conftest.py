"""The Ray cluster of the tests: one machine with three CPUs, to which a test may add another one.

All tests of Ray go to one process of pytest-xdist, which starts it once.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

STORE_BYTES = 100 << 20


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Yield a folder with a short path, as paths of sockets must be."""
    yield from make_short_folder()


def make_short_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="package")
def ray_cluster() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    from streamsieve.distributed.ray_cluster import QUIET, _read_settings, _set_environment

    settings = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    settings |= {"RAY_health_check_period_ms": "500"}  # a lost machine is found sooner
    # In a folder of its own: the cluster must not be mistaken for one that a user starts meanwhile.
    for folder in make_short_folder():
        with _set_environment(settings | {"RAY_TMPDIR": str(folder)}):
            _read_settings()
            machine = {
                "num_cpus": 3,
                "object_store_memory": STORE_BYTES,
                "include_dashboard": False,
            }
            cluster = Cluster(initialize_head=True, head_node_args=machine)
            ray.init(cluster.address, **QUIET)
            yield cluster
            ray.shutdown()
            cluster.shutdown()
