"""What parameters of methods, and numbers in the headers of models, must be."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError

LARGEST_COUNT = 2**63 - 1  # an int64
LARGEST_FLOAT = int(np.finfo(np.float64).max)
MOST_FEATURES = 2**31  # that can be kept: a kept one is known by an int32


def count_of(header: dict[str, Any], name: str, most: int = LARGEST_COUNT) -> int:
    """A number of things in the header of a model."""
    value = header[name]
    if not is_integer(value) or not 0 <= value <= most:
        raise ValueError(f"{name} is {str(value)[:40]!r}")
    return int(value)


def require(condition: bool, name: str, value: Any, expected: str) -> None:
    """Refuse a parameter, saying what it must be."""
    if not condition:
        raise ParameterError(name, value, expected)


def require_one_of(name: str, value: Any, allowed: Any) -> None:
    """Refuse a parameter that is not one of some values."""
    fits = any(value is option or (type(value) is type(option) and value == option) for option in allowed)
    if not fits:
        raise ParameterError(name, value, " or ".join(map(repr, allowed)), list(allowed))


def require_budget(value: Any) -> None:
    """``n_features_to_select`` of methods that can decide by themselves: None or a number of features."""
    fits = value is None or (is_integer(value) and 1 <= value < MOST_FEATURES)
    require(fits, "n_features_to_select", value, f"None or an integer of 1 or more, below {MOST_FEATURES:,}")


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, and not a truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, no larger than a float64 can be, and not a truth value."""
    if is_integer(value):
        return abs(int(value)) <= LARGEST_FLOAT
    return isinstance(value, float | np.floating) and bool(np.isfinite(value))
