"""What a method is and takes, for people: read from the docstring of its parameters and from their checks.

There is no second list of parameters. Their meaning is in the docstring, under ``Parameters``; what
they may be is what their checks say when they are given something that nothing can be.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

from .errors import ParameterError
from .registry import METHODS, find_method
from .selectors.base import Method
from .selectors.parameters import parameters_of

AS_IN = re.compile(r"As in (\w+)(?:[;,] (.*)|\.)$")


class Parameter(NamedTuple):
    """A parameter of a method; ``choices`` are the values it can have, where those can be counted."""

    name: str
    default: Any
    allowed: str
    choices: list[Any] | None
    meaning: str


def describe_method(method: str) -> dict[str, Any]:
    """Return all that is to be said of a method, as JSON can hold it."""
    found = find_method(method)
    parameters = describe_parameters(found)
    _, *paragraphs = (
        inspect.cleandoc(found.doc).partition("\nParameters\n")[0].strip().split("\n\n")
    )
    return {
        "name": found.name,
        "summary": found.doc.partition("\n")[0],
        "class": METHODS[found.name].estimator,
        "description": plain(" ".join(" ".join(paragraphs).split())),
        "paper": METHODS[found.name].paper,
        "reads": found.reads,
        "targets": sorted(found.targets),
        "predicts": found.predicts,
        "groups": found.knows_groups,
        "example": _example(found),
        "parameters": [parameter._asdict() for parameter in parameters],
        "params": {parameter.name: parameter.default for parameter in parameters},
    }


def describe_parameters(method: Method) -> list[Parameter]:
    """Return the parameters of a method, in their order."""
    defaults = parameters_of(method.parameters()).items()
    return [
        Parameter(name, value, *allowed_values(method, name), meaning_of(method, name))
        for name, value in defaults
    ]


def allowed_values(method: Method, name: str) -> tuple[str, list[Any] | None]:
    """Return what a parameter may be, in words, and each value if those can be counted."""
    refusal = _refusal(method, name, object())  # which no parameter can be
    if refusal is None or refusal.choices is None:
        return "" if refusal is None else refusal.expected, None
    choices = [value for value in refusal.choices if _refusal(method, name, value) is None]
    return " or ".join(map(repr, choices)), choices


def _refusal(method: Method, name: str, value: Any) -> ParameterError | None:
    """Return why a method refuses a value of a parameter, beside the defaults of all others."""
    try:
        method.make(**{name: value})
    except ParameterError as error:
        return error
    return None


def meaning_of(method: Method, name: str) -> str:
    """Return what a parameter is for, from the docstring; ``As in SOFS`` is looked up there."""
    names, text = _documented(method).get(name, ((name,), ""))
    same = AS_IN.match(text)
    if same is None:
        return plain(text)
    more = same[2] or ""
    more = (
        more if len(names) == 1 or f"``{name}``" in more else ""
    )  # or it is about another of them
    first = meaning_of(find_method(same[1]), name)
    return f"{first} {plain(more[:1].upper() + more[1:])}".strip()


def _documented(method: Method) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return by parameter those that are described together with it, and the description."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", inspect.cleandoc(method.doc), re.S | re.M
    )
    found = {}
    for entry in re.split(r"\n(?=\S)", section[1]) if section else ():
        head, *lines = entry.splitlines()
        names = tuple(head.partition(" : ")[0].split(", "))
        found.update(dict.fromkeys(names, (names, " ".join(line.strip() for line in lines))))
    return found


def plain(text: str) -> str:
    """Return a text without the marks of code."""
    return text.replace("``", "")


def _example(method: Method) -> str:
    """Return a command that uses the method."""
    file = "train.svm" if method.reads == "rows" else "train.csv --target y"
    budget = " -k 20" if "n_features_to_select" in method.parameter_names else ""
    groups = " --groups groups.txt" if method.knows_groups else ""
    test = f" --test {file.partition(' ')[0].replace('train', 'test')}" if method.predicts else ""
    return f"streamsieve select {file} -m {method.name}{budget}{groups}{test} -o run"
