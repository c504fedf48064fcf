"""Rows transposed into columns, and SAOLA on them: time and memory for several budgets.

    python benchmarks/transposing.py [--folder FOLDER]

1.1 GB of svmlight text, as large and as sparse as the webspam of SAOLA (Yu, Wu, Ding, Pei 2016):
20,000 rows, 16.6 million features, 73 million non-zeros of four digits, low ids more frequent than
high ones. ``streamsieve convert --columns`` writes a file of columns, in memory and through the
disk; scikit-learn's ``load_svmlight_file`` and SciPy's ``tocsc`` only bring them into memory. Each
in a process of its own. A run writes its section of docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from report import apart, machine, table, write_section

ROWS, FEATURES, PER_ROW, AT_ONCE = 20_000, 16_609_143, 3_700, 500
BUDGETS = ("700MB", "1GB", "8GB")


def write_text(path: Path) -> None:
    from streamsieve.blocks import RowBlock
    from streamsieve.sources.writers import write_rows

    random = np.random.default_rng(0)

    def blocks() -> Iterator[RowBlock]:
        for _ in range(0, ROWS, AT_ONCE):
            lines = [
                np.unique((FEATURES * random.random(PER_ROW) ** 3).astype(np.int32))
                for _ in range(AT_ONCE)
            ]
            indptr = np.concatenate([[0], np.cumsum([line.size for line in lines])])
            values = random.integers(1, 10_000, indptr[-1]).astype(np.float32) / np.float32(10_000)
            yield RowBlock(
                indptr, np.concatenate(lines), values, random.integers(0, 2, AT_ONCE), FEATURES
            )

    write_rows(path, blocks(), n_features=FEATURES)


def convert(text: Path, output: Path, memory: str) -> tuple[float, int, int]:
    from streamsieve import workflow
    from streamsieve.machine import peak_memory

    small = output.with_name("small.svm")
    small.write_text("1 1:1 2:3\n0 2:1\n")
    workflow.convert_to_columns(
        small, output.with_name("small.parquet")
    )  # compiles most of what there is to compile
    start = time.perf_counter()
    workflow.convert_to_columns(text, output, memory=memory)
    return time.perf_counter() - start, peak_memory(), output.stat().st_size


def load(text: Path) -> tuple[float, int]:
    from sklearn.datasets import load_svmlight_file

    from streamsieve.machine import peak_memory

    start = time.perf_counter()
    load_svmlight_file(text, n_features=FEATURES)[0].tocsc()
    return time.perf_counter() - start, peak_memory()


def select(columns: Path) -> tuple[float, int]:
    from streamsieve.machine import peak_memory
    from streamsieve.selectors.columns.saola import SAOLA
    from streamsieve.sources import open_source
    from streamsieve.training import train

    start = time.perf_counter()
    train(SAOLA.make(measure="fisher_z"), open_source(columns))
    return time.perf_counter() - start, peak_memory()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="where to put 3 GB for a while")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        text, columns = Path(folder) / "rows.svm", Path(folder) / "columns.parquet"
        apart(write_text, text)
        lines = []
        for memory in BUDGETS:
            seconds, peak, size = apart(convert, text, columns, memory)
            lines.append(
                [f"convert --columns --memory {memory}", f"{seconds:.1f}", f"{peak / 1e6:,.0f}"]
            )
        lines.append(["select -m saola, from the file of columns", *shown(apart(select, columns))])
        lines.append(["load_svmlight_file and tocsc", *shown(apart(load, text))])
        sizes = (
            f"Text {text.stat().st_size / 1e6:,.0f} MB, the file of columns {size / 1e6:,.0f} MB."
        )
    result_table = table(("", "seconds", "peak MB"), lines)
    print(result_table)
    write_section("transposing", f"{machine('scikit-learn')}\n\n{result_table}\n\n{sizes}")


def shown(measured: tuple[float, int]) -> list[str]:
    return [f"{measured[0]:.1f}", f"{measured[1] / 1e6:,.0f}"]


if __name__ == "__main__":
    main()
