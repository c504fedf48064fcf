"""Figures 1 to 4, 6 and 7 of Wang, Zhao, Hoi, Jin (2014): drawn there without numbers, so measured and judged here."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

import streamsieve as ss

from ..beside import Claim, claims_table, measured_text
from ..data import Folders
from ..experiment import Cell, Setting, Table
from ..forms import AS_GIVEN
from .protocol import (
    FULL,
    INPUTS,
    LARGE,
    SHIPPED,
    SMALL,
    budget_of,
    mistakes,
    mistakes_on_the_way,
    of_sets,
    permuted,
    prepared,
)

PARTS = 10  # of the stream, after each of which mistakes are counted
SHOWN = (1, 2, 5, 10)
FRACTIONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
PENALTIES = (0.0, 0.01, 0.05, 0.1, 0.15, 0.2)  # of FOBOS
FOBOS = {**AS_GIVEN, "eta": 0.2}


def figure_1(setting: Setting) -> list[Table]:
    return _over_the_stream(setting, "full", SMALL, "OFS")


def figure_4(setting: Setting) -> list[Table]:
    return _over_the_stream(setting, "partial", SMALL, "OFS_P")


def figure_6(setting: Setting) -> list[Table]:
    return _over_the_stream(setting, "full", LARGE, "OFS")


def _over_the_stream(setting: Setting, inputs: str, sets: Sequence[str], best: str) -> list[Table]:
    """Mistake rates after parts of the rows; the paper's claims on ``best``."""
    sets, methods = SHIPPED if setting.quick else sets, list(INPUTS[inputs])
    runs = of_sets(setting, sets, inputs, mistakes_on_the_way, PARTS)
    rows: list[list[Cell]] = []
    first, grown = [], []
    for name in sets:
        n_rows = len(setting.load(name)[1])
        seen = np.array([n_rows * part // PARTS for part in range(1, PARTS + 1)])
        rates = {method: np.array([run[method] for run in runs[name]]) / seen for method in methods}
        for part in SHOWN:
            cells = [measured_text(100 * rates[method][:, part - 1], 1) for method in methods]
            rows.append([f"{name}, {part / PARTS:.0%}", *cells])
        means = {method: values.mean(axis=0) for method, values in rates.items()}
        others = np.min([means[method] for method in methods if method != best], axis=0)
        first.append(int(np.count_nonzero(means[best] < others)))
        grown.append((others - means[best])[-1] > (others - means[best])[0])
    claims = [
        Claim(
            f"{best} makes the fewest mistakes throughout",
            f"at {sum(first)} of {PARTS * len(sets)} points",
            all(count == PARTS for count in first),
        ),
        Claim(
            "the more rows, the larger its lead",
            f"larger after all rows than after a tenth on {sum(grown)} of {len(sets)} sets",
            all(grown),
        ),
    ]
    return [
        Table("Mistakes per 100 rows so far", ["set, rows seen", *methods], rows),
        claims_table(claims),
    ]


def figure_2(setting: Setting) -> list[Table]:
    """Online accuracy against the fraction of features."""
    sets, fractions = (SHIPPED, (0.1, 0.5)) if setting.quick else (SMALL, FRACTIONS)
    runs = of_sets(setting, sets, "full", mistakes, fractions)
    rows: list[list[Cell]] = []
    won = 0
    for name in sets:
        n_rows = len(setting.load(name)[1])
        for number, fraction in enumerate(fractions):
            rates = {
                method: [100 - 100 * run[number][method] / n_rows for run in runs[name]]
                for method in FULL
            }
            rows.append(
                [
                    f"{name}, {fraction:.0%}",
                    *(measured_text(values, 1) for values in rates.values()),
                ]
            )
            won += max(rates, key=lambda method: float(np.mean(rates[method]))) == "OFS"
    total = len(sets) * len(fractions)
    claims = [
        Claim("OFS outperforms the others in most cases", f"in {won} of {total}", won > total / 2)
    ]
    return [Table("Online accuracy, %", ["set, features", *FULL], rows), claims_table(claims)]


def figure_3(setting: Setting) -> list[Table]:
    """FOBOS at several penalties, and OFS with as many features as that leaves."""
    sets = SHIPPED if setting.quick else SMALL
    penalties = PENALTIES[::5] if setting.quick else PENALTIES
    runs = of_sets(setting, sets, "full", _fobos_and_ofs, penalties)
    rows: list[list[Cell]] = []
    leads: dict[str, list[float]] = {"all": [], "few": []}
    for name in sets:
        n_features = setting.load(name)[0].shape[1]
        figures = np.array(runs[name])  # permutations x penalties x (features, FOBOS, OFS)
        for number, penalty in enumerate(penalties):
            features, fobos, ofs = figures[:, number].T
            sparsity = 100 * (1 - float(features.mean()) / n_features)
            rows.append(
                [
                    f"{name}, {penalty:g}",
                    f"{sparsity:.0f}",
                    measured_text(fobos, 1),
                    measured_text(ofs, 1),
                ]
            )
            if penalty == 0 or sparsity >= 50:
                leads["few" if penalty else "all"].append(float(ofs.mean() - fobos.mean()))
    few = leads["few"]
    claims = [
        Claim(
            "with all features the two are almost the same",
            f"they differ by {max(map(abs, leads['all'])):.1f} points at most",
            max(map(abs, leads["all"])) < 2,
        ),
        Claim(
            "the sparser, the larger the lead of OFS",
            f"above half sparsity OFS is ahead in {sum(lead > 0 for lead in few)} of {len(few)}"
            " cases",
            all(lead > 0 for lead in few),
        ),
    ]
    return [
        Table("Online accuracy, %", ["set, penalty", "sparsity, %", "FOBOS", "OFS"], rows),
        claims_table(claims),
    ]


def _fobos_and_ofs(
    folders: Folders, name: str, inputs: str, seed: int, penalties: Sequence[float]
) -> list[tuple[float, float, float]]:
    """For every penalty, how many features FOBOS has at the end, and the accuracy of both, %."""
    X, y = permuted(*prepared(folders, name, inputs), seed)
    found: list[tuple[float, float, float]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that few rows were learned well is what is measured
        for penalty in penalties:
            fobos = ss.FOBOS(X.shape[1], **FOBOS, regularization=penalty).fit(X, y)
            features = max(1, int(fobos.coef_.count_nonzero()))
            ofs = FULL["OFS"](features, seed).fit(X, y)
            found.append(
                (features, 100 - 100 * fobos.mistakes_ / len(y), 100 - 100 * ofs.mistakes_ / len(y))
            )
    return found


def figure_7(setting: Setting) -> list[Table]:
    """Seconds against the fraction of features, one permutation; in this process, one after the other."""
    sets = SHIPPED if setting.quick else LARGE
    rows: list[list[Cell]] = []
    falling = []
    for name in sets:
        setting.say(name)
        X, y = permuted(*prepared(setting.data, name, "full"), 0)
        spent: list[Mapping[str, float]] = []
        for fraction in (0.1, 0.5, 1.0):
            spent.append(
                {method: _seconds(method, budget_of(X.shape[1], fraction), X, y) for method in FULL}
            )
            rows.append(
                [f"{name}, {fraction:.0%}", *(f"{seconds:.2f}" for seconds in spent[-1].values())]
            )
        falling.append(spent[-1]["OFS"] < spent[0]["OFS"])
    claims = [
        Claim(
            "OFS takes less time the more features are selected",
            f"less with all than with a tenth on {sum(falling)} of {len(sets)} sets",
            all(falling),
        )
    ]
    return [Table("Seconds for one pass", ["set, features", *FULL], rows), claims_table(claims)]


def _seconds(method: str, budget: int, X: object, y: object) -> float:
    """The least of three runs; what has to be compiled is compiled in the first."""
    spent = []
    for _ in range(3):
        start = time.perf_counter()
        FULL[method](budget, 0).fit(X, y)
        spent.append(time.perf_counter() - start)
    return min(spent)
