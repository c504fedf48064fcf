"""Compile the kernels before the tests begin: those of rows in one process, all others in another.

    python -m tests.compile_kernels

Tests that run side by side would compile many kernels twice. A kernel that is not compiled here is
compiled by the first test that needs it.
"""

from __future__ import annotations

import json
import multiprocessing
import tempfile
import warnings
from pathlib import Path

from . import conftest  # noqa: F401, sets the folder of compiled kernels before Numba is imported
from .goldens import cases, data_set, digests, learn_in_all_ways
from .kernels.readings import readings
from .warm import load_kernels

SETS = "ties", "four", "sparse numbers"  # two classes, more, numbers


def compile_kernels(reads: tuple[str, ...]) -> None:
    """Run what compiles the kernels of all methods that read their data in one of these ways."""
    from streamsieve.registry import find_method

    warnings.simplefilter("ignore")
    if "rows" in reads:
        load_kernels()
        readings()
    for method, params, name in cases():
        if name not in SETS or find_method(method).reads not in reads:
            continue
        data = data_set(name)
        with tempfile.TemporaryDirectory() as folder:
            try:
                for way, selector in learn_in_all_ways(
                    method, json.loads(params), data, Path(folder)
                ):
                    digests(selector, data.X.toarray() if way == "dense" else data.X)
                    if way == "continued":
                        break  # workers run the same kernels
            except ValueError:
                pass  # not for such a target


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=compile_kernels, args=[reads])
        for reads in (("rows",), ("columns", "matrix"))
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    raise SystemExit(any(process.exitcode for process in processes))
