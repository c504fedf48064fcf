"""How close probabilities are to frequencies: SOFS (Wu, Hoi, Mei, Yu 2017), one pass.

    python benchmarks/calibration.py [--sets a8a ...]

70 % of the rows to learn from, the rest to test on (20news: its own parts; clicks: rows of another
seed), means of 3 orders. `ECE` is the expected calibration error: test rows in 15 bins of equally
many by the probability of a class, the mean over the bins of the distance between mean probability
and frequency; for more than two classes by the probability of the class predicted. `log loss` is
that of the probabilities, beside that of the class rates of the training rows for every row
(`rate`), and beside the best that a logistic fit on the scores of the test rows themselves could do
(`best`); for more than two classes, one slope for all.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss

import streamsieve as ss
from report import load, parser, table

ORDERS, BINS = 3, 15
BUDGETS = {
    "20news_rec_sci": (10, 200),
    "a8a": (6, 30),
    "farm-ads": (10, 200),
    "relathe": (20, 100),
    "german": (6, 12),
    "clicks": (30, 100),
    "20news": (100, 500),
}


class Parts(NamedTuple):
    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]


def clicks(seed: int) -> tuple[Any, NDArray[Any]]:
    blocks = list(ss.open_source(f"synthetic:clicks?seed={seed}").row_blocks())
    indices = np.concatenate([block.indices for block in blocks])
    y = np.concatenate([block.y for block in blocks])
    bounds = np.linspace(0, indices.size, len(y) + 1).astype(np.int64)
    return (
        csr_array((np.ones(indices.size, np.float32), indices, bounds), shape=(len(y), 50_000)),
        y,
    )


def parts_of(folder: Path, name: str, order: int) -> Parts:
    random = np.random.default_rng(order)
    if name == "clicks":
        return Parts(*clicks(2 * order), *clicks(2 * order + 1))
    if name == "20news":
        X, y = load(folder, "20news.train")
        rows = random.permutation(len(y))
        return Parts(X[rows], y[rows], *load(folder, "20news.test", X.shape[1]))
    X, y = load(folder, name)
    train, test = np.split(random.permutation(len(y)), [len(y) * 7 // 10])
    return Parts(X[train], y[train], X[test], y[test])


def calibration_error(chances: NDArray[Any], right: NDArray[Any]) -> float:
    bins = np.array_split(np.argsort(chances, kind="stable"), BINS)
    return float(sum(abs(chances[part].sum() - right[part].sum()) for part in bins) / len(right))


def measured(parts: Parts, k: int) -> tuple[float, ...]:
    """Return accuracy, calibration error, and three log losses.

    The log losses are those of the probabilities, of the class rates and of the best fit.
    """
    selector = ss.SOFS(k).fit(parts.X, parts.y)
    scores, chances = selector.decision_function(parts.X_test), selector.predict_proba(parts.X_test)
    y, classes = parts.y_test, selector.classes_
    rates = np.tile([np.mean(parts.y == label) for label in classes], (len(y), 1))
    if len(classes) == 2:
        error = calibration_error(chances[:, 1], y == classes[1])
        best = LogisticRegression(C=np.inf).fit(scores[:, None], y).predict_proba(scores[:, None])
    else:
        error = calibration_error(chances.max(axis=1), selector.predict(parts.X_test) == y)
        fit = minimize_scalar(
            lambda slope: log_loss(y, softmax(np.exp(slope) * scores, axis=1), labels=classes)
        )
        best = softmax(np.exp(fit.x) * scores, axis=1)
    losses = (log_loss(y, each, labels=classes) for each in (chances, rates, best))
    return accuracy_score(y, classes[chances.argmax(axis=1)]), error, *losses


def main() -> None:
    options = parser(__doc__ or "").parse_args()
    lines = []
    for name in options.sets or BUDGETS:
        orders = [parts_of(options.data, name, order) for order in range(ORDERS)]
        for k in BUDGETS[name]:
            accuracy, *others = np.mean([measured(parts, k) for parts in orders], axis=0)
            lines.append([name, str(k), f"{accuracy:.1%}", *(f"{value:.3f}" for value in others)])
            print(*lines[-1], file=sys.stderr, flush=True)
    print(table(["set", "k", "accuracy", "ECE", "log loss", "rate", "best"], lines))


if __name__ == "__main__":
    main()
