"""Keep runs: the request, the progress, the result and the folder that holds them."""

from .data import check_unchanged, fingerprint, location
from .folder import CHECKPOINT, RunDirectory
from .record import RunRecord
from .request import EarlierRun, RunRequest

__all__ = [
    "CHECKPOINT",
    "EarlierRun",
    "RunDirectory",
    "RunRecord",
    "RunRequest",
    "fingerprint",
    "location",
    "check_unchanged",
]
