"""Put measured figures beside a paper's, and check claims that a paper makes about a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .experiment import Cell, Table

STAR = "*"
DEVIATIONS = 2  # by which a measured mean may differ from the paper's, in its own deviations
STAR_NOTE = (
    f"A star: more than {DEVIATIONS} of the paper's standard deviations away from the paper's mean."
)


class Figure(NamedTuple):
    """A mean of a paper with its standard deviation."""

    mean: float
    deviation: float

    def text(self, digits: int) -> str:
        """Return the figure as text."""
        return spread_text(self.mean, self.deviation, digits)

    def is_far(self, values: Sequence[float]) -> bool:
        """Return True if the mean of measured values is far from the paper's."""
        return abs(float(np.mean(values)) - self.mean) > DEVIATIONS * self.deviation


def spread_text(mean: float, deviation: float, digits: int) -> str:
    """Return the text of a mean with its standard deviation."""
    return f"{mean:,.{digits}f} ± {deviation:,.{digits}f}"


def measured_text(values: Sequence[float], digits: int) -> str:
    """Return mean and standard deviation of repeats as text; of one repeat its value."""
    mean = float(np.mean(values))
    return (
        spread_text(mean, float(np.std(values)), digits)
        if len(values) > 1
        else f"{mean:,.{digits}f}"
    )


def cells_with_paper(values: Sequence[float], paper: Figure, digits: int = 0) -> list[Cell]:
    """Return two cells: the measured values and the paper's.

    The first has a star if it is far from the paper's.
    """
    star = STAR if paper.is_far(values) else ""
    return [measured_text(values, digits) + star, paper.text(digits)]


def star_notes(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """Return a note that explains the star, if there is one."""
    return [STAR_NOTE] if any(STAR in str(cell) for row in rows for cell in row) else []


class Claim(NamedTuple):
    """A claim of a paper about a figure, what was measured, and whether the claim holds here."""

    text: str
    measured: str
    holds: bool


def claims_table(claims: Sequence[Claim]) -> Table:
    """Return a table of claims."""
    rows: list[list[Cell]] = [
        [text, measured, "yes" if holds else f"no{STAR}"] for text, measured, holds in claims
    ]
    return Table(
        "The paper's claims, and what was measured", ["the paper", "measured", "holds"], rows
    )
