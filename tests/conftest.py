"""Set-up before the first import of Numba and SciPy, and the groups of tests for one process."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from xdist.scheduler import LoadScopeScheduling

from .effort import JIT_IS_OFF, examples
from .paths import ROOT

settings.register_profile(
    "steady", derandomize=True, max_examples=examples(100)
)  # the same streams in every run
settings.register_profile("explore")  # others every time: make test-full
settings.register_profile("without_jit", derandomize=True, max_examples=4, deadline=None)
settings.register_profile(  # that a test fails is enough: tests/mutation
    "mutants",
    derandomize=True,
    max_examples=16,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
)

settings.load_profile("without_jit" if JIT_IS_OFF else "steady")

KERNELS = ROOT / ".numba"
FIRST = (
    "ray",
    "checks of sofs",
    "tests/distributed/test_asyos.py",
    "tests/distributed/test_columns.py",
)


def kernel_cache() -> Path:
    """Return the folder for kernels compiled from these sources.

    Numba looks at the file of a kernel alone, and would keep what it compiled from an earlier
    version of another kernel that this one calls.
    """
    digest = hashlib.sha256(version("numba").encode())
    for path in sorted((ROOT / "src" / "streamsieve" / "kernels").rglob("*.py")):
        digest.update(path.read_bytes())
    return KERNELS / digest.hexdigest()[:16]


os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(kernel_cache())
)  # of all processes that the tests start
os.environ.setdefault(
    "OPENBLAS_NUM_THREADS", "1"
)  # tests run side by side: threads of BLAS would wait for one another
for number in (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
):  # ignored in the background and under nohup
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(
            number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        )
os.environ["SCIPY_ARRAY_API"] = (
    "1"  # lets scikit-learn's array API check run instead of skipping itself
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "needs_jit: takes minutes, or reads text, with kernels that are not compiled"
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput") and KERNELS.is_dir():
        for folder in KERNELS.iterdir():
            if folder != kernel_cache():
                shutil.rmtree(folder, ignore_errors=True)


def process_group(nodeid: str) -> str:
    """Return the group of a test, whose tests run in one process.

    It is the file, whose tests share kernels, or all tests of Ray, which share one cluster.
    """
    path, _, name = nodeid.partition("::")
    stem, parameters = Path(path).stem, name.partition("[")[2].rstrip("]").split("-")
    if "ray" in stem.split("_") or "ray" in parameters:
        return "ray"
    if stem == "test_shared_checks":
        return f"checks of {parameters[0]}"
    return nodeid if stem == "test_console" else path


def turn(nodeid: str) -> int:
    """Return the position of a test in the order of the run.

    The groups that take longest in one process come first, those that can be split come last.
    """
    group = process_group(nodeid)
    return FIRST.index(group) if group in FIRST else len(FIRST) + (group == nodeid)


class OneProcessPerGroup(LoadScopeScheduling):  # type: ignore[misc]
    """A scheduler that gives the tests of a group to one worker, in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        return process_group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneProcessPerGroup:
    return OneProcessPerGroup(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: turn(item.nodeid))
    for item in items:
        if JIT_IS_OFF and item.get_closest_marker("needs_jit"):
            item.add_marker(pytest.mark.skip(reason="the kernels are not compiled"))
