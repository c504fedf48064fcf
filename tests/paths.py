"""The paths of the data and of the command for the tests."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TRAIN = ROOT / "examples" / "data" / "basehock.train.svm.xz"
DATA = ROOT / "tests" / "data"
TEST = ROOT / "examples" / "data" / "basehock.test.svm.xz"
COMMAND = [sys.executable, "-m", "streamsieve"]
# Before a command: of a process that a large one starts, the system counts what the large one
# holds.
FROM_SMALL = [
    sys.executable,
    "-S",
    "-c",
    "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))",
]
