"""Class probabilities from scores, by the fit of a calibration (Platt 1999)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...kernels.rows.calibration import (
    MAX_SLOPE,
    MAX_SQUARE,
    MAX_STEP,
    MIN_SQUARE,
    MIXED,
    OFFSET,
    PRIOR,
    ROWS,
    SLOPE,
    WEIGHT,
)
from ...kernels.types import F64
from ..parameters import ensure

BELOW_HALF = 0.5 - 2.0**-53  # 1 minus it is above 1/2, with the rounding of floats
MAX_ROWS = 2.0**53  # more cannot be counted in a float
HEAVIEST_ROW = 1e30  # its weight times that of its class, where classes are balanced
MAX_CLASSES = 2.0**31
LEAK = 0.01  # of the slope, which is left where the fit would contradict the prediction


def check_calibration(calibration: F64, n_vectors: int) -> None:
    """Raise ValueError if no fit can produce these numbers.

    Steps or probabilities computed from them might not be numbers.
    """
    rows, total, square, slope, offset, curvature, mixed, flatness = calibration.tolist()
    ensure(
        np.isfinite(calibration).all() and not (np.delete(calibration, [OFFSET, MIXED]) < 0).any(),
        "the fit of its probabilities has a number below 0, or one that is not finite",
    )
    ensure(
        n_vectors == 1 or not (offset or mixed or flatness),
        "the fit of its probabilities has entries that exist for two classes only",
    )
    is_reachable = (
        rows <= MAX_ROWS
        and total <= rows * HEAVIEST_ROW
        and square <= MAX_SQUARE
        and slope <= MAX_SLOPE / MIN_SQUARE**0.5
        and abs(offset) <= rows * MAX_STEP
        and flatness <= rows * rows  # a row counts at most as often as there are rows
        and curvature <= rows * rows * MAX_CLASSES * MAX_SQUARE
        and mixed * mixed <= (curvature + PRIOR * square) * (flatness + PRIOR)
    )
    ensure(is_reachable, f"the fit of its probabilities cannot result from {rows:.0f} rows")


def swap_calibration(calibration: F64) -> F64:
    """Return the fit with the two classes swapped, where every score changes its sign."""
    changed = calibration.copy()
    changed[[OFFSET, MIXED]] *= -1.0
    return changed


def compute_probabilities(scores: F64, calibration: F64, is_weighted: bool = False) -> F64:
    """Return a row of class probabilities for every score, or row of scores.

    With ``is_weighted`` classes, the prediction of two may be the less likely one, and the fit is
    used as it is. Otherwise the predicted class has the largest probability: where the fit is on
    the other side of 1/2 than the score, the probability stays near 1/2, still rising with the
    score.
    """
    slope, offset = calibration[SLOPE] or 1.0, calibration[OFFSET]
    if scores.ndim > 1:
        return _softmax(scores, slope)
    if is_weighted:
        with np.errstate(over="ignore"):
            second = 1.0 / (1.0 + np.exp(-(slope * scores + offset)))
        return np.stack([1.0 - second, second], axis=1)
    is_positive = scores > 0
    fitted, floor = slope * scores + offset, LEAK * slope * scores
    odds = np.exp(
        -np.abs(np.where(is_positive, np.maximum(fitted, floor), np.minimum(fitted, floor)))
    )
    smaller = np.minimum(odds / (1.0 + odds), np.where(is_positive, BELOW_HALF, 0.5))
    pairs = np.stack([1.0 - smaller, smaller], axis=1)
    pairs[is_positive] = pairs[is_positive, ::-1]
    return pairs


def _softmax(scores: F64, slope: float) -> F64:
    """Return the softmax of every row.

    If rounding makes another class equal to the predicted one, the predicted one is made larger.
    """
    decided = scores.argmax(axis=1)
    probabilities: F64 = np.exp(slope * (scores - scores.max(axis=1, keepdims=True)))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    tied = np.flatnonzero(probabilities.argmax(axis=1) != decided)
    probabilities[tied, decided[tied]] = np.nextafter(probabilities[tied].max(axis=1), 1.0)
    return probabilities


def merge_calibrations(calibrations: Sequence[F64]) -> F64:
    """Return the fits of base and parts as one.

    Counts of rows add up; the fits of the parts are averaged, weighted by their rows.
    """
    base, *parts = calibrations
    rows = np.array([part[ROWS] for part in parts])
    mean: F64 = np.average(parts, axis=0, weights=rows) if rows.sum() else base.copy()
    for entry in (ROWS, WEIGHT):
        mean[entry] = base[entry] + sum(part[entry] - base[entry] for part in parts)
    return mean
