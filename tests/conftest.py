"""Set-up that must come before the first import of SciPy, and paths the tests share."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from hypothesis import Phase, settings

from .effort import JIT_IS_OFF, examples

settings.register_profile("steady", derandomize=True, max_examples=examples(100))  # the same streams in every run
settings.register_profile("explore")  # others every time: make test-full
settings.register_profile("without_jit", derandomize=True, max_examples=4, deadline=None)
settings.register_profile(  # that a test fails is enough: tests/mutation
    "mutants", derandomize=True, max_examples=16, deadline=None, phases=(Phase.explicit, Phase.generate)
)

settings.load_profile("without_jit" if JIT_IS_OFF else "steady")

os.environ["SCIPY_ARRAY_API"] = "1"  # lets scikit-learn's array API check run instead of skipping itself


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs_jit: takes minutes, or reads text, with kernels that are not compiled")


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    for item in items:
        if JIT_IS_OFF and item.get_closest_marker("needs_jit"):
            item.add_marker(pytest.mark.skip(reason="the kernels are not compiled"))
