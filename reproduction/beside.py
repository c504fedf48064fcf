"""Measured figures beside a paper's, and what a paper says of a figure that it only draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .experiment import Cell, Table

STAR = "*"
DEVIATIONS = 2  # of the paper's own, that a measured mean may be away from the paper's
STAR_NOTE = f"{STAR}: further from the paper's mean than {DEVIATIONS} of its standard deviations."


class Figure(NamedTuple):
    """A mean of a paper with its standard deviation."""

    mean: float
    deviation: float

    def text(self, digits: int) -> str:
        return spread_text(self.mean, self.deviation, digits)

    def is_far(self, values: Sequence[float]) -> bool:
        return abs(float(np.mean(values)) - self.mean) > DEVIATIONS * self.deviation


def spread_text(mean: float, deviation: float, digits: int) -> str:
    return f"{mean:,.{digits}f} ± {deviation:,.{digits}f}"


def measured_text(values: Sequence[float], digits: int) -> str:
    """Mean and standard deviation of repeats; of one, its value."""
    mean = float(np.mean(values))
    return (
        spread_text(mean, float(np.std(values)), digits)
        if len(values) > 1
        else f"{mean:,.{digits}f}"
    )


def beside(values: Sequence[float], paper: Figure, digits: int = 0) -> list[Cell]:
    """Two cells: what was measured, with a star where it is far from the paper's, and the paper's."""
    star = STAR if paper.is_far(values) else ""
    return [measured_text(values, digits) + star, paper.text(digits)]


def star_notes(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """What a star means, where there is one."""
    return [STAR_NOTE] if any(STAR in str(cell) for row in rows for cell in row) else []


class Claim(NamedTuple):
    """What a paper says of a figure, what was measured, and whether it is so here."""

    text: str
    measured: str
    holds: bool


def claims_table(claims: Sequence[Claim]) -> Table:
    rows: list[list[Cell]] = [
        [text, measured, "yes" if holds else f"no{STAR}"] for text, measured, holds in claims
    ]
    return Table(
        "What the paper says, and what is so here", ["the paper", "measured", "holds"], rows
    )
