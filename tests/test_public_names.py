"""The public names: one list, the stub, which the package, its types and a wheel read."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import streamsieve as ss
from streamsieve.estimators import estimator_class
from streamsieve.registry import METHODS, find_method

from .paths import ROOT

STUB = ROOT / "src" / "streamsieve" / "__init__.pyi"


def stub_names() -> set[str]:
    body = ast.parse(STUB.read_text()).body
    imported = {
        alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    return imported | {node.name for node in body if isinstance(node, ast.ClassDef)}


def test_every_name_of_the_stub_is_there() -> None:
    for name in stub_names():
        assert getattr(ss, name).__name__ == name
    assert set(ss.__all__) == {*stub_names(), "__version__"}
    assert stub_names() <= set(dir(ss))


def test_every_method_has_a_public_estimator() -> None:
    for method in METHODS:
        assert find_method(method).name == method
        estimator = estimator_class(method)
        name = estimator.__name__
        assert name in stub_names(), f"{name}: add a line for it to {STUB.name}"
        bases = ", ".join(
            f"_{base.__module__.rpartition('.')[2]}.{base.__name__}" for base in estimator.__bases__
        )
        assert f"class {name}({bases}): ..." in " ".join(STUB.read_text().split()).replace(
            "( ", "("
        ).replace(" )", ")")


def test_methods_that_learn_classes_and_numbers_can_be_told_which() -> None:
    for method in map(find_method, METHODS):
        told = {"task", "loss"} & set(method.parameter_names)
        assert told or len(method.targets) == 1, (
            f"{method.name}: it learns both, and needs a parameter task or loss"
        )


def test_every_method_has_an_oracle_and_a_page() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "methods").glob("*.md"))
    for method in METHODS:
        assert f"`{method}`" in pages, (
            f"{method}: describe it on a page of docs/methods, by this name"
        )
        module = METHODS[method].method.partition(":")[0].rpartition(".")[2]
        names = {method.replace("-", "_"), module, *ORACLES.get(method, ())}
        oracles = [path for path in (ROOT / "tests" / "oracles").glob("*.py") if path.stem in names]
        assert oracles or method in WITHOUT_ORACLE, (
            f"{method}: write a slow, obvious version of it in tests/oracles"
        )


ORACLES = {  # where an oracle serves another method too
    "group-saola": ("saola",),
    "fast-osfs": ("osfs",),
    "iamb": ("blankets",),
    "mmmb": ("blankets",),
    "relieff": ("relief",),
    "irelief": ("relief",),
}
WITHOUT_ORACLE = {"random-selection"}  # what it draws is tested statistically


@pytest.mark.slow
def test_a_wheel_has_all_it_needs(tmp_path: Path) -> None:
    tree = tmp_path / "tree"  # a copy: building leaves its traces
    shutil.copytree(
        ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    build = [
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(tmp_path),
        str(tree),
    ]
    done = subprocess.run(
        [sys.executable, "-m", *build], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    script = (
        "import streamsieve as ss, sys; assert ss.__file__.startswith(sys.argv[1]), ss.__file__; "
        "print(len([getattr(ss, name) for name in ss.__all__]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env={
            "PYTHONPATH": str(tmp_path / "site"),
            "PATH": "",
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(ss.__all__)
    assert (tmp_path / "site" / "streamsieve" / "__init__.pyi").exists()
    assert (tmp_path / "site" / "streamsieve" / "py.typed").exists()
    templates = ROOT / "src" / "streamsieve" / "report" / "templates"
    for path in templates.iterdir():
        assert (tmp_path / "site" / "streamsieve" / "report" / "templates" / path.name).exists()
