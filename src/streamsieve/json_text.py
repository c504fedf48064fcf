"""JSON as it is written and read here: never a bare NaN or Infinity, which no other reader would take."""

from __future__ import annotations

import json
import math
from typing import Any


def to_json(value: Any, indent: int | None = None, sort_keys: bool = False) -> str:
    """A value as JSON; a number that is not finite becomes null."""
    return json.dumps(finite(value), indent=indent, sort_keys=sort_keys, allow_nan=False)


def finite(value: Any) -> Any:
    """The same value, None for every number in it that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, list | tuple) else value


def from_json(text: str | bytes) -> Any:
    """What a text in JSON says, null for a number that is not finite; a ValueError if it is not JSON.

    It may come from a stranger: one that is nested too deeply for Python is refused like any other damage.
    """
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_float=_finite_float)
    except RecursionError:
        raise ValueError("lists in lists, too deeply") from None


def _finite_float(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None
