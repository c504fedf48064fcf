"""Every method by its name on the command line; a class is imported when it is used."""

from __future__ import annotations

import difflib
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import DataError, UsageError
from .persistence import read_model

METHODS = {
    "sofs": "streamsieve.selectors.rows.sofs:SOFS",
}


def selector_class(name: str) -> Any:
    """The class of a method."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"there is no method {name!r}{hint}; there are {', '.join(METHODS)}")
    module, _, attribute = METHODS[name].partition(":")
    return getattr(import_module(module), attribute)


def method_of(class_name: str) -> str:
    """The method whose class has this name."""
    for name, place in METHODS.items():
        if place.endswith(f":{class_name}"):
            return name
    raise DataError(f"this version knows no selector {class_name!r}")


def load(path: str | Path) -> Any:
    """The selector that ``save`` wrote to ``path``; learning goes on as if never interrupted."""
    header, arrays = read_model(path)
    return selector_class(method_of(header.get("class", ""))).from_saved(header, arrays)
