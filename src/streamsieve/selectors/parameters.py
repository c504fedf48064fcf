"""Parameters of a method as models keep them."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_builtin(value: Any) -> Any:
    """NumPy's numbers and arrays, as searches over parameters hand out, as Python's own; a generator as None.

    What a generator would draw next is saved apart.
    """
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return None if isinstance(value, np.random.Generator) else value


def as_json(value: Any) -> Any:
    """A parameter as JSON gives it back: keys of any kind become pairs."""
    if isinstance(value, dict):
        return {"pairs": [[to_builtin(key), weight] for key, weight in value.items()]}
    return value


def from_json(value: Any) -> Any:
    """What ``as_json`` was given."""
    return dict(map(tuple, value["pairs"])) if isinstance(value, dict) else value
