"""Reading only, on one thread and on two: X1 in every format, and a dense table.

    python benchmarks/reading.py [--repeat N] [--quick]

X1 (100,000 rows, 30 M non-zeros, about 410 MB of text) and a table of 100,000 rows and 100 columns
are written to the system's folder for temporary files and kept there. Blocks are made and thrown
away. Every measurement is made in a process of its own, after a first round that compiles the
kernels and brings the files into the page cache. ``--quick`` reads a fiftieth of the rows, to try
the script. Any other run writes its section of docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from report import apart, machine, table, write_section

ROWS, COLUMNS = 100_000, 100
THREADS = (1, 2)
MORE = 8  # threads: what they give is computed, not measured
SPARSE, DENSE = (".svm", ".arrow", ".parquet"), (".csv", ".arrow", ".parquet")
TEXT = "X1, text"

NOTES = """
Best of {repeat}; blocks are made and thrown away. `processor s` is the processor time of all
threads, `serial s` that of the one thread which receives the blocks, both with one parser. A parser
takes in {parsed:,.0f} MB of text per second of processor time. The serial part is {serial:.0f}
microseconds per MB, {handed:,.0f} MB/s at most. On {more} cores {more} parsers would therefore read
the smaller of {more} x {parsed:,.0f} and {handed:,.0f}, {bound:,.0f} MB/s: X1 in {seconds:.2f} s.
"""


class Reading(NamedTuple):
    """What reading took, in seconds."""

    wall: float
    processor: float  # of all threads
    consumer: float  # of the thread that takes the blocks


def x1_file(suffix: str, rows: int) -> Path:
    """Return X1 in the format of a suffix, written now if it is missing."""
    path = Path(tempfile.gettempdir()) / f"streamsieve-x1-{rows}{suffix}"
    if not path.exists():
        from streamsieve import workflow

        workflow.convert(f"synthetic:x1?rows={rows}", path)
    return path


def table_file(suffix: str, rows: int) -> Path:
    """Return a dense table in the format of a suffix, written now if it is missing."""
    path = Path(tempfile.gettempdir()) / f"streamsieve-table-{rows}{suffix}"
    if not path.exists():
        from streamsieve.sources.arrays import ArraySource
        from streamsieve.sources.writers import write_rows

        random = np.random.default_rng(0)
        X = random.normal(0, 1, (rows, COLUMNS)).round(4).astype(np.float32)
        write_rows(
            path,
            ArraySource(X, random.integers(0, 2, rows)).row_blocks(),
            n_features=COLUMNS,
            target="label",
        )
    return path


def read(data: str | Path, target: str | None, threads: int, repeat: int) -> Reading:
    """Read all blocks of a source with so many threads; the fastest of several times."""
    from streamsieve.machine import THREADS_VARIABLE
    from streamsieve.sources import open_source

    os.environ[THREADS_VARIABLE] = str(threads)
    readings = []
    for _ in range(1 + repeat):
        source = open_source(data, target)
        start = time.perf_counter(), time.process_time(), time.thread_time()
        for _ in source.row_blocks():
            pass
        end = time.perf_counter(), time.process_time(), time.thread_time()
        readings.append(
            Reading(*(after - before for before, after in zip(start, end, strict=True)))
        )
    return min(readings[1:])


def note(size: float, reading: Reading, repeat: int) -> str:
    """Return how much faster more threads would be.

    ``size`` is the text in MB, read by one thread.
    """
    parsed, handed = size / (reading.processor - reading.consumer), size / reading.consumer
    bound = min(MORE * parsed, handed)
    numbers = {
        "parsed": parsed,
        "serial": 1e6 / handed,
        "handed": handed,
        "bound": bound,
        "seconds": size / bound,
    }
    return NOTES.format(repeat=repeat, more=MORE, **numbers)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--quick", action="store_true", help="few rows, and nothing is written to the document"
    )
    options = parser.parse_args()
    rows = ROWS // 50 if options.quick else ROWS
    sources: dict[str, tuple[str | Path, str | None]] = {
        **{
            f"X1, {'text' if suffix == '.svm' else suffix}": (x1_file(suffix, rows), None)
            for suffix in SPARSE
        },
        "X1, generated": (f"synthetic:x1?rows={rows}", None),
        **{f"table, {suffix}": (table_file(suffix, rows), "label") for suffix in DENSE},
    }
    lines, first = [], {}
    for title, (data, target) in sources.items():
        size = data.stat().st_size / 1e6 if isinstance(data, Path) else None
        readings = [apart(read, data, target, threads, options.repeat) for threads in THREADS]
        first[title] = readings[0]
        speeds = [f"{size / reading.wall:,.0f}" if size else "-" for reading in readings]
        seconds = [f"{reading.wall:.3f}" for reading in readings]
        shown = f"{size:,.0f}" if size else "-"
        lines.append(
            [
                title,
                shown,
                *seconds,
                *speeds,
                f"{readings[0].processor:.3f}",
                f"{readings[0].consumer:.3f}",
            ]
        )
    plural = [f"{threads} thread{'s' * (threads > 1)}" for threads in THREADS]
    header = [
        "",
        "MB",
        *(f"seconds, {n}" for n in plural),
        *(f"MB/s, {n}" for n in plural),
        "processor s",
        "serial s",
    ]
    text = sources[TEXT][0]
    assert isinstance(text, Path)
    section = (
        f"{machine()}\n\n{table(header, lines)}\n\n"
        f"{note(text.stat().st_size / 1e6, first[TEXT], options.repeat)}"
    )
    print(section)
    if not options.quick:
        write_section("reading", section)


if __name__ == "__main__":
    main()
