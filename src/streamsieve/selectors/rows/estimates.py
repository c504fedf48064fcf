"""What is known of weights, and how what several models know adds up (see ``merging``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...kernels.rows.signal import SEEN, SIZE
from ...kernels.rows.storing import MAX_FLOAT32
from ...kernels.types import F64, I64

if TYPE_CHECKING:
    from .learner import RowLearner


class Estimates(NamedTuple):
    """What is known of some weights: features x vectors, or one entry per vector for the intercept."""

    excess: F64  # the precision above its start, P - 1
    weight: F64  # mu


Positions = NDArray[Any] | slice
Known = Callable[[I64], Sequence[Estimates]]  # what base and parts know of some features


class MergeRule(NamedTuple):
    """How estimates add up."""

    left: tuple[
        float, ...
    ]  # per part: what its rows have left of the base's precision above the start
    damping: float  # of what the parts have added

    @classmethod
    def of(cls, learners: Sequence[RowLearner], divisor: float | None) -> Self:
        base, *parts = learners
        half_life = math.inf if base.options.forget is None else base.options.forget
        left = tuple(2.0 ** (-(part.n_learned - base.n_learned) / half_life) for part in parts)
        return cls(left, 1.0 / (parts[0].memory.times if divisor is None else divisor))

    def merged(self, estimates: Sequence[Estimates]) -> Estimates:
        """Return the estimates of base and parts as one."""
        base, *parts = estimates
        grown, pulled = np.zeros_like(base.excess), np.zeros_like(base.weight)
        for part, left in zip(parts, self.left, strict=True):
            before = base.excess * left
            grown += part.excess - before
            pulled += (1.0 + part.excess) * part.weight - (1.0 + before) * base.weight
        before = base.excess * math.prod(self.left)
        excess = np.maximum(0.0, before + grown * self.damping)  # below 0 by rounding alone
        return Estimates(
            excess, ((1.0 + before) * base.weight + pulled * self.damping) / (1.0 + excess)
        )

    def sums(self, sums: Sequence[F64]) -> F64:
        """Return sums over the rows of base and parts as one; forgetting decays them as it does precision."""
        base, *parts = sums
        own: F64 = np.sum(
            [part - base * left for part, left in zip(parts, self.left, strict=True)], axis=0
        )
        return np.maximum(0.0, base * math.prod(self.left) + own)


def added(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return what the base has, and what every part has beyond it."""
    base, *parts = arrays
    total: NDArray[Any] = base + np.sum([part - base for part in parts], axis=0)
    return total


def joined(seen: Sequence[float], sums: Sequence[F64]) -> F64:
    """Return means and squared deviations over all rows, from those of the base and of the parts, which contain it.

    What a part has added to the base is found first: with n rows in the base and N in the part, of
    means m and M and squares q and Q, it is N - n rows of mean a = M + (M - m) n / (N - n) and
    squares Q - q - (a - m)^2 n (N - n) / N.
    """
    base_rows, (base_mean, base_squares) = seen[0], sums[0]
    groups = [(base_rows, base_mean, base_squares)]
    for rows, (mean, squares) in zip(seen[1:], sums[1:], strict=True):
        more = rows - base_rows
        if more:
            own_mean = mean + (mean - base_mean) * base_rows / more
            between = (own_mean - base_mean) ** 2 * base_rows * more / rows
            groups.append((more, own_mean, squares - base_squares - between))
    sizes, means, within = (np.array(parts) for parts in zip(*groups, strict=True))
    mean = sizes @ means / (sizes.sum() or 1.0)
    return np.stack([mean, np.maximum(0.0, within.sum(axis=0) + sizes @ (means - mean) ** 2)])


def merged_usual(usual: Sequence[F64]) -> F64:
    """Return the usual size of errors and the rows it was found from, of base and parts as one.

    The size is the geometric mean over the parts, by the rows that each has learned. A part has
    followed it, by factors, from what it was in the base to what it is in the part's last rows: to
    add up what the parts have moved would go as many times too far as there are parts. A size of 0
    is not known yet.
    """
    base, *parts = usual
    merged: F64 = added(usual)
    moved = [part for part in parts if part[SIZE] > 0.0 and part[SEEN] > base[SEEN]]
    more_rows = [part[SEEN] - base[SEEN] for part in moved]
    merged[SIZE] = (
        np.exp(np.average(np.log([part[SIZE] for part in moved]), weights=more_rows))
        if moved
        else base[SIZE]
    )
    return merged


def as_stored(excess: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return precisions above their start as a state has them."""
    return np.where(excess > 0.0, np.minimum(excess, MAX_FLOAT32), 0.0).astype(
        np.float32
    )  # with its sign bit not set
