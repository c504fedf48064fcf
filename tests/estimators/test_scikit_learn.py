"""scikit-learn's own checks on an estimator of every kind, in the full run on all; what cannot hold is named there."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from streamsieve.estimators import estimator_class
from streamsieve.registry import METHODS
from tests.effort import FULL, REPRESENTATIVES

# Some checks hand over rows sorted by class, which we rightly warn about.
pytestmark = pytest.mark.filterwarnings("ignore:the class changes only:UserWarning")


def expected_failures(estimator: Any) -> dict[str, str]:
    return dict(estimator.expected_failed_checks)


@parametrize_with_checks(
    [estimator_class(method)() for method in (METHODS if FULL else REPRESENTATIVES)],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
