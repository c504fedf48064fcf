"""Progress bars for a terminal and for a notebook: rows, speed, mistakes so far and time."""

from __future__ import annotations

import sys
import time
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from .training import Progress as Snapshot

SECONDS_BETWEEN = 0.1  # updates of a notebook


class ProgressBar(Progress):
    """A bar to call with a snapshot after every block; drawn a few times a second at most."""

    def __init__(self) -> None:
        super().__init__(
            BarColumn(bar_width=30),
            TaskProgressColumn(),
            TextColumn("{task.fields[rows]:,} {task.fields[unit]}"),
            TextColumn("{task.fields[speed]}"),
            TextColumn("{task.fields[mistakes]}"),
            Times(),
            console=Console(stderr=True),
            refresh_per_second=8,
            transient=True,
        )
        self.task = self.add_task("", total=None, rows=0, unit="rows", speed="", mistakes="")

    def __enter__(self) -> Self:
        try:
            return super().__enter__()
        except BaseException:  # such as Ctrl-C while it is drawn for the first time
            self.stop()
            raise

    def __call__(self, now: Snapshot) -> None:
        done, total = amounts(now)
        elapsed = self.tasks[self.task].elapsed or 0.0
        speed = now.bytes / elapsed if now.n_bytes and now.bytes and elapsed else 0.0
        self.update(
            self.task,
            completed=done,
            total=total,
            rows=now.done,
            unit=now.unit,
            speed=f"{speed / 1e6:,.0f} MB/s" if speed else "",
            mistakes=quality_text(now),
        )


def amounts(now: Snapshot) -> tuple[int | None, int | None]:
    """Return the amount done and the total: in bytes where their number is known."""
    return (now.bytes, now.n_bytes) if now.n_bytes else (now.done, now.total)


def quality_text(now: Snapshot) -> str:
    """Return the quality of predictions so far."""
    mistakes = "" if now.mistakes is None else f"{now.mistakes / max(1, now.done):.1%} mistakes"
    return mistakes if now.r2 is None else f"R2 {now.r2:.3f}"


class Times(ProgressColumn):
    """The time elapsed and, where it can be estimated, the time left."""

    max_refresh = 0.5  # otherwise the time left flickers

    def render(self, task: Task) -> Text:
        left = None if task.total is None else task.time_remaining
        text = f"{clock(task.elapsed or 0.0)} elapsed"
        return Text(
            text if left is None else f"{text}, {clock(left)} left", style="progress.elapsed"
        )


def clock(seconds: float) -> str:
    """Return a duration as 0:12, or 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# ---- in a notebook: the progress element of the browser, updated in place


def in_notebook() -> bool:
    """Return True if this process is the kernel of a notebook, which has imported IPython."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return hasattr(shell, "kernel")


class NotebookBar:
    """A bar to call with a snapshot after every block; updated a few times a second at most."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.shown_at = -SECONDS_BETWEEN
        self.last: Snapshot | None = None
        self.handle: Any = None

    def __enter__(self) -> Self:
        from IPython.display import HTML, display

        self.handle = display(HTML(bar_of(None, 0.0)), display_id=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._show()

    def __call__(self, now: Snapshot) -> None:
        self.last = now
        if time.perf_counter() - self.began - self.shown_at >= SECONDS_BETWEEN:
            self._show()

    def _show(self) -> None:
        from IPython.display import HTML

        self.shown_at = time.perf_counter() - self.began
        self.handle.update(HTML(bar_of(self.last, self.shown_at)))


def bar_of(now: Snapshot | None, seconds: float) -> str:
    """Return the progress of a run after some seconds, as HTML in the colours of its page."""
    if now is None:
        return "<progress></progress>"
    done, total = amounts(now)
    attributes = f' value="{min(done or 0, total)}" max="{total}"' if total else ""
    texts = [f"{now.done:,} {now.unit}", quality_text(now), f"{seconds:.1f} s"]
    return f"<progress{attributes}></progress> {escape(', '.join(text for text in texts if text))}"
