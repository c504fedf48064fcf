"""Class weights on imbalanced rows, for SOFS with and without intercept, and for SAOLA.

    python benchmarks/imbalance.py [--parts rows columns] [--sets a8a ...]

Rows: the 20news and farm-ads sets, all rows of one class and so many of the other that they are a
tenth; k = 200, one pass; what is not named is the default. Columns: also a hundredth, and a8a, of
whose rows 24 % are positive; what is selected is judged by a logistic regression with balanced
weights, the same for all. 70 % of the rows to learn from, the rest to test on; means of 5 seeds.
`relevant` is the fraction of columns that are found relevant, `by chance` the same when the labels
are shuffled: for Fisher's Z it should be alpha, 0.01; uncertainty has no test, and takes all that
vary. A hundredth of farm-ads are a dozen rows to learn from: its figures are rough.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import streamsieve as ss
from report import load, parser

SEEDS = 5
ROW_SETS = ("20news_rec_sci", "20news_comp_sci", "farm-ads")
ROW_FORMS: dict[str, dict[str, Any]] = {
    "neither": {"fit_intercept": False, "class_weight": None},
    "intercept": {"fit_intercept": True, "class_weight": None},
    "balanced": {"fit_intercept": False, "class_weight": "balanced"},
    "both": {"fit_intercept": True, "class_weight": "balanced"},
    "defaults": {},
}
COLUMN_SETS: dict[str, tuple[float | None, ...]] = {  # fractions of the rarer class; None as it is
    "20news_rec_sci": (0.1, 0.01),
    "20news_comp_sci": (0.1, 0.01),
    "farm-ads": (0.1, 0.01),
    "a8a": (None, 0.01),
}
BUDGETS = (None, 20)

Parts = tuple[Any, NDArray[np.float64], Any, NDArray[np.float64]]


def split(X: Any, y: NDArray[np.float64], fraction: float | None, seed: int) -> Parts:
    """Return all negative rows with as many positive ones as the fraction asks, in two parts."""
    random = np.random.default_rng(seed)
    negative, positive = np.flatnonzero(y < 0), np.flatnonzero(y > 0)
    if fraction is not None:
        positive = random.choice(
            positive, int(len(negative) * fraction / (1 - fraction)), replace=False
        )
    rows = random.permutation(np.concatenate([negative, positive]))
    train, test = np.split(rows, [len(rows) * 7 // 10])
    return X[train], y[train], X[test], y[test]


def online(parts: Parts, params: dict[str, Any]) -> tuple[float, float]:
    X, y, X_test, y_test = parts
    selector = ss.SOFS(200, **params).fit(X, y)
    scores = selector.decision_function(X_test)
    return balanced_accuracy_score(y_test, selector.predict(X_test)), roc_auc_score(y_test, scores)


def by_columns(parts: Parts, seed: int, k: int | None, params: dict[str, Any]) -> tuple[float, ...]:
    """Return number kept, balanced accuracy, AUC, fraction found relevant, and by chance."""
    X, y, X_test, y_test = parts
    columns, shuffled = X.tocsc(), np.random.default_rng(seed).permutation(y)
    params = {**params, "duplicates": "keep"}
    selector = ss.SAOLA(k, **params).fit(columns, y)
    selected = selector.selection().indices
    model = make_pipeline(
        MaxAbsScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
    )
    model.fit(X[:, selected], y)
    irrelevant = [
        learner.counts_["irrelevant"]
        for learner in (selector, ss.SAOLA(1, **params).fit(columns, shuffled))
    ]
    return (
        len(selected),
        balanced_accuracy_score(y_test, model.predict(X_test[:, selected])),
        roc_auc_score(y_test, model.decision_function(X_test[:, selected])),
        *(1 - count / X.shape[1] for count in irrelevant),
    )


def show_rows(options: Any) -> None:
    print(f"{'set':<18}{'SOFS':<12}{'balanced accuracy':>18}{'AUC':>8}")
    for name in options.sets or ROW_SETS:
        X, y = load(options.data, name)
        for form, params in ROW_FORMS.items():
            accuracy, auc = np.mean(
                [online(split(X, y, 0.1, seed), params) for seed in range(SEEDS)], axis=0
            )
            print(f"{name:<18}{form:<12}{accuracy:>18.3f}{auc:>8.3f}", flush=True)


def show_columns(options: Any) -> None:
    heads = f"{'balanced accuracy':>20}{'AUC':>18}{'relevant':>10}{'by chance':>11}"
    print(f"{'set':<17}{'positive':>9}{'k':>6}  {'SAOLA by':<10}{'weights':<10}{'kept':>6}{heads}")
    for name, fractions in COLUMN_SETS.items():
        if options.sets and name not in options.sets:
            continue
        X, y = load(options.data, name)
        for fraction, k, measure in (
            (f, k, m) for f in fractions for k in BUDGETS for m in ("fisher_z", "su")
        ):
            for weight in (None, "balanced"):
                params = {"measure": measure, "class_weight": weight}
                runs = [
                    by_columns(split(X, y, fraction, seed), seed, k, params)
                    for seed in range(SEEDS)
                ]
                (kept, accuracy, auc, relevant, chance), spread = (
                    np.mean(runs, axis=0),
                    np.std(runs, axis=0),
                )
                what = (
                    f"{name:<17}{fraction or np.mean(y > 0):>9.2f}{k!s:>6} "
                    f" {measure:<10}{weight!s:<10}"
                )
                scores = f"{accuracy:>12.3f} ± {spread[1]:.3f}{auc:>10.3f} ± {spread[2]:.3f}"
                print(f"{what}{kept:>6.0f}{scores}{relevant:>10.3f}{chance:>11.4f}", flush=True)


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument(
        "--parts", nargs="*", choices=("rows", "columns"), default=["rows", "columns"]
    )
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    if "rows" in chosen.parts:
        show_rows(chosen)
    if "columns" in chosen.parts:
        show_columns(chosen)


if __name__ == "__main__":
    main()
