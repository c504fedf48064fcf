"""What a method is and takes, for people: read from the docstring of its class and from its own checks.

There is no second list of parameters. Their meaning is in the docstring, under ``Parameters``; what they may be is what
``check_parameters`` says when it is given something that nothing can be.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

from .errors import ParameterError
from .registry import METHODS, learner_class, method_named
from .selectors.base import AnyLearner

AS_IN = re.compile(r"As in (\w+)(?:[;,] (.*)|\.)$")


class Parameter(NamedTuple):
    """A parameter of a method; ``choices`` are the values it can have, where those can be counted."""

    name: str
    default: Any
    allowed: str
    choices: list[Any] | None
    meaning: str


def describe_method(method: str) -> dict[str, Any]:
    """All that is to be said of a method, as JSON can hold it."""
    learner = learner_class(method)
    method = learner.method
    parameters = parameters_of(method)
    return {
        "name": method,
        "summary": (learner.__doc__ or "").partition("\n")[0],
        "class": learner.__name__.removesuffix("Learner"),
        "description": plain(" ".join(_paragraphs(learner)[1:])),
        "paper": METHODS[method].paper,
        "reads": learner.reads,
        "targets": sorted(learner.targets),
        "predicts": learner.predicts,
        "groups": learner.knows_groups,
        "example": _example(learner),
        "parameters": [parameter._asdict() for parameter in parameters],
        "params": {parameter.name: parameter.default for parameter in parameters},
    }


def parameters_of(method: str) -> list[Parameter]:
    """The parameters of a method, in the order of its class."""
    learner = learner_class(method)
    found = []
    for name, default in learner().parameters().items():
        allowed, choices = allowed_values(learner, name)
        found.append(Parameter(name, default, allowed, choices, meaning_of(learner, name)))
    return found


class _Nothing:
    """A value that no parameter can have."""


def allowed_values(learner: type[AnyLearner], name: str) -> tuple[str, list[Any] | None]:
    """What a parameter may be, in words, and each value if those can be counted."""
    refusal = _refusal(learner, name, _Nothing())
    if refusal is None:
        return "", None
    if refusal.choices is None:
        return refusal.expected, None
    choices = [value for value in refusal.choices if _refusal(learner, name, value) is None]
    return " or ".join(map(repr, choices)), choices


def _refusal(learner: type[AnyLearner], name: str, value: Any) -> ParameterError | None:
    """Why a method refuses a value of a parameter, beside the defaults of all others."""
    try:
        learner(**{name: value}).check_parameters()
    except ParameterError as error:
        return error
    return None


def meaning_of(learner: type[AnyLearner], name: str) -> str:
    """What a parameter is for, from the docstring; ``As in SOFS`` is looked up there."""
    names, text = _documented(learner).get(name, ((name,), ""))
    same = AS_IN.match(text)
    if same is None:
        return plain(text)
    more = same[2] or ""
    if len(names) > 1 and f"``{name}``" not in more:  # it is about another of them
        more = ""
    first = meaning_of(learner_class(method_named(same[1])), name)
    return f"{first} {plain(more[:1].upper() + more[1:])}".strip()


def _documented(learner: type[AnyLearner]) -> dict[str, tuple[tuple[str, ...], str]]:
    """By parameter: those that are described together with it, and the description."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", inspect.getdoc(learner) or "", re.S | re.M)
    found = {}
    for entry in re.split(r"\n(?=\S)", section[1]) if section else ():
        head, *lines = entry.splitlines()
        names = tuple(head.partition(" : ")[0].split(", "))
        found.update(dict.fromkeys(names, (names, " ".join(line.strip() for line in lines))))
    return found


def _paragraphs(learner: type[AnyLearner]) -> list[str]:
    """The docstring up to the parameters, a paragraph per line."""
    text = (inspect.getdoc(learner) or "").partition("\nParameters\n")[0]
    return [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]


def plain(text: str) -> str:
    """A text without the marks of code."""
    return text.replace("``", "")


def _example(learner: type[AnyLearner]) -> str:
    """A command that uses the method."""
    file = "train.svm" if learner.reads == "rows" else "train.csv --target y"
    budget = " -k 20" if "n_features_to_select" in learner.parameter_names() else ""
    groups = " --groups groups.txt" if learner.knows_groups else ""
    test = f" --test {file.partition(' ')[0].replace('train', 'test')}" if learner.predicts else ""
    return f"streamsieve select {file} -m {learner.method}{budget}{groups}{test} -o run"
