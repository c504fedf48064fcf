"""Results for people: a plain dictionary first, from which everything is shown."""

from .comparison import describe_comparison
from .html import render
from .run import describe_run
from .summary import summarize
from .writing import describe, write_report

__all__ = ["describe", "describe_comparison", "describe_run", "render", "summarize", "write_report"]
