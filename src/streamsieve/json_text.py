"""JSON without NaN and Infinity, which other readers reject, and checks of its content by types."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from .errors import DataError
from .files import replacing

MAX_FILE_BYTES = 1 << 30


def to_json(value: Any, indent: int | None = None, sort_keys: bool = False) -> str:
    """Return a value as JSON; a number that is not finite becomes null."""
    return json.dumps(finite(value), indent=indent, sort_keys=sort_keys, allow_nan=False)


def finite(value: Any) -> Any:
    """Return the same value, with None for every number in it that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, list | tuple) else value


def from_json(text: str | bytes) -> Any:
    """Return the content of a text in JSON; raise ValueError if it is not JSON.

    A number that is not finite becomes None. The text may come from a stranger: one that is nested
    too deeply for Python is rejected like any other damage.
    """
    try:
        return json.loads(
            text, parse_constant=lambda _: None, parse_float=lambda number: finite(float(number))
        )
    except RecursionError:
        raise ValueError("the lists are nested too deeply") from None


# ---- checks by types: the files of a run may come from a stranger, or have been edited

MAX_NUMBER = 2**63 - 1  # the largest number of any kind, so that no array overflows


def at_least(low: int) -> Callable[[Any], bool]:
    """Return a check for a number that is not below ``low``."""
    return lambda value: bool(value >= low)


def at_most(high: int) -> Callable[[Any], bool]:
    """Return a check for a number that is not above ``high``."""
    return lambda value: bool(value <= high)


Count: TypeAlias = Annotated[int, at_least(0)]
Positive: TypeAlias = Annotated[int, at_least(1)]
Label: TypeAlias = str | bool | float | None
Measure: TypeAlias = float | None  # JSON has no number that is not finite
Group: TypeAlias = Count | str


def conforms(value: Any, kind: Any) -> bool:
    """Return True if a value that was read from JSON is of a type.

    Tuples are lists in JSON, and classes are objects.
    """
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is Annotated:
        return conforms(value, args[0]) and all(check(value) for check in args[1:])
    if origin in (Union, types.UnionType):
        return any(conforms(value, part) for part in args)
    if origin is Literal:
        return any(type(value) is type(allowed) and value == allowed for allowed in args)
    if origin is dict:
        return isinstance(value, dict) and all(conforms(part, args[1]) for part in value.values())
    if origin is tuple and Ellipsis not in args:
        return (
            isinstance(value, list) and len(value) == len(args) and all(map(conforms, value, args))
        )
    if origin in (list, tuple):
        return isinstance(value, list) and all(conforms(part, args[0]) for part in value)
    if is_typeddict(kind) or is_dataclass(kind):
        return isinstance(value, dict) and not wrong_fields(value, kind)
    if kind in (int, float):
        return type(value) in (kind, int) and not (type(value) is int and abs(value) > MAX_NUMBER)
    return isinstance(value, kind)


def wrong_fields(value: Mapping[str, Any], kind: Any) -> list[str]:
    """Return the fields of ``kind`` that an object lacks, or that hold a wrong value in it."""
    return [
        name
        for name, hint in get_type_hints(kind, include_extras=True).items()
        if (name in value or get_origin(hint) is not NotRequired)
        and not (
            name in value
            and conforms(
                value[name], get_args(hint)[0] if get_origin(hint) is NotRequired else hint
            )
        )
    ]


def read_json(path: Path, cure: str) -> dict[str, Any]:
    """Return the JSON object in a file; raise DataError with the cure if there is none."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise DataError(f"{path}: damaged (it is larger than {MAX_FILE_BYTES >> 30} GiB); {cure}")
    try:
        content = from_json(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: damaged ({error}); {cure}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path}: damaged (not a JSON object); {cure}")
    return content


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object as JSON; the file is complete or absent."""
    with replacing(path, follow=False) as partial:
        partial.write_text(to_json(content, indent=1) + "\n", encoding="utf-8")
