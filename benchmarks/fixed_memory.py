"""SOFS in fixed memory: the cost of ``max_cells``, its rivals, and whether memory is flat.

    python benchmarks/fixed_memory.py [--write] [--long] [--sets relathe ...]

SOFS: Wu, Hoi, Mei, Yu 2017. Three tables:

- sets: test accuracy in % with ``max_cells=2**14`` and with exact memory, both with rows of length
  1, on every two-class set of hindsight.py with its three budgets, six orders of the rows.
- race: a stream with about ten million different ids, and methods that have as much memory. Every
  row has 100 draws of an id, of which rank r has a probability of about 0.05 / r**1.05; a rank
  beyond 2**62 is an id that never comes twice. 200 of the ranks from 20 to 1,000 are planted: their
  weights are normal, 0.5 further from 0 than drawn, and a row is of the second class if the sum of
  the weights of the planted ids in it, each counted once, is above 0. Values are 1. Step and L2
  penalty of the rivals are the best of 16 combinations, found on the test rows.
- memory: the resident memory of the process after 10**6, 10**7 and, with ``--long``, 10**8
  different ids.

``--write`` puts the tables into docs/explanation/performance.md.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sketches
import streamsieve as ss
from hindsight import SETS, data_of
from report import apart, machine, parser, table, write_section
from streamsieve.blocks import RowBlock

CELLS = 2**14
FORMS: list[dict[str, Any]] = [{"normalize": "l2"}, {"normalize": "l2", "max_cells": CELLS}]
ORDERS = 6

PLANTED, BUDGET = 200, 200
ROWS, TEST_ROWS, BLOCK_ROWS, DRAWS = 220_000, 20_000, 10_000, 100
TAIL = (
    20.0  # a rank is u**-TAIL, with u uniform: a probability of about 1 / TAIL / r**(1 + 1 / TAIL)
)
MAX_ID = 2**62
SPREAD = (
    0x9E3779B97F4A7C15 % MAX_ID | 1
)  # odd: ranks times this, modulo 2**62, are ids all over the range
RACE_CELLS = (2**12, 2**14)
RATES = (30.0, 100.0, 300.0, 1000.0)
PENALTIES = (0.0, 3e-6, 1e-5, 3e-5)

FLAT_IDS = (10**6, 10**7, 10**8)
FLAT_ROW, FLAT_BLOCK = 100, 1000

NOTES = """
`memory`: of the cells, or of the sketch or the weights of the rivals; what is kept of the k
features comes on top with every method. `seconds`: of learning, from memory and with kernels
compiled, on a machine that had other work. Exact memory looks up 10 million ids in a table that
outgrows the cache. In leukemia every one of 50 rows has all 7,129 values, so that a third of the
features share their cell with another one in every row: with few features to keep, some of those
enter that are strong together and not alone.
"""

Ids = NDArray[np.int64]
Scores = NDArray[np.float64]


# ---- sets


def accuracies(name: str, folder: Path) -> NDArray[np.float64]:
    """Test accuracy in % by budget, form and order."""
    data, budgets = data_of(folder, name), SETS[name].budgets
    scores = np.empty((len(budgets), len(FORMS), ORDERS))
    for order in range(ORDERS):
        X, y, X_test, y_test = data.parts(order)
        for i, k in enumerate(budgets):
            for j, form in enumerate(FORMS):
                scores[i, j, order] = 100 * ss.SOFS(k, **form).fit(X, y).score(X_test, y_test)
    return scores


def sets(names: Sequence[str], folder: Path) -> str:
    lines, gaps = [], {}
    for name in names:
        start = time.perf_counter()
        means = accuracies(name, folder).mean(axis=2)
        gaps[name] = float((means[:, 1] - means[:, 0]).mean())
        cells = [cell for exact, shared in means for cell in (f"{exact:.1f}", f"{shared:.1f}")]
        budgets = ", ".join(map(str, SETS[name].budgets))
        lines.append(
            [name, f"{SETS[name].width:,}", budgets, *(cells + ["-"] * 6)[:6], f"{gaps[name]:+.2f}"]
        )
        print(
            f"{name}: {gaps[name]:+.2f}, {time.perf_counter() - start:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    worst = min(gaps, key=gaps.__getitem__)
    header = ["set", "features", "k", *["exact", "shared"] * 3, "difference"]
    return (
        f"{table(header, lines)}\n\nMean difference of {len(gaps)} sets:"
        f" {np.mean(list(gaps.values())):+.2f} points; the least on {worst}: {gaps[worst]:+.2f}."
    )


# ---- the race


class Stream(NamedTuple):
    blocks: list[RowBlock]
    test: RowBlock
    planted: Ids
    n_ids: int


def id_of(ranks: NDArray[np.int64]) -> Ids:
    return ((ranks.astype(np.uint64) * np.uint64(SPREAD)) % np.uint64(MAX_ID)).astype(np.int64)


def rows_of(random: np.random.Generator, ranks: Ids, weights: Scores) -> RowBlock:
    """Return some rows; ``ranks`` and ``weights`` are the planted ones."""
    drawn = random.random((BLOCK_ROWS, DRAWS)) ** -TAIL
    beyond = drawn >= MAX_ID
    drawn[beyond] = random.random(np.count_nonzero(beyond)) * MAX_ID
    by_row = np.sort(drawn.astype(np.int64), axis=1)
    first = np.diff(by_row, axis=1, prepend=-1) != 0  # an id once per row
    at = np.minimum(np.searchsorted(ranks, by_row), ranks.size - 1)
    score = np.where(first & (ranks[at] == by_row), weights[at], 0.0).sum(axis=1)
    ids = np.where(first, id_of(by_row), MAX_ID)
    ids.sort(axis=1)
    lengths = first.sum(axis=1)
    indices = ids[ids < MAX_ID]
    y = np.where(score > 0, 1.0, -1.0)
    values = np.ones(indices.size, np.float32)
    return RowBlock(np.append(0, np.cumsum(lengths)), indices, values, y, MAX_ID)


def zipf() -> Stream:
    random = np.random.default_rng(0)
    ranks = np.sort(random.choice(np.arange(20, 1000), PLANTED, replace=False))
    weights = random.standard_normal(PLANTED)
    weights += 0.5 * np.sign(weights)
    blocks = [rows_of(random, ranks, weights) for _ in range(ROWS // BLOCK_ROWS)]
    test = RowBlock.joined(blocks[-TEST_ROWS // BLOCK_ROWS :])
    blocks = blocks[: -TEST_ROWS // BLOCK_ROWS]
    n_ids = np.unique(np.concatenate([block.indices for block in blocks])).size
    return Stream(blocks, test, id_of(ranks), n_ids)


class Entry(NamedTuple):
    """What a method made of the stream."""

    accuracy: float  # of the test rows, in %
    found: int | None  # of the planted ids, if it names any
    seconds: float
    details: str = ""


def sofs(stream: Stream, **params: Any) -> Entry:
    start = time.perf_counter()
    selector = ss.SOFS(BUDGET, normalize="l2", **params).fit_source(stream.blocks, classes=[-1, 1])
    seconds = time.perf_counter() - start
    right = np.mean(selector.learner.results.predictor()(stream.test).labels == stream.test.y)
    return Entry(
        100 * float(right),
        np.intersect1d(selector.selection().indices, stream.planted).size,
        seconds,
    )


def hashed(stream: Stream, cells: int) -> Entry:
    """Return SOFS' own learner, diagonal AROW, on hashed features.

    Every cell has a weight and a precision.
    """

    def block_of(block: RowBlock) -> RowBlock:
        from scipy.sparse import csr_array

        mixed = block.indices.astype(np.uint64) * np.uint64(SPREAD) >> np.uint64(20)
        signs = np.where(mixed & np.uint64(1), 1.0, -1.0)
        columns = ((mixed >> np.uint64(1)) % np.uint64(cells)).astype(np.int64)
        rows = csr_array(
            (block.values * signs, columns, block.indptr.copy()), shape=(block.n_rows, cells)
        )
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return RowBlock(rows.indptr, rows.indices, rows.data.astype(np.float32), block.y, cells)

    blocks, test = list(map(block_of, stream.blocks)), block_of(stream.test)
    start = time.perf_counter()
    learner = ss.AROW(normalize="l2").fit_source(blocks, classes=[-1, 1])
    seconds = time.perf_counter() - start
    return Entry(
        100 * float(np.mean(learner.results.predictor()(test).labels == test.y)), None, seconds
    )


Kernel = Callable[..., None]


class Rival(NamedTuple):
    """A learner of ``sketches``: how it learns, predicts, and its arrays and ids."""

    learn: Kernel
    predict: Sequence[Kernel]
    state: tuple[NDArray[Any], ...]
    ids: Ids | None = None


def hashing(width: int) -> Rival:
    state = np.zeros(width, np.float32), np.array([0.0, 1.0])
    return Rival(sketches.hashed_sgd, [sketches.hashed_sgd], state)


def sketched(learn: Kernel, predict: Sequence[Kernel], depth: int, width: int) -> Rival:
    ids = np.full(BUDGET, -1, np.int64)
    table, weights = np.zeros(1 << (4 * BUDGET).bit_length(), np.int32), np.zeros(BUDGET)
    sketch = np.zeros((depth, width // depth), np.float32)
    return Rival(learn, predict, (sketch, table, ids, weights, np.array([0.0, 1.0])), ids)


def awm(width: int) -> Rival:
    """Return AWM, which may also predict with its active set alone, as MISSION does."""
    return sketched(sketches.awm, [sketches.awm, sketches.mission], 1, width)


def mission(width: int) -> Rival:
    return sketched(sketches.mission, [sketches.mission], 3, width)


def best_of(stream: Stream, start: Callable[[int], Rival], width: int) -> Entry:
    """Return a rival with the step, penalty and prediction that are best on the test rows."""
    entries, y = [], np.asarray(stream.test.y) > 0
    for rate, penalty in product(RATES, PENALTIES):
        rival, t, began = start(width), 0, time.perf_counter()
        for block in stream.blocks:
            rival.learn(
                *rival.state, *arguments(block), rate, penalty, t, True, np.empty(block.n_rows)
            )
            t += block.n_rows
        seconds = time.perf_counter() - began
        n_found = None if rival.ids is None else np.intersect1d(rival.ids, stream.planted).size
        for predict in rival.predict:
            scores = np.empty(stream.test.n_rows)
            predict(*rival.state, *arguments(stream.test), rate, penalty, t, False, scores)
            accuracy = 100 * float(np.mean((scores > 0) == y))
            entries.append(Entry(accuracy, n_found, seconds, f"step {rate:g}, L2 {penalty:g}"))
    return max(entries)


def arguments(block: RowBlock) -> tuple[Any, ...]:
    lengths = np.diff(block.indptr)
    x = block.values / np.repeat(np.sqrt(np.maximum(1, lengths)), lengths)
    return block.indptr, block.indices, x, (np.asarray(block.y) > 0).astype(np.int64)


def race() -> str:
    stream = zipf()
    print(f"{stream.n_ids:,} ids", file=sys.stderr, flush=True)
    entries = {("SOFS, exact", f"{8 * stream.n_ids / 1e6:.0f} MB and the ids"): sofs(stream)}
    for cells in RACE_CELLS:
        memory = f"{8 * cells // 1024} KiB"
        entries |= {
            ("SOFS, max_cells", memory): sofs(stream, max_cells=cells),
            ("AWM", memory): best_of(stream, awm, 2 * cells),
            ("MISSION", memory): best_of(stream, mission, 2 * cells),
            ("feature hashing, SGD", memory): best_of(stream, hashing, 2 * cells),
            ("feature hashing, AROW", memory): hashed(stream, cells),
        }
    lines = [
        [
            name,
            memory,
            f"{entry.accuracy:.1f}",
            str(entry.found or "-"),
            f"{entry.seconds:.1f}",
            entry.details,
        ]
        for (name, memory), entry in entries.items()
    ]
    head = ["", "memory", "accuracy", f"found of {PLANTED}", "seconds", ""]
    return (
        f"{ROWS - TEST_ROWS:,} rows, {stream.n_ids:,} different ids, k ="
        f" {BUDGET}.\n\n{table(head, lines)}"
    )


# ---- memory


def fresh_ids(most: int) -> Iterator[RowBlock]:
    """Yield blocks of rows whose ids have never occurred before."""
    random = np.random.default_rng(0)
    for first in range(0, most, FLAT_ROW * FLAT_BLOCK):
        ids = id_of(np.arange(first, first + FLAT_ROW * FLAT_BLOCK)).reshape(FLAT_BLOCK, FLAT_ROW)
        ids.sort(axis=1)
        bounds = np.arange(0, ids.size + 1, FLAT_ROW)
        yield RowBlock(
            bounds,
            ids.ravel(),
            np.ones(ids.size, np.float32),
            random.integers(0, 2, FLAT_BLOCK),
            MAX_ID,
        )


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory_used(most: int) -> list[tuple[int, int]]:
    """Return numbers of different ids, and the resident memory after them."""
    selector = ss.SOFS(100, max_cells=CELLS).start(classes=[0, 1])
    points, met = [], 0
    for block in fresh_ids(most):
        selector.partial_fit_block(block)
        met += block.n_nonzero
        if met in FLAT_IDS:
            points.append((met, resident()))
    return points


def memory(most: int) -> str:
    lines = [[f"{ids:,}", f"{size / 2**20:.0f} MiB"] for ids, size in apart(memory_used, most)]
    return table(["different ids", "resident memory"], lines)


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument(
        "--write", action="store_true", help="put the tables into docs/explanation/performance.md"
    )
    options.add_argument("--long", action="store_true", help="go on to 100 million different ids")
    options.add_argument("--only", choices=("sets", "race", "memory"), help="one of the tables")
    chosen = options.parse_args()
    if chosen.write and (chosen.sets or chosen.only or not chosen.long):
        options.error("--write takes all sets and tables, with --long")
    warnings.simplefilter("ignore")
    parts = {
        "memory": lambda: memory(FLAT_IDS[-1 if chosen.long else -2]),
        "race": race,
        "sets": lambda: sets(chosen.sets or list(SETS), chosen.data),
    }
    sections = {name: part() for name, part in parts.items() if chosen.only in (None, name)}
    text = "\n\n".join(sections.values())
    print(text)
    if chosen.write:
        write_section("fixed-memory", f"{machine('scikit-learn')}\n\n{text}\n\n{NOTES}")


if __name__ == "__main__":
    main()
