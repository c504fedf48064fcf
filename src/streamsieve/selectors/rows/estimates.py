"""Estimates of weights, and how estimates of several models add up (see ``merging``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.rows.signal import SEEN, SIZE
from ...kernels.rows.storing import MAX_FLOAT32
from ...kernels.types import F64, I64


class Estimates(NamedTuple):
    """Estimates of some weights, with precisions.

    Arrays are features x vectors; for the intercept they have one entry per vector.
    """

    precision_gain: F64  # the precision above its start, P - 1
    weight: F64  # mu


Positions = NDArray[Any] | slice
ReadEstimates = Callable[[I64], Sequence[Estimates]]  # estimates of base and parts, for some ids


class MergeRule(NamedTuple):
    """The rule by which estimates add up."""

    # Per part: the fraction of the base's precision above the start that its rows have left.
    retained: tuple[float, ...]
    damping: float  # factor of what the parts have added

    def merge(self, estimates: Sequence[Estimates]) -> Estimates:
        """Return the estimates of base and parts as one."""
        base, *parts = estimates
        gained, pull = np.zeros_like(base.precision_gain), np.zeros_like(base.weight)
        for part, retained in zip(parts, self.retained, strict=True):
            retained_gain = base.precision_gain * retained
            gained += part.precision_gain - retained_gain
            pull += (1.0 + part.precision_gain) * part.weight - (1.0 + retained_gain) * base.weight
        retained_gain = base.precision_gain * math.prod(self.retained)
        # Negative only by rounding.
        precision_gain = np.maximum(0.0, retained_gain + gained * self.damping)
        return Estimates(
            precision_gain,
            ((1.0 + retained_gain) * base.weight + pull * self.damping) / (1.0 + precision_gain),
        )

    def merge_sums(self, sums: Sequence[F64]) -> F64:
        """Return sums over the rows of base and parts as one.

        Forgetting decays them as it decays precision.
        """
        base, *parts = sums
        new = [part - base * retained for part, retained in zip(parts, self.retained, strict=True)]
        return np.asarray(np.maximum(0.0, base * math.prod(self.retained) + np.sum(new, axis=0)))


def sum_increments(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the arrays of the base plus what every part has added to them."""
    base, *parts = arrays
    return np.asarray(base + np.sum([part - base for part in parts], axis=0))


def combine_moments(seen: Sequence[float], sums: Sequence[F64]) -> F64:
    """Return means and squared deviations over all rows, from those of base and parts.

    A part includes the rows of the base. What it has added is found first: with n rows in the base
    and N in the part, of means m and M and squares q and Q, it is N - n rows of mean a = M + (M -
    m) n / (N - n) and squares Q - q - (a - m)^2 n (N - n) / N.
    """
    base_rows, (base_mean, base_squares) = seen[0], sums[0]
    groups = [(base_rows, base_mean, base_squares)]
    for rows, (mean, squares) in zip(seen[1:], sums[1:], strict=True):
        n_new = rows - base_rows
        if n_new:
            new_mean = mean + (mean - base_mean) * base_rows / n_new
            between = (new_mean - base_mean) ** 2 * base_rows * n_new / rows
            groups.append((n_new, new_mean, squares - base_squares - between))
    sizes, means, within = (np.array(parts) for parts in zip(*groups, strict=True))
    mean = sizes @ means / (sizes.sum() or 1.0)
    return np.stack([mean, np.maximum(0.0, within.sum(axis=0) + sizes @ (means - mean) ** 2)])


def merge_error_scales(error_scales: Sequence[F64]) -> F64:
    """Return the scale of errors, and the rows it was estimated from, of base and parts as one.

    The scale is the geometric mean over the parts, weighted by the rows that each has learned. Each
    part has moved the scale, by factors, from its value in the base to that of its own last rows;
    adding up these moves would go too far by a factor of the number of parts. A scale of 0 is not
    known yet.
    """
    base, *parts = error_scales
    merged: F64 = sum_increments(error_scales)
    followed = [part for part in parts if part[SIZE] > 0.0 and part[SEEN] > base[SEEN]]
    new_rows = [part[SEEN] - base[SEEN] for part in followed]
    merged[SIZE] = (
        np.exp(np.average(np.log([part[SIZE] for part in followed]), weights=new_rows))
        if followed
        else base[SIZE]
    )
    return merged


def to_stored(precision_gain: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return precisions above their start in the form in which a state stores them."""
    # The sign bit is never set.
    return np.where(precision_gain > 0.0, np.minimum(precision_gain, MAX_FLOAT32), 0.0).astype(
        np.float32
    )
