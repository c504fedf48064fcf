"""What the weights of a linear classifier say: which class a feature speaks for, and what the classes alone give."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...targets import Labels


def classes_of_weights(weights: NDArray[np.float64], classes: NDArray[Any]) -> list[Any]:
    """The class that each feature speaks for, by its weights, a row per feature; None where all of them are 0.

    Of two classes a positive weight speaks for the second; of more, a feature for the class of its largest weight.
    """
    codes = (weights[:, 0] > 0).astype(np.int64) if weights.shape[1] == 1 else weights.argmax(axis=1)
    labels = classes[np.minimum(codes, classes.size - 1)].tolist()
    silent = ~(weights != 0).any(axis=1)
    return [None if nothing else label for label, nothing in zip(labels, silent.tolist(), strict=True)]


def majority(labels: Labels) -> dict[str, Any]:
    """The most frequent class so far, of equal ones the first, and the fraction of rows that are of it."""
    counts = labels.counts[-labels.classes.size :]
    return {"class": labels.classes.tolist()[counts.argmax()], "rate": float(counts.max() / max(1, counts.sum()))}
