"""Set-up that must come before the first import of SciPy, and paths the tests share."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True)  # the same streams in every run
settings.register_profile("explore")  # others every time: make test-full
settings.register_profile("without_jit", derandomize=True, max_examples=4, deadline=None)

JIT_IS_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
settings.load_profile("without_jit" if JIT_IS_OFF else "steady")

os.environ["SCIPY_ARRAY_API"] = "1"  # lets scikit-learn's array API check run instead of skipping itself


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs_jit: takes minutes, or reads text, with kernels that are not compiled")


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    for item in items:
        if JIT_IS_OFF and item.get_closest_marker("needs_jit"):
            item.add_marker(pytest.mark.skip(reason="the kernels are not compiled"))
