"""Compare the speed of two trees of this project: the same work by the old and the new one in turn.

    git worktree add /tmp/old COMMIT
    python benchmarks/in_turn.py /tmp/old [--repeat 7] [--cases x1 saola] [--cold]

A process per tree loads its own sources and does every case once, unmeasured; then both do it in
turn, so that whatever else the machine does meets both alike. Printed are the fastest times of both
and the median of the ratios, new to old. ``--cold`` also measures the first use of some methods,
with nothing compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
X1_ROWS, X3_ROWS = 30_000, 50_000
CONFIDENCE = {"criterion": "confidence", "normalize": "l2"}
COLD = ("sofs", "saola", "online-substitution", "local-learning")


class Work:
    """The cases, on data that is made once; imported by both trees."""

    def __init__(self, folder: Path) -> None:
        import numpy as np
        from scipy.sparse import random_array

        import streamsieve as ss

        self.folder, self.select, self.open_source = folder, ss.select, ss.open_source
        random = np.random.default_rng(0)
        dense = random.standard_normal((500, 20_000))
        genes = random.standard_normal((72, 7_129))
        counts = random_array((2_000, 100_000), density=0.005, rng=random, format="csc")
        target = [(matrix, (matrix[:, 0] > 0).astype(int)) for matrix in (dense, genes)]
        labels = np.asarray(counts.sum(axis=1)).ravel()
        self.columns = {
            "saola 500 x 20,000": target[0],
            "saola 72 x 7,129": target[1],
            "saola sparse 2,000 x 100,000": (counts, (labels > np.median(labels)).astype(int)),
        }

    def cases(self) -> dict[str, Callable[[], Any]]:
        text, arrow, select = self.folder / "x1.svm", self.folder / "x1.arrow", self.select
        x3, spiral = f"synthetic:x3?rows={X3_ROWS}", "synthetic:spiral?rows=200&features=20000"
        cases: dict[str, Callable[[], Any]] = {}
        for name, params in (("default", {}), ("confidence", CONFIDENCE)):
            cases[f"x1 text, {name}"] = lambda params=params: select(text, "sofs", 100, **params)
            cases[f"x1 arrow, {name}"] = lambda params=params: select(arrow, "sofs", 100, **params)
            cases[f"x3, {name}"] = lambda params=params: select(x3, "sofs", 500, **params)
        for name, data in self.columns.items():
            cases[name] = lambda data=data: select(data, "saola")
        cases["spiral"] = lambda: select(spiral, "local-learning", 2)
        for path in sorted(self.folder.glob("table*")):
            cases[f"read {path.name}"] = lambda path=path: self.read(path)
        return cases

    def read(self, path: Path) -> None:
        """Read all rows of a table."""
        for _ in self.open_source(path, target="y").row_blocks():
            pass


def write_tables(folder: Path) -> None:
    """Write tables of numbers, of numbers and text, and a wide one.

    The wide table has 20,006 columns, like joined tables of genes and patients.
    """
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv, parquet

    random = np.random.default_rng(0)

    def table(rows: int, numbers: int, texts: int) -> pa.Table:
        columns = {
            f"x{column}": random.standard_normal(rows).astype(np.float32)
            for column in range(numbers)
        }
        columns |= {
            f"t{column}": np.char.add("v", random.integers(0, 50, rows).astype(str))
            for column in range(texts)
        }
        return pa.table(columns | {"y": random.integers(0, 2, rows)})

    mixed = table(200_000, 20, 10)
    csv.write_csv(table(100_000, 100, 0), folder / "table of numbers.csv")
    csv.write_csv(mixed, folder / "table with text.csv")
    parquet.write_table(mixed, folder / "table with text.parquet")
    csv.write_csv(table(300, 20_000, 5), folder / "table of 20,006 columns.csv")


def serve(folder: Path) -> None:
    """Do the cases named on standard input, and print the seconds that each takes."""
    import warnings

    warnings.simplefilter("ignore")
    cases = Work(folder).cases()
    print(json.dumps(list(cases)), flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        cases[line.strip()]()
        print(time.perf_counter() - start, flush=True)


class Tree:
    """A process that does cases with the sources of a tree."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.environment = {**os.environ, "PYTHONPATH": str(path.resolve() / "src")}
        command = [sys.executable, __file__, "--serve", str(folder)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment
        )
        self.cases: list[str] = json.loads(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a tree failed; its message is above")
        return line

    def seconds(self, case: str) -> float:
        assert self.process.stdin is not None
        print(case, file=self.process.stdin, flush=True)
        return float(self._line())

    def first_use(self, method: str) -> float:
        """Return the seconds of a run on few rows in a new process that has nothing compiled."""
        code = (
            "import streamsieve as ss; ss.select('synthetic:x1?rows=60&features=300',"
            f" {method!r}, 5)"
        )
        with tempfile.TemporaryDirectory() as cache:
            start = time.perf_counter()
            environment = self.environment | {"NUMBA_CACHE_DIR": cache}
            subprocess.run(
                [sys.executable, "-W", "ignore", "-c", code], env=environment, check=True, stderr=-3
            )
            return time.perf_counter() - start


def print_ratio(case: str, old: list[float], new: list[float]) -> None:
    ratio = statistics.median(after / before for before, after in zip(old, new, strict=True))
    print(
        f"{case:34} old {min(old):8.3f} s   new {min(new):8.3f} s   ratio {ratio:5.2f}", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, nargs="?", help="the folder of the tree to compare with")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--cases", nargs="*", help="those whose names begin so; all by default")
    parser.add_argument(
        "--cold", action="store_true", help="also the first use, with nothing compiled"
    )
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        from streamsieve import workflow

        for suffix in (".svm", ".arrow"):
            workflow.convert(f"synthetic:x1?rows={X1_ROWS}", folder / f"x1{suffix}")
        write_tables(folder)
        old, new = Tree(options.old, folder), Tree(ROOT, folder)
        for case in old.cases:
            if options.cases and not case.startswith(tuple(options.cases)):
                continue
            for tree in (old, new):
                tree.seconds(case)
            pairs = [(old.seconds(case), new.seconds(case)) for _ in range(options.repeat)]
            print_ratio(case, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
        for method in COLD if options.cold else ():
            print_ratio(f"first use of {method}", [old.first_use(method)], [new.first_use(method)])
    return None


if __name__ == "__main__":
    main()
