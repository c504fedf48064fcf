"""Workers for tests that kill them.

They are in a module of their own, so that other processes can import them.
"""

from __future__ import annotations

import os
from typing import Any

from streamsieve.distributed import asyos_worker, rows


class Mortal(asyos_worker.SubstitutionWorker):
    """A worker that answers often, so that a short run can be killed, and that returns its pid."""

    def __init__(self, *args: Any) -> None:
        asyos_worker.SLICE_SECONDS = 0.02  # in a process that is for this worker alone
        super().__init__(*args)

    def pid(self) -> int:
        return os.getpid()


class MortalRowWorker(rows.RowWorker):
    """A worker of rows that returns its pid."""

    def pid(self) -> int:
        return os.getpid()
