"""Run transcripts: lines with ``$ `` are commands, and the lines below what they print.

``...`` stands for any text. A line ``$ ...  # exits with 1`` expects that exit code; every other
command must exit with 0.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

from tests import warm

NOISE = re.compile(
    r"^(streamsieve: note: )?compiling streamsieve's kernels for first use \(once\)\n", re.MULTILINE
)
EXIT = re.compile(r"\s+# exits with (\d)$")


def commands_of(transcript: str) -> list[tuple[str, int, str]]:
    """Return command, exit code and expected output of every step."""
    steps: list[tuple[str, int, str]] = []
    for line in transcript.splitlines():
        if line.startswith("$ "):
            code = EXIT.search(line)
            steps.append((EXIT.sub("", line[2:]), int(code[1]) if code else 0, ""))
        elif steps:
            command, expected_code, output = steps[-1]
            steps[-1] = command, expected_code, f"{output}{line}\n"
    return steps


def run_transcript(transcript: str, folder: Path) -> None:
    """Run the commands in a folder and compare what they print, standard error first."""
    cold = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command, code, expected in commands_of(transcript):
        # The warm interpreter takes more memory than a command that starts by itself.
        path = cold if "--memory" in command else os.pathsep.join([str(warm.clients()), cold])
        environment = {**os.environ, "PATH": path, "COLUMNS": "80"}
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = NOISE.sub("", done.stderr + done.stdout)
        assert done.returncode == code, (
            f"$ {command}\nexit code {done.returncode}, expected {code}\n{printed}"
        )
        same = doctest.OutputChecker().check_output(
            expected, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        )
        assert same, f"$ {command}\n--- expected\n{expected}--- printed\n{printed}"
