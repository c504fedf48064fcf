"""Local learning on the spiral of Sun, Todorovic, Goodison 2008: time and memory.

    python benchmarks/local_learning.py [--features N ...] [--pictures]

230 rows an arm, sigma 2, lambda 1, from a float32 array in memory; every size in a process of its
own, after a first small run. The paper's times are those of its section 3.1 (a Pentium 4 of 2.8
GHz; 100, 1,000 and 20,000 features); at 100,000 it ran out of memory. A run writes its section of
docs/explanation/performance.md. ``--pictures`` draws the weights and the convergence of the paper's
figures 4 and 8 instead, for docs/methods/local-learning.md (matplotlib).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from report import apart, machine, table, write_section
from reproduction.local_learning import BEYOND, PAPER_SECONDS, SIZES, spiral

ALL_SIZES = (*SIZES, BEYOND, 300_000, 1_000_000)
PICTURES = Path(__file__).parents[1] / "docs" / "methods"
SHOWN = (50, 500, 5_000, 30_000)
WIDTHS = (0.01, 0.05, 0.5, 1, 10, 50)


class Measured(NamedTuple):
    seconds: float
    peak: int
    rounds: int
    selected: int
    largest_other: float  # weight of an irrelevant feature, over the smaller relevant one


def measure(irrelevant: int) -> Measured:
    import streamsieve as ss
    from streamsieve.machine import peak_memory

    ss.LocalLearning().fit(*spiral(20))
    X, y = spiral(irrelevant)
    start = time.perf_counter()
    selector = ss.LocalLearning(sigma=2, regularization=1).fit(X, y)
    seconds = time.perf_counter() - start
    weights = selector.feature_weights_
    other = float(weights[2:].max() / weights[:2].min())
    return Measured(seconds, peak_memory(), selector.n_iter_, len(selector.selection()), other)


def line(irrelevant: int) -> list[str]:
    point = apart(measure, irrelevant)
    per_feature = f"{1e6 * point.seconds / irrelevant:,.0f}"
    size = 4 * 460 * (irrelevant + 2) / 1e6
    cells = [
        f"{point.seconds:,.2f}",
        per_feature,
        PAPER_SECONDS.get(irrelevant, "-"),
        f"{size:,.1f}",
        f"{point.peak / 1e6:,.0f}",
    ]
    return [
        f"{irrelevant:,}",
        *cells,
        f"{point.rounds}",
        f"{point.selected}",
        f"{point.largest_other:.3f}",
    ]


def draw_weights(plot: Any) -> None:
    """Draw figure 4 of the paper: weights, the largest 1, against features."""
    import streamsieve as ss

    figure, axes = plot.subplots(1, len(SHOWN), figsize=(10, 2.2), sharey=True)
    for axis, irrelevant in zip(axes, SHOWN, strict=True):
        weights = ss.LocalLearning().fit(*spiral(irrelevant)).feature_weights_
        present = np.flatnonzero(weights)
        axis.vlines(present + 1, 0, weights[present] / weights.max(), linewidth=2)
        axis.set(
            xscale="log",
            xlim=(0.8, 2 * irrelevant),
            ylim=(0, 1.1),
            title=f"{irrelevant:,} irrelevant",
        )
        axis.set_xlabel("feature")
    axes[0].set_ylabel("weight")
    save(figure, "local-learning-weights.svg")


def draw_convergence(plot: Any) -> None:
    """Draw figure 8 of the paper: how much a round changes, for several kernel widths.

    There are 5,000 irrelevant features.
    """
    import warnings

    import streamsieve as ss

    figure, axis = plot.subplots(figsize=(6, 3.2))
    for sigma in WIDTHS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            selector = ss.LocalLearning(sigma=sigma, tol=1e-4, max_iter=30).fit(*spiral(5_000))
        changes = [done["change"] for done in selector.rounds_]
        axis.semilogy(
            range(1, len(changes) + 1),
            np.maximum(changes, 1e-6),
            marker=".",
            label=f"sigma {sigma}",
        )
    axis.axhline(0.01, linestyle=":", color="grey")
    axis.set(xlabel="round", ylabel="change", ylim=(1e-5, 200))
    axis.legend(fontsize="small", ncols=2)
    save(figure, "local-learning-convergence.svg")


def save(figure: Any, name: str) -> None:
    figure.tight_layout()
    figure.savefig(PICTURES / name, metadata={"Date": None})
    print(f"docs/methods/{name}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--features", type=int, nargs="*", default=ALL_SIZES, help="numbers of irrelevant features"
    )
    parser.add_argument("--pictures", action="store_true", help="draw the pictures instead")
    options = parser.parse_args()
    if options.pictures:
        import matplotlib

        matplotlib.use("svg")
        matplotlib.rcParams.update({"svg.hashsalt": "streamsieve", "svg.fonttype": "none"})
        from matplotlib import pyplot

        draw_weights(pyplot)
        draw_convergence(pyplot)
        return
    header = (
        *(
            "irrelevant features",
            "seconds",
            "microseconds per feature",
            "paper's seconds",
            "MB of data",
            "peak MB",
        ),
        *("rounds", "selected", "largest other weight"),
    )
    result_table = table(header, [line(irrelevant) for irrelevant in options.features])
    print(result_table)
    notes = (
        "The largest weight of an irrelevant feature is a fraction of the smaller one of the two"
        " relevant ones. The peak is that of the whole process, with the data that it was given."
    )
    if options.features == ALL_SIZES:
        write_section("local-learning", f"{machine()}\n\n{result_table}\n\n{notes}")


if __name__ == "__main__":
    main()
