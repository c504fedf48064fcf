"""Time by stage, from files and memory to a selection: X1; and X3, a billion features.

    python benchmarks/stages.py [--repeat N] [--x3] [--x3-text FILE]
    python benchmarks/stages.py --classes FILE

X1 of the SOFS paper (Wu, Hoi, Mei, Yu 2017; 100,000 rows, 30 M non-zeros, about 410 MB of text) is
written to the system's folder for temporary files in three formats and kept there. Every
measurement is made in a process of its own, after a first round that compiles the kernels and
brings the files into the page cache. ``--x3`` adds X3 in full, which takes 4.2 GB of memory;
``--x3-text`` X3 from a text file of 16 GB as ``streamsieve generate x3 -o FILE`` writes it. A run
with ``--x3`` writes its section of docs/explanation/performance.md.

``--classes`` is apart from all that: learning rows of many classes, say those of
20news.train.svm.xz, from memory, k = 500, in seconds of the processor; all of it and the kernel
alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from report import apart, machine, table, write_section

BUDGET = 100
X3_PARAMS = {"criterion": "confidence", "normalize": "l2", "gamma": 4, "class_weight": None}
X3_TEST = "synthetic:x3?rows=100000&seed=1"
AS_GIVEN = {
    "normalize": False,
    "class_weight": None,
}  # what learning costs, without what comes before it
OF_MANY_CLASSES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "l2": {"normalize": "l2"},
    "l2, uniform": {"normalize": "l2", "update": "uniform"},
    "l2, half-life of 5,000 rows": {"normalize": "l2", "forget": 5000},
    "l2, confidence": {"normalize": "l2", "criterion": "confidence"},
    "defaults, with a curve": {"curve": True},
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "SOFS confidence": ("sofs", {**AS_GIVEN, "criterion": "confidence"}),
    "SOFS snr": ("sofs", {**AS_GIVEN, "criterion": "snr"}),
    "SOFS snr, l2": ("sofs", {"criterion": "snr", "normalize": "l2", "class_weight": None}),
    "SOFS, defaults": ("sofs", {}),
    "PET": ("pet", AS_GIVEN),
    "FOFS": ("fofs", AS_GIVEN),
}

NOTES = """
Best of {repeat}, each line in a process of its own; files are in the page cache, kernels compiled
and loaded. The bare kernel does nothing but what any learner of rows must: it gathers an entry per
non-zero and adds, then gathers and adds to the entries; it is compiled as ours are. The peak of a
mapped Arrow file counts its pages, which the system can take back. Command line: {command:.2f} s in
all for `streamsieve select` on a file of 1 MB.
"""


def best(function: Callable[[], Any], repeat: int) -> float:
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def x1_file(suffix: str) -> Path:
    """Return X1 in the format of a suffix, written now if it is missing."""
    path = Path(tempfile.gettempdir()) / f"streamsieve-x1{suffix}"
    if not path.exists():
        from streamsieve import workflow

        workflow.convert("synthetic:x1", path)
    return path


def learner(name: str) -> Any:
    from streamsieve.registry import find_method

    method, params = METHODS[name]
    return find_method(method).make(BUDGET, **params)


# ---- each of these runs in a process of its own


def from_file(path: Path, name: str, repeat: int) -> tuple[float, int]:
    """Return seconds from a file to a selection, and the peak memory."""
    import streamsieve as ss
    from streamsieve.machine import peak_memory
    from streamsieve.training import train

    def select() -> None:
        fresh = learner(name)
        train(fresh, ss.open_source(path))
        fresh.results.selection()

    select()
    return best(select, repeat), peak_memory()


def reading(path: Path, repeat: int) -> dict[str, float]:
    """Return seconds for the parts of reading text.

    They are the bytes alone, and parsing by one thread and by two.
    """
    from streamsieve.sources import svmlight
    from streamsieve.sources.file_state import FileState

    state = FileState.of(path)
    size = state.size
    spans = [
        (start, min(start + svmlight.CHUNK_BYTES, size))
        for start in range(0, size, svmlight.CHUNK_BYTES)
    ]
    with path.open("rb") as file:

        def read() -> None:
            for span in spans:
                svmlight.lines_of_span(file.fileno(), *span, state, path.name)

        def parse() -> None:
            for span in spans:
                svmlight.parse_text(
                    svmlight.lines_of_span(file.fileno(), *span, state, path.name), 1, path.name
                )

        def parse_ahead() -> None:
            for _ in svmlight.SvmlightSource(path).row_blocks():
                pass

        parse_ahead()
        return {
            "read": best(read, repeat),
            "read and parse, one thread": best(parse, repeat),
            "read and parse, two threads": best(parse_ahead, repeat),
        }


def as_one_block(blocks: list[Any]) -> Any:
    from streamsieve.blocks import RowBlock

    lengths = np.concatenate([np.diff(block.indptr) for block in blocks])
    return RowBlock(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([block.indices for block in blocks]),
        np.concatenate([block.values for block in blocks]),
        np.concatenate([block.y for block in blocks]),
        max(block.n_features for block in blocks),
    )


def many_classes(path: Path, repeat: int) -> list[list[str]]:
    """Return the seconds to learn a file from memory, those of the kernel, and its pace.

    There is one result per line of a table.
    """
    import streamsieve as ss
    from streamsieve.selectors.rows import sofs

    spent, update = [0.0], sofs.second_order_update

    def timed(*args: Any) -> None:
        start = time.process_time()
        update(*args)
        spent[0] += time.process_time() - start

    sofs.second_order_update = timed
    block = as_one_block(list(ss.open_source(path).row_blocks()))
    classes = np.unique(block.y)

    def learned(params: dict[str, Any]) -> tuple[float, float]:
        start = time.process_time()
        spent[0] = 0.0
        sofs.SOFS.make(500, **params).start(block.n_features, classes).partial_fit_block(block)
        return time.process_time() - start, spent[0]

    lines = []
    for name, params in OF_MANY_CLASSES.items():
        learned(params)
        total, kernel = (
            min(seconds) for seconds in zip(*(learned(params) for _ in range(repeat)), strict=True)
        )
        lines.append(
            [name, f"{total:.3f}", f"{kernel:.3f}", f"{kernel / block.n_nonzero * 1e9:.0f}"]
        )
    return lines


def in_memory(features: int, repeat: int) -> dict[str, float]:
    """Return seconds to learn X1 from one block in memory, and those of the bare kernel."""
    from streamsieve.kernels.rows.batch import Rows
    from streamsieve.sources.synthetic import SyntheticSource

    block = as_one_block(list(SyntheticSource("x1", features=features).row_blocks()))
    cells, sums = np.zeros(features, np.float32), np.empty(block.n_rows)

    def bare() -> None:
        gather_and_add(block.indptr, block.indices, block.values, cells, sums)

    def learn(name: str) -> None:
        learner(name).start(features).partial_fit_block(block)

    each = np.ones(sums.size)
    rows = Rows(
        indptr=block.indptr,
        indices=block.indices,
        values=block.values,
        codes=(block.y > 0).astype(np.int64),
        numbers=np.empty(0),
        weights=each,
        factors=each,
        constants=0 * each,
        mean_squares=each,
        counted=np.cumsum(each),
        scores=np.empty((sums.size, 1)),
    )

    def kernel_alone() -> float:
        state = learner("SOFS confidence").start(features)
        state.partial_fit_block(block.rows(0, 1))  # makes room for all features
        start = time.perf_counter()
        state.rule.update(state.memory.state, state.memory.addresses.ids, rows, None, state.memory)
        return time.perf_counter() - start

    bare()
    kernel_alone()
    seconds = {
        "bare": best(bare, repeat),
        "SOFS confidence, kernel alone": min(kernel_alone() for _ in range(repeat)),
    }
    for name in METHODS:
        learn(name)
        seconds[name] = best(lambda name=name: learn(name), repeat)
    return seconds


@numba.njit(error_model="numpy")
def gather_and_add(indptr: Any, indices: Any, values: Any, cells: Any, sums: Any) -> None:
    for row in range(sums.size):
        total = 0.0
        for i in range(np.uintp(indptr[row]), np.uintp(indptr[row + 1])):
            total += cells[np.uintp(indices[i])] * values[i]
        sums[row] = total
        for i in range(np.uintp(indptr[row]), np.uintp(indptr[row + 1])):
            cells[np.uintp(indices[i])] += values[i]


def x3(source: str, params: dict[str, Any]) -> list[str]:
    import streamsieve as ss

    record = ss.select(source, n_features_to_select=500, test=X3_TEST, **params)
    n_informative = int((record.selection.indices < 500).sum())
    rate = record.n_nonzero / record.seconds["total"] / 1e6
    seconds, peak = f"{record.seconds['total']:.1f}", f"{record.peak_memory_bytes / 1e9:.2f}"
    return [
        seconds,
        f"{rate:.0f}",
        peak,
        f"{n_informative} of 500",
        f"{100 * record.test_accuracy:.2f}",
    ]


# ---- tables


def files_table(repeat: int) -> str:
    lines = []
    for suffix in (".svm", ".parquet", ".arrow"):
        path = x1_file(suffix)
        for name in ("SOFS confidence", "SOFS snr", "SOFS, defaults"):
            seconds, peak = apart(from_file, path, name, repeat)
            size = path.stat().st_size / 1e6
            rates = [f"{size / seconds:,.0f}", f"{30 / seconds:.0f}"]
            lines.append(
                [
                    f"{suffix}, {name}",
                    f"{size:,.0f}",
                    f"{seconds:.3f}",
                    *rates,
                    f"{peak / 1e6:,.0f}",
                ]
            )
    return table(("X1 from", "MB", "seconds", "MB/s", "M non-zeros/s", "peak MB"), lines)


def reading_table(repeat: int) -> str:
    path = x1_file(".svm")
    size = path.stat().st_size / 1e6
    lines = [
        [what, f"{s:.3f}", f"{size / s:,.0f}"] for what, s in apart(reading, path, repeat).items()
    ]
    return table(("X1 as text", "seconds", "MB/s"), lines)


def learning_table(repeat: int) -> str:
    lines = []
    for features in (10**4, 10**6):
        seconds = apart(in_memory, features, repeat)
        bare, sofs = seconds["bare"], seconds["SOFS confidence"]
        for name, s in seconds.items():
            lines.append(
                [
                    name,
                    f"{features:,}",
                    f"{s:.3f}",
                    f"{s / 0.03:.1f}",
                    f"{s / bare:.2f}",
                    f"{s / sofs:.2f}",
                ]
            )
    header = (
        "X1 in memory",
        "features",
        "seconds",
        "ns per non-zero",
        "to bare kernel",
        "to SOFS confidence",
    )
    return table(header, lines)


def x3_table(text: Path | None) -> str:
    runs: dict[str, tuple[str, dict[str, Any]]] = {
        "generated, defaults": ("synthetic:x3", {}),
        "generated, l2, gamma=4": ("synthetic:x3", X3_PARAMS),
        "generated, gamma=1, rows as they are": (
            "synthetic:x3",
            {**AS_GIVEN, "criterion": "confidence", "gamma": 1},
        ),
    }
    if text:
        runs[f"text, {text.stat().st_size / 1e9:.1f} GB"] = (str(text), X3_PARAMS)
    lines = [[name, *apart(x3, source, params)] for name, (source, params) in runs.items()]
    return table(
        ("X3", "seconds", "M non-zeros/s", "peak GB", "informative", "test accuracy %"), lines
    )


def command_seconds(repeat: int) -> float:
    """Return the seconds of the command on 1 MB, from the shell and back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.svm"
        path.write_bytes(x1_file(".svm").open("rb").read(1_000_000).rpartition(b"\n")[0] + b"\n")
        command = [sys.executable, "-m", "streamsieve", "select", str(path), "-k", "20"]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        return best(
            lambda: subprocess.run(command, check=True, capture_output=True, env=environment),
            repeat,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--x3", action="store_true", help="also X3 in full")
    parser.add_argument("--x3-text", type=Path, metavar="FILE", help="also X3 from this text file")
    parser.add_argument(
        "--classes", type=Path, metavar="FILE", help="only rows of many classes, from this file"
    )
    options = parser.parse_args()
    if options.classes:
        header = ("SOFS on " + options.classes.name, "seconds", "kernel", "kernel, ns per non-zero")
        print(table(header, apart(many_classes, options.classes, options.repeat)))
        return
    parts = []
    for make in (files_table, reading_table, learning_table):
        parts.append(make(options.repeat))
        print("\n" + parts[-1], flush=True)
    notes = NOTES.format(repeat=options.repeat, command=command_seconds(options.repeat))
    print(notes)
    if options.x3 or options.x3_text:
        parts.append(x3_table(options.x3_text))
        print(parts[-1])
        settings = " ".join(
            f"--param {name}={json.dumps(value)}" for name, value in X3_PARAMS.items()
        )
        notes += (
            f"\nX3: `streamsieve select synthetic:x3 -k 500 --test '{X3_TEST}'`, with the defaults;"
            f" the next line with `{settings}` and the last with `--param criterion=confidence"
            " --param gamma=1` and rows as they are. One run each, the first touch of all memory"
            " included. The SOFS paper (Wu et al. 2017) reports 99.56 % and 132.94 s.\n"
        )
        write_section("stages", "\n\n".join([machine(), *parts, notes]))


if __name__ == "__main__":
    main()
