"""What a feature is called where people read of it: by its name or, without one, by its id as its file writes it."""

from __future__ import annotations


def shown(feature: int, name: object | None, first_id: int) -> str:
    """Return what a table calls a feature; ``first_id`` is what its file calls feature 0."""
    return str(feature + first_id if name is None else name)


def title(feature: int, name: object | None, first_id: int) -> str:
    """Return what a message calls a feature."""
    return f"feature {feature + first_id}" if name is None else f"column {str(name)!r}"
