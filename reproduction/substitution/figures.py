"""Figures 1 and 2 of Yang, Fujimaki, Kusumura, Liu (2016), and harder problems of the same kind."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..beside import Claim, claims_table
from ..experiment import Cell, Setting, Table
from .contest import SCANS, WORKERS, run_contest, scans_title, workers_title
from .problems import Recipe

REPEATS, HARDER_REPEATS, QUICK_REPEATS = 30, 10, 2
QUICK_SIZES, QUICK_TRUE = (150,), 20  # as many true features as the largest number of workers

BY_SIZE = (
    scans_title("paper", 2),
    scans_title("paper", 1),
    scans_title("pool", 2),
    scans_title("pool", 1),
    "ProjGD",
    "Grafting",
    "L1 coordinate descent",
    "L0 coordinate descent",
    "Lasso or L1",
    "true features",
)
BY_SCANS = tuple(scans_title(solver, scans) for solver in ("paper", "pool") for scans in SCANS)
BY_WORKERS = tuple(map(workers_title, WORKERS))
RIVALS = ("Grafting", "L1 coordinate descent", "L0 coordinate descent", "Lasso or L1")
ALMOST, CLEAR = 0.06, 0.01
OURS = "pool"  # in the names of methods that are not in the paper
NOT_DRAWN = "true features"


class Plots(NamedTuple):
    """A column of a figure: recall above, error below, against a variable."""

    against: str
    names: tuple[str, ...]
    recall_axis: str  # ranges of the axes, which contain all the paper's curves
    error_axis: str


class Curve(NamedTuple):
    """The measured values of a method, by the number of features."""

    recall: NDArray[np.float64]
    error: NDArray[np.float64]


class Figure(NamedTuple):
    """A figure of the paper."""

    loss: str
    error: str
    sizes: tuple[int, ...]
    columns: tuple[Plots, ...]
    read_off: dict[str, tuple[str, str]]  # recall and error of a method, over all sizes


FIGURE_1 = Figure(
    "squared",
    "distance to the true weights",
    (2000, 4000, 6000),
    (
        Plots("features", BY_SIZE, "0.64 to 0.80", "0.20 to 0.30"),
        Plots("scans", BY_SCANS, "0.62 to 0.76", "0.22 to 0.32"),
        Plots("workers", BY_WORKERS, "0.67 to 0.77", "0.21 to 0.28"),
    ),
    {scans_title("paper", 2): ("0.70 to 0.78", "0.21 to 0.27")},
)
FIGURE_2 = Figure(
    "squared_hinge",
    "wrong classes of the test rows",
    (1000, 3000, 5000),
    (
        Plots("features", BY_SIZE, "0.40 to 0.65", "0.12 to 0.24"),
        Plots("scans", BY_SCANS, "0.35 to 0.65", "0.12 to 0.22"),
        Plots("workers", BY_WORKERS, "0.46 to 0.64", "0.12 to 0.17"),
    ),
    {},
)
HARDER = {
    "p = 2,000, noise 3": Recipe(2000),
    "noise 1": Recipe(2000, noise=1.0),
    "noise 0.1": Recipe(2000, noise=0.1),
    "p = 4,000, noise 3": Recipe(4000),
    "p = 6,000, noise 3": Recipe(6000),
    "n = 658, noise 0.1": Recipe(2000, noise=0.1, n=658),
    "AR(0.5), noise 1": Recipe(2000, noise=1.0, design="ar"),
    "blocks of correlation 0.5, noise 1": Recipe(2000, noise=1.0, design="blocks"),
    "1 % binary, noise 1": Recipe(2000, noise=1.0, design="binary"),
    "scales over 10^3, noise 1": Recipe(2000, noise=1.0, design="scaled"),
    **{
        f"{loss.replace('_', ' ')}, p = {p:,}": Recipe(p, loss)
        for loss in ("squared_hinge", "logistic")
        for p in FIGURE_2.sizes
    },
}
QUICK_HARDER = {
    "p = 80, noise 1": Recipe(80, noise=1.0, s=8),
    "blocks of correlation 0.5": Recipe(80, noise=1.0, design="blocks", s=8),
    "logistic": Recipe(80, "logistic", s=8),
}
IN_HARDER = (
    scans_title("pool", 2),
    scans_title("pool", 1),
    scans_title("paper", 2),
    "ProjGD",
    "Lasso or L1",
)


def figure_1(setting: Setting) -> list[Table]:
    """Run figure 1: regression."""
    return make_tables(setting, FIGURE_1)


def figure_2(setting: Setting) -> list[Table]:
    """Run figure 2: classification."""
    return make_tables(setting, FIGURE_2)


def make_tables(setting: Setting, figure: Figure) -> list[Table]:
    """Return recall and error for every column of a figure."""
    sizes, repeats = (QUICK_SIZES, QUICK_REPEATS) if setting.quick else (figure.sizes, REPEATS)
    recipes = [Recipe(p, figure.loss) for p in sizes]
    if setting.quick:
        recipes = [recipe._replace(s=QUICK_TRUE) for recipe in recipes]
    names = list(dict.fromkeys(name for column in figure.columns for name in column.names))
    means = run_contest(setting, recipes, names, repeats).mean(axis=2)
    results = []
    for column in figure.columns:
        positions = [names.index(name) for name in column.names]
        for i, title in enumerate(("recall", figure.error)):
            rows = [
                [name, *paper_cells(figure, column, name, i), *rounded_cells(line)]
                for name, line in zip(column.names, means[:, positions, i].T, strict=True)
            ]
            header = ["", "paper, all its p", *(f"p = {p:,}" for p in sizes)]
            heading = f"{title.capitalize()} against {column.against}, mean of {repeats}"
            results.append(Table(heading, header, rows))
    by_name = {name: Curve(*means[:, positions].T) for positions, name in enumerate(names)}
    return [*results, claims_table(check_claims(by_name))]


def paper_cells(figure: Figure, column: Plots, name: str, i: int) -> list[Cell]:
    """Return what can be read of the paper's curve of a method."""
    if OURS in name or name == NOT_DRAWN:
        return [None]
    if column.against == "features" and name in figure.read_off:
        return [f"{figure.read_off[name][i]}, read off"]
    if name == scans_title("paper", 1) and column.against == "features":
        return [None]
    return [f"in {(column.recall_axis, column.error_axis)[i]}"]


def check_claims(curves: dict[str, Curve]) -> list[Claim]:
    """Return the paper's claims about figures 1 and 2 (sections 5.1 to 5.3)."""
    ours, batch = curves[scans_title("paper", 2)], curves["ProjGD"]
    others = np.max([curves[name].recall for name in RIVALS], axis=0)
    apart = np.abs(ours.recall - batch.recall).max()
    gained = (curves[scans_title("paper", 3)].error - curves[scans_title("paper", 5)].error).max()
    by_workers = [float(curves[name].recall.mean()) for name in BY_WORKERS]
    return [
        Claim(
            "ProjGD finds more than the L1 methods and the naive online ones",
            f"{span_text(batch.recall)}, the best of them {span_text(others)}",
            bool((batch.recall > others).all()),
        ),
        Claim(
            "so does OS",
            f"{span_text(ours.recall)}, the best of them {span_text(others)}",
            bool((ours.recall > others).all()),
        ),
        Claim(
            "OS finds almost as many as ProjGD", f"{apart:.3f} apart at most", bool(apart <= ALMOST)
        ),
        Claim(
            "two or three scans are enough: the error does not clearly fall after that",
            f"it falls by {gained:.3f} at most from the third to the fifth",
            bool(gained <= CLEAR),
        ),
        Claim(
            "recall falls almost monotonically with the number of workers",
            ", ".join(f"{recall:.3f}" for recall in by_workers),
            all(later <= earlier + CLEAR for earlier, later in pairwise(by_workers)),
        ),
    ]


def span_text(values: NDArray[np.float64]) -> str:
    """Return the range of values as text."""
    low, high = f"{values.min():.3f}", f"{values.max():.3f}"
    return low if low == high else f"{low} to {high}"


def rounded_cells(values: NDArray[np.float64]) -> list[Cell]:
    """Return cells with three digits."""
    return [f"{value:.3f}" for value in values]


def harder(setting: Setting) -> list[Table]:
    """Run harder problems: other noise, fewer rows, correlated, binary or unequal columns."""
    recipes, repeats = (QUICK_HARDER, QUICK_REPEATS) if setting.quick else (HARDER, HARDER_REPEATS)
    recalls = run_contest(setting, recipes.values(), IN_HARDER, repeats)[..., 0]
    rows = [
        [title, *rounded_cells(recall.mean(axis=1))]
        for title, recall in zip(recipes, recalls, strict=True)
    ]
    spread = recalls.std(axis=2).max() / np.sqrt(repeats)
    note = (
        f"Mean of {repeats}; its standard error is at most {spread:.3f}. p = 2,000 unless the"
        " table says otherwise."
    )
    return [Table("Recall", ["", *IN_HARDER], rows, [note])]
