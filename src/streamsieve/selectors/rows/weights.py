"""How much a row counts: its own weight times that of its class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError, prefix
from ...kernels.rows.batch import balance
from ...targets import Labels
from ..base import ClassWeight, is_number, require

LARGEST_WEIGHT = 1e12  # of a row or a class


def require_class_weight(value: Any) -> None:
    """``class_weight`` is "auto", None, "balanced" or a dictionary of weights by label."""
    known = value is None or (isinstance(value, str) and value in ("auto", "balanced"))
    expected = "'auto', None, 'balanced' or a dictionary of weights by label"
    require(known or isinstance(value, dict), "class_weight", value, expected)
    for label, weight in value.items() if isinstance(value, dict) else ():
        fits = is_number(weight) and 0 <= weight <= LARGEST_WEIGHT
        require(fits, "class_weight", value, f"a weight from 0 to {LARGEST_WEIGHT:.0e} for class {label!r}")


def refuse_weights(block: RowBlock, rows_before: int) -> None:
    """Refuse weights of rows that are no weights."""
    weights = block.sample_weight
    if weights is None:
        return
    fine = (weights >= 0) & (weights <= LARGEST_WEIGHT)
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        raise DataError(
            f"{prefix(block.origin)}row {rows_before + row + 1}: its sample_weight is {weights[row]}; weights are "
            f"numbers from 0 to {LARGEST_WEIGHT:.0e}"
        )


def row_weights(
    codes: NDArray[np.int64], given: NDArray[np.float64] | None, class_weight: ClassWeight, labels: Labels
) -> NDArray[np.float64]:
    """The weights of rows of these classes; "balanced" and "auto" go by the class counts so far.

    "auto" is the root of half the balanced weight, and at least 1: it helps rare classes and leaves others alone.
    """
    weights: NDArray[np.float64] = np.ones(codes.size) if given is None else given.astype(np.float64)
    if isinstance(class_weight, dict):
        by_class, known = np.ones(labels.n_classes), labels.classes.tolist()
        by_class[-len(known) :] = [weight_of(label, class_weight) for label in known]
        return weights * by_class[codes]
    if class_weight is None:
        return weights
    balanced = np.empty(codes.size)
    balance(codes, labels.counts + 1, balanced)
    return weights * (balanced if class_weight == "balanced" else np.maximum(1.0, np.sqrt(balanced / 2.0)))


def weight_of(label: Any, weights: dict[Any, float]) -> float:
    """The weight of a class, found by its label or, as in JSON, by its label as text; 1 if it is not named."""
    text = str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
    return float(weights.get(label, weights.get(text, 1.0)))
