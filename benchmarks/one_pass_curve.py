"""The whole accuracy curve over k from one pass, compared with a pass for every k.

    python benchmarks/one_pass_curve.py [--write] [--criterion confidence] [--sets basehock ...]

Online (prequential) accuracy in %, of SOFS (Wu, Hoi, Mei, Yu 2017) with its defaults, rows in one
random order: "one pass" is ``curve_`` of a single run whose budget is the largest k of the grid,
"own pass" a run for each k, "auto" the k that ``n_features_to_select="auto"`` takes from the same
grid. "time" is that of the one pass over that of the same run without a curve, on sets of text: CPU
time, the least of several. ``--write`` puts the table into docs/methods/sofs.md.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import streamsieve as ss
from hindsight import SETS, SYNTHETIC, data_of
from report import load, parser, table, write_section

PAGE = Path(__file__).parents[1] / "docs" / "methods" / "sofs.md"
GRID = (1, 2, 5, 10, 20, 50, 100, 200, 500)
MAX_PLAUSIBLE_CLASSES = "20news"
TEXT = (
    *("basehock", "relathe", "pcmac_asu", "baseball_hockey", "dexter", "farm-ads"),
    *("20news_rec_sci", "20news_comp_sci", MAX_PLAUSIBLE_CLASSES),
)
NAMES = (*(name for name in SETS if name not in SYNTHETIC), MAX_PLAUSIBLE_CLASSES)
LOW = 3.0  # points below a run of its own
REPEATS = 3


class CurveResult(NamedTuple):
    """The results on one set."""

    grid: list[int]
    one: NDArray[np.float64]  # accuracy in %, by k
    own: NDArray[np.float64]
    auto: int
    ratio: float | None  # of times


def rows_of(folder: Path, name: str) -> tuple[Any, Any]:
    """Return the training rows of a set, in a random order."""
    X, y = (
        load(folder, f"{name}.train")
        if name == MAX_PLAUSIBLE_CLASSES
        else data_of(folder, name)[:2]
    )
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def measure(X: Any, y: Any, timed: bool, **params: Any) -> CurveResult:
    grid = [k for k in GRID if k <= X.shape[1]]
    selector = ss.SOFS(grid[-1], curve=grid, **params).fit(X, y)
    mistake_rates = [ss.SOFS(k, **params).fit(X, y).mistakes_ / selector.n_rows_ for k in grid]
    auto = ss.SOFS("auto", curve=grid, **params).fit(X, y).n_features_selected_
    ratio = None
    if timed:
        seconds = [
            (cpu_time(grid[-1], X, y, curve=grid), cpu_time(grid[-1], X, y)) for _ in range(REPEATS)
        ]
        with_curve, without = np.min(seconds, axis=0)
        ratio = float(with_curve / without)
    return CurveResult(
        grid, 100 * selector.curve_["accuracy"], 100 * (1 - np.array(mistake_rates)), auto, ratio
    )


def cpu_time(k: int, X: Any, y: Any, **params: Any) -> float:
    start = time.process_time()
    ss.SOFS(k, **params).fit(X, y)
    return time.process_time() - start


def line(name: str, result: CurveResult) -> list[str]:
    cells = [
        f"{one_pass:.1f} / {own_pass:.1f}"
        for one_pass, own_pass in zip(result.one, result.own, strict=True)
    ]
    ratio = "" if result.ratio is None else f"{result.ratio:.1f}"
    return [name, *cells, *[""] * (len(GRID) - len(cells)), str(result.auto), ratio]


def report(all_found: dict[str, CurveResult]) -> str:
    cells = {
        (name, k): float(gap)
        for name, result in all_found.items()
        for k, gap in zip(result.grid, result.one - result.own, strict=True)
    }
    gaps = list(cells.values())
    worst = min(cells, key=cells.__getitem__)
    ratios = [result.ratio for result in all_found.values() if result.ratio is not None]
    times = (
        f" Time on text: {np.mean(ratios):.1f} times that without a curve on the mean."
        if ratios
        else ""
    )
    header = ["set", *(f"k = {k}" for k in GRID), "auto", "time"]
    return (
        f"{table(header, [line(*item) for item in all_found.items()])}\n\n{len(gaps)} entries, one"
        f" pass less own pass in points: mean {np.mean(gaps):+.2f}, mean of the sizes"
        f" {np.abs(gaps).mean():.2f}, worst {cells[worst]:+.1f} ({worst[0]}, k = {worst[1]});"
        f" {sum(gap < -LOW for gap in gaps)} entries are more than {LOW:.0f} points low.{times}"
    )


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--criterion", default="snr", choices=("snr", "confidence"))
    options.add_argument(
        "--write", action="store_true", help="put the table into docs/methods/sofs.md"
    )
    chosen = options.parse_args()
    if chosen.write and (chosen.sets or chosen.criterion != "snr"):
        options.error("--write takes all sets, and SOFS as it is")
    warnings.simplefilter("ignore")
    results = {}
    for name in chosen.sets or NAMES:
        results[name] = measure(
            *rows_of(chosen.data, name), name in TEXT, criterion=chosen.criterion
        )
        print(" ".join(line(name, results[name])), file=sys.stderr, flush=True)
    text = report(results)
    print(text)
    if chosen.write:
        write_section("curve", text, PAGE)


if __name__ == "__main__":
    main()
