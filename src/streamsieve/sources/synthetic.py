"""Synthetic data: few informative features among very many that are noise.

Linear and sparse: the sets of SOFS (Wu, Hoi, Mei, Yu 2017, section 4.2 and table I). Neither: the spiral of local
learning (Sun, Todorovic, Goodison 2008, section 3.1). Binary, with few positive rows: a log of clicks. Every row starts
a random sequence of its own, so that any range of rows can be made by itself. Linear and dense, by rows and by columns:
the data of online substitution (``substitution``).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from ..blocks import DenseRows, RowBlock
from ..errors import UsageError
from ..kernels.reading.synthetic import generate_clicks, generate_normals, generate_rows
from .base import Source
from .finding import SYNTHETIC
from .generated import DenseGeneratedSource, GeneratedSource
from .substitution import SUBSTITUTION, SubstitutionSource


class Shape(NamedTuple):
    rows: int
    features: int
    informative: int  # of them, present in every row
    noise: int  # other features in a row, drawn anew for each row, none of them twice


SHAPES = {
    "x1": Shape(100_000, 10_000, 100, 200),
    "x2": Shape(100_000, 20_000, 200, 400),
    "x3": Shape(1_000_000, 1_000_000_000, 500, 500),
}


SPIRAL = "spiral"
SPIRAL_ROWS, SPIRAL_FEATURES = 460, 10_002  # the paper's: 230 rows per arm, and 10,000 irrelevant features
CLICKS = "clicks"
CLICK_ROWS, CLICK_FEATURES, CLICKS_PER_ROW = 100_000, 50_000, 25
CLICK_INFORMATIVE, CLICK_RANKS = 30, (100, 1000)  # by frequency, from which to which: in 2 % to 0.2 % of the rows
CLICK_BASE = -4.07  # log odds of a click: with what the informative features add, 3 % of the rows


class SyntheticSource(GeneratedSource):
    """Rows of a named set. Values are standard normal; the label is the sign of the informative part's score.

    The informative features are the first ones and their hidden weights, uniform on (0, 1), belong to the name: another
    ``seed`` gives other rows of the same problem, to test on.
    """

    def __init__(self, kind: str, rows: int | None = None, features: int | None = None, seed: int = 0) -> None:
        shape = SHAPES[kind]
        self.informative, self.noise = shape.informative, shape.noise
        n_rows = shape.rows if rows is None else rows
        n_features = shape.features if features is None else features
        super().__init__(kind, n_rows, n_features, self._values_per_row, seed)
        self.hidden_weights: NDArray[np.float64] = np.random.default_rng(zlib.crc32(kind.encode())).random(
            self.informative
        )

    @property
    def _values_per_row(self) -> int:
        return self.informative + self.noise

    def _block(self, start: int, stop: int) -> RowBlock:
        rows, n_features, length = stop - start, self.n_features or 0, self._values_per_row
        indices = np.empty((rows, length), np.int32 if n_features < 2**31 else np.int64)
        values = np.empty((rows, length), np.float32)
        labels = np.empty(rows)
        generate_rows(self.seed, start, self.hidden_weights, self.informative, n_features, indices, values, labels)
        indptr = np.arange(0, values.size + 1, length, dtype=np.int64)
        return RowBlock.trusted(indptr, indices.ravel(), values.ravel(), labels, n_features, self.name)


class SpiralSource(DenseGeneratedSource):
    """Two arms of Fermat's spiral in features 0 and 1, a class each, and standard normal features.

    Rows are in turn of the one arm, ``(r cos t, r sin t)`` with ``r = sqrt(t)``, and of the other, its negative, t
    evenly spaced over one turn. The ``seed`` draws the irrelevant features alone.
    """

    def __init__(self, rows: int | None = None, features: int | None = None, seed: int = 0) -> None:
        self._rows_of_both_arms = SPIRAL_ROWS if rows is None else rows
        n_features = SPIRAL_FEATURES if features is None else features
        super().__init__(SPIRAL, self._rows_of_both_arms, n_features, 2, seed)

    def _dense(self, start: int, stop: int) -> DenseRows:
        rows = np.arange(start, stop)
        t = 2.0 * np.pi * (rows // 2 + 1) / ((self._rows_of_both_arms + 1) // 2)
        arm = 1 - 2 * (rows % 2)
        values = np.empty((rows.size, self.n_features or 0), np.float32)
        values[:, 0], values[:, 1] = arm * np.sqrt(t) * np.cos(t), arm * np.sqrt(t) * np.sin(t)
        generate_normals(self.seed, start, values[:, 2:])
        return DenseRows(values, arm.astype(np.float64))


class ClickSource(GeneratedSource):
    """A log of clicks: 25 of very many binary features per row, Zipf-distributed, and 3 % positive rows.

    The first 30 features are informative, of middling frequency, each for or against a click; what they add to the log
    odds, 1 to 2, belongs to the name. Another ``seed`` gives other rows of the same problem.
    """

    def __init__(self, rows: int | None = None, features: int | None = None, seed: int = 0) -> None:
        n_features = CLICK_FEATURES if features is None else features
        super().__init__(CLICKS, CLICK_ROWS if rows is None else rows, n_features, CLICK_RANKS[1], seed)
        chance = 1.0 / np.arange(1, n_features + 1)
        self.up_to: NDArray[np.float64] = np.cumsum(chance) / chance.sum()
        ranks = np.geomspace(*CLICK_RANKS, CLICK_INFORMATIVE).astype(np.int64) - 1
        self.id_of_rank = np.empty(n_features, np.int64)
        self.id_of_rank[ranks] = np.arange(CLICK_INFORMATIVE)
        self.id_of_rank[np.delete(np.arange(n_features), ranks)] = np.arange(CLICK_INFORMATIVE, n_features)
        random = np.random.default_rng(zlib.crc32(CLICKS.encode()))
        self.log_odds: NDArray[np.float64] = random.uniform(1.0, 2.0, CLICK_INFORMATIVE) * random.choice(
            [-1.0, 1.0], CLICK_INFORMATIVE
        )

    @property
    def _values_per_row(self) -> int:
        return CLICKS_PER_ROW

    def _block(self, start: int, stop: int) -> RowBlock:
        indices, labels = np.empty((stop - start, CLICKS_PER_ROW), np.int32), np.empty(stop - start)
        known = self.up_to, self.id_of_rank, self.log_odds, CLICK_BASE
        generate_clicks(self.seed, start, *known, indices, labels)
        indptr = np.arange(0, indices.size + 1, CLICKS_PER_ROW, dtype=np.int64)
        values = np.ones(indices.size, np.float32)
        return RowBlock.trusted(indptr, indices.ravel(), values, labels, self.n_features or 0, self.name)


SOURCES: dict[str, Callable[..., Source]] = {
    **{kind: partial(SyntheticSource, kind) for kind in SHAPES},
    SPIRAL: SpiralSource,
    CLICKS: ClickSource,
    SUBSTITUTION: SubstitutionSource,
}
OPTIONS: dict[str, type] = {"rows": int, "features": int, "seed": int}
SUBSTITUTION_OPTIONS: dict[str, type] = {"informative": int, "noise": float, "task": str, "problem": int}
NUMBERS = {int: "an integer", float: "a number"}


def options_of(kind: str) -> dict[str, type]:
    """The options of a named set and their types."""
    if kind not in SOURCES:
        raise UsageError(f"there is no synthetic set {kind!r}; there are {', '.join(SOURCES)}")
    return OPTIONS | SUBSTITUTION_OPTIONS if kind == SUBSTITUTION else OPTIONS


def synthetic_source(kind: str, **options: Any) -> Source:
    """The source of a named set, with some of its options (``options_of``)."""
    return SOURCES[kind](**options)


def open_synthetic(name: str) -> Source:
    """The source that ``synthetic:x1?rows=1000&seed=1`` names."""
    kind, _, query = name.removeprefix(SYNTHETIC).partition("?")
    known, options = options_of(kind), dict[str, Any]()
    for option, text in parse_qsl(query, keep_blank_values=True):
        if option not in known:
            raise UsageError(f"{name}: there is no option {option!r}; there are {', '.join(known)}")
        try:
            options[option] = known[option](text)
        except ValueError:
            raise UsageError(f"{name}: {option} is {NUMBERS[known[option]]}, not {text!r}") from None
    return synthetic_source(kind, **options)
