"""Parameters of methods: the fields of a dataclass, each declared with its checks.

    eta: float = parameter(0.1, between(*STEPS))

The ranges are as wide as data of any scale may need, and so narrow that no product in a kernel
overflows: values of rows are float32, up to 3.4e38, and a row has weights up to 10^12. Values
outside these ranges are rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from typing import Any

import numpy as np

from ..errors import ParameterError

MAX_COUNT = 2**63 - 1  # an int64
MAX_FLOAT = int(np.finfo(np.float64).max)
MAX_FEATURES = 2**31  # that can be kept: kept features are numbered by int32

# Squared lengths of rows: those of float32 are from 10^-90 to 10^77 times the width.
GAMMAS = 1e-90, 1e90
STEPS = 1e-80, 1e20  # a step times a squared length should be about 1
RADII = 1e-30, 1e30  # of the ball that holds the weights
PENALTIES = 0.0, 1e20
# With a half-life below one row a learner would forget every row before it learns the next.
HALF_LIVES = 1.0, 1e15
FRACTIONS = 1e-6, 1.0  # of rows to explore: values are divided by it
MAX_EPOCHS = 1_000_000
MAX_CELLS = 1 << 40
MAX_WEIGHT = 1e12  # of a row or a class

# Takes all parameters, a name and its value; raises ParameterError.
Check = Callable[[Any, str, Any], None]


# ---- declaring


def parameter(default: Any, *checks: Check) -> Any:
    """Return the field of a parameter that is given by name."""
    return field(default=default, metadata=checked(*checks))


def checked(*checks: Check) -> dict[str, tuple[Check, ...]]:
    """Return the metadata of a field whose values must pass the checks."""
    return {"checks": checks}


def check_parameters(params: Any) -> None:
    """Raise ParameterError if a parameter has an invalid value."""
    for declared in fields(params):
        for check in declared.metadata["checks"]:
            check(params, declared.name, getattr(params, declared.name))


def parameters_of(params: Any) -> dict[str, Any]:
    """Return the parameters by name, as JSON can hold them."""
    return {
        declared.name: to_builtin(getattr(params, declared.name)) for declared in fields(params)
    }


def options_of(options: type[Any], params: Any) -> Any:
    """Return a dataclass of options filled from parameters.

    Options that a method does not have keep their default.
    """
    names = {declared.name for declared in fields(params)} & {
        declared.name for declared in fields(options)
    }
    return options(**{name: getattr(params, name) for name in names})


# ---- checks


def fits(test: Callable[[Any], bool], expected: str) -> Check:
    """Return a check of a single value."""
    return together(lambda params, value: test(value), expected)


def together(test: Callable[[Any, Any], bool], expected: str) -> Check:
    """Return a check of a value that depends on other parameters."""

    def check(params: Any, name: str, value: Any) -> None:
        require(test(params, value), name, value, expected)

    return check


def one_of(*allowed: Any) -> Check:
    """Return a check that a value is one of the allowed ones."""

    def check(params: Any, name: str, value: Any) -> None:
        if not any(
            value is option or (type(value) is type(option) and value == option)
            for option in allowed
        ):
            raise ParameterError(name, value, " or ".join(map(repr, allowed)), list(allowed))

    return check


def between(low: float, high: float, *alternatives: Any, words: str = "") -> Check:
    """Return a check that a value is a number in a range, or one of a few alternatives.

    ``words`` names the alternatives in messages.
    """
    alternatives_text = words or "".join(f"{value!r} or " for value in alternatives)

    def is_allowed(value: Any) -> bool:
        is_not_number = value is None or isinstance(value, str)
        return (
            value in alternatives
            if is_not_number
            else is_number(value) and low <= to_builtin(value) <= high
        )

    return fits(is_allowed, f"{alternatives_text}a number from {low:g} to {high:g}")


def count(maximum: int, optional: bool = False) -> Check:
    """Return a check that a value is an integer from 1 to ``maximum``, or None if optional."""
    return fits(
        lambda value: (optional and value is None) or (is_integer(value) and 1 <= value <= maximum),
        f"{'None or ' if optional else ''}an integer from 1 to {maximum:,}",
    )


YES_OR_NO = one_of(True, False)
BUDGET = fits(
    lambda value: is_integer(value) and 1 <= value < MAX_FEATURES,
    f"an integer of 1 or more, below {MAX_FEATURES:,}",
)
BUDGET_OR_NONE = fits(
    lambda value: value is None or (is_integer(value) and 1 <= value < MAX_FEATURES),
    f"None or an integer of 1 or more, below {MAX_FEATURES:,}",
)
LEVEL = fits(lambda value: is_number(value) and 0 < value < 1, "a number between 0 and 1")
NOT_NEGATIVE = fits(lambda value: is_number(value) and value >= 0, "a number of 0 or more")
SEED = fits(
    lambda value: (
        value is None
        or isinstance(value, np.random.Generator)
        or (is_integer(value) and value >= 0)
    ),
    "None, an integer of 0 or more, or a numpy.random.Generator",
)


def require(condition: bool, name: str, value: Any, expected: str) -> None:
    """Raise ParameterError, saying what a parameter must be, unless a condition holds."""
    if not condition:
        raise ParameterError(name, value, expected)


def is_integer(value: Any) -> bool:
    """Return True for an integer that is not a boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return True for a finite number within float64 that is not a boolean."""
    if is_integer(value):
        return abs(int(value)) <= MAX_FLOAT
    return isinstance(value, float | np.floating) and bool(np.isfinite(value))


# ---- in models


def count_of(header: dict[str, Any], name: str, maximum: int = MAX_COUNT) -> int:
    """Return a count from the header of a model; raise ValueError if it is out of range."""
    value = header[name]
    ensure(is_integer(value) and 0 <= value <= maximum, f"{name} is {str(value)[:40]!r}")
    return int(value)


def ensure(condition: Any, fault: str) -> None:
    """Raise ValueError, saying what is wrong with a model, unless a condition holds."""
    if not condition:
        raise ValueError(fault)


def to_builtin(value: Any) -> Any:
    """Convert NumPy's numbers and arrays to Python's own; return None for a generator.

    Searches over parameters pass NumPy values. The state of a generator is saved separately.
    """
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return None if isinstance(value, np.random.Generator) else value


def as_json(value: Any) -> Any:
    """Return a parameter in a form that JSON can hold: a dictionary becomes a list of pairs."""
    if isinstance(value, dict):
        return {"pairs": [[to_builtin(key), weight] for key, weight in value.items()]}
    return value


def from_json(value: Any) -> Any:
    """Return the parameter that ``as_json`` was given."""
    return dict(map(tuple, value["pairs"])) if isinstance(value, dict) else value
