"""The names under which features are shown, or else their ids as the file writes them."""

from __future__ import annotations


def shown(feature: int, name: object | None, first_id: int) -> str:
    """Return the name of a feature in tables; ``first_id`` is the id of feature 0 in its file."""
    return str(feature + first_id if name is None else name)


def title(feature: int, name: object | None, first_id: int) -> str:
    """Return the name of a feature in messages."""
    return f"feature {feature + first_id}" if name is None else f"column {str(name)!r}"
