"""Keep runs: the request, the progress, the result and the folder that holds them."""

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
