"""The progress bar: rows, speed, mistakes so far, time left."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..training import Progress as Snapshot


class ProgressBar:
    """Call it with a snapshot after every block; drawn a few times a second at most."""

    def __init__(self) -> None:
        self.bar = Progress(
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[rows]:,} {task.fields[unit]}"),
            TextColumn("{task.fields[speed]}"),
            TextColumn("{task.fields[mistakes]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            refresh_per_second=8,
            transient=True,
        )
        self.task = self.bar.add_task("", total=None, rows=0, unit="rows", speed="", mistakes="")

    def __enter__(self) -> ProgressBar:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.bar.stop()

    def __call__(self, now: Snapshot) -> None:
        done, total = (now.bytes, now.n_bytes) if now.n_bytes else (now.done, now.total)
        elapsed = self.bar.tasks[self.task].elapsed or 0.0
        speed = f"{now.bytes / elapsed / 1e6:,.0f} MB/s" if now.n_bytes and now.bytes and elapsed else ""
        mistakes = "" if now.mistakes is None else f"{now.mistakes / max(1, now.done):.1%} mistakes"
        mistakes = mistakes if now.r2 is None else f"R2 {now.r2:.3f}"
        shown: dict[str, Any] = {"rows": now.done, "unit": now.unit, "speed": speed, "mistakes": mistakes}
        self.bar.update(self.task, completed=done, total=total, **shown)
