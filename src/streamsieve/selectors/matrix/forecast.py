"""What a method on pairs of rows is going to take, said before it begins."""

from __future__ import annotations

import logging
import time

import numpy as np

from ...errors import prefix
from ...machine import size_text
from .data import Pairs

SMALL = 2e10  # pairs of rows times features: less work takes seconds, and is not worth a forecast
SAMPLE = 64  # features to take the time of
LONG = 60.0  # seconds: what takes less is not announced

notes = logging.getLogger("streamsieve")


def announce(pairs: Pairs, method: str, passes: float) -> None:
    """Say what time and memory the work takes, if that is much; ``passes`` is how often all distances are worth it."""
    seconds = forecast(pairs, passes)
    if seconds > LONG:
        notes.warning(
            "%s%s on %s rows and %s features takes about %s and %s of memory",
            prefix(pairs.matrix.origin),
            method,
            f"{pairs.n_rows:,}",
            f"{pairs.varying.size:,}",
            duration(seconds),
            size_text(pairs.n_bytes),
        )


def forecast(pairs: Pairs, passes: float) -> float:
    """Seconds that the work takes, from those that a few features take; 0 for small work."""
    if pairs.n_rows**2 * pairs.varying.size < SMALL:
        return 0.0
    seconds_of(pairs, SAMPLE)  # or compiling would count
    few, more = seconds_of(pairs, SAMPLE), seconds_of(pairs, 3 * SAMPLE)
    per_feature = max(more - few, 0.1 * few) / (2 * SAMPLE)  # without what any number of features takes
    return passes * per_feature * pairs.varying.size


def seconds_of(pairs: Pairs, n_features: int) -> float:
    """How long the distances in a few features take."""
    features = pairs.varying[:n_features]
    began = time.perf_counter()
    pairs.distances(features, np.ones(features.size))
    return time.perf_counter() - began


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds < 5400:
        return f"{max(1, round(seconds / 60))} min"
    return f"{seconds / 3600:.1f} h"
