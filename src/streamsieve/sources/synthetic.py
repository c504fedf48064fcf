"""Synthetic data: few informative features among very many that are noise.

The sets of P1 section 4.2 (table I), linear and sparse, and the spiral of P5 section 3.1, neither.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, dense_block
from ..errors import UsageError
from ..kernels.reading.synthetic import generate_normals, generate_rows
from .base import Missing, Source
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


SPIRAL = "spiral"
SPIRAL_ROWS, SPIRAL_FEATURES = 460, 10_002  # P5's: 230 rows an arm, and 10,000 irrelevant features
KINDS = (*SHAPES, SPIRAL)


class SyntheticSource(Source):
    """Rows of a named set. Values are standard normal; the label is the sign of the informative part's score.

    The informative features are the first ones and their hidden weights, uniform on (0, 1), belong to the name: another
    ``seed`` gives other rows of the same problem, to test on.
    """

    def __init__(self, kind: str, rows: int | None = None, features: int | None = None, seed: int = 0) -> None:
        shape = SHAPES[kind]
        super().__init__(f"{PREFIX}{kind}")
        self.n_rows = shape.rows if rows is None else rows
        self.n_features = shape.features if features is None else features
        self.informative, self.noise = shape.informative, shape.noise
        refuse_shape(self, self.informative + self.noise, seed)
        self.seed = seed
        self.hidden_weights: NDArray[np.float64] = np.random.default_rng(zlib.crc32(kind.encode())).random(
            self.informative
        )

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
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


class SpiralSource(Source):
    """Two arms of Fermat's spiral in features 0 and 1, a class each, and standard normal features (P5 section 3.1).

    Rows are in turn of the one arm, ``(r cos t, r sin t)`` with ``r = sqrt(t)``, and of the other, its negative, t
    evenly spaced over one turn. The ``seed`` draws the irrelevant features alone.
    """

    def __init__(self, rows: int | None = None, features: int | None = None, seed: int = 0) -> None:
        super().__init__(f"{PREFIX}{SPIRAL}")
        self.n_rows = SPIRAL_ROWS if rows is None else rows
        self.n_features = SPIRAL_FEATURES if features is None else features
        refuse_shape(self, 2, seed)
        self.seed = seed

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        n_rows = self.n_rows or 0
        block_rows = max(1, BLOCK_NONZEROS // (self.n_features or 1))

        def generate(start: int) -> RowBlock:
            return self._block(np.arange(start, min(start + block_rows, n_rows)))

        return ordered_map(generate, range(0, n_rows, block_rows), GENERATORS, BLOCKS_AHEAD)

    def _block(self, rows: NDArray[np.int64]) -> RowBlock:
        n_rows, n_features = self.n_rows or 0, self.n_features or 0
        t = 2.0 * np.pi * (rows // 2 + 1) / ((n_rows + 1) // 2)
        arm = 1 - 2 * (rows % 2)
        values = np.empty((rows.size, n_features), np.float32)
        values[:, 0], values[:, 1] = arm * np.sqrt(t) * np.cos(t), arm * np.sqrt(t) * np.sin(t)
        generate_normals(self.seed, int(rows[0]), values[:, 2:])
        return dense_block(values, arm.astype(np.float64), self.name)


def refuse_shape(source: Source, least_features: int, seed: int) -> None:
    """Refuse numbers that make no rows."""
    if (source.n_rows or 0) < 1:
        raise UsageError(f"{source.name}: {source.n_rows} rows; ask for 1 or more")
    if (source.n_features or 0) < least_features:
        raise UsageError(f"{source.name}: {source.n_features} features; a row alone has {least_features}")
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageError(f"{source.name}: a seed is from 0 to {LARGEST_SEED:,}")


def synthetic_source(kind: str, rows: int | None = None, features: int | None = None, seed: int = 0) -> Source:
    """The source of a named set."""
    if kind not in KINDS:
        raise UsageError(f"there is no synthetic set {kind!r}; there are {', '.join(KINDS)}")
    return SpiralSource(rows, features, seed) if kind == SPIRAL else SyntheticSource(kind, rows, features, seed)


def open_synthetic(name: str) -> Source:
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
    return synthetic_source(kind, numbers.get("rows"), numbers.get("features"), numbers.get("seed", 0))
