"""Every kernel means what it says: compiled, and run as Python, it gives the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamsieve.registry import METHODS
from tests.checks.other_process import in_other_process

from .answers import answers
from .readings import readings

ROOT = Path(__file__).parents[2]


def interpreted(module: str, call: str) -> Any:
    """What a call of one of the modules beside this one gives where kernels are not compiled."""
    script = (
        f"import sys; sys.path.insert(0, sys.argv[1]); from tests.kernels.{module} import *; found"
        f" = {call}"
    )
    return in_other_process(script, [str(ROOT)], NUMBA_DISABLE_JIT="1")


def assert_close(found: Any, expected: Any, what: str) -> None:
    """Numbers up to the order of summation, everything else exactly."""
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), what
        for key, value in expected.items():
            assert_close(found[key], value, f"{what}: {key}")
    elif isinstance(expected, list) and not all(isinstance(value, float) for value in expected):
        assert len(found) == len(expected), what
        for position, value in enumerate(expected):
            assert_close(found[position], value, f"{what}[{position}]")
    elif isinstance(expected, float | list):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6, err_msg=what)
    else:
        assert found == expected, what


@pytest.mark.needs_jit
@pytest.mark.parametrize("method", METHODS)
def test_compiled_kernels_answer_as_plain_python_does(method: str) -> None:
    assert_close(answers(method), interpreted("answers", f"answers({method!r})"), method)


@pytest.mark.needs_jit
def test_compiled_kernels_read_and_generate_what_plain_python_does() -> None:
    assert_close(readings(), interpreted("readings", "readings()"), "read")
