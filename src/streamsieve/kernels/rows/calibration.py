"""Fit probabilities to scores: logistic regression of the class, one step per row (Platt 1999)."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I64

# Entries of a calibration: the number of rows so far and their total weight; the mean square of the
# scores; slope and offset of the log odds; and their curvature, the weighted sums of p (1 - p)
# times s^2, s and 1.
ROWS, WEIGHT, SQUARE, SLOPE, OFFSET, CURVATURE, MIXED, FLATNESS = range(8)
ENTRIES = 8

PRIOR = 0.1  # rows of evidence for no change, in every step
MAX_STEP = 1.0  # change of the log odds for a score of typical size
# Bounds of the slope, divided by the typical size of scores: a larger score never means a smaller
# probability, and scores that become a thousand times larger, as may happen after the first rows,
# are not taken as certain.
MIN_SLOPE, MAX_SLOPE = 0.01, 20.0
# Scores whose squares are outside these bounds are skipped: products would over- or underflow.
MIN_SQUARE, MAX_SQUARE = 1e-200, 1e200
SKIPPED = -1.0


@kernel
def calibrate(scores: F64, codes: I64, weights: F64, calibration: F64) -> None:
    """Add rows to the fit, in order.

    Problem  with s the score of a row before it was learned, for two classes fit
                 P(second) = 1 / (1 + exp(-(a s + b)))
             by maximum likelihood; for more, P(c) = exp(a s_c) / sum_k exp(a s_k). Row t counts t
             times its weight: later scores come from a better model, closer to the one that will
             predict.
    Given    scores: rows x 1, or rows x C, NaN if a row has no score; codes: the class of each row;
             weights: of each row, above 0.
    Back     ``calibration``, changed in place.

    A row makes one Newton step with the curvature of all rows so far, which comes as close to the
    maximum as the rows allow. Steps are relative to the size of the scores so far and to the mean
    weight, so that their units do not matter. The target of a row is not 1 but 1 - 1 / (t + 2),
    after Platt, so that the slope stays finite if no row is on the wrong side.
    """
    if scores.shape[1] == 1:
        calibrate_binary(scores, codes, weights, calibration)
    else:
        calibrate_multiclass(scores, codes, weights, calibration)


@kernel
def calibrate_binary(scores: F64, codes: I64, weights: F64, calibration: F64) -> None:
    """Add rows of two classes, solving for slope and offset together.

    The step uses the probability of the wrong class, so that swapping the classes changes only
    signs.
    """
    for row in range(codes.size):
        score = scores[row, 0]
        weight = count_row(score * score, weights[row], calibration)
        if weight == SKIPPED:
            continue
        square, offset = calibration[SQUARE], calibration[OFFSET]
        slope = start_slope(calibration[SLOPE], square)
        share_left = (calibration[WEIGHT] - weights[row]) / calibration[WEIGHT]
        sign = 1.0 if codes[row] == 1 else -1.0
        wrong_probability = 1.0 / (1.0 + np.exp(sign * (slope * score + offset)))
        spread = weight * wrong_probability * (1.0 - wrong_probability)
        curvature = calibration[CURVATURE] * share_left + spread * score * score
        mixed = calibration[MIXED] * share_left + spread * score
        flatness = calibration[FLATNESS] * share_left + spread
        by_slope, by_offset = curvature + PRIOR * square, flatness + PRIOR
        # the determinant is below its bound only through rounding
        determinant = max(by_slope * by_offset - mixed * mixed, PRIOR * PRIOR * square)
        gradient = (
            sign * weight * (wrong_probability - 1.0 / (calibration[ROWS] + 2.0)) / determinant
        )
        slope_step, offset_step = (
            gradient * (by_offset * score - mixed),
            gradient * (by_slope - mixed * score),
        )
        squared_length = max(slope_step * slope_step * square, offset_step * offset_step)
        if squared_length > MAX_STEP * MAX_STEP:
            slope_step *= MAX_STEP / np.sqrt(squared_length)
            offset_step *= MAX_STEP / np.sqrt(squared_length)
        calibration[SLOPE] = clip_slope(slope + slope_step, square)
        calibration[OFFSET] = offset + offset_step
        calibration[CURVATURE], calibration[MIXED] = curvature, mixed
        calibration[FLATNESS] = flatness


@kernel
def calibrate_multiclass(scores: F64, codes: I64, weights: F64, calibration: F64) -> None:
    """Add rows of more than two classes, with one slope for scores less their mean in the row."""
    n_classes = scores.shape[1]
    centred = np.empty(n_classes)
    for row in range(codes.size):
        mean, row_square = scores[row].mean(), 0.0
        for c in range(n_classes):
            centred[c] = scores[row, c] - mean
            row_square += centred[c] * centred[c] / n_classes
        weight = count_row(row_square, weights[row], calibration)
        if weight == SKIPPED:
            continue
        square, total = calibration[SQUARE], calibration[WEIGHT]
        slope, top_score = start_slope(calibration[SLOPE], square), centred.max()
        normalizer = first_moment = second_moment = 0.0
        for c in range(n_classes):
            likelihood = np.exp(slope * (centred[c] - top_score))
            normalizer += likelihood
            first_moment += likelihood * centred[c]
            second_moment += likelihood * centred[c] * centred[c]
        expected_score = first_moment / normalizer
        variance = max(0.0, second_moment / normalizer - expected_score * expected_score)
        calibration[CURVATURE] = (
            calibration[CURVATURE] * (total - weights[row]) / total + weight * variance
        )
        gradient = weight * (
            (1.0 - 1.0 / (calibration[ROWS] + 2.0)) * centred[codes[row]] - expected_score
        )
        step = gradient / (calibration[CURVATURE] + PRIOR * square)
        max_step = MAX_STEP / np.sqrt(square)
        calibration[SLOPE] = clip_slope(slope + min(max_step, max(-max_step, step)), square)


@kernel
def count_row(square: float, weight: float, calibration: F64) -> float:
    """Add a row and the square of its score; return its relative weight, or ``SKIPPED``.

    In the mean square row t counts t times its weight.
    """
    if not square < MAX_SQUARE:
        return SKIPPED
    calibration[ROWS] += 1.0
    calibration[WEIGHT] += weight
    total = calibration[WEIGHT]
    calibration[SQUARE] += 2.0 * weight / (total + weight) * (square - calibration[SQUARE])
    return SKIPPED if calibration[SQUARE] < MIN_SQUARE else weight * calibration[ROWS] / total


@kernel
def start_slope(slope: float, square: float) -> float:
    """Return a slope within its bounds; 0, which means none yet, gives 1 over the score size."""
    return float(1.0 / np.sqrt(square)) if slope == 0.0 else clip_slope(slope, square)


@kernel
def clip_slope(slope: float, square: float) -> float:
    """Clip a slope to its bounds for scores of this mean square; it may be 0 or negative."""
    if slope < 0.0 or slope * slope * square < MIN_SLOPE * MIN_SLOPE:
        return float(MIN_SLOPE / np.sqrt(square))
    if slope * slope * square > MAX_SLOPE * MAX_SLOPE:
        return float(MAX_SLOPE / np.sqrt(square))
    return slope
