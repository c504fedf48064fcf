"""The rivals of scikit-learn: exactly k features, and those that its own classes choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import RFE, SelectKBest, chi2, f_classif, mutual_info_classif
from sklearn.linear_model import lasso_path
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from streamsieve.errors import DataError
from streamsieve.evaluation.rivals import RIVALS, select_by

ROWS, FEATURES, INFORMATIVE = 90, 24, 4


def problem(n_classes: int = 2) -> tuple[Any, Any]:
    """Return values of 0 or more, mostly 0; the first few features depend on the class."""
    random = np.random.default_rng(3)
    y = np.arange(ROWS) % n_classes
    X = random.poisson(0.4, (ROWS, FEATURES)).astype(float)
    X[:, :INFORMATIVE] += (
        2.0
        * random.random((ROWS, INFORMATIVE))
        * (y[:, None] == np.arange(INFORMATIVE) % n_classes)
    )
    return X, np.array(["no", "yes", "maybe"])[y]


@pytest.mark.parametrize(("n_classes", "form"), [(3, np.asarray), (2, csr_array)])
@pytest.mark.parametrize("rival", RIVALS)
def test_every_rival_keeps_exactly_k(rival: str, n_classes: int, form: Any) -> None:
    X, y = problem(n_classes)
    for k in (5, FEATURES + 3) if rival != "trees" else (5,):
        chosen = select_by(rival, form(X), y, "classes", k)
        assert chosen.size == min(k, FEATURES)
        assert (np.diff(chosen) > 0).all()


@pytest.mark.parametrize("rival", ["f-test", "mutual-information", "lasso", "rfe", "trees"])
def test_numbers_are_learned_too(rival: str) -> None:
    X, _ = problem()
    y = X[:, 2] - 2 * X[:, 7] + 0.01 * np.random.default_rng(0).normal(size=ROWS)
    assert select_by(rival, X, y, "numbers", 2).tolist() == [2, 7]


def test_choices_are_those_of_scikit_learn() -> None:
    X, y = problem()
    sparse = csr_array(X)
    for name, measure in (("chi2", chi2), ("f-test", f_classif)):
        expected = SelectKBest(measure, k=6).fit(sparse, y).get_support(indices=True)
        assert select_by(name, sparse, y, "classes", 6).tolist() == expected.tolist()
    scores = mutual_info_classif(X, y, random_state=5)
    assert select_by("mutual-information", X, y, "classes", 6, 5).tolist() == sorted(
        np.argsort(scores)[-6:].tolist()
    )
    forest = ExtraTreesClassifier(100, random_state=2).fit(X, y)
    best = np.argsort(-forest.feature_importances_)[:6]
    assert select_by("trees", X, y, "classes", 6, 2).tolist() == sorted(best.tolist())
    scaled = StandardScaler().fit_transform(X)
    expected = RFE(LinearSVC(random_state=0, tol=1e-3), n_features_to_select=6, step=0.1).fit(
        scaled, y
    )
    assert (
        select_by("rfe", X, y, "classes", 6).tolist() == expected.get_support(indices=True).tolist()
    )


def test_l1_svm_has_the_features_of_some_penalty() -> None:
    """At the right C exactly k features have weights; the test finds it by trying very many."""
    X, y = problem()
    sparse = csr_array(X)
    supports = []
    for power in np.arange(-2.5, 0, 0.03):
        model = LinearSVC(penalty="l1", dual=False, C=10**power, random_state=0, tol=1e-3).fit(
            sparse, y
        )
        supports.append(np.flatnonzero(model.coef_[0]).tolist())
    for k in (1, 3, 6):
        assert select_by("l1-svm", sparse, y, "classes", k).tolist() in [
            support for support in supports if len(support) == k
        ]


def test_lasso_has_the_first_features_of_its_path() -> None:
    X, y = problem()
    scaled, numbers = StandardScaler().fit_transform(X), (y == "yes").astype(float)
    _, coefficients, _ = lasso_path(
        scaled, numbers - numbers.mean(), alphas=np.geomspace(0.4, 0.004, 300)
    )
    supports = [np.flatnonzero(column).tolist() for column in coefficients.T]
    for k in (1, 3, 6):
        assert select_by("lasso", X, y, "classes", k).tolist() in [
            support for support in supports if len(support) == k
        ]


def test_what_a_rival_cannot_do_is_said() -> None:
    X, y = problem()
    with pytest.raises(DataError, match="values below 0; take f-test"):
        select_by("chi2", -X, y, "classes", 2)
    for rival in ("chi2", "l1-svm"):
        with pytest.raises(DataError, match=f"{rival} is for classes"):
            select_by(rival, X, np.linspace(0, 1, ROWS), "numbers", 2)
