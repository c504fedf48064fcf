"""Run our own checks on every method in the registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from streamsieve.registry import METHODS
from tests.checks import Check, checks_for
from tests.effort import REPRESENTATIVES

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

# Checks of sources, estimators and the memory that methods share: they run on one method of each
# kind, in the full run on all.
SHARED = {
    "check_classes_met_on_the_way_equal_classes_given",
    "check_dense_sparse_and_file_agree",
    "check_forms_of_data",
    "check_huge_ids_change_nothing",
    "check_ids_and_names",
    "check_kernels_agree_with_plain_python",  # as tests/kernels does for every kernel
    "check_labels_can_be_anything",
    "check_memory_is_that_of_the_kept",
    "check_plans_change_in_the_middle_of_a_run",
    "check_refusals",
    "check_rows_may_grow_wider",
    "check_rows_without_weight_are_as_good_as_absent",
    "check_same_answer_twice",
    "check_same_seed_same_answer",
}


def cases() -> Iterator[ParameterSet]:
    for method in METHODS:
        for name, check in checks_for(method):
            is_slow = name.partition("(")[0] in SHARED and (
                method not in REPRESENTATIVES or "()" not in name
            )
            yield pytest.param(
                method, check, id=f"{method}-{name}", marks=pytest.mark.slow if is_slow else ()
            )


CASES = list(cases())


@pytest.mark.parametrize(("method", "check"), CASES)
def test_selector_keeps_its_promise(method: str, check: Check) -> None:
    check()


def test_every_method_has_checks() -> None:
    assert {case.values[0] for case in CASES} == set(METHODS)
