"""Count the seconds that the workers of a training have spent."""

from __future__ import annotations

from ..training import Clock

Seconds = tuple[float, float, float]  # total, learning, compiling


def seconds_by(clock: Clock) -> Seconds:
    """Return the seconds that a clock has counted."""
    seconds = clock.seconds()
    return seconds["total"], seconds["learn"], seconds["compile"]


class WorkerSeconds:
    """The seconds of all workers together."""

    def __init__(self) -> None:
        self.seconds: Seconds = (0.0, 0.0, 0.0)

    def add(self, seconds: Seconds) -> None:
        """Add the seconds of one worker."""
        busy, learning, compiling = (a + b for a, b in zip(self.seconds, seconds, strict=True))
        self.seconds = busy, learning, compiling

    def per_worker(self, n_workers: int, total: float) -> dict[str, float]:
        """Return seconds as a training reports them: means over workers, and the total time."""
        busy, learning, compiling = (seconds / n_workers for seconds in self.seconds)
        reading = max(0.0, busy - learning - compiling)
        return {"total": total, "read": reading, "learn": learning, "compile": compiling}
