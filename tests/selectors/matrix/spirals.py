"""The spiral of paper P5 among irrelevant features, for tests."""

from __future__ import annotations

import numpy as np


def spiral(irrelevant, seed, per_arm=230):
    """Return two arms of Fermat's spiral over one turn, then standard normal features (P5 3.1)."""
    t = 2 * np.pi * np.arange(1, per_arm + 1) / per_arm
    arm = np.sqrt(t)[:, None] * np.stack([np.cos(t), np.sin(t)], axis=1)
    X = np.empty((2 * per_arm, 2 + irrelevant), np.float32)
    X[:, :2] = np.concatenate([arm, -arm])
    X[:, 2:] = np.random.default_rng(seed).standard_normal(
        (2 * per_arm, irrelevant), dtype=np.float32
    )
    return X, np.repeat([1, -1], per_arm)


def is_found(weights):
    """Return True if all weights are below a third of those of features 0 and 1."""
    return weights[2:].max(initial=0.0) < weights[:2].min() / 3
