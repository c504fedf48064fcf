"""What a linear classifier says in the user's terms: the class a feature speaks for, and what the majority is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...targets import Labels
from ..linear import classes_of_weights


def meaning(weights: NDArray[np.float64], labels: Labels) -> dict[str, Any]:
    """What some features say, by their weights, a row per feature; nothing before a class is known.

    ``weights``, one per feature, or one per feature and class; ``speaks_for``, the class of each feature; ``majority``,
    the most frequent class so far, of equal ones the first, and the fraction of rows that are of it.
    """
    classes = labels.classes.tolist()
    if not classes:
        return {}
    counts = labels.counts[-len(classes) :]
    return {
        "weights": (weights[:, 0] if weights.shape[1] == 1 else weights).tolist(),
        "speaks_for": classes_of_weights(weights, classes),
        "majority": {"class": classes[counts.argmax()], "rate": float(counts.max() / max(1, counts.sum()))},
    }
