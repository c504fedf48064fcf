"""The whole accuracy-against-k curve from one pass, beside a pass for every k, and what it costs.

    python benchmarks/one_pass_curve.py [--sets basehock ...]

Online (prequential) accuracy in %, of SOFS (Wu, Hoi, Mei, Yu 2017) with its defaults. "one pass" is ``curve_`` of a
single run whose budget is the largest k; "own pass" a run for each k. The first line of a set has the k that
``n_features_to_select="auto"`` chooses.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import streamsieve as ss

sys.path.insert(0, str(Path(__file__).parent / "papers"))
from data import load, parser

SETS = ("basehock", "relathe", "pcmac_asu", "farm-ads", "20news_rec_sci", "a8a")
GRID = [1, 2, 5, 10, 20, 50, 100, 200, 500]


def seconds(selector: Any, X: Any, y: Any) -> float:
    return min(timed(selector, X, y) for _ in range(3))


def timed(selector: Any, X: Any, y: Any) -> float:
    start = time.perf_counter()
    selector.fit(X, y)
    return time.perf_counter() - start


def main() -> None:
    options = parser(__doc__ or "").parse_args()
    warnings.simplefilter("ignore")
    for name in options.sets or SETS:
        X, y = load(options.data, name)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
        grid = [k for k in GRID if k <= X.shape[1]]
        one = ss.SOFS(grid[-1], curve=grid).fit(X, y)
        own = [100 * (1 - (run := ss.SOFS(k).fit(X, y)).mistakes_ / run.n_rows_) for k in grid]
        auto = ss.SOFS("auto", curve=grid).fit(X, y).n_features_selected_
        ratio = seconds(ss.SOFS(grid[-1], curve=grid), X, y) / seconds(ss.SOFS(grid[-1]), X, y)
        print(f"{name}: time with the curve {ratio:.2f} times that without; auto takes k = {auto}")
        print("  k        " + "".join(f"{k:>7}" for k in grid))
        print("  one pass " + "".join(f"{100 * accuracy:7.1f}" for accuracy in one.curve_["accuracy"]))
        print("  own pass " + "".join(f"{accuracy:7.1f}" for accuracy in own), flush=True)


if __name__ == "__main__":
    main()
