"""OGFS with the similarity matrices of the paper, and a Lasso on residuals."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student


def laplacians(target):
    """Return the Laplacians L of the graphs between and within classes.

    f' L f is the scatter of f between or within classes.
    """
    target = np.asarray(target)
    n = len(target)
    same = target[:, None] == target[None, :]
    size = np.array([(target == c).sum() for c in target])
    between = np.where(same, 1 / n - 1 / size, 1 / n)
    within = np.where(same, 1 / size, 0.0)
    return [np.diag(s.sum(axis=1)) - s for s in (between, within)]


def lasso(X, y, penalty):
    """Minimise |y - X w|^2 / 2 + penalty |w|_1 for columns of length 1.

    Return the weights and how clearly they are zero or not.
    """
    w = np.zeros(X.shape[1])
    for _ in range(20_000):
        previous = w.copy()
        for j in range(w.size):
            correlation = X[:, j] @ (y - X @ w) + w[j]
            w[j] = np.sign(correlation) * max(abs(correlation) - penalty, 0.0)
        if np.abs(w - previous).max(initial=0.0) < 1e-14:
            break
    slack = np.abs(np.abs(X.T @ (y - X @ w)) - penalty)
    return w, float(np.where(w == 0, slack, np.abs(w)).min(initial=np.inf))


def select(columns, groups, target, epsilon, alpha, penalty=None, budget=None):
    """Return the kept columns with their weights, in order of arrival, and the closest decision."""
    target = np.asarray(target)
    n = len(target)
    outer, inner = laplacians(target)
    classes = np.unique(target)
    indicators = [target == c for c in (classes[1:] if len(classes) == 2 else classes)]
    indicators = [(v - v.mean()) / np.sqrt(n * v.var()) for v in indicators]
    closest = np.inf
    kept, weights = {}, {}

    def score(features):
        return sum(f @ outer @ f for f in features) / max(
            sum(f @ inner @ f for f in features), 1e-12
        )

    def close_group(seen):
        nonlocal closest, kept, weights
        X = np.column_stack(list(kept.values()))
        level = np.sqrt(2 * np.log(1 + seen) / n) if penalty is None else penalty
        sizes_by_class = []
        for y in indicators:
            w, clearness = lasso(X, y, level)
            closest = min(closest, clearness)
            sizes_by_class.append(np.abs(w))
        largest = dict(zip(kept, np.max(sizes_by_class, axis=0).tolist(), strict=True))
        staying = [c for c in kept if largest[c] > 0]
        while budget is not None and len(staying) > budget:
            sizes = sorted(largest[c] for c in staying)
            closest = min(closest, sizes[1] - sizes[0])
            staying.remove(min(staying, key=lambda c: largest[c]))
        kept = {c: kept[c] for c in staying}
        weights = {c: largest[c] for c in staying}

    n_new = 0
    for number, column in enumerate(columns):
        if number and groups[number] != groups[number - 1] and n_new:
            close_group(number)
            n_new = 0
        f = np.asarray(column, float) - np.mean(column)
        if f @ f < 1e-12 * (np.asarray(column, float) @ np.asarray(column, float)) or not f.any():
            continue
        f = f / np.sqrt(f @ f)
        scores_alone = [score([g]) for g in kept.values()]
        score_before = score(list(kept.values())) if kept else 0.0
        gain = score([*kept.values(), f]) - score_before
        closest = min(closest, abs(gain - epsilon) / max(1.0, score_before))
        joins = gain > epsilon
        if not joins and len(scores_alone) > 1:
            limit = (
                student.isf(alpha / 2, len(scores_alone) - 1)
                * np.std(scores_alone, ddof=1)
                / np.sqrt(len(scores_alone))
            )
            difference = abs(score([f]) - np.mean(scores_alone))
            closest = min(closest, abs(difference - limit) / max(1.0, limit))
            joins = difference > limit
        if joins and all(abs(f @ g) < 1 - 1e-10 for g in kept.values()):
            kept[number] = f
            n_new += 1
    if n_new:
        close_group(len(columns))
    return weights, closest
