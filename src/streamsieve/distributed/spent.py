"""What the workers of a training have spent."""

from __future__ import annotations

from ..training import Clock

Seconds = tuple[float, float, float]  # in all, learning, compiling


def spent_by(clock: Clock) -> Seconds:
    """The seconds of one worker."""
    seconds = clock.seconds()
    return seconds["total"], seconds["learn"], seconds["compile"]


class Spent:
    """Seconds of all workers together."""

    def __init__(self) -> None:
        self.seconds: Seconds = (0.0, 0.0, 0.0)

    def add(self, more: Seconds) -> None:
        busy, learning, compiling = (a + b for a, b in zip(self.seconds, more, strict=True))
        self.seconds = busy, learning, compiling

    def per_worker(self, n_workers: int, total: float) -> dict[str, float]:
        """As a training reports them: a mean worker's, beside the seconds in all."""
        busy, learning, compiling = (seconds / n_workers for seconds in self.seconds)
        reading = max(0.0, busy - learning - compiling)
        return {"total": total, "read": reading, "learn": learning, "compile": compiling}
