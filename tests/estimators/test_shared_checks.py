"""Our own promises, for every method in the registry."""

from __future__ import annotations

import pytest

from streamsieve.checks import Check, checks_for
from streamsieve.registry import METHODS

CASES = [pytest.param(method, check, id=f"{method}-{name}") for method in METHODS for name, check in checks_for(method)]


@pytest.mark.parametrize(("method", "check"), CASES)
def test_selector_keeps_its_promise(method: str, check: Check) -> None:
    check()


def test_every_method_has_checks() -> None:
    assert {case.values[0] for case in CASES} == set(METHODS)
