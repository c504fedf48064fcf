"""Results for people: first a plain dictionary, from which pages and pictures are made."""

from .comparison import describe_comparison
from .page import describe, render, write_report
from .run import describe_run, summarize

__all__ = ["describe", "describe_comparison", "describe_run", "render", "summarize", "write_report"]
