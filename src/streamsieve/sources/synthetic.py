"""The synthetic data of P1 section 4.2 (table I): few informative features among very many that are noise."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import UsageError
from .base import BaseSource
from .prefetch import ordered_map

BLOCK_ROWS = 1024  # also the unit of randomness: any other size would change the rows
DECIMALS = 6  # what a value keeps, so that a text file of the rows is compact and exact
PREFIX = "synthetic:"


class Shape(NamedTuple):
    rows: int
    features: int
    informative: int  # of them, present in every row
    noise: int  # other features in a row, drawn anew for each, no one twice


SHAPES = {
    "x1": Shape(100_000, 10_000, 100, 200),
    "x2": Shape(100_000, 20_000, 200, 400),
}


class SyntheticSource(BaseSource):
    """Rows of a named set. Values are standard normal; the label is the sign of the informative part's score.

    The informative features are the first ones and their hidden weights, uniform on (0, 1), belong to the name: another
    ``seed`` gives other rows of the same problem, to test on.
    """

    def __init__(self, kind: str, rows: int | None = None, features: int | None = None, seed: int = 0) -> None:
        if kind not in SHAPES:
            raise UsageError(f"there is no synthetic set {kind!r}; there are {', '.join(SHAPES)}")
        shape = SHAPES[kind]
        super().__init__(f"{PREFIX}{kind}")
        self.n_rows = shape.rows if rows is None else rows
        self.n_features = shape.features if features is None else features
        self.informative, self.noise = shape.informative, shape.noise
        if self.n_rows < 1:
            raise UsageError(f"{self.name}: {self.n_rows} rows; ask for 1 or more")
        least = self.informative + self.noise
        if self.n_features < least:
            raise UsageError(f"{self.name}: {self.n_features} features; a row alone has {least}")
        self.seed = seed
        self.hidden_weights: NDArray[np.float64] = np.random.default_rng(zlib.crc32(kind.encode())).random(
            self.informative
        )

    def row_blocks(self) -> Iterator[RowBlock]:
        n_rows = self.n_rows or 0
        return ordered_map(self._block, range(-(-n_rows // BLOCK_ROWS)), workers=1, ahead=2)

    def _block(self, number: int) -> RowBlock:
        n_rows, n_features = self.n_rows or 0, self.n_features or 0
        rows = min(BLOCK_ROWS, n_rows - number * BLOCK_ROWS)
        random = np.random.default_rng([self.seed, number])
        values = random.standard_normal((BLOCK_ROWS, self.informative + self.noise)).round(DECIMALS)[:rows]
        values[values == 0] = 10.0**-DECIMALS
        noise = distinct_integers(random, BLOCK_ROWS, self.noise, self.informative, n_features)[:rows]
        indices = np.empty(values.shape, np.int32 if n_features < 2**31 else np.int64)
        indices[:, : self.informative] = np.arange(self.informative)
        indices[:, self.informative :] = noise
        score = values[:, : self.informative] @ self.hidden_weights
        return RowBlock(
            np.arange(0, values.size + 1, values.shape[1], dtype=np.int64),
            indices.ravel(),
            values.astype(np.float32).ravel(),
            np.where(score > 0, 1.0, -1.0),
            n_features,
            self.name,
        )


def distinct_integers(random: np.random.Generator, rows: int, count: int, low: int, high: int) -> NDArray[np.int64]:
    """For every row ``count`` different integers from ``low`` to ``high - 1``, ascending, every subset equally likely.

    Drawing again whatever stands there already is what drawing one by one does.
    """
    drawn = np.sort(random.integers(low, high, (rows, count)), axis=1)
    while (again := drawn[:, 1:] == drawn[:, :-1]).any():
        drawn[:, 1:][again] = random.integers(low, high, int(again.sum()))
        affected = again.any(axis=1)
        drawn[affected] = np.sort(drawn[affected], axis=1)
    return drawn


def open_synthetic(name: str) -> SyntheticSource:
    """The source that ``synthetic:x1?rows=1000&seed=1`` names; options: rows, features, seed."""
    kind, _, query = name.removeprefix(PREFIX).partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = set(options) - {"rows", "features", "seed"}
    if unknown:
        raise UsageError(f"{name}: there is no option {sorted(unknown)[0]!r}; there are rows, features, seed")
    try:
        numbers = {key: int(value) for key, value in options.items()}
    except ValueError:
        raise UsageError(f"{name}: rows, features and seed are whole numbers") from None
    if numbers.get("seed", 0) < 0:
        raise UsageError(f"{name}: a seed is 0 or more")
    return SyntheticSource(kind, numbers.get("rows"), numbers.get("features"), numbers.get("seed", 0))
