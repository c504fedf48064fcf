"""The best of 15 combinations of normalisation and gamma for SOFS, and how near a rule is.

    python benchmarks/hindsight.py --table NEW.csv [--sets relathe ...]
    python benchmarks/hindsight.py --rule auto [--sets relathe ...]

SOFS (Wu, Hoi, Mei, Yu 2017) by signal to noise, one pass, three budgets k for every two-class set.
Test accuracy in %, mean and standard deviation over random orders of the training rows: 4 of them,
or 8 below 500 rows. Sets without a test part of their own are split 70/30, anew for each order.

The first form measures all combinations and writes them to a table, where ``best`` marks the one
that somebody could have picked in hindsight for that set and k. ``hindsight.csv`` is the table of
the rule that had ``normalize=False`` and ``gamma=1.0`` as its defaults, and took every step over
all features of a row; it is kept to compare with, so a table that exists is not overwritten.

The second form measures ``SOFS(k)`` as it is without any other parameter, on the same rows in the
same orders, and prints its gap to the best of the table in points: positive where hindsight is
better.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer

import streamsieve as ss
from report import load, parser, table

STORED = Path(__file__).with_suffix(".csv")
COLUMNS = ("set", "k", "normalize", "gamma", "accuracy", "deviation", "orders", "best")
GRID: list[dict[str, Any]] = [
    {"normalize": normalize, "gamma": gamma}
    for normalize in (False, "l2", "standard+l2")
    for gamma in (0.1, 1.0, 4.0, 16.0, 100.0)
]
SAME_FOR_ALL: dict[str, Any] = {"criterion": "snr", "fit_intercept": True, "class_weight": None}

ORDERS, MORE_ORDERS, FEW_ROWS = 4, 8, 500
SYNTHETIC = ("x1", "x2", "x3")
TEST_ROWS = 10_000  # of these, made with another seed

Labels = NDArray[np.float64]


class Kind(NamedTuple):
    """How a set is read, and the budgets to try: small, middle and large for its width."""

    width: int
    budgets: tuple[int, ...]
    dense: bool = False
    parts: tuple[str, str] | None = None  # the files of its own training and test rows
    rows: int | None = None  # to generate, or to take from a file that has more


SETS = {
    "svmguide3": Kind(21, (2, 5, 10), dense=True),
    "german": Kind(24, (3, 6, 12), dense=True),
    "magic04": Kind(10, (1, 2, 5), dense=True),
    "splice": Kind(60, (3, 6, 15), dense=True),
    "a8a": Kind(123, (6, 12, 30)),
    "colon": Kind(2_000, (10, 50, 200), dense=True),
    "codrna": Kind(8, (1, 2, 4), dense=True, rows=20_000),
    "covtype": Kind(54, (3, 10, 25), dense=True, rows=20_000),
    "20news_rec_sci": Kind(26_214, (10, 50, 200)),
    "20news_comp_sci": Kind(26_214, (10, 50, 200)),
    "relathe": Kind(4_322, (10, 20, 100)),
    "basehock": Kind(4_862, (10, 20, 100)),
    "pcmac_asu": Kind(3_289, (10, 20, 100)),
    "madelon": Kind(500, (5, 20, 100), dense=True, parts=("train", "valid")),
    "leukemia": Kind(7_129, (10, 50, 200), dense=True),
    "dexter": Kind(20_000, (10, 50, 200), parts=("train", "valid")),
    "twonorm": Kind(20, (2, 5, 10), dense=True),
    "waveform": Kind(21, (2, 5, 10), dense=True),
    "banana": Kind(2, (1, 2), dense=True),
    "thyroid": Kind(5, (1, 2, 4), dense=True),
    "heart": Kind(13, (2, 4, 8), dense=True),
    "arcene": Kind(10_000, (10, 50, 200), dense=True, parts=("train", "valid")),
    "farm-ads": Kind(54_877, (10, 50, 200)),
    "baseball_hockey": Kind(6_268, (10, 30, 100), parts=("train", "test")),
    "breast_cancer": Kind(30, (3, 10, 20), dense=True),
    "x1": Kind(10_000, (20, 50, 100), rows=20_000),
    "x2": Kind(20_000, (50, 100, 200), rows=20_000),
    "x3": Kind(
        10_000_000, (100, 250, 500), rows=10_000
    ),  # 1,000 features for every row, as at full size
}


class Data(NamedTuple):
    """Rows to learn from, and rows to test on unless they are to be split."""

    X: Any
    y: Labels
    X_test: Any = None
    y_test: Labels | None = None

    @property
    def orders(self) -> int:
        return MORE_ORDERS if len(self.y) < FEW_ROWS else ORDERS

    def parts(self, order: int) -> tuple[Any, Labels, Any, Labels]:
        """Return the rows to learn from, in that order, and the test rows."""
        rows = np.random.default_rng(order).permutation(len(self.y))
        if self.y_test is not None:
            return self.X[rows], self.y[rows], self.X_test, self.y_test
        train, test = np.split(rows, [len(rows) * 7 // 10])
        return self.X[train], self.y[train], self.X[test], self.y[test]


def generated(name: str, width: int, rows: int | None, seed: int) -> tuple[Any, Labels]:
    blocks = list(
        ss.open_source(f"synthetic:{name}?rows={rows}&features={width}&seed={seed}").row_blocks()
    )
    lengths = np.concatenate([np.diff(block.indptr) for block in blocks])
    indices = np.concatenate([block.indices for block in blocks])
    values = np.concatenate([block.values for block in blocks])
    X = csr_array((values, indices, np.append(0, np.cumsum(lengths))), shape=(len(lengths), width))
    return X, np.concatenate([block.y for block in blocks])


def read(folder: Path, name: str, kind: Kind) -> tuple[Any, Labels]:
    """Return the rows of a file, or some at random; dense if the data is dense by nature."""
    X, y = load(folder, name, kind.width)
    if kind.rows is not None:
        rows = np.random.default_rng(0).permutation(len(y))[: kind.rows]
        X, y = X[rows], y[rows]
    return X.toarray() if kind.dense else X, y


def data_of(folder: Path, name: str) -> Data:
    kind = SETS[name]
    if name in SYNTHETIC:
        return Data(
            *generated(name, kind.width, kind.rows, 0), *generated(name, kind.width, TEST_ROWS, 1)
        )
    if name == "breast_cancer":
        return Data(*load_breast_cancer(return_X_y=True))
    if kind.parts is not None:
        train, test = (read(folder, f"{name}.{part}", kind) for part in kind.parts)
        return Data(*train, *test)
    return Data(*read(folder, name, kind))


def measure(
    data: Data, budgets: Sequence[int], forms: Sequence[dict[str, Any]]
) -> NDArray[np.float64]:
    """Test accuracy in % by budget, form and order."""
    accuracies = np.empty((len(budgets), len(forms), data.orders))
    for order in range(data.orders):
        X, y, X_test, y_test = data.parts(order)
        for i, k in enumerate(budgets):
            for j, form in enumerate(forms):
                accuracies[i, j, order] = 100 * ss.SOFS(k, **form).fit(X, y).score(X_test, y_test)
    return accuracies


def lines_of(
    name: str, budgets: Sequence[int], accuracy_table: NDArray[np.float64]
) -> list[dict[str, str]]:
    """Return the lines of the table for a set; of equal means the first is the best."""
    lines = []
    for k, of_budget in zip(budgets, accuracy_table, strict=True):
        best = of_budget.mean(axis=1).argmax()
        for position, (form, accuracies) in enumerate(zip(GRID, of_budget, strict=True)):
            cells = (
                name,
                k,
                form["normalize"],
                f"{form['gamma']:g}",
                f"{accuracies.mean():.4f}",
                f"{accuracies.std(ddof=1):.4f}",
                len(accuracies),
                int(position == best),
            )
            lines.append(dict(zip(COLUMNS, map(str, cells), strict=True)))
    return lines


def best_of(lines: Sequence[dict[str, str]]) -> dict[tuple[str, int], dict[str, str]]:
    return {(line["set"], int(line["k"])): line for line in lines if line["best"] == "1"}


def measure_grid(options: Any) -> None:
    if options.table.exists():
        raise SystemExit(f"{options.table}: exists and is kept; name another file with --table")
    forms, lines = [{**SAME_FOR_ALL, **form} for form in GRID], []
    for name in options.sets or SETS:
        start, budgets = time.perf_counter(), SETS[name].budgets
        lines += lines_of(name, budgets, measure(data_of(options.data, name), budgets, forms))
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    with options.table.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    print(options.table.read_text())
    show = COLUMNS[:-1]
    print(table(show, [[line[column] for column in show] for line in best_of(lines).values()]))


def compare_defaults(options: Any) -> None:
    with options.table.open(newline="") as file:
        best = best_of(list(csv.DictReader(file)))
    gaps: dict[str, dict[int, float]] = {}
    lines = []
    for name in options.sets or SETS:
        budgets = SETS[name].budgets
        accuracies = measure(data_of(options.data, name), budgets, [{}]).mean(axis=(1, 2))
        gaps[name] = {}
        for k, accuracy in zip(budgets, accuracies.tolist(), strict=True):
            line = best[name, k]
            gaps[name][k] = float(line["accuracy"]) - accuracy
            bar = [line["normalize"], line["gamma"], f"{float(line['accuracy']):.1f}"]
            lines.append([name, str(k), *bar, f"{accuracy:.1f}", f"{gaps[name][k]:.1f}"])
    print(table(["set", "k", "normalize", "gamma", "hindsight", "defaults", "gap"], lines))
    cells = {(name, k): gap for name, by_budget in gaps.items() for k, gap in by_budget.items()}
    sets = {name: float(np.mean(list(by_budget.values()))) for name, by_budget in gaps.items()}
    worst_set, worst_cell = max(sets, key=sets.__getitem__), max(cells, key=cells.__getitem__)
    print(f"\nmean gap of {len(cells)} cells: {np.mean(list(cells.values())):.2f} points")
    print(f"worst set: {worst_set}, {sets[worst_set]:.1f}")
    print(f"worst cell: {worst_cell[0]} with k = {worst_cell[1]}, {cells[worst_cell]:.1f}")


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument(
        "--rule", choices=("grid", "auto"), default="grid", help="all combinations, or the defaults"
    )
    options.add_argument("--table", type=Path, default=STORED, help="to write, or to compare with")
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    if chosen.rule == "grid":
        measure_grid(chosen)
    else:
        compare_defaults(chosen)


if __name__ == "__main__":
    main()
