"""Random combinations of options: promises about each option must hold for all together.

    python -m tests.fuzz.combinations --seeds 0:2000 [--only resume]

A seed gives a small data set and a combination of file formats, reading options, method, engine and
checkpoints, which goes through the command line and through Python. A violated promise is printed
with its seed and with commands that show it; the data they need stays in the folder that is named
there.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from streamsieve.registry import METHODS, find_method

from .promises import PROMISES, try_promises

COMMON = (
    "sofs",
    "sofs-regressor",
    "saola",
    "online-substitution",
    "local-learning",
)  # few kernels to compile
SPARSE, TABLES = ("svm", "svm.gz", "npz", "parquet", "arrow"), ("csv", "tsv", "parquet", "arrow")
REDUCED = "svm", "svm.gz", "csv", "tsv.gz", "parquet", "arrow", "npz"
PYTHON = "path", "sequences", "source", "open source", "memory", "fit_source", "fit"


@dataclass(frozen=True)
class Combination:
    """A small data set and its options; ``str`` gives the expression that makes it again."""

    seed: int = 0  # of the data
    n_rows: int = 40
    n_columns: int = 6
    labels: str = "two"  # two, three, words, numbers
    layout: str = "sparse"  # sparse, table, columns, named columns
    suffix: str = "svm"
    new_suffix: str = "svm"  # of the rows that apply and predict read
    reduced_suffix: str = "svm"
    renumber: bool = False
    titles: str = (
        "column"  # what a table calls its columns: this and a number; apply writes x and a number
    )
    texts: int = 0
    dates: int = 0
    truths: int = 0
    gaps: bool = False
    zero_based: bool = False
    says_base: bool = False  # to apply and predict once more
    names: bool = False
    drop: tuple[int, ...] = ()
    only: tuple[int, ...] | None = None
    strings: str = "auto"
    missing: str = "error"
    method: str = "sofs"
    params: tuple[tuple[str, Any], ...] = (("n_features_to_select", 3),)
    classes: bool = False
    groups: str = ""  # a file of lines or of pairs
    random_state: int | None = None
    workers: int = 0  # of the local engine; 0 for no engine
    checkpoint_every: int = 0
    stop: int = 1  # the run is killed at this report of its progress
    test: bool = False
    holds_out: bool = False  # rows to test on, if no others are given
    weighted: bool = False  # by a column
    python: str = "path"  # one of PYTHON: what Python is given

    def __str__(self) -> str:
        given = (
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if getattr(self, f.name) != f.default
        )
        return f"Combination({', '.join(given)})"

    @property
    def is_table(self) -> bool:
        return self.layout == "table"

    @property
    def has_titles(self) -> bool:
        return self.layout in ("table", "named columns")

    @property
    def new_is_table(self) -> bool:
        return self.has_titles or self.new_suffix == "csv"

    @property
    def reduced_is_table(self) -> bool:
        return self.reduced_suffix[:3] in ("csv", "tsv") or (
            self.new_is_table and self.reduced_suffix in TABLES
        )

    @property
    def first_id(self) -> int:
        """Return what the training file calls its first feature."""
        return int(
            self.layout == "sparse" and self.suffix.startswith("svm") and not self.zero_based
        )

    @property
    def kept(self) -> list[int]:
        """Return the columns that drop and only leave."""
        return [
            i
            for i in range(self.n_columns)
            if (self.only is None or i in self.only) and i not in self.drop
        ]

    @property
    def is_quick(self) -> bool:
        """Return whether few kernels are compiled and no processes are started."""
        in_memory = self.suffix == "npz" or (
            find_method(self.method).reads != "rows" and "columns" not in self.layout
        )
        return self.method in COMMON and (not self.workers or in_memory)

    def written(self, column: int) -> str:
        """Return a column as a user writes it: by its name if it has one, else by its id."""
        if self.has_titles:
            return f"{self.titles}{column}"
        return f"word{column}" if self.names and column % 2 else str(column + self.first_id)


def draw(number: random.Random) -> Combination:
    """Return a combination, most often one that is not refused."""

    def happens(probability: float) -> bool:
        return number.random() < probability

    n_columns = number.randint(3, 12)
    layout = number.choices(("sparse", "table", "columns", "named columns"), (8, 9, 1, 1))[0]
    is_table, alike = layout == "table", TABLES if layout in ("table", "named columns") else SPARSE
    suffix = number.choice(("parquet", "arrow") if "columns" in layout else alike)
    new = suffix if happens(0.5) and "columns" not in layout else number.choice((*alike, "csv"))
    method = number.choice(COMMON if happens(0.7) else tuple(METHODS))
    learner = find_method(method)
    parameter_names, predicts = learner.parameter_names, learner.predicts
    labels = number.choices(("two", "three", "words", "numbers"), (4, 1, 1, 2))[0]
    if labels == "words" and any(name.startswith("svm") for name in (suffix, new)):
        labels = "two"  # svmlight text has numbers as labels
    if labels == "three" and len(learner.targets) == 2 and predicts and happens(0.97):
        labels = "two"  # linear models tell two classes apart
    if (
        (labels == "numbers") != ("numbers" in learner.targets)
        and len(learner.targets) == 1
        and happens(0.97)
    ):
        labels = "numbers" if "numbers" in learner.targets else "two"
    options = {
        "n_features_to_select": (0.9, (1, 2, 3, 4, 6, 0.5 if learner.reads == "rows" else 3)),
        "n_epochs": (0.3, (2, 3)),
        "max_cells": (0.2, (8, 64)),
        "normalize": (0.3, (False, "l2", "standard")),
    }
    drawn = {
        name: number.choice(values) for name, (share, values) in options.items() if happens(share)
    }
    texts = number.choice((0, 0, 1, 2)) * is_table
    gaps = is_table and happens(0.3)
    fill = number.choice(("zero", "mean", "skip" if "missing" in parameter_names else "mean"))
    return Combination(
        seed=number.randrange(1000),
        n_rows=number.randint(24, 60),
        n_columns=n_columns,
        labels=labels,
        layout=layout,
        suffix=suffix,
        new_suffix=new,
        reduced_suffix=number.choice(REDUCED),
        renumber=not is_table and happens(0.3),
        titles="x" if happens(0.1) else "column",
        texts=texts,
        dates=int(is_table and happens(0.3)),
        truths=int(is_table and happens(0.3)),
        gaps=gaps,
        zero_based=happens(0.35 if layout == "sparse" else 0.05),
        says_base=happens(0.5),
        names=happens(0.3 if layout in ("sparse", "columns") else 0.02),
        drop=(
            tuple(sorted(number.sample(range(n_columns), number.randint(1, 2))))
            if happens(0.3)
            else ()
        ),
        only=(
            tuple(sorted(number.sample(range(n_columns), number.randint(2, n_columns))))
            if happens(0.2)
            else None
        ),
        strings=(
            number.choice(("auto", "onehot", "hash", "drop", "error"))
            if texts and happens(0.4)
            else "auto"
        ),
        missing=fill if (gaps and happens(0.95)) or happens(0.1) else "error",
        method=method,
        params=tuple((name, value) for name, value in drawn.items() if name in parameter_names),
        classes=labels != "numbers" and happens(0.2 if learner.reads == "rows" else 0.01),
        groups=(
            number.choice(("lines", "pairs"))
            if not texts and happens(0.7 if learner.supports_groups else 0.01)
            else ""
        ),
        random_state=number.randrange(100) if "random_state" in parameter_names else None,
        workers=number.randint(1, 2) if happens(0.04) else 0,
        checkpoint_every=number.randint(3, 20) if happens(0.4) else 0,
        stop=number.randint(1, 4),
        test=happens(0.3 if predicts else 0.01),
        python=number.choice(PYTHON),
        holds_out=happens(0.2 if predicts else 0.01),
        weighted=is_table and happens(0.3 if learner.reads == "rows" else 0.02),
    )


def combination_of(seed: int) -> Combination:
    return draw(random.Random(seed))


def run(combination: Combination, folder: Path) -> list[str]:
    """Return the promises that are violated, in words."""
    return try_promises(combination, folder).violations


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", default="0:2000", help="FIRST:STOP, or one seed")
    parser.add_argument("--only", choices=PROMISES, help="check this promise alone")
    options = parser.parse_args()
    first, colon, stop = options.seeds.partition(":")
    folder, counts, bad, began = Path(tempfile.mkdtemp()), Counter[str](), [], time.monotonic()
    for seed in range(int(first), int(stop) if colon else int(first) + 1):
        combination, place = combination_of(seed), folder / str(seed)
        place.mkdir()
        trial = try_promises(combination, place, options.only)
        counts += trial.counts
        shutil.rmtree(trial.out)
        if not trial.violations:
            shutil.rmtree(place)
            continue
        bad.append(seed)
        trial.out.mkdir()
        print(
            f"seed {seed}: {combination}",
            *trial.violations,
            *trial.commands,
            sep="\n    ",
            end="\n\n",
            flush=True,
        )
    for name, count in sorted(counts.items()):
        print(f"{count:6d} {name}")
    print(f"{len(bad)} with violations in {time.monotonic() - began:.0f} s: {bad}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
