"""Measure how well a selection and its weights match known true ones, as of synthetic data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError


def support_recall(selected: Iterable[int], true: Iterable[int]) -> float:
    """Return the fraction of the true features that were selected."""
    chosen, wanted = set_of(selected), set_of(true)
    if not wanted:
        raise UsageError("recall needs true features, but there are none; give one or more")
    return len(chosen & wanted) / len(wanted)


def support_precision(selected: Iterable[int], true: Iterable[int]) -> float:
    """Return the fraction of the selected features that are true; 1 if nothing was selected."""
    return 1.0 - false_discovery_rate(selected, true)


def false_discovery_rate(selected: Iterable[int], true: Iterable[int]) -> float:
    """Return the fraction of the selected features that are not true; 0 if nothing was selected."""
    chosen = set_of(selected)
    return len(chosen - set_of(true)) / len(chosen) if chosen else 0.0


def recovery_error(weights: Any, true_weights: Any) -> float:
    """Return the distance of weights from the true weights, divided by the length of the latter.

    It is the measure of online substitution's paper (Yang, Fujimaki, Kusumura, Liu 2016); it is 1
    if all weights are 0.
    """
    estimated, true = vector(weights), vector(true_weights)
    if estimated.shape != true.shape:
        raise UsageError(
            f"{estimated.size:,} weights and {true.size:,} true ones; give one for every feature"
        )
    length = float(np.linalg.norm(true))
    if not length:
        raise UsageError("the true weights are all 0, so that the recovery error is undefined")
    return float(np.linalg.norm(estimated - true)) / length


def set_of(features: Iterable[int]) -> set[int]:
    """Return the ids of features as a set."""
    return {int(feature) for feature in features}


def vector(weights: Any) -> NDArray[np.float64]:
    """Return weights as a vector."""
    return np.asarray(weights, np.float64).ravel()
