"""Test accuracy with few features on real sets: the open question of Wu, Hoi, Mei, Yu (2017), section 5.

    python benchmarks/papers/p1_small_budgets.py [--sets relathe ...] [--seeds 10]

One pass over the training rows: SOFS by confidence, the paper's rule, with rows of length 1 and gamma chosen among
0.01, 0.1 and 1 on the last fifth of the training rows, and with its defaults, nothing chosen. Beside them two batch
methods on all training rows, of length 1: an L1-penalised linear SVM with its penalty set for that number of features,
and chi2 with logistic regression on the best ones. Split sizes are those of the paper's table III; 2,900 rows of
farm-ads; dexter has a validation part of its own.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

import streamsieve as ss
from data import load, parser
from forms import SOFS
from l1_svm import Penalised

GAMMAS = (0.01, 0.1, 1.0)
SETS: dict[str, tuple[int, tuple[int, ...]]] = {  # training rows; numbers of features
    "relathe": (1000, (20, 100)),
    "basehock": (1500, (20, 100)),
    "pcmac_asu": (1500, (20, 100)),
    "farm-ads": (2900, (10, 50)),
    "dexter": (300, (50, 200)),
}
METHODS = ("confidence", "defaults", "L1-SVM", "chi2+logistic")


def split(folder: Any, name: str, n_train: int, seed: int) -> tuple[Any, Any, Any, Any]:
    random = np.random.default_rng(seed)
    if name == "dexter":
        X, y = load(folder, "dexter.train", 20000)
        X_test, y_test = load(folder, "dexter.valid", 20000)
        order = random.permutation(len(y))
        return X[order], y[order], X_test, y_test
    X, y = load(folder, name)
    order = random.permutation(len(y))
    train, test = order[:n_train], order[n_train:]
    return X[train], y[train], X[test], y[test]


def by_confidence(k: int, X: Any, y: Any) -> Any:
    """The paper's SOFS with the gamma that does best on the last fifth of the rows, learned from all of them."""
    forms = [{**SOFS, "normalize": "l2", "gamma": gamma} for gamma in GAMMAS]
    cut = len(y) * 4 // 5
    scores = [ss.SOFS(k, **form).fit(X[:cut], y[:cut]).score(X[cut:], y[cut:]) for form in forms]
    return ss.SOFS(k, **forms[int(np.argmax(scores))]).fit(X, y)


def accuracies(k: int, X: Any, y: Any, X_test: Any, y_test: Any) -> list[float]:
    rows, test_rows = normalize(X), normalize(X_test)
    chosen = make_pipeline(SelectKBest(chi2, k=k), LogisticRegression(C=10, max_iter=2000)).fit(rows, y)
    models = [
        (by_confidence(k, X, y), X_test),
        (ss.SOFS(k).fit(X, y), X_test),
        (Penalised(rows, y).nearest(k), test_rows),
        (chosen, test_rows),
    ]
    return [100 * model.score(part, y_test) for model, part in models]


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--seeds", type=int, default=10)
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    print(f"test accuracy in %, mean (deviation) of {chosen.seeds} seeds")
    print(f"{'set':<12}{'k':>5}" + "".join(f"{method:>16}" for method in METHODS))
    for name, (n_train, budgets) in SETS.items():
        if chosen.sets and name not in chosen.sets:
            continue
        for k in budgets:
            runs = [accuracies(k, *split(chosen.data, name, n_train, seed)) for seed in range(chosen.seeds)]
            means, deviations = np.mean(runs, axis=0), np.std(runs, axis=0)
            cells = [f"{mean:.1f} ({deviation:.1f})" for mean, deviation in zip(means, deviations, strict=True)]
            print(f"{name:<12}{k:>5}" + "".join(f"{text:>16}" for text in cells), flush=True)


if __name__ == "__main__":
    main()
