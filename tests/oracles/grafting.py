"""Grafting of a stream of columns.

Perkins, Theiler 2003, as in Yang, Fujimaki, Kusumura, Liu 2016, section 2.2. Whole columns, NumPy;
every problem is solved from scratch by proximal gradient with momentum, and the penalty is found by
bisection. The closest decision is returned, too: the relative distance of two numbers that decided
whether a column entered or left.
"""

from __future__ import annotations

import numpy as np

from .linear import BOUND, slope

MORE = 1e-4  # share of the penalty by which a new column must exceed it
START = 1e-3  # share of the initial deviation of the slopes: the least penalty, if none is given
FALL = 0.98  # the penalty falls only to less than this share of it


def solve(Z, y, penalty, loss):
    """Minimise the mean loss + penalty |w|_1; return weights, constant and slopes of the rows."""
    n, k = Z.shape
    A = np.column_stack([Z, np.ones(n)])
    step = 1.0 / (BOUND[loss] * np.linalg.eigvalsh(A.T @ A / n)[-1])
    limit = np.append(np.full(k, step * penalty), 0.0)
    w = extrapolated = np.zeros(k + 1)
    speed = 1.0
    for _ in range(100_000):
        moved = extrapolated - step * (A.T @ slope(loss, A @ extrapolated, y) / n)
        new = np.sign(moved) * np.maximum(np.abs(moved) - limit, 0.0)
        next_speed = (1.0 + np.sqrt(1.0 + 4.0 * speed**2)) / 2.0
        if (extrapolated - new) @ (new - w) > 0.0:  # overshot: restart without momentum
            next_speed, extrapolated = 1.0, new
        else:
            extrapolated = new + (speed - 1.0) / next_speed * (new - w)
        has_converged = np.abs(new - w).max() <= 1e-13
        w, speed = new, next_speed
        if has_converged:
            break
    return w[:k], w[k], slope(loss, A @ w, y)


def least_penalty(Z, y, s, low, loss):
    """Return the least penalty above ``low`` with at most s weights that are not 0."""
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
    """Return the weights of the held columns, constant, penalty and closest decision."""
    n = y.size
    no_columns = np.zeros((n, 0))
    _, level, g = solve(no_columns, y, 0.0, loss)
    least = START * g.std()
    penalty, fraction = (least if given is None else given), START
    held, weights, closest = [], {}, np.inf
    Z = {
        j: (X[:, j] - X[:, j].mean()) / X[:, j].std()
        for j in range(X.shape[1])
        if len(set(X[:, j])) > 1
    }

    def solve_and_drop(penalty, limit=None):
        """Solve, and drop columns whose weight is 0; with a limit, also the smallest beyond it."""
        nonlocal held, weights, level, g, closest
        lines = np.array([Z[k] for k in held]).T.reshape(n, -1)
        w, level, g = solve(lines, y, penalty, loss)
        # at the least penalty one weight is practically 0
        if limit is not None and np.count_nonzero(w) > limit:
            w[np.argmin(np.abs(w))] = 0.0
        for k, weight in zip(held, w, strict=True):
            if limit is None:
                distance = abs(weight) if weight else 1.0 - abs(Z[k] @ g) / n / penalty
                closest = min(closest, distance)
        held = [k for k, weight in zip(held, w, strict=True) if weight]
        weights = dict(zip(held, w[w != 0], strict=True))

    for _ in range(scans):
        for j in Z:
            slope_ratio = abs(Z[j] @ g) / n / penalty
            if j in held or any(abs(Z[j] @ Z[k]) / n > 1 - 1e-6 for k in held):
                continue
            closest = min(closest, abs(slope_ratio - 1.0 - MORE))
            if slope_ratio <= 1.0 + MORE:
                continue
            held.append(j)
            solve_and_drop(penalty)
            if len(held) > s:
                lines = np.array([Z[k] for k in held]).T
                penalty = least_penalty(lines, y, s, penalty, loss)
                solve_and_drop(penalty, s)
                fraction = penalty / g.std()
            lower_penalty = max(fraction * g.std(), least)
            if given is None:
                closest = min(closest, abs(lower_penalty / penalty - FALL))
                if lower_penalty < FALL * penalty:
                    penalty = lower_penalty
                    solve_and_drop(penalty)
    return weights, level, penalty, closest
