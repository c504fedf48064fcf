"""How well a selection and its weights match a truth that is known, as that of synthetic data is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError


def support_recall(selected: Iterable[int], true: Iterable[int]) -> float:
    """The fraction of the true features that were selected."""
    chosen, wanted = set_of(selected), set_of(true)
    if not wanted:
        raise UsageError("there are no true features to be found")
    return len(chosen & wanted) / len(wanted)


def support_precision(selected: Iterable[int], true: Iterable[int]) -> float:
    """The fraction of the selected features that are true ones; 1 if nothing was selected, as nothing is wrong."""
    return 1.0 - false_discovery_rate(selected, true)


def false_discovery_rate(selected: Iterable[int], true: Iterable[int]) -> float:
    """The fraction of the selected features that are not true ones; 0 if nothing was selected."""
    chosen = set_of(selected)
    return len(chosen - set_of(true)) / len(chosen) if chosen else 0.0


def recovery_error(weights: Any, true_weights: Any) -> float:
    """The distance of weights from the true ones, divided by the length of those.

    It is the measure of online substitution's paper (Yang, Fujimaki, Kusumura, Liu 2016); all
    weights at 0 have 1.
    """
    found, true = vector(weights), vector(true_weights)
    if found.shape != true.shape:
        raise UsageError(
            f"{found.size:,} weights and {true.size:,} true ones; give one for every feature"
        )
    length = float(np.linalg.norm(true))
    if not length:
        raise UsageError("the true weights are all 0, so that nothing can be recovered")
    return float(np.linalg.norm(found - true)) / length


def set_of(features: Iterable[int]) -> set[int]:
    """Features by their ids."""
    return {int(feature) for feature in features}


def vector(weights: Any) -> NDArray[np.float64]:
    """Weights in a line."""
    return np.asarray(weights, np.float64).ravel()
