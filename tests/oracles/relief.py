"""ReliefF and I-RELIEF from their formulas."""

from __future__ import annotations

import numpy as np

from .local_learning import probabilities, scaled


def relieff(X, y, n_neighbors, scale="minmax"):
    """Return the weights of Kononenko 1994 over all rows.

    They are the differences to the nearest misses of every class less those to the nearest hits.
    """
    X, y = scaled(X, scale), np.asarray(y)
    n_rows = len(y)
    share = {label: np.mean(y == label) for label in np.unique(y)}
    weights = np.zeros(X.shape[1])
    for n in range(n_rows):
        differences = np.abs(X - X[n])
        if np.sum(y == y[n]) < 2:
            continue
        order = [int(i) for i in np.argsort(differences.sum(axis=1), kind="stable") if i != n]
        for label, class_share in share.items():
            near = [i for i in order if y[i] == label][:n_neighbors]
            factor = -1.0 if label == y[n] else class_share / (1.0 - share[y[n]])
            weights += factor * differences[near].mean(axis=0) / n_rows
    return weights


def irelief(X, y, sigma, tol, max_iter, scale="minmax"):
    """Return the weights of Sun 2007: w = (v)+ / ||(v)+||.

    v is the sum of the expected margins of rows, each times its probability of being an inlier.
    """
    X, y = scaled(X, scale), np.asarray(y)
    n_features = X.shape[1]
    differences = np.abs(X[:, None] - X[None])
    weights = np.full(n_features, 1.0 / np.sqrt(n_features))
    for _ in range(max_iter):
        distances = differences @ weights
        kernel = np.exp(-distances / sigma)
        np.fill_diagonal(kernel, 0.0)
        inlier = (kernel * (y[:, None] == y[None])).sum(axis=1) / kernel.sum(axis=1)
        margins = np.einsum("ni,nij->nj", probabilities(distances, y, sigma), differences)
        gain = np.maximum(0.0, inlier @ margins)
        current = gain / np.linalg.norm(gain)
        change, weights = np.linalg.norm(current - weights), current
        if change <= tol:
            break
    return weights
