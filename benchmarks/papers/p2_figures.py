"""All comparisons of Yang, Fujimaki, Kusumura, Liu (2016), section 5, and more of the same kind.

    python benchmarks/papers/p2_figures.py [--part figures|lines|real|speed] [--repeats N] [--jobs N] [--write]

figures   Recall, and the distance to the true weights or the fraction of wrong classes on a test set, against the
          number of features p, of scans and of workers: the left, middle and right columns of figures 1 and 2. The
          paper's noise ("variance 0.1^2") does not give its plots; a standard deviation of 3, a tenth of the signal's
          variance, comes near them in recall (--noise 0.1 1 3 for others). 30 repeats, as there.
lines     Recall on these problems and on harder ones: less noise, fewer rows, correlated, binary, unequal columns.
real      Accuracy on real sets with 10, 50 and 100 features.
speed     Column data per second, from a generator (--features 2000000 for the full size).

Without --part, all of them. --write puts the tables into docs/methods/online-substitution.md.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))
import p2_real
import p2_speed
from data import parser
from p2_contest import SCANS, WORKERS, contest, scans_of, there, workers_of
from p2_data import TRUE, Setting
from report import machine, table, write_section

PAGE = Path(__file__).parents[2] / "docs" / "methods" / "online-substitution.md"
LOSSES = {"regression": "squared", "classification": "squared_hinge"}
SIZES = {"regression": (2000, 4000, 6000), "classification": (1000, 3000, 5000)}
REPEATS = {"figures": 30, "lines": 10, "real": 5, "speed": 1}

BY_SIZE = (
    scans_of("pool", 2),
    scans_of("pool", 1),
    scans_of("paper", 2),
    scans_of("paper", 1),
    "ProjGD",
    "Grafting",
    "L1 coordinate descent",
    "L0 coordinate descent",
    "Lasso or L1",
    "true features",
)
BY_SCANS = tuple(scans_of(solver, scans) for solver in ("pool", "paper") for scans in SCANS)
BY_WORKERS = tuple(map(workers_of, WORKERS))
FIGURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "features": ("left", BY_SIZE),
    "scans": ("middle", BY_SCANS),
    "workers": ("right", BY_WORKERS),
}
AXES = {  # of the paper's plots: recall, error
    ("regression", "features"): ("0.64 to 0.80", "0.20 to 0.30"),
    ("regression", "scans"): ("0.62 to 0.76", "0.22 to 0.32"),
    ("regression", "workers"): ("0.67 to 0.77", "0.21 to 0.28"),
    ("classification", "features"): ("0.40 to 0.65", "0.12 to 0.24"),
    ("classification", "scans"): ("0.35 to 0.65", "0.12 to 0.22"),
    ("classification", "workers"): ("0.46 to 0.64", "0.12 to 0.17"),
}
NOTES = (
    "Of the paper's plots only the ranges of their axes can be read from its text: all its curves are within them. "
    "Its OS scans twice."
)

LINES = {
    "p = 2,000, noise 3": Setting(2000),
    "noise 1": Setting(2000, noise=1.0),
    "noise 0.1": Setting(2000, noise=0.1),
    "p = 4,000, noise 3": Setting(4000),
    "p = 6,000, noise 3": Setting(6000),
    "n = 658, noise 0.1": Setting(2000, noise=0.1, n=658),
    "AR(0.5), noise 1": Setting(2000, noise=1.0, design="ar"),
    "blocks of correlation 0.5, noise 1": Setting(2000, noise=1.0, design="blocks"),
    "1 % binary, noise 1": Setting(2000, noise=1.0, design="binary"),
    "scales over 10^3, noise 1": Setting(2000, noise=1.0, design="scaled"),
    **{
        f"{loss.replace('_', ' ')}, p = {p:,}": Setting(p, loss)
        for loss in ("squared_hinge", "logistic")
        for p in SIZES["classification"]
    },
}
IN_LINES = (scans_of("pool", 2), scans_of("pool", 1), scans_of("paper", 2), "ProjGD", "Lasso or L1")


def figure(kind: str, against: str, asked: argparse.Namespace, noise: float) -> str:
    """The tables of one column of a figure."""
    column, wanted = FIGURES[against]
    names = there(wanted, asked.true)
    if not names:
        return ""
    sizes = asked.sizes or SIZES[kind]
    settings = [Setting(p, LOSSES[kind], noise, s=asked.true) for p in sizes]
    means = contest(settings, names, asked.repeats, asked.jobs).mean(axis=2)
    error = "distance to the true weights" if kind == "regression" else "wrong classes"
    of_noise = f", noise {noise:g}" if kind == "regression" else ""
    parts = [f"**{kind.capitalize()} against {against}**{of_noise} (the paper's figure {1 + (kind != 'regression')}, "]
    parts[0] += f"{column}; mean of {asked.repeats})"
    for i, title in enumerate(("recall", error)):
        header = (f"{title}; the paper's axis {AXES[kind, against][i]}", *(f"p = {p:,}" for p in sizes))
        parts.append(table(header, [[name, *numbers(means[:, at, i])] for at, name in enumerate(names)]))
    return "\n\n".join(parts)


def numbers(values: NDArray[np.float64]) -> list[str]:
    return [f"{value:.3f}" for value in values]


def figures(asked: argparse.Namespace) -> str:
    cases = [("regression", noise) for noise in asked.noise] + [("classification", 0.0)]
    found = [figure(kind, against, asked, noise) for kind, noise in cases for against in asked.against]
    return "\n\n".join([*filter(None, found), NOTES, machine("scikit-learn")])


def lines(asked: argparse.Namespace) -> str:
    names = there(IN_LINES, asked.true)
    settings = [setting._replace(s=asked.true) for setting in LINES.values()]
    if asked.sizes:
        settings = [setting._replace(p=asked.sizes[0]) for setting in settings]
    recalls = contest(settings, names, asked.repeats, asked.jobs)[..., 0]
    rows = [[title, *numbers(of.mean(axis=1))] for title, of in zip(LINES, recalls, strict=True)]
    spread = recalls.std(axis=2).max() / np.sqrt(asked.repeats)
    notes = f"Recall, mean of {asked.repeats}; its standard error is {spread:.3f} at most. p = 2,000 if not said. "
    notes += "Steps that diverge find nothing."
    return "\n\n".join([table(("", *names), rows), notes, machine("scikit-learn")])


PARTS: dict[str, Callable[[argparse.Namespace], str]] = {
    "figures": figures,
    "lines": lines,
    "real": p2_real.tables,
    "speed": p2_speed.tables,
}


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    known = parser(__doc__ or "")
    known.add_argument("--part", choices=PARTS, nargs="*", default=list(PARTS), help="all by default")
    known.add_argument("--repeats", type=int, help=", ".join(f"{part} {n}" for part, n in REPEATS.items()))
    known.add_argument("--jobs", type=int, default=1, help="problems at a time, each in a process of its own")
    known.add_argument(
        "--against", choices=FIGURES, nargs="*", default=list(FIGURES), help="of figures: all by default"
    )
    known.add_argument("--noise", type=float, nargs="*", default=[3.0], help="of figures: standard deviations")
    known.add_argument("--sizes", type=int, nargs="*", help="of figures: numbers of features; of lines the first")
    known.add_argument("--true", type=int, default=TRUE, help="features that matter, and are selected")
    known.add_argument("--k", type=int, nargs="*", default=[10, 50, 100], help="of real: features to select")
    known.add_argument("--features", type=int, default=100_000, help="of speed")
    known.add_argument("--write", action="store_true", help="put the tables into docs/methods/online-substitution.md")
    return known.parse_args(arguments)


def command(part: str, asked: argparse.Namespace) -> str:
    """What makes the tables of a part, for those who read them."""
    own = {
        "figures": f"--noise {' '.join(f'{noise:g}' for noise in asked.noise)}",
        "speed": f"--features {asked.features}",
    }
    words = ["python benchmarks/papers/p2_figures.py --part", part, f"--repeats {asked.repeats}", own.get(part, "")]
    return f"`{' '.join(filter(None, words))}`"


def main(arguments: Sequence[str] | None = None) -> None:
    asked = options(arguments)
    warnings.simplefilter("ignore")
    for part in asked.part:
        of_part = argparse.Namespace(**{**vars(asked), "repeats": asked.repeats or REPEATS[part]})
        text = f"{command(part, of_part)}\n\n{PARTS[part](of_part)}"
        print(text, flush=True)
        if asked.write:
            write_section(part, text, PAGE)


if __name__ == "__main__":
    main()
