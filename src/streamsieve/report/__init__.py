"""Results for people: a plain dictionary first, from which everything is shown."""

from .comparison import describe_comparison
from .page import describe, render, write_report
from .run import describe_run, summarize

__all__ = ["describe", "describe_comparison", "describe_run", "render", "summarize", "write_report"]
