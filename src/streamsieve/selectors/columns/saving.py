"""What the saved state of a learner of columns must be: its target, its slots and their codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.arrays import ArraySpec
from ...model import check_classes
from ...state import Arrays, Schema
from ...targets import Target
from ..requirements import is_number

ROUNDING = 1e-6  # of the length of a target
TARGET = "target."  # before the names of its arrays in a model

TARGET_SCHEMA: Schema = {
    TARGET + "numbers": ArraySpec(("rows",), dtype=np.float64),
    TARGET + "codes": ArraySpec(("coded_rows",), 0, "classes", dtype=np.int32),
    TARGET + "class_counts": ArraySpec(("classes",), 0, dtype=np.float64),
    TARGET + "weights": ArraySpec(("rows",), 0, dtype=np.float64),
    "counts": ArraySpec((3,), 0, dtype=np.int64),
}


def target_of_model(header: dict[str, Any], arrays: Arrays) -> Target:
    """The target that a model was learned against."""
    kind, centre, scale = header["kind"], header["centre"], header["scale"]
    numbers, codes, counts, weights = (
        arrays[TARGET + name] for name in ("numbers", "codes", "class_counts", "weights")
    )
    classes = arrays["classes"]
    of_classes = kind == "classes"
    if (not of_classes and (kind != "numbers" or codes.size)) or not is_number(centre) or not is_number(scale):
        raise ValueError("its target is neither classes nor numbers")
    check_classes(classes)
    if classes.shape != counts.shape or (of_classes and not classes.size >= 2) or codes.size not in (0, weights.size):
        raise ValueError("its classes do not fit its target")
    if not weights.size or of_classes != bool(codes.size):
        raise ValueError("its target has no rows")
    if numbers.shape != weights.shape or not (weights > 0).all() or not is_standardized(numbers, weights):
        raise ValueError("its target is not standardised")
    return Target("classes" if of_classes else "numbers", numbers, codes, counts, weights, classes, centre, scale)


def is_standardized(numbers: NDArray[np.float64], weights: NDArray[np.float64]) -> bool:
    """Whether weighted numbers are those of a vector of length 1."""
    with np.errstate(all="ignore"):
        return bool(abs((numbers / weights * numbers).sum() - 1.0) < ROUNDING)


def check_slots(order: NDArray[np.int32], kept: int) -> None:
    """Refuse, with a ValueError, an order that does not have every slot once, or has more kept than slots."""
    if not np.array_equal(np.sort(order), np.arange(order.size)) or not 0 <= kept <= order.size:
        raise ValueError("a slot is not in the order, or twice")


def check_codes(codes: NDArray[np.int32], n_levels: NDArray[np.int64], slots: NDArray[np.int32]) -> None:
    """Refuse, with a ValueError, codes of slots beyond their number of levels."""
    if codes.shape[1] and slots.size and (codes[slots].max(axis=1) >= np.maximum(n_levels[slots], 1)).any():
        raise ValueError("a code is beyond the levels of its column")
