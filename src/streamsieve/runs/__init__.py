"""Runs: what was asked, how far it is, what it found, and the folder that keeps it."""

from .data import fingerprint, location, refuse_changed
from .folder import CHECKPOINT, RunDirectory
from .record import RunRecord
from .request import RunRequest

__all__ = [
    "CHECKPOINT",
    "RunDirectory",
    "RunRecord",
    "RunRequest",
    "fingerprint",
    "location",
    "refuse_changed",
]
