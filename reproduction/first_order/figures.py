"""Figures 1 to 4, 6 and 7 of Wang, Zhao, Hoi, Jin (2014).

The paper draws them without numbers, so its claims are judged by what is measured here.
"""

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
    count_mistakes,
    count_mistakes_by_part,
    permute,
    prepare,
    run_on_sets,
)

PARTS = 10  # of the stream; mistakes are counted after each
SHOWN = (1, 2, 5, 10)
FRACTIONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
PENALTIES = (0.0, 0.01, 0.05, 0.1, 0.15, 0.2)  # of FOBOS
FOBOS = {**AS_GIVEN, "eta": 0.2}


def figure_1(setting: Setting) -> list[Table]:
    """Run figure 1: mistake rates over the stream."""
    return _rates_over_stream(setting, "full", SMALL, "OFS")


def figure_4(setting: Setting) -> list[Table]:
    """Run figure 4: mistake rates over the stream with partial inputs."""
    return _rates_over_stream(setting, "partial", SMALL, "OFS_P")


def figure_6(setting: Setting) -> list[Table]:
    """Run figure 6: mistake rates over the stream of large sets."""
    return _rates_over_stream(setting, "full", LARGE, "OFS")


def _rates_over_stream(
    setting: Setting, inputs: str, sets: Sequence[str], best: str
) -> list[Table]:
    """Return mistake rates after parts of the rows, and the paper's claims about ``best``."""
    sets, methods = SHIPPED if setting.quick else sets, list(INPUTS[inputs])
    runs = run_on_sets(setting, sets, inputs, count_mistakes_by_part, PARTS)
    rows: list[list[Cell]] = []
    times_ahead, lead_grew = [], []
    for name in sets:
        n_rows = len(setting.load(name)[1])
        seen = np.array([n_rows * part // PARTS for part in range(1, PARTS + 1)])
        rates = {method: np.array([run[method] for run in runs[name]]) / seen for method in methods}
        for part in SHOWN:
            cells = [measured_text(100 * rates[method][:, part - 1], 1) for method in methods]
            rows.append([f"{name}, {part / PARTS:.0%}", *cells])
        means = {method: values.mean(axis=0) for method, values in rates.items()}
        others = np.min([means[method] for method in methods if method != best], axis=0)
        times_ahead.append(int(np.count_nonzero(means[best] < others)))
        lead_grew.append((others - means[best])[-1] > (others - means[best])[0])
    claims = [
        Claim(
            f"{best} makes the fewest mistakes throughout",
            f"at {sum(times_ahead)} of {PARTS * len(sets)} points",
            all(count == PARTS for count in times_ahead),
        ),
        Claim(
            "the more rows, the larger its lead",
            f"larger after all rows than after a tenth on {sum(lead_grew)} of {len(sets)} sets",
            all(lead_grew),
        ),
    ]
    return [
        Table("Mistakes per 100 rows so far", ["set, rows seen", *methods], rows),
        claims_table(claims),
    ]


def figure_2(setting: Setting) -> list[Table]:
    """Run figure 2: online accuracy against the fraction of features."""
    sets, fractions = (SHIPPED, (0.1, 0.5)) if setting.quick else (SMALL, FRACTIONS)
    runs = run_on_sets(setting, sets, "full", count_mistakes, fractions)
    rows: list[list[Cell]] = []
    n_ahead = 0
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
            n_ahead += max(rates, key=lambda method: float(np.mean(rates[method]))) == "OFS"
    total = len(sets) * len(fractions)
    claims = [
        Claim(
            "OFS outperforms the others in most cases",
            f"in {n_ahead} of {total}",
            n_ahead > total / 2,
        )
    ]
    return [Table("Online accuracy, %", ["set, features", *FULL], rows), claims_table(claims)]


def figure_3(setting: Setting) -> list[Table]:
    """Run figure 3: FOBOS at several penalties, and OFS with as many features."""
    sets = SHIPPED if setting.quick else SMALL
    penalties = PENALTIES[::5] if setting.quick else PENALTIES
    runs = run_on_sets(setting, sets, "full", _compare_fobos_and_ofs, penalties)
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
    sparse_leads = leads["few"]
    claims = [
        Claim(
            "with all features the two are almost the same",
            f"they differ by {max(map(abs, leads['all'])):.1f} points at most",
            max(map(abs, leads["all"])) < 2,
        ),
        Claim(
            "the sparser, the larger the lead of OFS",
            f"above half sparsity OFS is ahead in {sum(lead > 0 for lead in sparse_leads)} of"
            f" {len(sparse_leads)} cases",
            all(lead > 0 for lead in sparse_leads),
        ),
    ]
    return [
        Table("Online accuracy, %", ["set, penalty", "sparsity, %", "FOBOS", "OFS"], rows),
        claims_table(claims),
    ]


def _compare_fobos_and_ofs(
    folders: Folders, name: str, inputs: str, seed: int, penalties: Sequence[float]
) -> list[tuple[float, float, float]]:
    """Return for every penalty the number of features of FOBOS, and the accuracy of both in %."""
    X, y = permute(*prepare(folders, name, inputs), seed)
    results: list[tuple[float, float, float]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about few rows learned well are expected
        for penalty in penalties:
            fobos = ss.FOBOS(X.shape[1], **FOBOS, regularization=penalty).fit(X, y)
            features = max(1, int(fobos.coef_.count_nonzero()))
            ofs = FULL["OFS"](features, seed).fit(X, y)
            results.append(
                (features, 100 - 100 * fobos.mistakes_ / len(y), 100 - 100 * ofs.mistakes_ / len(y))
            )
    return results


def figure_7(setting: Setting) -> list[Table]:
    """Run figure 7: seconds against the fraction of features, for one permutation.

    Methods run one after the other in this process.
    """
    sets = SHIPPED if setting.quick else LARGE
    rows: list[list[Cell]] = []
    is_falling = []
    for name in sets:
        setting.say(name)
        X, y = permute(*prepare(setting.data, name, "full"), 0)
        times: list[Mapping[str, float]] = []
        for fraction in (0.1, 0.5, 1.0):
            times.append(
                {
                    method: _measure_seconds(method, budget_of(X.shape[1], fraction), X, y)
                    for method in FULL
                }
            )
            rows.append(
                [f"{name}, {fraction:.0%}", *(f"{seconds:.2f}" for seconds in times[-1].values())]
            )
        is_falling.append(times[-1]["OFS"] < times[0]["OFS"])
    claims = [
        Claim(
            "OFS takes less time the more features are selected",
            f"less with all than with a tenth on {sum(is_falling)} of {len(sets)} sets",
            all(is_falling),
        )
    ]
    return [Table("Seconds for one pass", ["set, features", *FULL], rows), claims_table(claims)]


def _measure_seconds(method: str, budget: int, X: object, y: object) -> float:
    """Return the shortest time of three runs; the first of them compiles."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        FULL[method](budget, 0).fit(X, y)
        times.append(time.perf_counter() - start)
    return min(times)
