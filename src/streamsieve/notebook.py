"""The progress bar of a notebook: the browser's own, updated in place."""

from __future__ import annotations

import sys
import time
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .progress import quality_text

if TYPE_CHECKING:
    from .training import Progress as Snapshot

SECONDS_BETWEEN = 0.1  # two updates


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which has imported IPython."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return hasattr(shell, "kernel")


class NotebookBar:
    """Call it with a snapshot after every block; shown a few times a second at most."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.shown_at = -SECONDS_BETWEEN
        self.last: Snapshot | None = None
        self.handle: Any = None

    def __enter__(self) -> NotebookBar:
        from IPython.display import HTML, display

        self.handle = display(HTML(bar_of(None, 0.0)), display_id=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
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
    """How far a run is after so many seconds, as HTML in the colours of the page around it."""
    if now is None:
        return "<progress></progress>"
    done, total = (now.bytes, now.n_bytes) if now.n_bytes else (now.done, now.total)
    known = f' value="{min(done or 0, total)}" max="{total}"' if total else ""
    texts = [f"{now.done:,} {now.unit}", quality_text(now), f"{seconds:.1f} s"]
    return f"<progress{known}></progress> {escape(', '.join(text for text in texts if text))}"
