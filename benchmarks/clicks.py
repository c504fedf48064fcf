"""A click log: which methods find the informative features of few positive rows.

    python benchmarks/clicks.py [--write]

The synthetic set ``clicks``: 100,000 rows, 25 of 50,000 binary features in each, 3 % of the rows
positive; 30 features, each in 0.2 to 2 % of the rows, say something about the class. Two logs to
learn from, and a third to test on. Every method selects k features; a logistic regression, the same
for all, is then fitted to them on the rows that were learned from, and its AUC is that on the test
rows. SOFS: Wu, Hoi, Mei, Yu 2017. The columns are in random order, so that nobody gains by taking
the first of equal ones. ``--write`` puts the table into docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import roc_auc_score

import streamsieve as ss
from hindsight import Labels, generated
from report import machine, table, write_section

ROWS, FEATURES, INFORMATIVE = 100_000, 50_000, 30
LOGS, TEST_LOG = (0, 2), 1  # seeds
BUDGETS = (30, 100)
STEPS, NEAR = 14, 1.05  # of a search for a penalty; times k: near enough
ALL_OF_THEM = "the 30 informative ones"

Ids = NDArray[np.int64]
Select = Callable[[Any, Labels, int], Ids]

NOTES = f"""
`found`: of the {INFORMATIVE} informative features, in each of the two logs; AUC likewise.
`seconds`: of the selection alone, from memory and with kernels compiled, mean of the two logs;
where a penalty has to be searched, with the search. SOFS and SGD see every row once. L1 logistic
regression (liblinear) and SGD with an L1 penalty: the k largest weights at the penalty, found by
bisection, that leaves the fewest of all that leave k. SGD with an L2 penalty: the k largest weights
at scikit-learn's default.
"""


def sofs(**params: Any) -> Select:
    return lambda X, y, k: ss.SOFS(k, **params).fit(X, y).selection().indices


def by_chi2(X: Any, y: Labels, k: int) -> Ids:
    return np.flatnonzero(SelectKBest(chi2, k=k).fit(X, y).get_support())


def largest(weights: NDArray[np.float64], k: int) -> Ids:
    """Return up to k features of largest weight, none of weight 0."""
    best = np.argsort(-np.abs(weights), kind="stable")[:k]
    return best[weights[best] != 0]


def searched(fit: Callable[[Any, Labels, float], Any], low: float, high: float) -> Select:
    """Return the k largest weights at the strongest penalty that leaves k of them.

    ``low`` and ``high`` are powers of 10.
    """

    def select(X: Any, y: Labels, k: int) -> Ids:
        fewest, weights = FEATURES + 1, np.zeros(FEATURES)
        weak, strong = low, high
        for _ in range(STEPS):
            middle = (weak + strong) / 2
            coefficients = fit(X, y, 10**middle).coef_[0]
            count = np.count_nonzero(coefficients)
            if k <= count < fewest:
                fewest, weights = count, coefficients
            if k <= count <= NEAR * k:
                break
            weak, strong = (weak, middle) if count < k else (middle, strong)
        return largest(weights, k)

    return select


def l1_logistic(X: Any, y: Labels, penalty: float) -> Any:
    return LogisticRegression(
        l1_ratio=1.0, C=1 / penalty, solver="liblinear", max_iter=1000, random_state=0
    ).fit(X, y)


def l1_sgd(X: Any, y: Labels, penalty: float) -> Any:
    return one_pass("l1", alpha=penalty).fit(X, y)


def one_pass(penalty: str, **params: Any) -> Any:
    return SGDClassifier(
        loss="log_loss", penalty=penalty, max_iter=1, tol=None, random_state=0, **params
    )


METHODS: dict[str, Select] = {
    "SOFS": sofs(),
    'SOFS, class_weight="balanced"': sofs(class_weight="balanced"),
    "chi2": by_chi2,
    "L1 logistic regression": searched(l1_logistic, -1.0, 4.0),
    "SGD with L1, one pass": searched(l1_sgd, -6.0, -1.0),
    "SGD with L2, one pass": lambda X, y, k: largest(one_pass("l2").fit(X, y).coef_[0], k),
}


def log(seed: int, columns: Ids) -> tuple[Any, Labels]:
    """Return the rows of a log, with the columns in that order."""
    X, y = generated("clicks", FEATURES, ROWS, seed)
    X = X[:, columns]
    X.indices, X.indptr = (
        X.indices.astype(np.int32),
        X.indptr.astype(np.int32),
    )  # SGDClassifier takes no others
    return X, y


def refitted(chosen: Ids, rows: tuple[Any, Labels], test: tuple[Any, Labels]) -> float:
    """Return the AUC of a logistic regression on these features alone."""
    (X, y), (X_test, y_test) = rows, test
    model = LogisticRegression(max_iter=1000).fit(X[:, chosen], y)
    return float(roc_auc_score(y_test, model.decision_function(X_test[:, chosen])))


def measured() -> str:
    columns = np.random.default_rng(0).permutation(FEATURES)
    informative = np.flatnonzero(columns < INFORMATIVE)
    logs, test = [log(seed, columns) for seed in LOGS], log(TEST_LOG, columns)
    lines = []
    for name, select in METHODS.items():
        select(logs[0][0][:2000], logs[0][1][:2000], 5)  # compiles
        cells = []
        for k in BUDGETS:
            start = time.perf_counter()
            chosen = [select(X, y, k) for X, y in logs]
            seconds = (time.perf_counter() - start) / len(logs)
            counts = [str(np.intersect1d(ids, informative).size) for ids in chosen]
            scores = [
                f"{refitted(ids, rows, test):.3f}" for ids, rows in zip(chosen, logs, strict=True)
            ]
            cells += [", ".join(counts), ", ".join(scores), f"{seconds:.2f}"]
        print(f"{name}: {' | '.join(cells)}", file=sys.stderr, flush=True)
        lines.append([name, *cells])
    best = ", ".join(f"{refitted(informative, rows, test):.3f}" for rows in logs)
    lines.append([ALL_OF_THEM, *(f"{INFORMATIVE}, {INFORMATIVE}", best, "-"), *"---"])
    return table(
        ["", *(cell for k in BUDGETS for cell in (f"k = {k}: found", "AUC", "seconds"))], lines
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--write", action="store_true", help="put the table into docs/explanation/performance.md"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = measured()
    print(results)
    if options.write:
        write_section("clicks", f"{machine('scikit-learn')}\n\n{results}\n\n{NOTES}")


if __name__ == "__main__":
    main()
