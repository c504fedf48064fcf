"""Mutation testing: change the code in one spot and see whether a test notices.

``python -m tests.mutation osfs filters --sample 60`` copies the project to a temporary folder, changes one comparison,
sum, number, condition or refusal at a time in the modules named, and runs their tests with the JIT off. It prints
what no test has noticed. Without a name all modules are tried, which takes hours.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from .modules import MODULES

ROOT = Path(__file__).parents[2]
COPIED = ("src", "tests", "benchmarks", "examples", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")
LONGEST = 120  # seconds for the tests of one mutant: what takes longer never ends

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutant(NamedTuple):
    line: int
    change: str
    code: str


def changes_of(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Ways to change a node: what is said of each, and what does it to a copy of the node."""
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            new = COMPARISONS[type(operator)]
            yield f"{type(operator).__name__} -> {new.__name__}", lambda n, at=at, new=new: n.ops.__setitem__(at, new())
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        new_operator = OPERATORS[type(node.op)]
        name = f"{type(node.op).__name__} -> {new_operator.__name__}"
        yield name, lambda n, new=new_operator: setattr(n, "op", new())
    elif isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} -> {other.__name__}", lambda n, new=other: setattr(n, "op", new())
    elif isinstance(node, ast.If | ast.While):
        yield "condition -> False", lambda n: setattr(n, "test", ast.Constant(False))
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"{node.value} -> {node.value + 1}", lambda n: setattr(n, "value", n.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield f"{node.value} -> {not node.value}", lambda n: setattr(n, "value", not n.value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not -> not not", lambda n: setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))


def mutants_of(source: str) -> list[Mutant]:
    """All changes to the bodies of functions; types, docstrings and tables of constants are let alone."""
    tree = ast.parse(source)
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for statement in function.body
        for node in ast.walk(statement)
    }
    found = []
    for number, node in enumerate(ast.walk(tree)):
        for name, change in changes_of(node) if id(node) in inside else ():
            new = copy.deepcopy(tree)
            change(next(islice(ast.walk(new), number, None)))
            found.append(Mutant(node.lineno, name, ast.unparse(ast.fix_missing_locations(new))))  # type: ignore[attr-defined]
    return found


def notices(folder: Path, module: str, mutant: Mutant | None, tests: list[str]) -> bool:
    """Whether the tests fail, in a copy of the project, with a mutant in place of a module."""
    path = folder / module
    original = path.read_text()
    if mutant is not None:
        path.write_text(mutant.code)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-W", "ignore::RuntimeWarning", *tests]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, timeout=LONGEST, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(original)


def survivors(module: str, tests: list[str], sample: int | None, folders: SimpleQueue[Path], n: int) -> tuple[int, int]:
    """Try the mutants of a module and print those that no test notices; how many were tried, and survived."""
    mutants = mutants_of((ROOT / module).read_text())
    random.Random(0).shuffle(mutants)
    tried = sorted(mutants[:sample])
    folder = folders.get()
    if notices(folder, module, None, tests):
        raise SystemExit(f"{module}: its tests fail as it is: {' '.join(tests)}")
    folders.put(folder)

    def survives(mutant: Mutant) -> bool:
        folder = folders.get()
        try:
            return not notices(folder, module, mutant, tests)
        finally:
            folders.put(folder)

    alive = 0
    lines = (ROOT / module).read_text().splitlines()
    with ThreadPoolExecutor(n) as pool:
        for mutant, lives in zip(tried, pool.map(survives, tried), strict=True):
            if lives:
                alive += 1
                print(f"{module}:{mutant.line}: {mutant.change}: {lines[mutant.line - 1].strip()}", flush=True)
    print(f"{module}: {len(tried)} of {len(mutants)} mutants, {alive} survive", flush=True)
    return len(tried), alive


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MODULES)}")
    parser.add_argument("--sample", type=int, help="try so many mutants of each module, drawn at random")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folders: SimpleQueue[Path] = SimpleQueue()
        for number in range(arguments.jobs):
            folder = Path(place) / str(number)
            for name in COPIED:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, folder / name)
            folders.put(folder)
        counts = [
            survivors(*MODULES[name], arguments.sample, folders, arguments.jobs) for name in arguments.names or MODULES
        ]
    print(f"{sum(tried for tried, _ in counts)} mutants, {sum(alive for _, alive in counts)} survive")


if __name__ == "__main__":
    main()
