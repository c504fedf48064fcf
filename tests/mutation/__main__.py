"""Mutation testing: change the code in one spot and see whether a test notices.

``python -m tests.mutation heap storing --sample 60 --seed 1`` changes one comparison, sum, number,
condition, minimum or maximum at a time in the modules named, and runs their tests with the JIT off.
It prints what no test has noticed, as ``file:line: function: old -> new``, but for what is known to
change nothing (``equivalent.txt``). Without a name all modules are tried, which takes hours without
a sample.

No file is changed: each mutant is tried in a process of its own, which imports it in place of the
module.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from math import ceil
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from .changes import Mutant, mutants_of
from .modules import MODULES

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name(
    "equivalent.txt"
)  # a line per mutant, and indented ones that say why
MAX_SECONDS = 60  # seconds of work for the tests of a module as it is
MORE, TIMES = 2, 2  # what takes so many seconds more than so many times as much work never ends
STUCK = 600  # seconds in which such tests have ended on any machine
SETTINGS = {
    "NUMBA_DISABLE_JIT": "1",
    "SCIPY_ARRAY_API": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
THIRD_PARTIES = (  # imported once, not by every mutant
    *(
        "numba",
        "pandas",
        "polars",
        "pyarrow.csv",
        "pyarrow.parquet",
        "scipy.sparse",
        "scipy.stats",
        "scipy.special",
    ),
    *(
        "sklearn.base",
        "sklearn.feature_selection",
        "sklearn.utils.validation",
        "sklearn.utils.multiclass",
    ),
    *("hypothesis.strategies", "hypothesis.extra.numpy", "pytest"),
)
MISUSED, EMPTY = 4, 5  # what pytest exits with if it was called wrongly, or finds no test


class MutantImporter(importlib.machinery.SourceFileLoader, importlib.abc.MetaPathFinder):
    """Imports the code of a mutant in place of its module."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        super().__init__(name, str(path))
        self.code = code

    def find_spec(
        self, fullname: str, path: Any, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.machinery.ModuleSpec(fullname, self, origin=self.path)
            if fullname == self.name
            else None
        )

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class Verdict(NamedTuple):
    mutant: Mutant
    survives: bool


def start(module: str, mutant: Mutant | None, tests: list[str], longest: int) -> int:
    """Run the tests in a new process with a mutant of a module, and return the process id.

    The process may take so many seconds.
    """
    process = os.fork()
    if process:
        return process
    # Both end the process, whatever it does.
    resource.setrlimit(resource.RLIMIT_CPU, (longest, longest))
    signal.alarm(STUCK)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    for name in [
        name for name in sys.modules if name.partition(".")[0] in ("tests", "streamsieve")
    ]:
        del sys.modules[name]
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    if mutant is not None:
        name = module.removeprefix("src/").removesuffix(".py").replace("/", ".")
        sys.meta_path.insert(
            0, MutantImporter(name, ROOT / module, compile(mutant.tree, module, "exec"))
        )
    command = [
        "-x",
        "-q",
        "--assert=plain",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-W",
        "ignore::RuntimeWarning",
    ]
    os._exit(import_module("pytest").main([*command, "--hypothesis-profile=mutants", *tests]))


def passes(status: int, tests: list[str]) -> bool:
    """Return True if all tests pass; raise SystemExit if there are none."""
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) in (MISUSED, EMPTY):
        raise SystemExit(f"pytest cannot run {' '.join(tests)}")
    return status == 0


def seconds_of_work(module: str, tests: list[str]) -> int:
    """Return the processor time of the tests of an unchanged module, rounded up."""
    _, status, used = os.wait4(start(module, None, tests, MAX_SECONDS), 0)
    if not passes(status, tests):
        raise SystemExit(f"{module}: its tests fail as it is, or take too long: {' '.join(tests)}")
    return ceil(used.ru_utime + used.ru_stime)


def verdicts(module: str, mutants: list[Mutant], tests: list[str], jobs: int) -> Iterator[Verdict]:
    """Try mutants, so many at a time, in the order in which their tests end."""
    longest = MORE + TIMES * seconds_of_work(module, tests)
    running: dict[int, Mutant] = {}
    waiting = list(reversed(mutants))
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            running[start(module, mutant, tests, longest)] = mutant
        process, status = os.wait()
        yield Verdict(running.pop(process), passes(status, tests))


class Count(NamedTuple):
    tried: int
    equivalent: int
    alive: int


def try_module(name: str, arguments: argparse.Namespace) -> Count:
    """Try the mutants of a module, print those that no test notices, and count them."""
    module, tests = MODULES[name]
    mutants = mutants_of((ROOT / module).read_text())
    n_mutants, began = len(mutants), time.monotonic()
    random.Random(arguments.seed).shuffle(mutants)
    mutants = sorted(mutants[: arguments.sample], key=lambda mutant: mutant.line)
    if arguments.survivors:
        wanted = Path(arguments.survivors).read_text()
        mutants = [mutant for mutant in mutants if f"{module}:{mutant.line}: {mutant}\n" in wanted]
    equivalent_lines = set(EQUIVALENT.read_text().splitlines())
    equivalent = alive = 0
    for mutant, survives in verdicts(module, mutants, tests, arguments.jobs) if mutants else ():
        if survives and f"{name}: {mutant}" in equivalent_lines:
            equivalent += 1
        elif survives:
            alive += 1
            print(f"{module}:{mutant.line}: {mutant}", flush=True)
    seconds = time.monotonic() - began
    print(
        f"{name}: {len(mutants)} of {n_mutants} mutants, {len(mutants) - equivalent - alive}"
        f" noticed, {equivalent} equivalent, {alive} survive ({seconds:.0f} s)",
        flush=True,
    )
    return Count(len(mutants), equivalent, alive)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MODULES)}")
    parser.add_argument(
        "--sample", type=int, help="try so many mutants of each module, drawn at random"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--survivors", help="try those alone that are in this file, what an earlier run has printed"
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at a time")
    arguments = parser.parse_args()
    os.environ.update(SETTINGS)
    os.chdir(ROOT)
    for name in THIRD_PARTIES:
        import_module(name)
    counts = [try_module(name, arguments) for name in arguments.names or MODULES]
    tried, equivalent, alive = (sum(column) for column in zip(*counts, strict=True))
    print(
        f"{tried} mutants, {tried - equivalent - alive} noticed, {equivalent} equivalent, {alive}"
        " survive"
    )


if __name__ == "__main__":
    main()
