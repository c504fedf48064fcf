"""Figures 3, 4 and 13 of Yu, Wu, Ding, Pei (2016): the stability of selections.

Each set is cut into five random folds, and a method selects from four of them; this is repeated
until there are 30 subsamples. Two selections are compared by the matching of Yu, Ding, Loscalzo
(2008), and the mean is over all pairs.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamsieve.evaluation.stability import Stability, nogueira, yu_matching

from ..beside import claims_table
from ..data import Folders
from ..experiment import Cell, Experiment, Setting, Table
from .printed import PRINTED
from .protocol import LEUKEMIA_FEATURES, METHODS, PARTS, Split, choose_with_ofs, files_of
from .tables import DRAWN, OPEN, PAPER, QUICK_SETS, SETS, PaperClaim

Ids = NDArray[np.int64]

FOLDS, SUBSAMPLES, QUICK_SUBSAMPLES = 5, 30, 5
PAPER_CLAIMS = {
    "fig3": (
        PaperClaim("alpha-investing is the most stable", "alpha-investing", "SAOLA", "above"),
        PaperClaim("SAOLA is much like Fast-OSFS", "SAOLA", "Fast-OSFS", "like"),
    ),
    "fig4": (PaperClaim("SAOLA is more stable than OFS", "SAOLA", "OFS", "above"),),
    "fig13": (PaperClaim("SAOLA is much like SAOLA-max", "SAOLA", "SAOLA-max", "like"),),
}
COMPARED = {
    "fig3": ("SAOLA", "Fast-OSFS", "alpha-investing"),
    "fig4": ("SAOLA", "OFS"),
    "fig13": ("SAOLA", "SAOLA-max"),
}
NOTES = (
    DRAWN,
    (
        "all rows of a set are divided into five folds, with the test rows of dexter and madelon;"
        " six divisions give 30 subsamples. The paper does not say which selections it compares;"
        " here they are all pairs of the 30"
    ),
    (
        "Yu's matching weights pairs of features by their symmetrical uncertainty; columns with"
        " more than 32 different values are cut into 10 bins with the same number of rows for it."
        " The sum over the pairs is divided by the size of the larger selection. The measure of"
        " Nogueira, Sechidis, Brown (2018), with its 95 % interval, counts only equal features"
        " and is corrected for chance"
    ),
    "OFS selects as many features as in the paper's table VI",
    OPEN,
)


def rows_of(data: Folders, name: str) -> tuple[Any, NDArray[np.float64]]:
    """Return all rows of a set."""
    from scipy.sparse import vstack

    parts = [data.load(file, PARTS.get(name, LEUKEMIA_FEATURES)) for file in files_of(name)]
    return vstack([X for X, _ in parts], format="csr"), np.concatenate([y for _, y in parts])


def select_features(data: Folders, name: str, method: str, number: int) -> Ids:
    """Return the features that a method selects from four of five folds."""
    warnings.simplefilter("ignore")
    X, y = rows_of(data, name)
    seed, fold = divmod(number, FOLDS)
    order = np.random.default_rng(seed).permutation(y.size)
    kept = np.sort(np.delete(order, slice(fold * y.size // FOLDS, (fold + 1) * y.size // FOLDS)))
    split = Split(X[kept].tocsc(), y[kept], X[:0], y[:0])
    if method == "OFS":
        return next(choose_with_ofs(split, number, [int(PRINTED["VI"][name]["OFS"])])).features
    return next(METHODS[method](split, number)).features


def match_pairs(data: Folders, name: str, first: Ids, others: Sequence[Ids]) -> list[float]:
    """Return the matching of one selection with others."""
    X = rows_of(data, name)[0].tocsc()
    return [yu_matching(first, second, X) for second in others]


class StabilityResult(NamedTuple):
    """The stability of a method on a set."""

    matching: float
    nogueira: Stability
    size: float  # mean number of features


# results of this command, as SAOLA is in all three figures
_results: dict[tuple[Folders, bool, str, str], StabilityResult] = {}


def measure_stability(setting: Setting, name: str, method: str) -> StabilityResult:
    """Return the stability of a method on a set."""
    key = setting.data, setting.quick, name, method
    if key not in _results:
        count = QUICK_SUBSAMPLES if setting.quick else SUBSAMPLES
        selections = setting.map(
            select_features, [(setting.data, name, method, number) for number in range(count)]
        )
        pairs = [
            (setting.data, name, first, selections[position + 1 :])
            for position, first in enumerate(selections[:-1])
        ]
        matching = float(np.concatenate(setting.map(match_pairs, pairs)).mean())
        index = nogueira(selections, PARTS.get(name, LEUKEMIA_FEATURES))
        _results[key] = StabilityResult(
            matching, index, float(np.mean([ids.size for ids in selections]))
        )
        setting.say(f"{name}, {method}: done")
    return _results[key]


def make_tables(figure: str, setting: Setting) -> list[Table]:
    """Return the table of a figure, and the paper's claims about it."""
    sets = QUICK_SETS if setting.quick else SETS
    results = {
        (name, method): measure_stability(setting, name, method)
        for name in sets
        for method in COMPARED[figure]
    }
    rows: list[list[Cell]] = [
        [
            f"{name}, {method}",
            f"{result.matching:.3f}",
            f"{result.nogueira.value:.3f}"
            f" ({result.nogueira.low:.3f} to {result.nogueira.high:.3f})",
            f"{result.size:.1f}",
        ]
        for (name, method), result in results.items()
    ]
    columns = ["set, method", "Yu's matching", "Nogueira's measure", "features"]
    matchings = {pair: result.matching for pair, result in results.items()}
    claims = claims_table([claim.check(matchings) for claim in PAPER_CLAIMS[figure]])
    return [Table("Stability over subsamples of the rows", columns, rows), claims]


EXPERIMENTS = [
    Experiment(
        f"P3.{figure}",
        f"Stability: {', '.join(methods)}",
        PAPER,
        files_of(*SETS),
        3,
        partial(make_tables, figure),
        NOTES,
        quick_data=files_of(*QUICK_SETS),
    )
    for figure, methods in COMPARED.items()
]
