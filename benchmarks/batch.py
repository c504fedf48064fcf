"""SOFS in one pass and in three, compared with batch methods with as many features.

    python benchmarks/batch.py [--write] [--sets relathe ...]
    python benchmarks/batch.py --peers [--sets relathe ...]

SOFS (Wu, Hoi, Mei, Yu 2017) as it is without any parameter but k. Test accuracy in %, mean over the
same splits and orders of rows as in hindsight.py. The batch methods:

- L1-SVM: the L1-penalised linear SVM whose number of features comes nearest to k, by bisection on
  its penalty; of one that has more, the k largest weights. It predicts by itself: nothing is fitted
  again.
- chi2 + logistic, F + logistic where the data is dense: the k best columns by themselves, then a
  logistic regression on them.

Both get rows of length 1 or, where the data is dense, standardised columns. Their figures take
minutes, so they are kept in batch.csv; the second form measures them anew. ``--write`` puts the
table into docs/methods/sofs.md.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectKBest, chi2, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from hindsight import SETS as KINDS
from hindsight import Data, data_of, measure
from report import parser, table, write_section
from reproduction.l1_svm import Penalised

PAGE = Path(__file__).parents[1] / "docs" / "methods" / "sofs.md"
STORED = Path(__file__).with_suffix(".csv")
COLUMNS = ("set", "k", "method", "accuracy", "deviation", "orders")

TEXT_BUDGETS = (10, 20, 50, 100, 200)
SETS = {
    **dict.fromkeys(("relathe", "basehock", "pcmac_asu", "farm-ads", "dexter"), TEXT_BUDGETS),
    "splice": (3, 6, 15),
    "german": (3, 6, 12),
    "svmguide3": (2, 5, 10),
}
PASSES: list[dict[str, Any]] = [{}, {"n_epochs": 3}]
PEERS = ("L1-SVM", "chi2 or F + logistic")
HEADER = ("set", "k", "one pass", "three passes", *PEERS, "one pass ahead by")

Cell = tuple[str, int]


def measure_peers(data: Data, budgets: Sequence[int], dense: bool) -> NDArray[np.float64]:
    """Test accuracy in % by budget, method of PEERS and order."""
    accuracies = np.empty((len(budgets), len(PEERS), data.orders))
    for order in range(data.orders):
        X, y, X_test, y_test = data.parts(order)
        scaler = (StandardScaler() if dense else Normalizer()).fit(X)
        rows, test_rows = scaler.transform(X), scaler.transform(X_test)
        svms = Penalised(rows, y)
        for i, k in enumerate(budgets):
            best = SelectKBest(f_classif if dense else chi2, k=k)
            models = (
                svms.nearest(k),
                make_pipeline(best, LogisticRegression(C=10, max_iter=2000)).fit(rows, y),
            )
            accuracies[i, :, order] = [100 * model.score(test_rows, y_test) for model in models]
    return accuracies


def stored() -> dict[str, list[dict[str, str]]]:
    """Return the lines of the table of batch figures, by set."""
    lines: dict[str, list[dict[str, str]]] = {name: [] for name in SETS}
    if STORED.exists():
        with STORED.open(newline="") as file:
            for line in csv.DictReader(file):
                lines[line["set"]].append(line)
    return lines


def renew_peers(names: Iterable[str], folder: Path) -> None:
    """Measure the batch methods on these sets, and keep the figures of the others."""
    lines = stored()
    for name in names:
        start, budgets = time.perf_counter(), SETS[name]
        peer_accuracies = measure_peers(data_of(folder, name), budgets, KINDS[name].dense)
        lines[name] = [
            dict(zip(COLUMNS, map(str, (name, k, method, *figures(accuracies))), strict=True))
            for k, by_method in zip(budgets, peer_accuracies, strict=True)
            for method, accuracies in zip(PEERS, by_method, strict=True)
        ]
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    with STORED.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(line for of_set in lines.values() for line in of_set)


def figures(accuracies: NDArray[np.float64]) -> tuple[str, str, int]:
    return f"{accuracies.mean():.4f}", f"{accuracies.std(ddof=1):.4f}", accuracies.size


def compared(names: Iterable[str], folder: Path) -> dict[Cell, list[float]]:
    """Return accuracies by set and k: SOFS by number of passes, then the batch methods."""
    lines, cells = stored(), {}
    for name in names:
        accuracies = measure(data_of(folder, name), SETS[name], PASSES).mean(axis=2)
        for k, of_passes in zip(SETS[name], accuracies.tolist(), strict=True):
            batch = {
                line["method"]: float(line["accuracy"])
                for line in lines[name]
                if int(line["k"]) == k
            }
            cells[name, k] = [*of_passes, *(batch[method] for method in PEERS)]
    return cells


def ahead(accuracies: Sequence[float]) -> float:
    """Return the gain of one pass over the better batch method."""
    return accuracies[0] - max(accuracies[len(PASSES) :])


def report(cells: dict[Cell, list[float]]) -> str:
    lines = [
        [name, str(k), *(f"{accuracy:.1f}" for accuracy in accuracies), f"{ahead(accuracies):+.1f}"]
        for (name, k), accuracies in cells.items()
    ]
    means = np.mean(list(cells.values()), axis=0)
    leads = {cell: ahead(accuracies) for cell, accuracies in cells.items()}
    worst = min(leads, key=leads.__getitem__)
    better = np.mean([max(accuracies[len(PASSES) :]) for accuracies in cells.values()])
    lines.append(
        ["mean", "", *(f"{mean:.1f}" for mean in means), f"{np.mean(list(leads.values())):+.1f}"]
    )
    return (
        f"{table(HEADER, lines)}\n\nMean of the {len(cells)} lines: one pass {means[0]:.1f}, three"
        f" passes {means[1]:.1f}, the better of the two batch methods {better:.1f}. One pass is"
        f" furthest behind them on {worst[0]} with k = {worst[1]}: {leads[worst]:+.1f}."
    )


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--peers", action="store_true", help="measure the batch methods anew")
    options.add_argument(
        "--write", action="store_true", help="put the table into docs/methods/sofs.md"
    )
    chosen = options.parse_args()
    if chosen.write and (chosen.sets or chosen.peers):
        options.error("--write takes all sets, and the batch figures as they are")
    warnings.simplefilter("ignore")
    if chosen.peers:
        renew_peers(chosen.sets or SETS, chosen.data)
        return
    text = report(compared(chosen.sets or SETS, chosen.data))
    print(text)
    if chosen.write:
        write_section("batch", text, PAGE)


if __name__ == "__main__":
    main()
