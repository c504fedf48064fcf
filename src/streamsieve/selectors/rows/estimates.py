"""What is known of weights, and how what several models know adds up (see ``merging``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...kernels.types import F64, I64

if TYPE_CHECKING:
    from .merging import MergingLearner


class Estimates(NamedTuple):
    """What is known of some weights: features x vectors, or one entry per vector for the intercept."""

    excess: F64  # the precision above its start, P - 1
    weight: F64  # mu


Known = Callable[[I64], Sequence[Estimates]]  # what base and parts know of some features


class Rule(NamedTuple):
    """How estimates add up."""

    left: tuple[float, ...]  # per part: what its rows have left of the base's precision above the start
    damping: float

    @classmethod
    def of(cls, learners: Sequence[MergingLearner[Any]], damp: bool) -> Self:
        base, *parts = learners
        half_life = math.inf if base.forget is None else base.forget
        left = tuple(2.0 ** (-(part.n_rows_ - base.n_rows_) / half_life) for part in parts)
        return cls(left, 1.0 / math.sqrt(len(parts)) if damp else 1.0)

    def merged(self, estimates: Sequence[Estimates]) -> Estimates:
        """The estimates of base and parts as one."""
        base, *parts = estimates
        grown, pulled = np.zeros_like(base.excess), np.zeros_like(base.weight)
        for part, left in zip(parts, self.left, strict=True):
            before = base.excess * left
            grown += part.excess - before
            pulled += (1.0 + part.excess) * part.weight - (1.0 + before) * base.weight
        before = base.excess * math.prod(self.left)
        excess = np.maximum(0.0, before + grown * self.damping)  # below 0 by rounding alone
        return Estimates(excess, ((1.0 + before) * base.weight + pulled * self.damping) / (1.0 + excess))

    def sums(self, sums: Sequence[F64]) -> F64:
        """Sums over the rows of base and parts as one; forgetting decays them as it does precision."""
        base, *parts = sums
        own: F64 = np.sum([part - base * left for part, left in zip(parts, self.left, strict=True)], axis=0)
        return np.maximum(0.0, base * math.prod(self.left) + own)


def added(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """What the base has, and what every part has beyond it."""
    base, *parts = arrays
    total: NDArray[Any] = base + np.sum([part - base for part in parts], axis=0)
    return total
