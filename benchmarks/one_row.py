"""One row at a time: the time to learn and to predict a dictionary, compared with river.

    python benchmarks/one_row.py [--write]

Every learner sees the same rows, warm: the first ones are not counted. A figure is that of the
fastest tenth of stretches of 20 rows, so that other programs on the machine count little; all are
of one run. ``--write`` puts the table into docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from river import linear_model, preprocessing, tree

import streamsieve as ss
from report import machine, table, write_section
from streamsieve.compat.river import SelectorClassifier

ROWS, FEATURES, WARM, STRETCH = 6000, 20, 1500, 20

Row = dict[str, float]
Step = Callable[[int], Any]


def stream(seed: int = 0) -> tuple[list[Row], list[bool], np.ndarray[Any, Any]]:
    """Return dense rows with names, and their labels."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((ROWS, FEATURES))
    y = X @ random.standard_normal(FEATURES) > 0
    names = [f"x{j}" for j in range(FEATURES)]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()], y.tolist(), X


def fastest(step: Step) -> float:
    """Return milliseconds per row, in the fastest tenth of stretches."""
    times = []
    for start in range(WARM, ROWS, STRETCH):
        began = time.perf_counter()
        for row in range(start, start + STRETCH):
            step(row)
        times.append(time.perf_counter() - began)
    return 1000 * statistics.quantiles(times, n=10)[0] / STRETCH


def measured(model: Any, rows: list[Row], labels: list[bool]) -> tuple[float, float]:
    """Return milliseconds to learn one row, and to predict and then learn one."""

    def both(row: int) -> None:
        model.predict_one(rows[row])
        model.learn_one(rows[row], labels[row])

    for row in range(WARM):
        both(row)
    return fastest(lambda row: model.learn_one(rows[row], labels[row])), fastest(both)


def learners() -> dict[str, Any]:
    return {
        "river LogisticRegression": linear_model.LogisticRegression(),
        "river StandardScaler, LogisticRegression": (
            preprocessing.StandardScaler() | linear_model.LogisticRegression()
        ),
        "river StandardScaler, SoftmaxRegression": (
            preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
        ),
        "river HoeffdingTreeClassifier": tree.HoeffdingTreeClassifier(),
        "SOFS(10)": SelectorClassifier(ss.SOFS(10)),
        'SOFS(10, normalize="l2")': SelectorClassifier(ss.SOFS(10, normalize="l2")),
        "SOFS(10, max_cells=2**14)": SelectorClassifier(ss.SOFS(10, max_cells=2**14)),
        "FOFS(10)": SelectorClassifier(ss.FOFS(10)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="write the section of docs/explanation/performance.md"
    )
    options = parser.parse_args()
    rows, labels, X = stream()
    times = {name: measured(model, rows, labels) for name, model in learners().items()}
    peer = times["river StandardScaler, LogisticRegression"]
    lines = [
        [name, f"{learn:.3f}", f"{learn / peer[0]:.1f}", f"{both:.3f}", f"{both / peer[1]:.1f}"]
        for name, (learn, both) in times.items()
    ]
    y = np.array(labels)
    selector = ss.SOFS(10).partial_fit(X[:WARM], y[:WARM])
    chunk = fastest(lambda row: selector.partial_fit(X[row : row + 1], y[row : row + 1]))
    header = ["", "learn, ms", "ratio", "predict and learn, ms", "ratio"]
    text = (
        f"{machine('river')}\n\n{table(header, lines)}\n\nRatios are to river's scaled logistic"
        f" regression. `SOFS(10).partial_fit` with an array of one row: {chunk:.3f} ms."
    )
    print(text)
    if options.write:
        write_section("one-row", text)


if __name__ == "__main__":
    main()
