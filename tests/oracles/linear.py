"""Shared parts of the oracles of linear models: standardised columns and losses."""

from __future__ import annotations

import numpy as np

BOUND = {"squared": 1.0, "squared_hinge": 1.0, "logistic": 0.25}  # of the second derivative


def standardized(X):
    """Return columns of mean 0 and variance 1, and a mask of those that vary."""
    varies = np.array([len(set(column)) > 1 for column in X.T])
    Z = np.zeros(X.shape)
    Z[:, varies] = (X[:, varies] - X[:, varies].mean(axis=0)) / X[:, varies].std(axis=0)
    return Z, varies


def slope(loss, u, y):
    """Return the first derivative of every row's loss by its score."""
    if loss == "squared":
        return u - y
    if loss == "squared_hinge":
        return -y * np.maximum(0.0, 1.0 - y * u)
    return -y / (1.0 + np.exp(y * u))


def gap(a, b):
    """Return the relative distance of two numbers."""
    return abs(a - b) / max(abs(a), abs(b), 1e-300)
