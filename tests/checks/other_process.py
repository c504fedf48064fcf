"""Another interpreter that runs scripts for checks.

It runs until this process ends: starting one for every check, and importing all modules in it,
took longer than the checks themselves.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

from tests.paths import ROOT

SERVE = """
import json, sys, traceback
requests, replies, sys.stdout = sys.stdin, sys.stdout, sys.stderr
for line in requests:
    script, sys.argv[1:] = json.loads(line)
    names = {"__name__": "__main__"}
    try:
        exec(script, names)
        reply = {"found": names["found"]}
    except Exception:
        reply = {"failure": traceback.format_exc()}
    print(json.dumps(reply), file=replies, flush=True)
"""


def run_in_other_process(script: str, arguments: list[str], **environment: str) -> Any:
    """Run a script in another process and return its variable ``found``, which must fit in JSON.

    ``arguments`` are in ``sys.argv[1:]``.
    """
    process = _start_process(tuple(environment.items()))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([script, arguments]) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    assert line, f"the other process ended with {process.wait()} at\n{script}"
    reply = json.loads(line)
    assert "found" in reply, reply["failure"]
    return reply["found"]


@cache
def _start_process(environment: tuple[tuple[str, str], ...]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE],
        cwd=ROOT,
        env={**os.environ, **dict(environment)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)  # it ends when its input ends
    return process
