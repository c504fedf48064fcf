"""The synthetic problems of Yang, Fujimaki, Kusumura, Liu (2016), section 5, and harder ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

TRUE = 100  # the number of true features, and of those to select
CORRELATION = 0.5
IN_A_BLOCK = 20
ONES = 0.01  # of a binary column
SCALES = (0.0, 3.0)  # powers of 10


class Recipe(NamedTuple):
    """The parameters of a random problem."""

    p: int
    loss: str = "squared"
    noise: float = 3.0  # standard deviation, beside a signal of about 10; of numbers only
    n: int | None = None  # rows; None for 1.2 s log2 p
    design: str = "normal"
    s: int = TRUE

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return round(1.2 * self.s * np.log2(self.p)) if self.n is None else self.n


class Problem(NamedTuple):
    """Rows to learn, rows to test on, and the true features with their weights."""

    recipe: Recipe
    X: F64
    y: F64
    X_test: F64
    y_test: F64
    true_ids: NDArray[np.int64]  # ascending
    true_weights: F64  # for columns as they are


def normal(random: np.random.Generator, n: int, p: int) -> F64:
    """Return independent normal columns."""
    return random.standard_normal((n, p))


def autoregressive(random: np.random.Generator, n: int, p: int) -> F64:
    """Return columns that correlate with the column before them."""
    columns = random.standard_normal((n, p))
    for j in range(1, p):
        columns[:, j] = (
            CORRELATION * columns[:, j - 1] + np.sqrt(1.0 - CORRELATION**2) * columns[:, j]
        )
    return columns


def in_blocks(random: np.random.Generator, n: int, p: int) -> F64:
    """Return columns in blocks that share a factor."""
    factors = np.repeat(random.standard_normal((n, -(-p // IN_A_BLOCK))), IN_A_BLOCK, axis=1)[:, :p]
    columns: F64 = np.sqrt(CORRELATION) * factors + np.sqrt(
        1.0 - CORRELATION
    ) * random.standard_normal((n, p))
    return columns


def binary(random: np.random.Generator, n: int, p: int) -> F64:
    """Return columns with few ones, divided by their standard deviation.

    All columns have the same number of ones on average.
    """
    columns: F64 = (random.random((n, p)) < ONES) / np.sqrt(ONES * (1.0 - ONES))
    return columns


DESIGNS: dict[str, Callable[[np.random.Generator, int, int], F64]] = {
    "normal": normal,
    "ar": autoregressive,
    "blocks": in_blocks,
    "binary": binary,
    "scaled": normal,
}


def draw(recipe: Recipe, seed: int) -> Problem:
    """Return a random problem: random columns have normal weights.

    The target is the scores with noise for numbers, or their signs for classes. The weights belong
    to columns of variance 1. The design "scaled" multiplies these columns, and divides their
    weights, by factors that are uniform on a log scale, after the target was made.
    """
    random = np.random.default_rng(seed)
    n, p = recipe.rows, recipe.p
    make = DESIGNS[recipe.design]
    X, X_test = make(random, n, p), make(random, n, p)
    ids = np.sort(random.choice(p, recipe.s, replace=False))
    weights = random.standard_normal(recipe.s)
    y, y_test = (target(random, columns[:, ids] @ weights, recipe) for columns in (X, X_test))
    if recipe.design == "scaled":
        factors = 10.0 ** random.uniform(*SCALES, p)
        X, X_test, weights = X * factors, X_test * factors, weights / factors[ids]
    return Problem(recipe, X, y, X_test, y_test, ids, weights)


def target(random: np.random.Generator, scores: F64, recipe: Recipe) -> F64:
    """Return the target of rows with these scores."""
    if recipe.loss == "squared":
        return scores + recipe.noise * random.standard_normal(scores.size)
    return np.where(scores > 0.0, 1.0, -1.0)
