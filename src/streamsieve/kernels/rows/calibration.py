"""Probabilities from scores: a logistic fit of the class on the score, one step per row (Platt 1999)."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I64

# Entries of a calibration: rows and their weight so far; the mean square of the scores; the slope
# and the offset of the log odds; and their curvature, the weighted sum of p (1 - p) times s^2, s
# and 1.
ROWS, WEIGHT, SQUARE, SLOPE, OFFSET, CURVATURE, MIXED, FLATNESS = range(8)
ENTRIES = 8

PRIOR = 0.1  # rows of evidence for no change, in every step
MAX_STEP = 1.0  # of the log odds of a score of usual size
# The slope stays within these bounds, over the usual size of scores: a larger score never means a
# smaller probability, and scores that become a thousand times larger, as those of first rows may,
# are not taken for certainties.
MIN_SLOPE, MAX_SLOPE = 0.01, 20.0
# Squares of scores beyond these are left aside: products of them would not be numbers.
MIN_SQUARE, MAX_SQUARE = 1e-200, 1e200


@kernel
def calibrate(scores: F64, codes: I64, weights: F64, calibration: F64) -> None:
    """Take rows into the fit, in order.

    Problem  with s the score of a row before it was learned, in two classes fit P(second) = 1 / (1 + exp(-(a s + b)))
             by maximum likelihood; in more, P(c) = exp(a s_c) / sum_k exp(a s_k). Row t counts t
             times its weight: later scores are those of a better model, nearer to the one that will
             predict.
    Given    scores: rows x 1, or rows x C, NaN where a row has none; codes: the class of each row; weights: how much
             each counts, above 0.
    Back     ``calibration``, changed in place.

    A row is one Newton step with the curvature of all rows so far, which comes as near to the
    maximum as the rows themselves allow. Everything is relative to the size of scores so far and to
    the mean weight, so that the units of neither matter. The target of a row is not 1 but 1 - 1 /
    (t + 2), after Platt, so that the slope stays finite where no row is on the wrong side.
    """
    if scores.shape[1] == 1:
        calibrate_two(scores, codes, weights, calibration)
    else:
        calibrate_many(scores, codes, weights, calibration)


@kernel
def calibrate_two(scores: F64, codes: I64, weights: F64, calibration: F64) -> None:
    """Two classes: slope and offset are solved for at once.

    Written by the chance of the wrong class, so that swapping the classes changes signs and nothing
    else.
    """
    rows, total, square = calibration[ROWS], calibration[WEIGHT], calibration[SQUARE]
    slope, offset = calibration[SLOPE], calibration[OFFSET]
    curvature, mixed, flatness = calibration[CURVATURE], calibration[MIXED], calibration[FLATNESS]
    for row in range(codes.size):
        score = scores[row, 0]
        if not score * score < MAX_SQUARE:
            continue
        rows += 1.0
        total += weights[row]
        left = (total - weights[row]) / total
        weight = weights[row] * rows / total
        square += newness(weights[row], total) * (score * score - square)
        if square < MIN_SQUARE:
            continue
        slope = begun(slope, square)
        sign = 1.0 if codes[row] == 1 else -1.0
        wrong = 1.0 / (1.0 + np.exp(sign * (slope * score + offset)))
        spread = weight * wrong * (1.0 - wrong)
        curvature = curvature * left + spread * score * score
        mixed = mixed * left + spread * score
        flatness = flatness * left + spread
        by_slope, by_offset = curvature + PRIOR * square, flatness + PRIOR
        determinant = max(
            by_slope * by_offset - mixed * mixed, PRIOR * PRIOR * square
        )  # no less but by rounding
        pull = sign * weight * (wrong - 1.0 / (rows + 2.0)) / determinant
        slope_step, offset_step = (
            pull * (by_offset * score - mixed),
            pull * (by_slope - mixed * score),
        )
        length = max(slope_step * slope_step * square, offset_step * offset_step)
        if length > MAX_STEP * MAX_STEP:
            slope_step *= MAX_STEP / np.sqrt(length)
            offset_step *= MAX_STEP / np.sqrt(length)
        slope = bounded(slope + slope_step, square)
        offset += offset_step
    calibration[ROWS], calibration[WEIGHT], calibration[SQUARE] = rows, total, square
    calibration[SLOPE], calibration[OFFSET] = slope, offset
    calibration[CURVATURE], calibration[MIXED], calibration[FLATNESS] = curvature, mixed, flatness


@kernel
def calibrate_many(scores: F64, codes: I64, weights: F64, calibration: F64) -> None:
    """More than two classes: one slope, of scores less their mean in the row."""
    n_classes = scores.shape[1]
    centred = np.empty(n_classes)
    for row in range(codes.size):
        mean, row_square = scores[row].mean(), 0.0
        for c in range(n_classes):
            centred[c] = scores[row, c] - mean
            row_square += centred[c] * centred[c] / n_classes
        if not row_square < MAX_SQUARE:
            continue
        calibration[ROWS] += 1.0
        calibration[WEIGHT] += weights[row]
        total = calibration[WEIGHT]
        weight = weights[row] * calibration[ROWS] / total
        calibration[SQUARE] += newness(weights[row], total) * (row_square - calibration[SQUARE])
        square = calibration[SQUARE]
        if square < MIN_SQUARE:
            continue
        slope, best = begun(calibration[SLOPE], square), centred.max()
        chances = first = second = 0.0
        for c in range(n_classes):
            chance = np.exp(slope * (centred[c] - best))
            chances += chance
            first += chance * centred[c]
            second += chance * centred[c] * centred[c]
        expected = first / chances
        spread = max(0.0, second / chances - expected * expected)
        calibration[CURVATURE] = (
            calibration[CURVATURE] * (total - weights[row]) / total + weight * spread
        )
        pull = weight * ((1.0 - 1.0 / (calibration[ROWS] + 2.0)) * centred[codes[row]] - expected)
        step = pull / (calibration[CURVATURE] + PRIOR * square)
        longest = MAX_STEP / np.sqrt(square)
        calibration[SLOPE] = bounded(slope + min(longest, max(-longest, step)), square)


@kernel
def newness(weight: float, total: float) -> float:
    """What the last row counts in a mean in which row t counts t times its weight; ``total`` is the weight of all."""
    return 2.0 * weight / (total + weight)


@kernel
def begun(slope: float, square: float) -> float:
    """A slope within its bounds; where there was none yet, which 0 stands for, 1 over the size of the scores."""
    return float(1.0 / np.sqrt(square)) if slope == 0.0 else bounded(slope, square)


@kernel
def bounded(slope: float, square: float) -> float:
    """A slope within its bounds for scores of this mean square; a step may have led to 0 or beyond."""
    if slope < 0.0 or slope * slope * square < MIN_SLOPE * MIN_SLOPE:
        return float(MIN_SLOPE / np.sqrt(square))
    if slope * slope * square > MAX_SLOPE * MAX_SLOPE:
        return float(MAX_SLOPE / np.sqrt(square))
    return slope
