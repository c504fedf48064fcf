"""Figures 3, 4 and 13 of Yu, Wu, Ding, Pei (2016): how alike the features are that are selected from other rows.

Each set is cut into five random folds, and a method selects from four of them; that goes on until
there are 30 subsamples. Two selections are compared by Yu, Ding, Loscalzo's (2008) matching, and
the mean is over all pairs.
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
from .protocol import LEUKEMIA_FEATURES, METHODS, PARTS, Split, files_of, first_order
from .tables import DRAWN, OPEN, PAPER, QUICK_SETS, SETS, Said

Ids = NDArray[np.int64]

FOLDS, SUBSAMPLES, QUICK_SUBSAMPLES = 5, 30, 5
SAID = {
    "fig3": (
        Said("alpha-investing is the most stable", "alpha-investing", "SAOLA", "above"),
        Said("SAOLA is much like Fast-OSFS", "SAOLA", "Fast-OSFS", "like"),
    ),
    "fig4": (Said("SAOLA is more stable than OFS", "SAOLA", "OFS", "above"),),
    "fig13": (Said("SAOLA is much like SAOLA-max", "SAOLA", "SAOLA-max", "like"),),
}
COMPARED = {
    "fig3": ("SAOLA", "Fast-OSFS", "alpha-investing"),
    "fig4": ("SAOLA", "OFS"),
    "fig13": ("SAOLA", "SAOLA-max"),
}
NOTES = (
    DRAWN,
    (
        "all rows of a set are cut into folds, dexter's and madelon's test rows too. 30 subsamples:"
        " six cuts of five folds. The paper does not say which selections are compared: here all"
        " pairs of the 30"
    ),
    (
        "columns with more than 32 different values are cut into 10 bins of as many rows each, for"
        " the uncertainties that weigh the pairs; the sum over the pairs is divided by the size of"
        " the larger set. Nogueira, Sechidis, Brown's (2018) measure, with its 95 % interval,"
        " counts equal features alone, and is corrected for chance"
    ),
    "OFS selects as many features as in the paper's table VI",
    OPEN,
)


def rows_of(data: Folders, name: str) -> tuple[Any, NDArray[np.float64]]:
    """All rows of a set."""
    from scipy.sparse import vstack

    parts = [data.load(file, PARTS.get(name, LEUKEMIA_FEATURES)) for file in files_of(name)]
    return vstack([X for X, _ in parts], format="csr"), np.concatenate([y for _, y in parts])


def selected(data: Folders, name: str, method: str, number: int) -> Ids:
    """What a method selects from four of five folds."""
    warnings.simplefilter("ignore")
    X, y = rows_of(data, name)
    seed, fold = divmod(number, FOLDS)
    order = np.random.default_rng(seed).permutation(y.size)
    kept = np.sort(np.delete(order, slice(fold * y.size // FOLDS, (fold + 1) * y.size // FOLDS)))
    split = Split(X[kept].tocsc(), y[kept], X[:0], y[:0])
    if method == "OFS":
        return next(first_order(split, number, [int(PRINTED["VI"][name]["OFS"])])).features
    return next(METHODS[method](split, number)).features


def alike(data: Folders, name: str, one: Ids, others: Sequence[Ids]) -> list[float]:
    X = rows_of(data, name)[0].tocsc()
    return [yu_matching(one, other, X) for other in others]


class Stable(NamedTuple):
    """How stable a method is on a set."""

    matching: float
    nogueira: Stability
    size: float  # mean number of features


_found: dict[tuple[Folders, bool, str, str], Stable] = {}  # SAOLA is in all three figures


def stable(setting: Setting, name: str, method: str) -> Stable:
    key = setting.data, setting.quick, name, method
    if key not in _found:
        count = QUICK_SUBSAMPLES if setting.quick else SUBSAMPLES
        found = setting.each(
            selected, [(setting.data, name, method, number) for number in range(count)]
        )
        pairs = [(setting.data, name, one, found[at + 1 :]) for at, one in enumerate(found[:-1])]
        matching = float(np.concatenate(setting.each(alike, pairs)).mean())
        usual = nogueira(found, PARTS.get(name, LEUKEMIA_FEATURES))
        _found[key] = Stable(matching, usual, float(np.mean([one.size for one in found])))
        setting.say(f"{name}, {method}: done")
    return _found[key]


def tables(figure: str, setting: Setting) -> list[Table]:
    sets = QUICK_SETS if setting.quick else SETS
    found = {
        (name, method): stable(setting, name, method)
        for name in sets
        for method in COMPARED[figure]
    }
    rows: list[list[Cell]] = [
        [
            f"{name}, {method}",
            f"{one.matching:.3f}",
            f"{one.nogueira.value:.3f} ({one.nogueira.low:.3f} to {one.nogueira.high:.3f})",
            f"{one.size:.1f}",
        ]
        for (name, method), one in found.items()
    ]
    columns = ["set, method", "Yu's matching", "Nogueira's measure", "features"]
    matchings = {pair: one.matching for pair, one in found.items()}
    claims = claims_table([said.claim(matchings) for said in SAID[figure]])
    return [Table("Stability over subsamples of the rows", columns, rows), claims]


EXPERIMENTS = [
    Experiment(
        f"P3.{figure}",
        f"Stability: {', '.join(methods)}",
        PAPER,
        files_of(*SETS),
        3,
        partial(tables, figure),
        NOTES,
        quick_data=files_of(*QUICK_SETS),
    )
    for figure, methods in COMPARED.items()
]
