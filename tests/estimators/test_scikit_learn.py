"""Run scikit-learn's checks on an estimator of every kind, in the full run on all estimators.

Checks that an estimator cannot pass are listed in its class.
"""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from streamsieve.estimators import estimator_class
from streamsieve.registry import METHODS
from tests.effort import FULL, REPRESENTATIVES

# Some checks give rows sorted by class, for which a warning is right.
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
