"""Weights of rows: the row's own weight times that of its class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError, ParameterError, UsageError, prefix
from ...kernels.rows.batch import apply_class_weights
from ...targets import Encoded, Labels, show
from ..base import ClassWeight
from ..parameters import MAX_WEIGHT, is_number, require


def check_class_weight(params: Any, name: str, value: Any) -> None:
    """Raise ParameterError for an invalid ``class_weight``.

    It must be "auto", None, "balanced" or a dictionary of weights by label.
    """
    if isinstance(value, dict):
        for label, weight in value.items():
            expected = f"a weight from 0 to {MAX_WEIGHT:.0e} for class {label!r}"
            require(is_number(weight) and 0 <= weight <= MAX_WEIGHT, name, value, expected)
    elif value is not None and not (isinstance(value, str) and value in ("auto", "balanced")):
        raise ParameterError(
            name, value, "'auto', None, 'balanced' or a dictionary of weights by label"
        )


def check_sample_weights(block: RowBlock, rows_before: int) -> None:
    """Raise DataError if a weight of a row is out of range."""
    weights = block.sample_weight
    if weights is None:
        return
    is_valid = (weights >= 0) & (weights <= MAX_WEIGHT)
    if not is_valid.all():
        row = int(np.flatnonzero(~is_valid)[0])
        raise DataError(
            f"{prefix(block.origin)}row {rows_before + row + 1}: its sample_weight is"
            f" {weights[row]}; weights are numbers from 0 to {MAX_WEIGHT:.0e}"
        )


def check_weight_products(
    block: RowBlock, encoded: Encoded, class_weight: ClassWeight, rows_before: int
) -> None:
    """Raise DataError if the weight of a row times that of its class is too large."""
    if block.sample_weight is None or not isinstance(class_weight, dict):
        return
    classes = encoded.classes
    # A single class has the code of the second.
    numbers = encoded.answers - (max(2, classes.size) - classes.size)
    by_class = np.array([weight_of(label, class_weight) for label in classes.tolist()])
    products = block.sample_weight * by_class[numbers]
    large = np.flatnonzero(products > MAX_WEIGHT)
    if large.size:
        row = int(large[0])
        label = show(classes[numbers[row]])
        raise DataError(
            f"{prefix(block.origin)}row {rows_before + row + 1}: its sample_weight,"
            f" {block.sample_weight[row]:g}, times the class_weight of {label} is"
            f" {products[row]:g}; rows count at most {MAX_WEIGHT:.0e} times"
        )


def check_class_weight_keys(class_weight: ClassWeight, classes: NDArray[Any]) -> None:
    """Raise UsageError for weights of unknown classes, unless every known class has a weight.

    As in scikit-learn: where rows of some class are missing from a part of the data, all others are
    named.
    """
    if not isinstance(class_weight, dict):
        return
    labels = classes.tolist()
    keys = {key for label in labels for key in (label, text_of(label))}
    unknown_keys = [key for key in class_weight if key not in keys]
    if unknown_keys and any(
        label not in class_weight and text_of(label) not in class_weight for label in labels
    ):
        raise UsageError(
            f"class_weight has a weight for {unknown_keys[0]!r}, which is not one of the classes "
            f"{', '.join(map(text_of, labels))}"
        )


def row_weights(
    codes: NDArray[np.int64],
    sample_weight: NDArray[np.float64] | None,
    class_weight: ClassWeight,
    labels: Labels,
) -> NDArray[np.float64]:
    """Return the weights of rows of these classes.

    "balanced" and "auto" use the class counts so far. "auto" is the root of half the balanced
    weight, and at least 1: it helps rare classes and leaves others unchanged.
    """
    weights: NDArray[np.float64] = (  # a copy
        np.ones(codes.size) if sample_weight is None else sample_weight.astype(np.float64)
    )
    if isinstance(class_weight, dict):
        by_class, class_labels = np.ones(labels.n_classes), labels.classes.tolist()
        by_class[-len(class_labels) :] = [weight_of(label, class_weight) for label in class_labels]
        return weights * by_class[codes]
    if class_weight is not None:
        apply_class_weights(codes, labels.counts + 1, class_weight == "balanced", weights)
    return weights


def weight_of(label: Any, weights: dict[Any, float]) -> float:
    """Return the weight of a class; 1 if it has none.

    It is found by the label or, as in JSON, by the label as text.
    """
    return float(weights.get(label, weights.get(text_of(label), 1.0)))


def text_of(label: Any) -> str:
    """Return a label as a key in JSON."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
