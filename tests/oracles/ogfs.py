"""OGFS with the paper's matrices of similarity, and a Lasso on residuals."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student


def laplacians(target):
    """Of the graphs between and within classes: f' L f is the scatter of f there."""
    target = np.asarray(target)
    n = len(target)
    same = target[:, None] == target[None, :]
    size = np.array([(target == c).sum() for c in target])
    between = np.where(same, 1 / n - 1 / size, 1 / n)
    within = np.where(same, 1 / size, 0.0)
    return [np.diag(s.sum(axis=1)) - s for s in (between, within)]


def lasso(X, y, penalty):
    """The minimum of |y - X w|^2 / 2 + penalty |w|_1 for columns of length 1, and how clear its zeros are."""
    w = np.zeros(X.shape[1])
    for _ in range(20_000):
        before = w.copy()
        for j in range(w.size):
            pull = X[:, j] @ (y - X @ w) + w[j]
            w[j] = np.sign(pull) * max(abs(pull) - penalty, 0.0)
        if np.abs(w - before).max(initial=0.0) < 1e-14:
            break
    slack = np.abs(np.abs(X.T @ (y - X @ w)) - penalty)
    return w, float(np.where(w == 0, slack, np.abs(w)).min(initial=np.inf))


def select(columns, groups, target, epsilon, alpha, penalty=None, budget=None):
    """The kept columns with their weights, in order of arrival, and how close the closest decision was."""
    target = np.asarray(target)
    n = len(target)
    outer, inner = laplacians(target)
    classes = np.unique(target)
    indicators = [target == c for c in (classes[1:] if len(classes) == 2 else classes)]
    indicators = [(v - v.mean()) / np.sqrt(n * v.var()) for v in indicators]
    closest = np.inf
    kept, weights = {}, {}

    def score(some):
        return sum(f @ outer @ f for f in some) / max(sum(f @ inner @ f for f in some), 1e-12)

    def close(seen):
        nonlocal closest, kept, weights
        X = np.column_stack(list(kept.values()))
        level = np.sqrt(2 * np.log(1 + seen) / n) if penalty is None else penalty
        found = []
        for y in indicators:
            w, clear = lasso(X, y, level)
            closest = min(closest, clear)
            found.append(np.abs(w))
        largest = dict(zip(kept, np.max(found, axis=0).tolist(), strict=True))
        stay = [c for c in kept if largest[c] > 0]
        while budget is not None and len(stay) > budget:
            sizes = sorted(largest[c] for c in stay)
            closest = min(closest, sizes[1] - sizes[0])
            stay.remove(min(stay, key=lambda c: largest[c]))
        kept = {c: kept[c] for c in stay}
        weights = {c: largest[c] for c in stay}

    fresh = 0
    for number, column in enumerate(columns):
        if number and groups[number] != groups[number - 1] and fresh:
            close(number)
            fresh = 0
        f = np.asarray(column, float) - np.mean(column)
        if f @ f < 1e-12 * (np.asarray(column, float) @ np.asarray(column, float)) or not f.any():
            continue
        f = f / np.sqrt(f @ f)
        own = [score([g]) for g in kept.values()]
        before = score(list(kept.values())) if kept else 0.0
        gain = score([*kept.values(), f]) - before
        closest = min(closest, abs(gain - epsilon) / max(1.0, before))
        joins = gain > epsilon
        if not joins and len(own) > 1:
            limit = student.isf(alpha / 2, len(own) - 1) * np.std(own, ddof=1) / np.sqrt(len(own))
            off = abs(score([f]) - np.mean(own))
            closest = min(closest, abs(off - limit) / max(1.0, limit))
            joins = off > limit
        if joins and all(abs(f @ g) < 1 - 1e-10 for g in kept.values()):
            kept[number] = f
            fresh += 1
    if fresh:
        close(len(columns))
    return weights, closest
