"""Compare methods on many sets with ``ss.compare``, for the tables of docs/explanation/choosing.md.

    python benchmarks/choosing.py [--write] [--questions words genes ...] [--jobs 1] [--keep FOLDER]

Every method selects from three quarters or more of the rows, a model learns from the same rows with
these features alone, and is tested on the rest. The rows of every set are shuffled once. No method
has a parameter but the number of features. ``--keep`` names a folder for finished cells: after an
interruption the same command goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import vstack
from sklearn.datasets import load_diabetes

import streamsieve as ss
from report import load, machine, parser, table, write_section

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "choosing.md"
NOISE_COLUMNS, DRAWN_ROWS = 500, 600

Set = tuple[Any, Any]
Make = Callable[[Path], Set]


class Question(NamedTuple):
    """What is compared, on which sets, judged how."""

    sets: Mapping[str, Make]
    methods: tuple[str, ...]
    ks: tuple[int | str, ...]
    model: str = "linear"
    folds: int = 4
    seeds: int = 1
    task: str = "auto"


def sparse(*names: str, width: int | None = None) -> Make:
    """Return the rows of the files, joined."""

    def make(folder: Path) -> Set:
        parts = [load(folder, name, width) for name in names]
        return shuffled(
            vstack([X for X, _ in parts], format="csr"), np.concatenate([y for _, y in parts])
        )

    return make


def dense(*names: str, width: int | None = None, rows: int | None = None, noise: int = 0) -> Make:
    """Return the rows as arrays, ``rows`` of them, with added columns of noise."""

    def make(folder: Path) -> Set:
        X, y = sparse(*names, width=width)(folder)
        X, y = X[:rows].toarray(), y[:rows]
        return np.hstack([X, np.random.default_rng(1).standard_normal((len(y), noise))]), y

    return make


def column(name: str, target: int, rows: int | None = None, width: int | None = None) -> Make:
    """Return a set with one of its columns as the number to predict from the others."""

    def make(folder: Path) -> Set:
        X, _ = dense(name, width=width, rows=rows)(folder)
        return np.delete(X, target, axis=1), X[:, target]

    return make


def diabetes(_: Path) -> Set:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return shuffled(np.hstack([X, np.random.default_rng(1).standard_normal((len(y), 1_000))]), y)


def shuffled(X: Any, y: Any) -> Set:
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


RIVALS = "f-test", "mutual-information", "l1-svm", "trees"
WORDS: dict[str, Make] = {
    "basehock": sparse("basehock"),
    "relathe": sparse("relathe"),
    "pcmac": sparse("pcmac_asu"),
    "dexter": sparse("dexter.train", "dexter.valid", width=20_000),
    "farm-ads": sparse("farm-ads", width=54_877),
    "rec/sci": sparse("20news_rec_sci", width=26_214),
    "20news": sparse("20news.train", width=21_440),
}
GENES: dict[str, Make] = {
    "colon": dense("colon"),
    "leukemia": dense("leukemia"),
    "arcene": dense("arcene.train", "arcene.valid", width=10_000),
}
TABLES: dict[str, Make] = {
    name: dense(name, width=width)
    for name, width in {
        "german": 24,
        "svmguide3": 21,
        "splice": 60,
        "magic04": 10,
        "a8a": 123,
        "waveform": 21,
    }.items()
}
CURVED: dict[str, Make] = {
    "madelon": dense("madelon.train", "madelon.valid"),
    **{
        f"{name} + noise": dense(name, rows=DRAWN_ROWS, noise=NOISE_COLUMNS)
        for name in ("banana", "thyroid", "waveform", "heart")
    },
}
NUMBERS: dict[str, Make] = {
    "elevation": column("covtype", 0, rows=50_000),
    "a gene of leukemia": column("leukemia", 1833),
    "diabetes + noise": diabetes,
}
OF_NUMBERS = "sofs-regressor", "online-substitution", "grafting", "saola"
CHOOSES = "sofs", "saola", "alpha-investing", "fcbf"
QUESTIONS = {
    "words": Question(
        WORDS,
        (
            "sofs",
            "pet",
            "fofs",
            "saola",
            "online-substitution",
            "chi2",
            "f-test",
            "l1-svm",
            "trees",
        ),
        (10, 100),
    ),
    "genes": Question(
        GENES,
        (
            "saola",
            "fcbf",
            "mrmr",
            "online-substitution",
            "local-learning",
            "relieff",
            "sofs",
            "rfe",
            *RIVALS,
        ),
        (10, 50),
        seeds=3,
    ),
    "tables": Question(
        TABLES,
        ("sofs", "pet", "fofs", "ofs-partial", "saola", "online-substitution", *RIVALS),
        (3, 8),
    ),
    "curved": Question(
        CURVED, ("local-learning", "relieff", "saola", "sofs", *RIVALS), (5, 15), model="knn"
    ),
    "numbers": Question(
        NUMBERS,
        (*OF_NUMBERS, "f-test", "mutual-information", "lasso", "trees"),
        (5, 20),
        task="regression",
    ),
    "number of features": Question({**WORDS, **GENES}, CHOOSES, ("auto",)),
}


def asked(name: str, folder: Path, keep: Path | None, jobs: int) -> str:
    """Return the answer to a question, as a table."""
    question = QUESTIONS[name]
    comparison = ss.compare(
        {set_name: make(folder) for set_name, make in question.sets.items()},
        question.methods,
        question.ks,
        models=question.model,
        folds=question.folds,
        seeds=question.seeds,
        task=question.task,
        output=keep / name.replace(" ", "-") if keep else None,
        jobs=jobs,
        progress=True,
    )
    return text_of(comparison, question)


def text_of(comparison: ss.Comparison, question: Question) -> str:
    """Return a line per method, with the scores for every number of features of a set."""
    summary = {
        (line["method"], line["data"], line["k"], line["model"]): line
        for line in comparison.summary()
    }
    ks = [None if k == "auto" else k for k in comparison.request["ks"]]  # None where methods chose
    places = [(data, k) for data in question.sets for k in ks]
    ranks = comparison.ranks().average
    lines = []
    for model in (question.model, "own"):
        for method in question.methods:
            results = {place: summary.get((method, *place, model)) for place in places}
            if not any(results.values()):
                continue
            scores = [line and line[comparison.measure] for line in results.values()]
            good = [
                line for line in results.values() if line and line[comparison.measure] is not None
            ]
            cells = [
                "/".join(shown(results[data, k], comparison.measure) for k in ks)
                for data in question.sets
            ]
            mean = f"{100 * fmean(scores):.1f}" if None not in scores else "-"
            rank = f"{ranks[method]:.1f}" if model != "own" and method in ranks else "-"
            seconds = f"{sum(line['seconds'] for line in good) / len(ks):.2f}"
            lines.append(
                [f"`{method}`" + (", own" if model == "own" else ""), *cells, mean, rank, seconds]
            )
    return table(["method", *question.sets, "mean", "rank", "seconds"], lines)


def shown(line: dict[str, Any] | None, measure: str) -> str:
    """Return a score in hundredths, and the number of features if the method chose it."""
    if line is None or line[measure] is None:
        return "-"
    return f"{100 * line[measure]:.1f}" + (
        f" ({line['n_selected']:.0f})" if line["k"] is None else ""
    )


def main() -> None:
    options = parser((__doc__ or "").strip())
    options.add_argument("--questions", nargs="*", default=list(QUESTIONS), choices=QUESTIONS)
    options.add_argument(
        "--jobs", type=int, default=1, help="processes; times are comparable with 1"
    )
    options.add_argument("--keep", type=Path, help="folder for what is finished")
    options.add_argument(
        "--write", action="store_true", help="put the tables into docs/explanation/choosing.md"
    )
    arguments = options.parse_args()
    for name in arguments.questions:
        text = asked(name, arguments.data, arguments.keep, arguments.jobs)
        print(f"\n{name}\n\n{text}\n", flush=True)
        if arguments.write:
            write_section(name, text, PAGE)
    print(machine())


if __name__ == "__main__":
    main()
