"""Rows in shards, learned by several workers: the cost in accuracy, and the time of merges.

    python benchmarks/shards.py [--quick] [--write] [--only accuracy options numbers merging]
    [--sets a8a ...]

Accuracy: differences to one sequential pass, in points of test accuracy, means over random orders
of the rows (the same for all rules). SOFS (Wu, Hoi, Mei, Yu 2017) with its defaults, two and many
classes; `options` are other parameters, and AROW, by the rule as built alone; `numbers` is R2 of
the regressors. The workers are threads; the answer is that of processes and of Ray.

Sets without a test part are split 70/30. `uncentred` is generated: 200 columns of positive values,
learned with ``normalize="l2"``, so that all columns push a score the same way; natural deltas that
add up undamped fall apart there. ``--write`` puts the tables into docs/howto/many_machines.md.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import streamsieve as ss
from hindsight import Data, data_of, generated
from regression import PROBLEMS
from report import load, machine, parser, table, write_section
from streamsieve.blocks import RowBlock
from streamsieve.distributed.local import ThreadEngine
from streamsieve.distributed.rows import RowShards, ShardProgress, train_row_shards
from streamsieve.model import Model
from streamsieve.registry import merge_models
from streamsieve.sources.arrays import ArraySource

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "many_machines.md"
WORKERS = (2, 4, 8)
MORE_WORKERS = 16  # by the chosen rule
ORDERS, QUICK_ORDERS = 3, 1
NUMBER_SPLITS = 2
FEW = ("diabetes + noise",)  # fewer rows than are learned before the first round

REORDERED = "one pass, another order"  # of the rows: what is noise


# ---- the rules


def merge_blindly(
    shards: RowShards, base: Model, parts: Sequence[ShardProgress], times: int
) -> None:
    """Take what is merged as it is."""
    models = [part.model for part in parts if part.model is not None]
    if models:
        shards.learner.load_state(merge_models(base, models))


def equal_rounds(count: int) -> Callable[[RowShards, Any], int]:
    """Return rounds of equal size."""
    return lambda shards, _: math.ceil((shards.source.n_rows or 0) / count / shards.n_workers)


def train_in_shards(
    learner: Any, source: ArraySource, classes: NDArray[Any] | None, workers: int, rule: str
) -> Any:
    """Return what several workers, here threads, learn from a source."""
    with ExitStack() as stack:
        for name, value in RULES[rule].items():
            stack.enter_context(patch.object(RowShards, name, value, create=True))
        train_row_shards(
            learner.current_learner(),
            source,
            stack.enter_context(ThreadEngine(workers)),
            classes=classes,
        )
    return learner


CHOSEN = "as built"
RULES: dict[str, dict[str, Any]] = {  # what is another: of the module, or of RowShards
    CHOSEN: {},
    "rows count K times": {
        "times": property(lambda shards: shards.n_workers, lambda shards, times: None)
    },
    "merged without a look": {"merge": merge_blindly},
    "16 rounds, without a look": {"merge": merge_blindly, "round_size": equal_rounds(16)},
    "one merge at the end": {"merge": merge_blindly, "round_size": equal_rounds(1)},
}


# ---- the sets


def uncentred() -> Data:
    """Return positive values in all columns, of which the first 60 are informative.

    The target has an intercept, and 200 weights that point in one direction.
    """
    random = np.random.default_rng(5)
    X = np.abs(1.0 + 0.5 * random.normal(size=(30_000, 200)))
    scores = (X - X.mean(axis=0)) @ (random.normal(size=200) * (np.arange(200) < 60))
    y = np.where(scores + 0.3 * scores.std() * random.normal(size=len(X)) > 0, 1.0, -1.0)
    return Data(X[:20_000], y[:20_000], X[20_000:], y[20_000:])


def news(folder: Path, classes: NDArray[np.int64]) -> Data:
    """Return the news groups, each of them in a class."""
    parts = [load(folder, f"20news.{part}", 21_440) for part in ("train", "test")]
    return Data(*(item for X, y in parts for item in (X, classes[y.astype(int) - 1])))


def covtype(folder: Path) -> Data:
    """Return some rows of all seven classes."""
    block = RowBlock.joined(list(ss.open_source(folder / "covtype.svm.xz").row_blocks()))
    rows = np.sort(np.random.default_rng(0).permutation(block.n_rows)[:SOME_ROWS])
    return Data(block.to_dense(np.float32)[rows], block.y[rows])


SOME_ROWS = 60_000
TOPICS = np.array(
    [0, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 6, 6, 6, 6]
)  # of the news groups: comp, rec, ...
OWN_SETS: dict[str, Callable[[Path], Data]] = {
    "x1, 100,000 rows": lambda _: Data(
        *generated("x1", 10_000, 100_000, 0), *generated("x1", 10_000, 10_000, 1)
    ),
    "uncentred": lambda _: uncentred(),
    "20news": lambda folder: news(folder, np.arange(20)),
    "20news, 7 topics": lambda folder: news(folder, TOPICS),
    "covtype, 7 classes": covtype,
}


class Case(NamedTuple):
    """What is learned: a set, and how."""

    name: str
    k: int | str
    method: str = "SOFS"
    params: tuple[tuple[str, Any], ...] = ()

    def learner(self) -> Any:
        return {"SOFS": ss.SOFS, "AROW": ss.AROW}[self.method](self.k, **dict(self.params))

    def title(self) -> str:
        method = [] if self.method == "SOFS" else [self.method]
        return ", ".join(
            [*method, f"k = {self.k}", *(f"{name}={value!r}" for name, value in self.params)]
        )


BUDGETS = {
    "x1": (20, 100),
    "x1, 100,000 rows": (100,),
    "a8a": (30, 100),
    "20news_rec_sci": (10, 50, 200),
    "20news_comp_sci": (50, 200),
    "farm-ads": (10, 50, 200),
    "basehock": (20, 100),
    "madelon": (20, 100),
    "covtype": (25,),
    "codrna": (4,),
    "magic04": (5,),
    "splice": (30,),
    "twonorm": (10,),
    "waveform": (10,),
    "20news": (100, 500),
    "20news, 7 topics": (50, 300),
    "covtype, 7 classes": (25,),
}
LENGTH = (("normalize", "l2"),)
CASES = [Case(name, k) for name, ks in BUDGETS.items() for k in ks] + [
    Case("uncentred", 100, params=LENGTH)
]
OPTIONS = [
    Case(name, *rest)
    for name in ("a8a", "20news_rec_sci", "20news, 7 topics")
    for rest in (
        (50, "SOFS", (("criterion", "confidence"),)),
        (50, "SOFS", (("forget", 2_000),)),
        (50, "SOFS", (("normalize", "standard"),)),
        (50, "SOFS", (("class_weight", "balanced"),)),
        (50, "SOFS", (("curve", True),)),
        ("auto",),
        (50, "AROW"),
    )
]
QUICK_SETS = ("a8a", "farm-ads", "splice", "uncentred")


# ---- accuracy


class Found(NamedTuple):
    """What one run gave, beside a sequential pass over the same rows."""

    case: Case
    rule: str
    workers: int
    rows: int
    sequential: float  # accuracy in %
    difference: float  # in points
    overlap: float  # the fraction of the features of the sequential pass that are selected too


def measure(folder: Path, cases: Sequence[Case], order: int, rules: Sequence[str]) -> list[Found]:
    """Return the results of all rules on cases of one set, with the rows in one order."""
    warnings.simplefilter("ignore")
    name = cases[0].name
    data = OWN_SETS[name](folder) if name in OWN_SETS else data_of(folder, name)
    X, y, X_test, y_test = data.parts(order)
    results = []
    for case in cases:
        alone = case.learner().fit(X, y)
        selected, accuracy = alone.selection().indices, 100 * alone.score(X_test, y_test)
        other = np.random.default_rng(1_000 + order).permutation(len(y))
        again = case.learner().fit(X[other], y[other])
        results.append(
            Found(
                case,
                REORDERED,
                1,
                len(y),
                accuracy,
                100 * again.score(X_test, y_test) - accuracy,
                1.0,
            )
        )
        for rule in rules:
            for workers in (*WORKERS, *([MORE_WORKERS] if rule == CHOSEN else [])):
                learner = train_in_shards(
                    case.learner(), ArraySource(X, y), np.unique(y), workers, rule
                )
                difference = 100 * learner.score(X_test, y_test) - accuracy
                same = np.intersect1d(learner.selection().indices, selected).size / max(
                    1, selected.size
                )
                results.append(Found(case, rule, workers, len(y), accuracy, difference, same))
    return results


def measured(options: Any, cases: Sequence[Case], rules: Sequence[str]) -> list[Found]:
    """Return the results of all cases, several at a time."""
    names = [
        name
        for name in dict.fromkeys(case.name for case in cases)
        if not options.sets or name in options.sets
    ]
    names = [name for name in names if not options.quick or name in QUICK_SETS]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(
                measure, options.data, [case for case in cases if case.name == name], order, rules
            )
            for name in names
            for order in range(QUICK_ORDERS if options.quick else ORDERS)
        ]
        results = []
        for job in jobs:
            results += job.result()
            print(results[-1].case.name, file=sys.stderr, flush=True)
        return results


def mean_of(results: Sequence[Found], field: str) -> float:
    return float(np.mean([getattr(result, field) for result in results]))


def of_rules(results: Sequence[Found]) -> str:
    """Return means and worst cases of all rules."""
    lines = []
    for rule in (rule for rule in RULES if any(result.rule == rule for result in results)):
        cells = []
        for workers in (*WORKERS, MORE_WORKERS):
            by_case = [
                mean_of(runs, "difference")
                for case in dict.fromkeys(result.case for result in results)
                if (
                    runs := [
                        result
                        for result in results
                        if (result.case, result.rule, result.workers) == (case, rule, workers)
                    ]
                )
            ]
            cells.append(f"{np.mean(by_case):+.2f} ({min(by_case):+.2f})" if by_case else "")
        lines.append([rule, *cells])
    return table(
        ["mean (worst)", *(f"K = {workers}" for workers in (*WORKERS, MORE_WORKERS))], lines
    )


def of_cases(results: Sequence[Found]) -> str:
    """Return all cases by the chosen rule."""
    lines = []
    for case in dict.fromkeys(result.case for result in results):
        runs = [result for result in results if result.case == case and result.rule == CHOSEN]
        by_workers = [
            [result for result in runs if result.workers == workers]
            for workers in (*WORKERS, MORE_WORKERS)
        ]
        cells = [f"{mean_of(some, 'difference'):+.2f}" for some in by_workers]
        overlap = f"{100 * mean_of(by_workers[WORKERS.index(8)], 'overlap'):.0f} %"
        again = [result for result in results if (result.case, result.rule) == (case, REORDERED)]
        line_cells = [case.title(), f"{runs[0].rows:,}", f"{mean_of(runs, 'sequential'):.1f}"]
        line_cells.append(f"{mean_of(again, 'difference'):+.2f}" if again else "")
        lines.append([case.name, *line_cells, *cells, overlap])
    head = [
        "set",
        "",
        "rows",
        "one pass",
        "another order",
        *(f"K = {workers}" for workers in (*WORKERS, MORE_WORKERS)),
        "same at 8",
    ]
    return table(head, lines)


def both(results: Sequence[Found]) -> str:
    return f"{of_rules(results)}\n\n{of_cases(results)}"


# ---- the cost of a merge


def merging(options: Any) -> str:
    """Return CPU seconds to merge models, and how many rows are learned in that time.

    The models have so many touched features.
    """
    lines = []
    for n_features in (10_000, 100_000) if options.quick else (10_000, 100_000, 1_000_000):
        rows, random = n_features // 10, np.random.default_rng(0)
        ids = np.sort(random.permutation(n_features).reshape(rows, 10), axis=1)
        labels = random.integers(0, 2, rows)
        block = RowBlock(
            np.arange(0, n_features + 1, 10),
            ids.ravel(),
            np.ones(n_features, np.float32),
            labels,
            n_features,
        )
        base = (
            ss.SOFS(100, normalize="l2").start(n_features, [0, 1]).partial_fit_block(block).model()
        )
        for workers in (4, 8):
            seconds, parts = [], []
            for _ in range(workers):
                part: Any = ss.SOFS.method.load(base.copy())
                start = time.process_time()
                part.partial_fit_block(block)
                seconds.append(time.process_time() - start)
                parts.append(part.model())
            times = []
            for _ in range(3):
                start = time.process_time()
                merge_models(base, parts)
                times.append(time.process_time() - start)
            per_row = min(seconds) / rows
            lines.append(
                [
                    f"{n_features:,}",
                    str(workers),
                    f"{min(times):.3f}",
                    f"{min(times) / per_row:,.0f}",
                ]
            )
    return table(
        [
            "touched features",
            "K",
            "CPU seconds per merge",
            "rows of 10 values learned in that time",
        ],
        lines,
    )


# ---- numbers


def numbers(options: Any) -> str:
    """Return R2 on test rows: of one pass, and differences to it."""
    lines = []
    for name, problem in PROBLEMS.items():
        if name in FEW:
            continue
        for method in (ss.SOFSRegressor, ss.AROWRegressor):
            scores_by_workers: dict[int, list[float]] = {workers: [] for workers in (1, *WORKERS)}
            for seed in range(1 if options.quick else NUMBER_SPLITS):
                X, y, X_test, y_test = problem.make(options.data, seed)
                for workers, scores in scores_by_workers.items():
                    learner = train_in_shards(
                        method(problem.k), ArraySource(X, y), None, workers, CHOSEN
                    )
                    scores.append(learner.score(X_test, y_test))
            alone = np.array(scores_by_workers.pop(1))
            cells = [
                f"{np.mean(np.array(scores) - alone):+.3f}" for scores in scores_by_workers.values()
            ]
            lines.append(
                [name, f"{method.__name__}, k = {problem.k}", f"{alone.mean():.3f}", *cells]
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return table(["set", "", "one pass", *(f"K = {workers}" for workers in WORKERS)], lines)


PARTS: dict[str, Callable[[Any], str]] = {
    "numbers": numbers,
    "accuracy": lambda options: both(measured(options, CASES, list(RULES))),
    "options": lambda options: both(measured(options, OPTIONS, [CHOSEN])),
    "merging": merging,
}


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--quick", action="store_true", help="a few sets in one order")
    options.add_argument(
        "--only", nargs="*", choices=PARTS, default=list(PARTS), help="some of the tables"
    )
    options.add_argument("--jobs", type=int, default=2, help="how many sets at a time")
    options.add_argument(
        "--write", action="store_true", help="put the tables into docs/howto/many_machines.md"
    )
    chosen = options.parse_args()
    if chosen.write and (chosen.quick or chosen.sets):
        options.error("--write takes all sets")
    warnings.simplefilter("ignore")
    for name in chosen.only:
        text = PARTS[name](chosen)
        print(f"\n{text}", flush=True)
        if chosen.write and PAGE.exists():
            write_section(f"shards-{name}", f"{machine()}\n\n{text}", PAGE)


if __name__ == "__main__":
    main()
