"""The throughput of online substitution on column data, and its memory.

    python benchmarks/substitution_speed.py [--features 2000000] [--repeats N] [--write]

Columns come from a generator (80 GB of values for 2,000,000 features) and are scanned once, by
streamsieve's rule and by that of Yang, Fujimaki, Kusumura, Liu (2016). ``--write`` puts the table
into docs/methods/online-substitution.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from report import apart, machine, table, write_section

PAGE = Path(__file__).parents[1] / "docs" / "methods" / "online-substitution.md"
ROWS, IN_A_BLOCK = 5_000, 200
REGIONS = (
    8  # blocks end to end in the numbers that columns are cut from, 64 MB: more than a cache holds
)
NOISE = 3.0


class Stream:
    """Columns of standard normals that are almost free to make, to time learners.

    Every column is a window of one long line of numbers, and starts where no other does: windows
    that overlap are as uncorrelated as those that do not. The target is made of some of the
    columns, and noise.
    """

    def __init__(self, n_features: int, n_rows: int = ROWS, true: int = 100) -> None:
        self.n_features, self.n_rows = n_features, n_rows
        random = np.random.default_rng(0)
        self.numbers = random.standard_normal(
            REGIONS * IN_A_BLOCK * n_rows + n_features // (REGIONS * IN_A_BLOCK) + 1
        )
        self.true_ids = np.sort(random.choice(n_features, true, replace=False))
        weights = random.standard_normal(true)
        signal = sum(
            weight * self.column(int(feature))
            for feature, weight in zip(self.true_ids, weights, strict=True)
        )
        self.y = signal + NOISE * random.standard_normal(n_rows)

    def start(self, block: int) -> int:
        """Return the position in the line at which a block begins."""
        return block % REGIONS * IN_A_BLOCK * self.n_rows + block // REGIONS

    def column(self, feature: int) -> NDArray[np.float64]:
        begin = self.start(feature // IN_A_BLOCK) + feature % IN_A_BLOCK * self.n_rows
        return self.numbers[begin : begin + self.n_rows]

    def blocks(self) -> Iterator[object]:
        from streamsieve.blocks import ColumnBlock

        rows = np.tile(np.arange(self.n_rows, dtype=np.int32), IN_A_BLOCK)
        ends = np.arange(0, IN_A_BLOCK * self.n_rows + 1, self.n_rows)
        for first in range(0, self.n_features, IN_A_BLOCK):
            count = min(IN_A_BLOCK, self.n_features - first)
            begin, size = self.start(first // IN_A_BLOCK), count * self.n_rows
            values = self.numbers[begin : begin + size]
            ids = np.arange(first, first + count)
            yield ColumnBlock.trusted(ends[: count + 1], rows[:size], values, ids, self.n_rows)


class Speed(NamedTuple):
    seconds: float
    of_generator: float
    peak: int
    recall: float


def measure(solver: str, n_features: int, n_rows: int, true: int) -> Speed:
    """Measure one scan; kernels are compiled before the clock starts."""
    import streamsieve as ss
    from streamsieve.machine import peak_memory

    small = Stream(2 * true, 100, true)
    ss.OnlineSubstitution(true // 4 or 1, solver=solver).fit_source(small.blocks(), small.y)
    stream = Stream(n_features, n_rows, true)
    start = time.perf_counter()
    for _ in stream.blocks():
        pass
    made = time.perf_counter()
    selector = ss.OnlineSubstitution(true, solver=solver, n_scans=1).fit_source(
        stream.blocks(), stream.y
    )
    end = time.perf_counter()
    recall = float(np.isin(stream.true_ids, selector.selection().indices).mean())
    return Speed(end - made, made - start, peak_memory(), recall)


def tables(asked: argparse.Namespace) -> str:
    n_rows = asked.rows
    lines = []
    for solver in ("pool", "paper"):
        runs = [
            apart(measure, solver, asked.features, n_rows, asked.true) for _ in range(asked.repeats)
        ]
        best = min(runs, key=lambda run: run.seconds - run.of_generator)
        net = best.seconds - best.of_generator
        rate = 8e-6 * asked.features * n_rows / net
        cells = (
            f"{best.seconds:.2f}",
            f"{best.of_generator:.2f}",
            f"{rate:,.0f}",
            f"{best.peak / 1e6:,.0f}",
        )
        lines.append([f"OS {solver}", *cells, f"{best.recall:.2f}"])
    header = ("", "seconds", "of them the generator", "MB/s of columns", "peak MB", "recall")
    text = (
        f"p = {asked.features:,} columns of n = {n_rows:,} standard normals from a generator,"
        f" {8e-9 * asked.features * n_rows:,.1f} GB of values; s = {asked.true}, squared loss, one"
        f" scan{f', best of {asked.repeats}' if asked.repeats > 1 else ''}. The rate is at 8 bytes"
        " a value and without the generator's time. The peak is that of the process, Python, its"
        " imports and 64 MB of the generator included."
    )
    return "\n\n".join([table(header, lines), text, machine()])


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--features", type=int, default=100_000)
    options.add_argument("--rows", type=int, default=ROWS)
    options.add_argument(
        "--true", type=int, default=100, help="features that matter, and are selected"
    )
    options.add_argument("--repeats", type=int, default=1)
    options.add_argument(
        "--write",
        action="store_true",
        help="put the table into docs/methods/online-substitution.md",
    )
    asked = options.parse_args(arguments)
    text = (
        f"`python benchmarks/substitution_speed.py --features {asked.features}`\n\n{tables(asked)}"
    )
    print(text)
    if asked.write:
        write_section("speed", text, PAGE)


if __name__ == "__main__":
    main()
