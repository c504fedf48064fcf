"""Every base of the mutations, of all methods, variants and stages of learning, is valid."""

from __future__ import annotations

import pytest

from streamsieve.registry import METHODS

from .bases import FEW, all_bases
from .use import use


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_models_that_nobody_changed_are_used(method: str) -> None:
    bases = all_bases([method])
    assert bases
    for name, model in bases.items():
        assert use(model.to_bytes()) == "used", name


def test_every_method_is_among_the_few() -> None:
    assert {name.partition("/")[0] for name in FEW} == set(METHODS)
