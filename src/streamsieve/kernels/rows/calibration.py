"""Probabilities from scores: a logistic fit of the class on the score, one step per row (Platt 1999)."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I64

# Entries of a calibration: rows and their weight so far; the mean square of the scores; the slope and the offset of the
# log odds; and their curvature, the weighted sum of p (1 - p) times s^2, s and 1.
ROWS, WEIGHT, SQUARE, SLOPE, OFFSET, CURVATURE, MIXED, FLATNESS = range(8)
ENTRIES = 8

PRIOR = 0.1  # rows of evidence for no change, in every step
LONGEST_STEP = 1.0  # of the log odds of a score of usual size
# The slope stays within these bounds, over the usual size of scores: a larger score never means a smaller probability,
# and scores that become a thousand times larger, as those of first rows may, are not taken for certainties.
SMALLEST_SLOPE, LARGEST_SLOPE = 0.01, 20.0


@kernel
def calibrate(scores: F64, codes: I64, weights: F64, calibration: F64) -> None:
    """Take rows into the fit, in order.

    Problem  with s the score of a row before it was learned, in two classes fit P(second) = 1 / (1 + exp(-(a s + b)))
             by maximum likelihood; in more, P(c) = exp(a s_c) / sum_k exp(a s_k). Row t counts t times its weight:
             later scores are those of a better model, nearer to the one that will predict.
    Given    scores: rows x 1, or rows x C, not finite where a row has none; codes: the class of each row; weights: how
             much each counts, above 0.
    Back     ``calibration``, changed in place.

    A row is one Newton step with the curvature of all rows so far, which comes as near to the maximum as the rows
    themselves allow. Everything is relative to the size of scores so far and to the mean weight, so that the units of
    neither matter. The target of a row is not 1 but 1 - 1 / (t + 2), after Platt, so that the slope stays finite where
    no row is on the wrong side.
    """
    n_vectors = scores.shape[1]
    centred, chances = np.empty(n_vectors), np.empty(n_vectors)
    for row in range(codes.size):
        mean = 0.0 if n_vectors == 1 else scores[row].mean()
        square = 0.0
        for c in range(n_vectors):
            centred[c] = scores[row, c] - mean
            square += centred[c] * centred[c] / n_vectors
        if not np.isfinite(square):
            continue
        before = calibration[WEIGHT]
        calibration[ROWS] += 1.0
        calibration[WEIGHT] += weights[row]
        weight = weights[row] * calibration[ROWS] / calibration[WEIGHT]
        for entry in (CURVATURE, MIXED, FLATNESS):
            calibration[entry] *= before / calibration[WEIGHT]
        newness = 2.0 * weights[row] / (calibration[WEIGHT] + weights[row])
        calibration[SQUARE] += newness * (square - calibration[SQUARE])
        size = np.sqrt(calibration[SQUARE])
        if size == 0.0:
            continue
        if calibration[SLOPE] == 0.0:
            calibration[SLOPE] = 1.0 / size
        doubt = 1.0 / (calibration[ROWS] + 2.0)
        if n_vectors == 1:
            step_of_two(centred[0], codes[row], doubt, weight, size, calibration)
        else:
            step_of_many(centred, codes[row], doubt, weight, size, calibration, chances)
        calibration[SLOPE] = min(max(calibration[SLOPE], SMALLEST_SLOPE / size), LARGEST_SLOPE / size)


@kernel
def step_of_two(score: float, code: int, doubt: float, weight: float, size: float, calibration: F64) -> None:
    """One Newton step of slope and offset; both solved for at once, no further than ``LONGEST_STEP``.

    Written by the chance of the wrong class, so that swapping the classes changes signs and nothing else.
    """
    sign = 1.0 if code == 1 else -1.0
    wrong = 1.0 / (1.0 + np.exp(sign * (calibration[SLOPE] * score + calibration[OFFSET])))
    spread = weight * wrong * (1.0 - wrong)
    calibration[CURVATURE] += spread * score * score
    calibration[MIXED] += spread * score
    calibration[FLATNESS] += spread
    pull = sign * weight * (wrong - doubt)
    by_slope, mixed = calibration[CURVATURE] + PRIOR * calibration[SQUARE], calibration[MIXED]
    by_offset = calibration[FLATNESS] + PRIOR
    determinant = by_slope * by_offset - mixed * mixed
    slope_step = pull * (by_offset * score - mixed) / determinant
    offset_step = pull * (by_slope - mixed * score) / determinant
    shrink = min(1.0, LONGEST_STEP / max(abs(slope_step) * size, abs(offset_step), LONGEST_STEP))
    calibration[SLOPE] += shrink * slope_step
    calibration[OFFSET] += shrink * offset_step


@kernel
def step_of_many(
    scores: F64, code: int, doubt: float, weight: float, size: float, calibration: F64, chances: F64
) -> None:
    """One Newton step of the slope for centred scores of several classes, no further than ``LONGEST_STEP``."""
    slope, best, total = calibration[SLOPE], scores.max(), 0.0
    for c in range(scores.size):
        chances[c] = np.exp(slope * (scores[c] - best))
        total += chances[c]
    mean = square = 0.0
    for c in range(scores.size):
        chance = chances[c] / total
        mean += chance * scores[c]
        square += chance * scores[c] * scores[c]
    calibration[CURVATURE] += weight * max(0.0, square - mean * mean)
    step = weight * ((1.0 - doubt) * scores[code] - mean) / (calibration[CURVATURE] + PRIOR * calibration[SQUARE])
    longest = LONGEST_STEP / size
    calibration[SLOPE] += min(longest, max(-longest, step))
