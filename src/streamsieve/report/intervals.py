"""How far a fraction that was counted may be from the true one."""

from __future__ import annotations

from collections.abc import Sequence

NORMAL_95 = 1.959963984540054  # of a normal distribution 95 % are within so many deviations of its mean


def wilson(rates: Sequence[float | None], n: int) -> tuple[list[float | None], list[float | None]]:
    """The 95 % interval of each of some rates, counted over ``n`` rows each (Wilson 1927)."""
    bounds = [(None, None) if rate is None or n < 1 else _bounds(rate, n) for rate in rates]
    return [low for low, _ in bounds], [high for _, high in bounds]


def _bounds(rate: float, n: int) -> tuple[float, float]:
    z2 = NORMAL_95 * NORMAL_95
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL_95 * (rate * (1 - rate) / n + z2 / (4 * n * n)) ** 0.5 / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)
