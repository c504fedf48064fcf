"""Grafting of a stream of columns (Perkins, Theiler 2003, as Yang, Fujimaki, Kusumura, Liu 2016, 2.2, have it).

Whole columns, NumPy, every problem solved from scratch by proximal gradient with momentum, and the
penalty found by halving intervals. Beside the answer it gives the closest decision: how far apart,
relatively, two numbers were that decided whether a column came in or went.
"""

from __future__ import annotations

import numpy as np

from .linear import BOUND, slope

MORE = 1e-4  # of the penalty: what a newcomer must have beyond it
START = 1e-3  # of the slopes' deviation before any column: the least penalty, if none is given
FALL = 0.98  # of the penalty: what it falls to is less


def solve(Z, y, penalty, loss):
    """Minimise the mean loss + penalty |w|_1; the weights, the constant, the slopes of the rows."""
    n, k = Z.shape
    A = np.column_stack([Z, np.ones(n)])
    step = 1.0 / (BOUND[loss] * np.linalg.eigvalsh(A.T @ A / n)[-1])
    limit = np.append(np.full(k, step * penalty), 0.0)
    w = ahead = np.zeros(k + 1)
    speed = 1.0
    for _ in range(100_000):
        moved = ahead - step * (A.T @ slope(loss, A @ ahead, y) / n)
        new = np.sign(moved) * np.maximum(np.abs(moved) - limit, 0.0)
        faster = (1.0 + np.sqrt(1.0 + 4.0 * speed**2)) / 2.0
        if (ahead - new) @ (new - w) > 0.0:  # it went too far: without momentum again
            faster, ahead = 1.0, new
        else:
            ahead = new + (speed - 1.0) / faster * (new - w)
        settled = np.abs(new - w).max() <= 1e-13
        w, speed = new, faster
        if settled:
            break
    return w[:k], w[k], slope(loss, A @ w, y)


def least_penalty(Z, y, s, low, loss):
    """The least penalty, above ``low``, with which no more than s weights are not 0."""
    high = 2.0 * low
    while np.count_nonzero(solve(Z, y, high, loss)[0]) > s:
        low, high = high, 2.0 * high
    while high - low > 1e-7 * high:
        middle = (low + high) / 2.0
        if np.count_nonzero(solve(Z, y, middle, loss)[0]) > s:
            low = middle
        else:
            high = middle
    return high


def graft(X, y, s, given, loss, scans):
    """The held columns and their weights, the constant, the penalty, the closest decision."""
    n = y.size
    nothing = np.zeros((n, 0))
    _, level, g = solve(nothing, y, 0.0, loss)
    least = START * g.std()
    penalty, fraction = (least if given is None else given), START
    held, weights, closest = [], {}, np.inf
    Z = {
        j: (X[:, j] - X[:, j].mean()) / X[:, j].std()
        for j in range(X.shape[1])
        if len(set(X[:, j])) > 1
    }

    def settle(penalty, most=None):
        """Solve, and drop the columns whose weight is 0; with a limit, that of the smallest beyond it."""
        nonlocal held, weights, level, g, closest
        lines = np.array([Z[k] for k in held]).T.reshape(n, -1)
        w, level, g = solve(lines, y, penalty, loss)
        if (
            most is not None and np.count_nonzero(w) > most
        ):  # at the penalty that was found one is as good as 0
            w[np.argmin(np.abs(w))] = 0.0
        for k, weight in zip(held, w, strict=True):
            if most is None:
                off = abs(weight) if weight else 1.0 - abs(Z[k] @ g) / n / penalty
                closest = min(closest, off)
        held = [k for k, weight in zip(held, w, strict=True) if weight]
        weights = dict(zip(held, w[w != 0], strict=True))

    for _ in range(scans):
        for j in Z:
            along = abs(Z[j] @ g) / n / penalty
            if j in held or any(abs(Z[j] @ Z[k]) / n > 1 - 1e-6 for k in held):
                continue
            closest = min(closest, abs(along - 1.0 - MORE))
            if along <= 1.0 + MORE:
                continue
            held.append(j)
            settle(penalty)
            if len(held) > s:
                lines = np.array([Z[k] for k in held]).T
                penalty = least_penalty(lines, y, s, penalty, loss)
                settle(penalty, s)
                fraction = penalty / g.std()
            lower = max(fraction * g.std(), least)
            if given is None:
                closest = min(closest, abs(lower / penalty - FALL))
                if lower < FALL * penalty:
                    penalty = lower
                    settle(penalty)
    return weights, level, penalty, closest
