"""Set-up that must come before the first import of Numba and SciPy, and which tests go to one process."""

from __future__ import annotations

import hashlib
import os
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from .effort import JIT_IS_OFF, examples
from .paths import ROOT

settings.register_profile("steady", derandomize=True, max_examples=examples(100))  # the same streams in every run
settings.register_profile("explore")  # others every time: make test-full
settings.register_profile("without_jit", derandomize=True, max_examples=4, deadline=None)
settings.register_profile(  # that a test fails is enough: tests/mutation
    "mutants", derandomize=True, max_examples=16, deadline=None, phases=(Phase.explicit, Phase.generate)
)

settings.load_profile("without_jit" if JIT_IS_OFF else "steady")

KERNELS = ROOT / ".numba"


def kernel_cache() -> Path:
    """Return the folder for kernels compiled from these sources.

    Numba looks at the file of a kernel alone, and would keep what it compiled from an earlier version of another kernel
    that this one calls.
    """
    digest = hashlib.sha256(version("numba").encode())
    for path in sorted((ROOT / "src" / "streamsieve" / "kernels").rglob("*.py")):
        digest.update(path.read_bytes())
    return KERNELS / digest.hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(kernel_cache()))  # of all processes that the tests start
os.environ["SCIPY_ARRAY_API"] = "1"  # lets scikit-learn's array API check run instead of skipping itself


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs_jit: takes minutes, or reads text, with kernels that are not compiled")


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput") and KERNELS.is_dir():
        for folder in KERNELS.iterdir():
            if folder != kernel_cache():
                shutil.rmtree(folder, ignore_errors=True)


def process_group(item: pytest.Item) -> str:
    """Return what tests go to one process: those of a file, which share kernels, and all of Ray, for one cluster."""
    parameters = item.name.partition("[")[2].rstrip("]").split("-")
    if "ray" in item.path.stem.split("_") or "ray" in parameters:
        return "ray"
    if item.path.stem == "test_shared_checks":
        return f"checks of {parameters[0]}"
    return item.nodeid if item.path.stem == "test_console" else item.nodeid.partition("::")[0]


def turn(item: pytest.Item) -> int:
    """Return when a test has its turn: first what compiles the kernels of one method, last what needs those of many."""
    early = {"ray": 0, "checks of sofs": 1, "checks of saola": 2}
    if item.path.stem == "test_shared_checks":
        return early.get(process_group(item), 3)
    late = "cli" in item.path.parts or item.path.stem in ("test_kills", "test_runs", "test_combinations")
    return early.get(process_group(item), 5 if late else 4)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=turn)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(process_group(item)))
        if JIT_IS_OFF and item.get_closest_marker("needs_jit"):
            item.add_marker(pytest.mark.skip(reason="the kernels are not compiled"))
