"""Models that a stranger has changed: refused, or harmless."""

from __future__ import annotations

from collections import Counter

import pytest

from .models import campaign

FEW = 300
MANY = 10_000


def refuse_findings(numbers: range, few: bool = False) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    faults = []
    for outcome, finding in campaign(numbers, few=few):
        outcomes[outcome] += 1
        faults += [finding] if finding else []
    assert not faults, "\n".join(
        f"{item.number}: {item.fault}: {item.what}\n{item.detail}" for item in faults
    )
    return outcomes


def test_a_few_mutations_of_every_method_do_no_harm() -> None:
    outcomes = refuse_findings(range(FEW), few=True)
    assert min(outcomes["refused"], outcomes["used"]) > FEW // 4


@pytest.mark.slow
def test_ten_thousand_mutations_do_no_harm() -> None:
    outcomes = refuse_findings(range(MANY))
    assert outcomes["refused"] > MANY // 4
    assert outcomes["used"] > MANY // 4
