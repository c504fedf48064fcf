"""Results for people: a plain dictionary first, from which everything is shown."""

from .summary import summarize

__all__ = ["summarize"]
