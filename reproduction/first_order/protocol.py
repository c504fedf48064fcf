"""The protocol of Wang, Zhao, Hoi, Jin (2014).

Several methods learn random permutations of a set online.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import streamsieve as ss

from ..data import Folders, standardized
from ..experiment import Setting
from ..forms import OFS, OFS_PARTIAL, PE, RAND

R = TypeVar("R")

PERMUTATIONS = 20
QUICK_PERMUTATIONS = 4
FRACTION = 0.1  # of the features
SMALL = ("svmguide3", "german", "magic04", "splice", "a8a")
LARGE = ("codrna", "covtype")
TEXT = ("20news_rec_sci", "20news_comp_sci")
SHIPPED = ("german", "splice")
WIDTHS = dict.fromkeys(TEXT, 26_214)  # of sets whose last features may occur in no row

Make = Callable[[int, int], Any]  # budget and seed -> a selector
RANDOM_ATTRIBUTES: dict[str, Any] = {"attributes": "random"}
OFS_RAND = {**OFS, "radius": 10, "trigger": "mistake"}
FULL: dict[str, Make] = {
    "RAND": lambda k, seed: ss.RandomSelection(k, **RAND, random_state=seed),
    "PE": lambda k, seed: ss.PET(k, **PE),
    "OFS": lambda k, seed: ss.FOFS(k, **OFS),
}
PARTIAL: dict[str, Make] = {
    "RAND": lambda k, seed: ss.RandomSelection(k, **RAND, **RANDOM_ATTRIBUTES, random_state=seed),
    "PE": lambda k, seed: ss.PET(k, **PE, **RANDOM_ATTRIBUTES, random_state=seed),
    "OFS_rand": lambda k, seed: ss.FOFS(k, **OFS_RAND, **RANDOM_ATTRIBUTES, random_state=seed),
    "OFS_P": lambda k, seed: ss.OFSPartial(k, **OFS_PARTIAL, random_state=seed),
}
INPUTS = {"full": FULL, "partial": PARTIAL}


def seeds_of(setting: Setting) -> range:
    """Return the seeds of the permutations."""
    return range(QUICK_PERMUTATIONS if setting.quick else PERMUTATIONS)


def budget_of(n_features: int, fraction: float = FRACTION) -> int:
    """Return the number of features that is a fraction of all."""
    return max(1, round(fraction * n_features))


@lru_cache(maxsize=1)
def prepare(folders: Folders, name: str, inputs: str) -> tuple[Any, NDArray[np.float64]]:
    """Return standardised columns and rows of length 1; text sets of table 3 only with length 1."""
    from sklearn.preprocessing import normalize

    X, y = folders.load(name, WIDTHS.get(name))
    return (normalize(X).tocsr() if inputs == "partial" and name in TEXT else standardized(X)), y


def permute(X: Any, y: NDArray[np.float64], seed: int) -> tuple[Any, NDArray[np.float64]]:
    """Return rows and labels in a random order."""
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def count_mistakes(
    folders: Folders, name: str, inputs: str, seed: int, fractions: Sequence[float]
) -> list[dict[str, int]]:
    """Count the mistakes of each method on one permutation, for every fraction of features."""
    X, y = permute(*prepare(folders, name, inputs), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about few rows learned well are expected
        return [
            {
                method: make(budget_of(X.shape[1], fraction), seed).fit(X, y).mistakes_
                for method, make in INPUTS[inputs].items()
            }
            for fraction in fractions
        ]


def count_mistakes_by_part(
    folders: Folders, name: str, inputs: str, seed: int, parts: int
) -> dict[str, list[int]]:
    """Count the mistakes of each method after each of several equal parts of one permutation."""
    X, y = permute(*prepare(folders, name, inputs), seed)
    stops = [len(y) * part // parts for part in range(parts + 1)]
    counts: dict[str, list[int]] = {}
    for method, make in INPUTS[inputs].items():
        selector = make(budget_of(X.shape[1]), seed)
        counts[method] = []
        for start, stop in pairwise(stops):
            selector.partial_fit(X[start:stop], y[start:stop], classes=[-1.0, 1.0])
            counts[method].append(selector.mistakes_)
    return counts


def run_on_sets(
    setting: Setting, sets: Sequence[str], inputs: str, work: Callable[..., R], rest: Any
) -> dict[str, list[R]]:
    """Return ``work(folders, set, inputs, seed, rest)`` of every permutation, by set.

    Sets are processed one after the other, to save memory.
    """
    cells = [(name, seed) for name in sets for seed in seeds_of(setting)]
    results = setting.map(
        work,
        [(setting.data, name, inputs, seed, rest) for name, seed in cells],
        [name for name, _ in cells],
    )
    by_set: dict[str, list[R]] = {name: [] for name in sets}
    for (name, _), result in zip(cells, results, strict=True):
        by_set[name].append(result)
    return by_set
