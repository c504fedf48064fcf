"""Raw reads of text stay inside the text, between pages that cannot be read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from .models import ROOT, environment

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="pages are protected by Linux's mprotect"
)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )


def refuse_crash(count: int) -> None:
    done = run("-m", "tests.fuzz.guard", "0", str(count))
    last = done.stdout.splitlines()[-1:]
    assert last == ["done"], f"{last} crashed ({done.returncode}): {done.stderr[-2000:]}"


def test_no_read_beyond_the_text() -> None:
    refuse_crash(500)


@pytest.mark.slow
def test_no_read_beyond_many_texts() -> None:
    refuse_crash(200_000)


@pytest.mark.skipif(
    "NUMBA_BOUNDSCHECK" in os.environ, reason="an index is checked before the guard can bite"
)
def test_the_guard_bites() -> None:
    """Check that ``scan_decimal`` reads on after a number at the end of memory.

    It must never be given such a text.
    """
    done = run("-c", "from tests.fuzz.guard import *; parse_decimal(Guarded(1).at_end(b'123'))")
    assert done.returncode == -signal.SIGSEGV
