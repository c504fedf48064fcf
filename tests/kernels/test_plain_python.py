"""Check that every kernel gives the same results compiled and run as Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamsieve.registry import METHODS
from tests.checks.other_process import run_in_other_process

from .answers import answers
from .readings import readings

ROOT = Path(__file__).parents[2]


def interpreted(module: str, call: str) -> Any:
    """Return the result of a call of a neighbouring module without compiled kernels."""
    script = (
        f"import sys; sys.path.insert(0, sys.argv[1]); from tests.kernels.{module} import *; found"
        f" = {call}"
    )
    return run_in_other_process(script, [str(ROOT)], NUMBA_DISABLE_JIT="1")


def assert_close(actual: Any, expected: Any, context: str) -> None:
    """Compare numbers up to the order of summation, everything else exactly."""
    if isinstance(expected, dict):
        assert sorted(actual) == sorted(expected), context
        for key, value in expected.items():
            assert_close(actual[key], value, f"{context}: {key}")
    elif isinstance(expected, list) and not all(isinstance(value, float) for value in expected):
        assert len(actual) == len(expected), context
        for position, value in enumerate(expected):
            assert_close(actual[position], value, f"{context}[{position}]")
    elif isinstance(expected, float | list):
        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-6, err_msg=context)
    else:
        assert actual == expected, context


@pytest.mark.needs_jit
@pytest.mark.parametrize("method", METHODS)
def test_compiled_kernels_answer_as_plain_python_does(method: str) -> None:
    assert_close(answers(method), interpreted("answers", f"answers({method!r})"), method)


@pytest.mark.needs_jit
def test_compiled_kernels_read_and_generate_what_plain_python_does() -> None:
    assert_close(readings(), interpreted("readings", "readings()"), "read")
