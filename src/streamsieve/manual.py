"""Descriptions of methods and their parameters, from docstrings and parameter checks.

Parameters are not listed a second time. Their meaning is in the docstring, under ``Parameters``;
the allowed values are in the message of their checks for a value that is never valid.
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
    """A parameter of a method; ``choices`` are its valid values, if they can be listed."""

    name: str
    default: Any
    allowed: str
    choices: list[Any] | None
    meaning: str


def describe_method(method: str) -> dict[str, Any]:
    """Return the full description of a method, in a form that JSON can hold."""
    selected = find_method(method)
    parameters = describe_parameters(selected)
    _, *paragraphs = (
        inspect.cleandoc(selected.doc).partition("\nParameters\n")[0].strip().split("\n\n")
    )
    return {
        "name": selected.name,
        "summary": selected.doc.partition("\n")[0],
        "class": METHODS[selected.name].estimator,
        "description": strip_markup(" ".join(" ".join(paragraphs).split())),
        "paper": METHODS[selected.name].paper,
        "reads": selected.reads,
        "targets": sorted(selected.targets),
        "predicts": selected.predicts,
        "groups": selected.supports_groups,
        "example": _example(selected),
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
    """Return a description of the valid values of a parameter, and the list of them, if any."""
    refusal = _refusal(method, name, object())  # never a valid value
    if refusal is None or refusal.choices is None:
        return "" if refusal is None else refusal.expected, None
    choices = [value for value in refusal.choices if _refusal(method, name, value) is None]
    return " or ".join(map(repr, choices)), choices


def _refusal(method: Method, name: str, value: Any) -> ParameterError | None:
    """Return the error of a method for a value of a parameter, with defaults for all others."""
    try:
        method.make(**{name: value})
    except ParameterError as error:
        return error
    return None


def meaning_of(method: Method, name: str) -> str:
    """Return the meaning of a parameter from the docstring; ``As in SOFS`` is looked up there."""
    names, text = _parse_parameters(method).get(name, ((name,), ""))
    reference = AS_IN.match(text)
    if reference is None:
        return strip_markup(text)
    addition = reference[2] or ""
    # otherwise the addition is about another parameter of the entry
    addition = addition if len(names) == 1 or f"``{name}``" in addition else ""
    first = meaning_of(find_method(reference[1]), name)
    return f"{first} {strip_markup(addition[:1].upper() + addition[1:])}".strip()


def _parse_parameters(method: Method) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return for each parameter the names described together with it, and the description."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", inspect.cleandoc(method.doc), re.S | re.M
    )
    descriptions = {}
    for entry in re.split(r"\n(?=\S)", section[1]) if section else ():
        head, *lines = entry.splitlines()
        names = tuple(head.partition(" : ")[0].split(", "))
        descriptions.update(dict.fromkeys(names, (names, " ".join(line.strip() for line in lines))))
    return descriptions


def strip_markup(text: str) -> str:
    """Return a text without the marks of code."""
    return text.replace("``", "")


def _example(method: Method) -> str:
    """Return an example of a command with the method."""
    file = "train.svm" if method.reads == "rows" else "train.csv --target y"
    budget = " -k 20" if "n_features_to_select" in method.parameter_names else ""
    groups = " --groups groups.txt" if method.supports_groups else ""
    test = f" --test {file.partition(' ')[0].replace('train', 'test')}" if method.predicts else ""
    return f"streamsieve select {file} -m {method.name}{budget}{groups}{test} -o run"
