"""Pseudo-random bits that are the same in every run: SplitMix64 (Steele, Lea, Flood 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .jit import inlined, kernel
from .types import F64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_FIRST, MIX_SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inlined
def mix_bits(state: Any) -> Any:
    """Return 64 random bits from a state that increases by ``GOLDEN`` from number to number."""
    bits = (state ^ (state >> np.uint64(30))) * MIX_FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * MIX_SECOND
    return bits ^ (bits >> np.uint64(31))


@kernel
def draw_by_number(first: int, n: int, seed: int) -> F64:
    """Return random numbers in [0, 1) for ``n`` consecutive integers from ``first`` on.

    Each depends only on its integer and on the seed.
    """
    drawn = np.empty(n)
    start = mix_bits(np.uint64(seed) * GOLDEN) + np.uint64(first) * GOLDEN
    for i in range(n):
        drawn[i] = (mix_bits(start + np.uint64(i + 1) * GOLDEN) >> np.uint64(11)) * 2.0**-53
    return drawn
