"""The quality of models on selected columns, and how well true features are recovered."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.svm import LinearSVC

import streamsieve as ss
from streamsieve.evaluation import (
    MODELS,
    Fit,
    Quality,
    cross_validated,
    downstream,
    false_discovery_rate,
    hold_out,
    recovery_error,
    support_precision,
    support_recall,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(3.0, 1.0, size=(240, 6)) * [1, 1, 100, 1, 1, 1]
NUMBERS = X[:, 0] - X[:, 3] + 0.3 * RANDOM.normal(size=240)
LABELS = np.where(NUMBERS > 0, "yes", "no")
THREE = np.digitize(NUMBERS, [-0.7, 0.7])
HALF = slice(0, 120), slice(120, 240)


@pytest.mark.parametrize("y", [LABELS, THREE], ids=["two", "three"])
def test_hold_out_is_that_of_scikit_learn(y: Any) -> None:
    model = LinearSVC(dual=False)
    quality = hold_out(model, X[HALF[0]], y[HALF[0]], X[HALF[1]], y[HALF[1]])
    fitted = LinearSVC(dual=False).fit(X[HALF[0]], y[HALF[0]])
    predicted, scores = fitted.predict(X[HALF[1]]), fitted.decision_function(X[HALF[1]])
    assert isinstance(quality, Quality)
    assert quality.accuracy == pytest.approx(np.mean(predicted == y[HALF[1]]))
    assert quality.balanced_accuracy == pytest.approx(
        balanced_accuracy_score(y[HALF[1]], predicted)
    )
    columns = scores[:, None] if scores.ndim == 1 else scores
    positive = fitted.classes_[-columns.shape[1] :]
    areas = [roc_auc_score(y[HALF[1]] == label, columns[:, c]) for c, label in enumerate(positive)]
    assert quality.auc == pytest.approx(np.mean(areas))
    assert not hasattr(model, "coef_")  # the model given is left as it is


def test_numbers_have_a_fit_and_folds_are_those_of_scikit_learn() -> None:
    fit = hold_out(Ridge(), X[HALF[0]], NUMBERS[HALF[0]], X[HALF[1]], NUMBERS[HALF[1]])
    predicted = Ridge().fit(X[HALF[0]], NUMBERS[HALF[0]]).predict(X[HALF[1]])
    assert isinstance(fit, Fit)
    assert fit.r2 == pytest.approx(r2_score(NUMBERS[HALF[1]], predicted))
    assert fit.error == pytest.approx(np.sqrt(np.mean((NUMBERS[HALF[1]] - predicted) ** 2)))
    folds = cross_validated(Ridge(), X, NUMBERS, 4, seed=7)
    assert [fold.r2 for fold in folds] == pytest.approx(
        cross_val_score(Ridge(), X, NUMBERS, cv=KFold(4, shuffle=True, random_state=7))
    )
    folds = cross_validated(LinearSVC(dual=False), csr_array(X), LABELS, 3, seed=7)
    assert [fold.accuracy for fold in folds] == pytest.approx(
        cross_val_score(
            LinearSVC(dual=False), X, LABELS, cv=StratifiedKFold(3, shuffle=True, random_state=7)
        )
    )


@pytest.mark.parametrize("name", MODELS)
def test_every_model_does_its_tasks_on_dense_and_sparse_columns(name: str) -> None:
    dense, sparse = (
        hold_out(
            downstream(name), matrix[HALF[0]], LABELS[HALF[0]], matrix[HALF[1]], LABELS[HALF[1]]
        )
        for matrix in (X, csr_array(X))
    )
    # knn uses the columns as they are, of which one is large and noise
    assert dense.accuracy > (0.5 if name == "knn" else 0.75)
    assert sparse.accuracy == pytest.approx(dense.accuracy, abs=0.05)
    if name == "logistic":
        with pytest.raises(ss.UsageError, match="predicts classes; for numbers take 'linear'"):
            downstream(name, "regression")
    else:
        assert (
            hold_out(downstream(name, "regression"), X[:60], NUMBERS[:60], X[:60], NUMBERS[:60]).r2
            > 0.8
        )


def test_how_well_the_truth_is_found() -> None:
    assert support_recall([1, 2, 9], [1, 2, 3, 4]) == 0.5
    assert support_precision(np.array([1, 2, 9]), [1, 2, 3, 4]) == pytest.approx(2 / 3)
    assert false_discovery_rate([1, 2, 9], [1, 2, 3, 4]) == pytest.approx(1 / 3)
    assert (support_precision([], [1]), false_discovery_rate([], [1]), support_recall([], [1])) == (
        1.0,
        0.0,
        0.0,
    )
    assert recovery_error([3.0, 0.0], [3.0, 4.0]) == pytest.approx(0.8)
    assert recovery_error(np.zeros((2, 1)), [3.0, 4.0]) == 1.0


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(
        ss.UsageError,
        match=r"unknown model 'linar' \(did you mean linear\?\); the models are linear, knn",
    ):
        downstream("linar")
    with pytest.raises(ss.UsageError, match=r"task: .* got 'ranking'"):
        downstream("tree", "ranking")
    with pytest.raises(ss.DataError, match="the test data has 2 rows and 1 labels"):
        hold_out(Ridge(), X, NUMBERS, X[:2], NUMBERS[:1])
    with pytest.raises(ss.UsageError, match="folds: must be 2 or more, got 1"):
        cross_validated(Ridge(), X, NUMBERS, 1)
    with pytest.raises(ss.DataError, match="class 0 has 1 rows, too few for 2 folds"):
        cross_validated(LinearSVC(), X[:4], [0, 1, 1, 1], 2)
    with pytest.raises(ss.DataError, match="9 folds need as many rows"):
        cross_validated(Ridge(), X[:4], NUMBERS[:4], 9)
    with pytest.raises(ss.UsageError, match="3 weights and 2 true ones"):
        recovery_error([1, 2, 3], [1, 2])
    with pytest.raises(ss.UsageError, match="all 0"):
        recovery_error([1], [0])
    with pytest.raises(ss.UsageError, match="recall needs true features"):
        support_recall([1], [])


def test_the_package_needs_neither_scikit_learn_nor_statistics_to_be_imported() -> None:
    script = (
        "import sys, streamsieve.evaluation\n"
        "heavy = {'sklearn', 'scipy.stats', 'pyarrow', 'pandas', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
