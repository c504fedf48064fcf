"""SAOLA, group-SAOLA and alpha-investing on streams as wide as in SAOLA's paper.

    python benchmarks/column_streams.py [--repeat N]

Synthetic columns with the rows, columns and non-zeros of news20, kdd2010 and webspam (Yu, Wu, Ding,
Pei 2016, table II), in memory before the clock starts: most are noise, as long as a real
vocabulary's (Zipf), some are informative, each with weaker copies. For group-SAOLA the columns come
in groups of a hundredth of them all. The paper's times, of MATLAB code on a PC, are for the real
sets (tables VII and XXIII). And leukemia, whose figure is that of the authors' library. And columns
that are nearly all relevant, of which 200 are wanted: most of them are less relevant than all that
are kept. A run writes its section of docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from report import apart, machine, table, write_section

COPIES = 4  # of every informative column, weaker ones but for one
LEUKEMIA = Path(__file__).parents[1] / "tests" / "data" / "leukemia.svm.xz"


class Shape(NamedTuple):
    rows: int
    columns: int
    nonzeros: int
    signals: int
    often: float  # the largest fraction of rows of its class that an informative column is in
    saola_seconds: float  # the paper's
    group_seconds: float


SHAPES = {
    "news20": Shape(9_996, 1_355_191, 4_500_000, 220, 0.2, 944, 2_154),
    "kdd2010": Shape(20_000, 29_890_095, 600_000, 180, 0.03, 1_056, 395),
    "webspam": Shape(20_000, 16_609_143, 74_000_000, 60, 0.2, 1_456, 3_013),
}


def columns(shape: Shape) -> tuple[Any, NDArray[np.int64]]:
    """Return all columns of a set as one block, and the classes."""
    from streamsieve.blocks import ColumnBlock

    random = np.random.default_rng(shape.columns)
    y = random.integers(0, 2, shape.rows)
    signal_columns = signals(random, y, shape)
    informative = np.sort(random.choice(shape.columns, len(signal_columns), replace=False))
    noise = np.setdiff1d(np.arange(shape.columns), informative, assume_unique=True)
    supports = {int(column): rows for column, rows in zip(informative, signal_columns, strict=True)}
    lengths = zipf_lengths(
        random,
        noise.size,
        shape.nonzeros - sum(rows.size for rows in signal_columns),
        shape.rows // 2,
    )
    sizes = np.zeros(shape.columns, np.int64)
    sizes[noise] = lengths
    for column, rows in supports.items():
        sizes[column] = rows.size
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    indices = distinct_rows(random, sizes, indptr, shape.rows)
    for column, rows in supports.items():
        indices[indptr[column] : indptr[column + 1]] = rows
    values = np.ones(indices.size)
    return ColumnBlock(indptr, indices, values, np.arange(shape.columns), shape.rows), y


def zipf_lengths(
    random: np.random.Generator, count: int, total: int, longest: int
) -> NDArray[np.int64]:
    """Return ``total`` lengths of noise columns in random order, inverse to their ranks."""
    fractions = 1.0 / np.arange(1, count + 1)
    low, high = 0.0, 100.0 * total
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if np.minimum(middle * fractions, longest).sum() < total
            else (low, middle)
        )
    lengths = np.floor(np.minimum(low * fractions, longest) + random.random(count)).astype(np.int64)
    random.shuffle(lengths)
    return lengths


def signals(
    random: np.random.Generator, y: NDArray[np.int64], shape: Shape
) -> list[NDArray[np.int64]]:
    """Return rows of columns that occur more often in one class, with incomplete copies.

    Each copy lacks a part of the rows.
    """
    row_lists = []
    for _ in range(shape.signals):
        often, seldom = (
            random.uniform(0.3 * shape.often, shape.often),
            random.uniform(0.0, 0.08 * shape.often),
        )
        favoured = random.integers(0, 2)
        rows = np.flatnonzero(random.random(y.size) < np.where(y == favoured, often, seldom))
        row_lists += [rows] + [rows[random.random(rows.size) < 0.8] for _ in range(COPIES - 1)]
    random.shuffle(row_lists)  # type: ignore[arg-type]
    return row_lists


def distinct_rows(
    random: np.random.Generator, sizes: NDArray[np.int64], indptr: NDArray[np.int64], n_rows: int
) -> NDArray[np.int32]:
    """Return as many distinct rows for every column as its size, in ascending order.

    They have a random start and a random stride.
    """
    step = np.maximum(1, n_rows // np.maximum(1, sizes))
    start = random.integers(0, n_rows, sizes.size) % np.maximum(1, n_rows - step * (sizes - 1))
    nth = np.arange(indptr[-1]) - np.repeat(indptr[:-1], sizes)
    jitter = random.random(nth.size) * np.repeat(step, sizes)
    rows = np.repeat(start, sizes) + nth * np.repeat(step, sizes)
    rows = np.minimum(
        rows + np.where(nth < np.repeat(sizes, sizes) - 1, jitter.astype(np.int64), 0), n_rows - 1
    )
    return rows.astype(np.int32)


def measure(name: str, repeat: int) -> list[list[str]]:
    import streamsieve as ss

    shape = SHAPES[name]
    block, y = columns(shape)
    grouped = ss.ColumnBlock(
        block.indptr,
        block.indices,
        block.values,
        block.ids,
        block.n_rows,
        groups=block.ids // (shape.columns // 100),
    )
    lines = []
    for label, selector, data, theirs in (
        ("SAOLA", ss.SAOLA(measure="fisher_z"), block, shape.saola_seconds),
        ("SAOLA, by uncertainty", ss.SAOLA(measure="su", delta=0.002), block, shape.saola_seconds),
        ("group-SAOLA", ss.GroupSAOLA(measure="fisher_z"), grouped, shape.group_seconds),
        ("alpha-investing", ss.AlphaInvesting(), block, 0.0),
    ):
        selector.fit_source([data.columns(0, 1000)], y)
        best = min(
            timed(partial(selector.fit_source, [data], y)) for _ in range(repeat if theirs else 1)
        )
        kept = len(selector.selection())
        paper = [f"{theirs:,.0f}", f"{theirs / best:,.0f}"] if theirs else ["-", "-"]
        size = f"{block.n_rows:,} x {block.n_columns:,}"
        lines.append(
            [
                f"{name}, {label}",
                size,
                f"{block.n_nonzero / 1e6:.1f}",
                f"{best:.2f}",
                *paper,
                f"{kept:,}",
            ]
        )
    return lines


def nearly_all_relevant(repeat: int) -> list[str]:
    """Return 3,000,000 columns of 12 non-zeros, 19 of 20 in rows of one class only."""
    import streamsieve as ss

    n_rows, n_columns, length, wanted = 20_000, 3_000_000, 12, 200
    random = np.random.default_rng(0)
    y = random.permutation(np.arange(n_rows) % 2)
    sizes = np.full(n_columns, length)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    rank = distinct_rows(random, sizes, indptr, n_rows // 2).reshape(n_columns, length)
    favoured = np.stack([np.flatnonzero(y == 0), np.flatnonzero(y == 1)])
    rows = favoured[random.integers(0, 2, n_columns)[:, None], rank]
    rows = np.where(random.random(n_columns)[:, None] < 0.05, 2 * rank, rows)
    values = random.uniform(0.5, 1.5, rows.size)
    block = ss.ColumnBlock(
        indptr, rows.ravel().astype(np.int32), values, np.arange(n_columns), n_rows
    )
    selector = ss.SAOLA(wanted)
    selector.fit_source([block.columns(0, 1000)], y)
    best = min(timed(lambda: selector.fit_source([block], y)) for _ in range(repeat))
    size = f"{n_rows:,} x {n_columns:,}"
    kept = f"{len(selector.selection()):,}"
    return [
        f"nearly all relevant, k = {wanted}, SAOLA",
        size,
        f"{block.n_nonzero / 1e6:.1f}",
        f"{best:.2f}",
        "-",
        "-",
        kept,
    ]


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def leukemia(repeat: int) -> list[str]:
    import streamsieve as ss
    from streamsieve.sources.columns import as_column_source

    source = as_column_source(ss.open_source(LEUKEMIA))
    blocks, y = list(source.column_blocks()), source.targets()
    selector = ss.SAOLA(measure="fisher_z", variant="lofs")
    best = min(timed(lambda: selector.fit_source(blocks, y)) for _ in range(repeat + 1))
    nonzeros = sum(block.n_nonzero for block in blocks) / 1e6
    kept = f"{len(selector.selection()):,}"
    return [
        "leukemia, SAOLA",
        "72 x 7,129",
        f"{nonzeros:.1f}",
        f"{best:.4f}",
        "4.92",
        f"{4.92 / best:,.0f}",
        kept,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    lines = [line for name in SHAPES for line in apart(measure, name, options.repeat)]
    lines += [apart(leukemia, 20), apart(nearly_all_relevant, options.repeat)]
    header = ("", "rows x columns", "M non-zeros", "seconds", "paper's", "times faster", "kept")
    result_table = table(header, lines)
    print(result_table)
    notes = (
        f"Best of {options.repeat}, from memory; alpha-investing once. SAOLA's paper keeps 212, 180"
        " and 51 features of its sets."
    )
    write_section("columns", f"{machine()}\n\n{result_table}\n\n{notes}")


if __name__ == "__main__":
    main()
