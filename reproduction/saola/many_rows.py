"""Table IX and figure 5 of Yu, Wu, Ding, Pei (2016): sets with many rows and few features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..experiment import Cell, Experiment, Setting, Table
from .printed import PRINTED
from .protocol import METHODS, Choice, Split, choose_with_ofs, warm_up
from .tables import DRAWN, ONLINE, OPEN, PAPER

TEST_ROWS = 10_000
BUDGETS = range(5, 51, 5)  # of 54 features
QUICK_ROWS = 3_000


def load_covtype(setting: Setting) -> Split:
    """Return covtype with 10,000 random rows to test on, and all others to learn."""
    X, y = setting.load("covtype", 54)
    order = np.random.default_rng(0).permutation(y.size)
    test, train = order[:TEST_ROWS], order[TEST_ROWS:]
    return Split(X[train].tocsc(), y[train], X[test].tocsc(), y[test])


def generate_split() -> Split:
    """Return generated data with as many columns, five of which determine the classes."""
    from scipy.sparse import csc_array

    random = np.random.default_rng(0)
    X = random.standard_normal((QUICK_ROWS, 54))
    y = np.where(X[:, :5].sum(axis=1) + random.standard_normal(QUICK_ROWS) > 0.0, 1.0, -1.0)
    half = QUICK_ROWS // 2
    return Split(csc_array(X[:half]), y[:half], csc_array(X[half:]), y[half:])


def svm_accuracy(split: Split, choice: Choice) -> float:
    """Return the accuracy of a linear SVM on standardised columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    def selected_columns(X: Any) -> Any:
        return X[:, choice.features].toarray()

    model = make_pipeline(StandardScaler(), LinearSVC(dual=False))
    return float(
        model.fit(selected_columns(split.X), split.y).score(
            selected_columns(split.X_test), split.y_test
        )
    )


def table_9(setting: Setting) -> list[Table]:
    """Run table IX: seconds on many rows."""
    warnings.simplefilter("ignore")
    name, split = (
        ("generated", generate_split()) if setting.quick else ("covtype", load_covtype(setting))
    )
    rows: list[list[Cell]] = []
    for method in ONLINE:
        warm_up(method)
        choices = (
            choose_with_ofs(split, 0, BUDGETS) if method == "OFS" else METHODS[method](split, 0)
        )
        scored = [(choice, svm_accuracy(split, choice)) for choice in choices]
        choice, score = max(scored, key=lambda pair: pair[1])
        paper = PRINTED["IX"].get(name, {}).get(method)
        rows.append(
            [
                f"{name}, {method}",
                paper and f"{paper:,g}",
                f"{choice.seconds:.3f}",
                choice.features.size,
                f"{score:.4f}",
            ]
        )
        setting.say(f"{name}, {method}: done")
    columns = ["set, method", "seconds, paper", "measured", "features", "accuracy, linear SVM"]
    return [Table(f"{split.X.shape[0]:,} rows to learn", columns, rows)]


EXPERIMENTS = [
    Experiment(
        "P3.table9",
        "Seconds on many rows, and the accuracy that figure 5 draws",
        PAPER,
        ("covtype",),
        4,
        table_9,
        (
            (
                f"accuracy: {DRAWN}. The SVM is LIBLINEAR's, because LIBSVM's takes hours with so"
                " many rows"
            ),
            (
                "classes: class 2 against the others; the paper does not say how it made two"
                " classes of seven"
            ),
            (
                "all rows of the set are used, in a random order; the paper's other sets"
                " (connect-4, ijcnn1, poker, real-sim) are not among the data"
            ),
            "OFS: the best of k = 5, 10, ..., 50",
            OPEN,
        ),
    )
]
