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
from ..kernels.synthetic import generate_rows
from .base import BaseSource
from .prefetch import ordered_map

BLOCK_NONZEROS = 1 << 18
LARGEST_SEED = 2**63 - 1
GENERATORS = 2
BLOCKS_AHEAD = 3
PREFIX = "synthetic:"


class Shape(NamedTuple):
    rows: int
    features: int
    informative: int  # of them, present in every row
    noise: int  # other features in a row, drawn anew for each, no one twice


SHAPES = {
    "x1": Shape(100_000, 10_000, 100, 200),
    "x2": Shape(100_000, 20_000, 200, 400),
    "x3": Shape(1_000_000, 1_000_000_000, 500, 500),
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
        if not 0 <= seed <= LARGEST_SEED:
            raise UsageError(f"{self.name}: a seed is from 0 to {LARGEST_SEED:,}")
        self.seed = seed
        self.hidden_weights: NDArray[np.float64] = np.random.default_rng(zlib.crc32(kind.encode())).random(
            self.informative
        )

    def row_blocks(self) -> Iterator[RowBlock]:
        n_rows, length = self.n_rows or 0, self.informative + self.noise
        block_rows = max(1, BLOCK_NONZEROS // length)

        def generate(start: int) -> RowBlock:
            return self._block(start, min(block_rows, n_rows - start))

        return ordered_map(generate, range(0, n_rows, block_rows), GENERATORS, BLOCKS_AHEAD)

    def _block(self, start: int, rows: int) -> RowBlock:
        n_features, length = self.n_features or 0, self.informative + self.noise
        indices = np.empty((rows, length), np.int32 if n_features < 2**31 else np.int64)
        values = np.empty((rows, length), np.float32)
        labels = np.empty(rows)
        generate_rows(self.seed, start, self.hidden_weights, self.informative, n_features, indices, values, labels)
        indptr = np.arange(0, values.size + 1, length, dtype=np.int64)
        return RowBlock(indptr, indices.ravel(), values.ravel(), labels, n_features, self.name)


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
    return SyntheticSource(kind, numbers.get("rows"), numbers.get("features"), numbers.get("seed", 0))
