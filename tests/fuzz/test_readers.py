"""Every fuzzed reader on its corpus, on text by a grammar, and briefly guided by coverage."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.paths import FROM_SMALL

from . import strategies
from .models import ROOT, environment
from .run import CORPUS
from .targets import TARGETS

EXAMPLES = {"svmlight_text": 300, "names": 100, "svmlight_file": 100, "delimited_file": 100}
GUIDED = ("svmlight_text", "delimited_file", "npz")  # the others are fuzzed by `make fuzz`
SECONDS = 2
KNOWN = CORPUS.parent / "known"  # inputs that find what is not cured yet
NO_ATHERIS = (
    "atheris is not installed (it has wheels for Linux on x86-64): coverage-guided fuzzing is"
    " NOT run"
)


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_a_corpus_and_a_strategy(target: str) -> None:
    assert 3 <= len(list((CORPUS / target).iterdir())) <= 60
    assert target in strategies.BY_TARGET


def test_the_corpus_is_small() -> None:
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 300_000


@pytest.mark.parametrize("target", TARGETS)
def test_inputs_that_were_interesting_once(target: str) -> None:
    for path in sorted((CORPUS / target).iterdir()):
        try:
            TARGETS[target](path.read_bytes())
        except Exception as error:
            raise AssertionError(f"{path}: {error!r}") from error


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "target", [target for target in TARGETS if target != "parquet"]
)  # which may abort
def test_inputs_by_a_grammar(target: str) -> None:
    @settings(
        max_examples=EXAMPLES.get(target, 60),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.shared(strategies.BY_TARGET[target], key=target))
    def check(data: bytes) -> None:
        TARGETS[target](data)

    check()


@pytest.mark.slow
@pytest.mark.needs_jit
@pytest.mark.parametrize("target", GUIDED)
def test_a_short_run_guided_by_coverage(target: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip(NO_ATHERIS)
    command = [
        *FROM_SMALL,
        sys.executable,
        "-m",
        "tests.fuzz.run",
        target,
        "--seconds",
        str(SECONDS),
    ]
    command += ["--findings", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    findings = [path.read_bytes() for path in tmp_path.iterdir()]
    assert not done.returncode, (
        f"{target} {findings}:\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    )
    assert "Done" in done.stderr


@pytest.mark.needs_jit
@pytest.mark.xfail(
    strict=True, reason="Arrow ends the process where it finds size statistics that are damaged"
)
def test_a_damaged_parquet_file_does_not_end_the_process() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.run",
        "parquet",
        "--jit",
        str(KNOWN / "parquet-abort"),
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr[-1000:]
