"""Some rows of data at random, to test on, and all others, to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError, UsageError
from ..kernels.chance import draw_by_number
from .base import Missing, Source
from .wrapped import WrappedRows


class DrawnRows(WrappedRows):
    """The rows whose numbers draw less than a fraction or, to learn from, all others.

    What a row draws depends on its number and the seed alone: it is the same in every reading.
    """

    def __init__(self, rows: Source, fraction: float, seed: int, held_out: bool) -> None:
        super().__init__(rows, n_rows=None, splittable=False)
        self.fraction, self.seed, self.held_out = fraction, seed, held_out

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        first = kept = 0
        for block in super().row_blocks(missing):
            some = block.masked(self._among(first, block.n_rows))
            first, kept = first + block.n_rows, kept + some.n_rows
            if some.n_rows:
                yield some
        if not kept:
            what = "held out" if self.held_out else "left to learn from"
            raise DataError(f"{self.name}: none of its {first:,} rows is {what}; hold out another fraction")

    def _among(self, first: int, n_rows: int) -> NDArray[np.bool_]:
        """Return which of some rows are here, the first of them having this number."""
        drawn = draw_by_number(first, n_rows, self.seed) < self.fraction
        return drawn if self.held_out else ~drawn

    def labels(self) -> Iterator[NDArray[Any]]:
        first = 0
        for y in self.rows.labels():
            yield y[self._among(first, y.size)]
            first += y.size

    def targets(self) -> NDArray[Any]:
        return np.concatenate(list(self.labels()))

    def _shards(self, n: int) -> list[Source]:
        return Source._shards(self, n)


def hold_out(rows: Source, fraction: float, seed: int) -> tuple[Source, Source]:
    """Return the rows to learn from and, drawn from all with this probability, those to test on."""
    if not rows.rewindable:
        raise UsageError(
            f"{rows.name}: can be read only once, and rows that are held out are read after all others; save it to a "
            "file, or test on another"
        )
    return DrawnRows(rows, fraction, seed, False), DrawnRows(rows, fraction, seed, True)
