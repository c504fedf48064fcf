"""Promises about single options hold of combinations of them, drawn at random."""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path

import pytest

from ..effort import FULL
from .combinations import combination_of, run

pytestmark = pytest.mark.needs_jit

AT_ONCE = 50


def seeds() -> list[int]:
    """Return 2,000 seeds or, in a short run, the first fifty with quick combinations."""
    if FULL:
        return list(range(2000))
    return list(islice((seed for seed in count() if combination_of(seed).is_quick), AT_ONCE))


@pytest.mark.parametrize("first", range(0, len(seeds()), AT_ONCE))
def test_combinations_of_options_keep_the_promises_made_of_each(first: int, tmp_path: Path) -> None:
    violations = []
    for seed in seeds()[first : first + AT_ONCE]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        violations += [
            f"seed {seed}: {combination_of(seed)}\n    {violation}"
            for violation in run(combination_of(seed), folder)
        ]
    assert not violations, "\n".join(violations)
