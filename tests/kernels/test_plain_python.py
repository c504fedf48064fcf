"""Every kernel means what it says: compiled, and run as Python, it gives the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamsieve.checks.other_process import in_other_process
from streamsieve.registry import METHODS

from .answers import answers

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.kernels.answers import answers
found = answers(sys.argv[2])
"""


def assert_close(found: Any, expected: Any, what: str) -> None:
    """Numbers up to the order of summation, everything else exactly."""
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), what
        for key, value in expected.items():
            assert_close(found[key], value, f"{what}: {key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), what
        for position, value in enumerate(expected):
            assert_close(found[position], value, f"{what}[{position}]")
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6, err_msg=what)
    else:
        assert found == expected, what


@pytest.mark.needs_jit
@pytest.mark.parametrize("method", METHODS)
def test_compiled_kernels_answer_as_plain_python_does(method: str) -> None:
    interpreted = in_other_process(SCRIPT, [str(ROOT), method], NUMBA_DISABLE_JIT="1")
    assert_close(answers(method), interpreted, method)
