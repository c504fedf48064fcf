"""Alpha-investing, with every model fitted from scratch."""

from __future__ import annotations

import math

import numpy as np


def squared_error(columns, target):
    design = np.column_stack([np.ones(len(target)), *columns])
    weights, *_ = np.linalg.lstsq(design, target, rcond=1e-10)
    return float(((target - design @ weights) ** 2).sum())


def select(columns, target, wealth=0.5, payout=0.5):
    """Return the kept columns in order of arrival, and how close a p-value came to its level.

    Closeness is the absolute logarithm of their ratio.
    """
    target = np.asarray(target, float)
    kept, closest = [], math.inf
    for i, column in enumerate(columns, start=2):
        alpha = wealth / (2 * i)
        sse = squared_error([columns[k] for k in kept], target)
        new_sse = squared_error([*(columns[k] for k in kept), column], target)
        p = math.exp((new_sse - sse) / (2 * sse / len(target))) if sse > 0 else 1.0
        closest = min(closest, abs(math.log(max(p, 1e-300) / alpha)))
        if p < alpha:
            kept.append(i - 2)
            wealth += payout
        wealth -= alpha
    return kept, closest
