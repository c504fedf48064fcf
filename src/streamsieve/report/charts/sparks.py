"""A curve in one line of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .scales import drawable

BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[Any], width: int = 40) -> str:
    """Values as blocks of eight heights, a blank where there is none; more than ``width`` are averaged in groups.

    Values that are all the same are of middle height.
    """
    means = [_mean(values[start:stop]) for start, stop in _groups(len(values), width)]
    known = [mean for mean in means if mean is not None]
    if not known:
        return " " * len(means)
    low, high = min(known), max(known)
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return "".join(" " if mean is None else BLOCKS[3] for mean in means)
    return "".join(" " if mean is None else BLOCKS[round(7 * ((mean - low) / (high - low)))] for mean in means)


def _groups(n: int, width: int) -> list[tuple[int, int]]:
    parts = min(n, width)
    return [(n * i // parts, n * (i + 1) // parts) for i in range(parts)]


def _mean(values: Sequence[Any]) -> float | None:
    known = [number for number in map(drawable, values) if number is not None]
    return sum(number / len(known) for number in known) if known else None
