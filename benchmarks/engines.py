"""Parallel training on one machine against one process, where reading takes most time.

    python benchmarks/engines.py [--repeat N] [--workers N ...] [--quick]

X1 (100,000 rows, 410 MB of text) in eight compressed files, and a CSV table of 40,000 rows and
2,000 columns (511 MB), are written to the system's folder for temporary files and kept there. What
is measured is the command, from its start to its end: ``streamsieve select ... -k 100``, with and
without ``--engine local --workers N``. ``--quick`` takes a twentieth of the rows, to try the
script. Any other run writes its section of docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from report import machine, table, write_section

FILES = 8
TABLE_COLUMNS = 2_000

NOTES = """
Best of {repeat}, of the command from its start to its end. `processor s` is the processor time of
all its processes. One process reads ahead on as many threads as there are cores: on {cores} cores
it leaves little idle, and workers, which have to start and to wait for one another at the end of a
round, are slower. `one thread` is one process that is told to use one core
(`STREAMSIEVE_THREADS=1`).
"""


class Run(NamedTuple):
    """What a command took, and what came out."""

    wall: float
    processor: float
    mistakes: int


def compressed_files(rows: int) -> list[Path]:
    """Return X1 in compressed files, written now if they are missing."""
    from streamsieve import open_source
    from streamsieve.sources.writers import write_rows

    folder = Path(tempfile.gettempdir()) / f"streamsieve-x1-{rows}-gz"
    paths = [folder / f"part-{number}.svm.gz" for number in range(FILES)]
    if not paths[-1].exists():
        folder.mkdir(exist_ok=True)
        for path, shard in zip(
            paths, open_source(f"synthetic:x1?rows={rows}").shards(FILES), strict=True
        ):
            plain = path.with_suffix("")
            write_rows(plain, shard.row_blocks(), n_features=shard.n_features)
            with gzip.open(path, "wb", compresslevel=6) as file:
                file.write(plain.read_bytes())
            plain.unlink()
    return paths


def wide_table(rows: int) -> list[Path]:
    """Return a table of many columns, written now if it is missing."""
    from streamsieve.sources.arrays import ArraySource
    from streamsieve.sources.writers import write_rows

    path = Path(tempfile.gettempdir()) / f"streamsieve-wide-{rows}.csv"
    if not path.exists():
        random = np.random.default_rng(0)
        X = random.normal(0, 1, (rows, TABLE_COLUMNS)).round(3).astype(np.float32)
        y = (X[:, :20].sum(axis=1) > 0).astype(int)
        write_rows(path, ArraySource(X, y).row_blocks(), n_features=TABLE_COLUMNS, target="label")
    return [path]


def measured(paths: list[Path], options: list[str], threads: str | None) -> Run:
    """Measure one run of the command."""
    environment = os.environ | ({} if threads is None else {"STREAMSIEVE_THREADS": threads})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "streamsieve",
            "select",
            *map(str, paths),
            "-k",
            "100",
            "--json",
            *options,
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall, processor, json.loads(done.stdout)["mistakes"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    part = 20 if args.quick else 1
    cases = {
        f"X1, {FILES} files .svm.gz": (compressed_files(100_000 // part), []),
        "wide table, .csv": (wide_table(40_000 // part), ["--target", "label"]),
    }
    ways: dict[str, tuple[list[str], str | None]] = {
        "one process": ([], None),
        "one thread": ([], "1"),
    }
    ways |= {
        f"{n} workers": (["--engine", "local", "--workers", str(n)], None) for n in args.workers
    }
    lines = []
    for case, (paths, options) in cases.items():
        alone = None
        for way, (engine, threads) in ways.items():
            runs = [measured(paths, [*options, *engine], threads) for _ in range(1 + args.repeat)][
                1:
            ]
            best = min(runs)
            alone = alone or best.wall
            ratio = f"{alone / best.wall:.2f}"
            lines.append(
                [
                    f"{case}: {way}",
                    f"{best.wall:.2f}",
                    f"{best.processor:.2f}",
                    ratio,
                    f"{best.mistakes:,}",
                ]
            )
            print(lines[-1], flush=True)
    result_table = table(
        ["data and workers", "seconds", "processor s", "times as fast", "mistakes"], lines
    )
    print(result_table)
    if not args.quick:
        from streamsieve.machine import cores

        notes = NOTES.format(repeat=args.repeat, cores=cores())
        write_section("engines", f"{machine()}\n\n{result_table}\n{notes}")


if __name__ == "__main__":
    main()
