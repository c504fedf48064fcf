"""ReliefF and I-RELIEF from their formulas."""

from __future__ import annotations

import numpy as np

from .local_learning import probabilities, scaled


def relieff(X, y, n_neighbors, scale="minmax"):
    """Kononenko 1994, all rows asked: differences to the nearest misses of every class less those to the hits."""
    X, y = scaled(X, scale), np.asarray(y)
    n_rows = len(y)
    share = {label: np.mean(y == label) for label in np.unique(y)}
    weights = np.zeros(X.shape[1])
    for n in range(n_rows):
        apart = np.abs(X - X[n])
        if np.sum(y == y[n]) < 2:
            continue
        order = [int(i) for i in np.argsort(apart.sum(axis=1), kind="stable") if i != n]
        for label, part in share.items():
            near = [i for i in order if y[i] == label][:n_neighbors]
            counts = -1.0 if label == y[n] else part / (1.0 - share[y[n]])
            weights += counts * apart[near].mean(axis=0) / n_rows
    return weights


def irelief(X, y, sigma, tol, max_iter, scale="minmax"):
    """Sun 2007: w = (v)+ / ||(v)+||, v the rows' expected margins, each by how little of an outlier it is."""
    X, y = scaled(X, scale), np.asarray(y)
    n_features = X.shape[1]
    apart = np.abs(X[:, None] - X[None])
    weights = np.full(n_features, 1.0 / np.sqrt(n_features))
    for _ in range(max_iter):
        distances = apart @ weights
        kernel = np.exp(-distances / sigma)
        np.fill_diagonal(kernel, 0.0)
        inlier = (kernel * (y[:, None] == y[None])).sum(axis=1) / kernel.sum(axis=1)
        margins = np.einsum("ni,nij->nj", probabilities(distances, y, sigma), apart)
        gain = np.maximum(0.0, inlier @ margins)
        now = gain / np.linalg.norm(gain)
        change, weights = np.linalg.norm(now - weights), now
        if change <= tol:
            break
    return weights
