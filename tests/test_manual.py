"""The descriptions of methods and their parameters are complete and true."""

from __future__ import annotations

import pytest

from streamsieve.errors import ParameterError, UsageError
from streamsieve.estimators import estimator_class
from streamsieve.manual import describe_method, describe_parameters
from streamsieve.registry import METHODS, find_method, method_named


@pytest.mark.parametrize("method", METHODS)
def test_nothing_of_a_method_was_forgotten(method: str) -> None:
    assert METHODS[method].paper, f"{method}: name its paper in registry.py"
    description = describe_method(method)
    assert description["summary"].endswith("."), (
        f"{method}: its docstring begins with one sentence on one line"
    )
    for parameter in description["parameters"]:
        name = parameter["name"]
        assert parameter["meaning"], f"{method}: describe {name} in the docstring, under Parameters"
        assert parameter["allowed"], f"{method}: check {name} where it is declared"
        assert "``" not in parameter["meaning"]


@pytest.mark.parametrize("method", METHODS)
def test_choices_are_accepted_and_others_are_refused(method: str) -> None:
    described = find_method(method)
    for parameter in describe_parameters(described):
        for choice in parameter.choices or ():
            described.make(**{parameter.name: choice})
        with pytest.raises(ParameterError, match=f"^{parameter.name}="):
            described.make(**{parameter.name: object()})


def test_parameters_that_are_as_in_another_method_are_described() -> None:
    meaning = {
        parameter.name: parameter.meaning for parameter in describe_parameters(find_method("pet"))
    }
    sofs = {
        parameter.name: parameter.meaning for parameter in describe_parameters(find_method("sofs"))
    }
    assert meaning["normalize"] == sofs["normalize"]
    assert meaning["forget"] == f"{sofs['forget']} forget is a half-life of the weights."


def test_a_choice_that_a_method_refuses_is_not_offered() -> None:
    (normalize,) = [
        parameter
        for parameter in describe_parameters(find_method("ofs-partial"))
        if parameter.name == "normalize"
    ]
    assert normalize.choices == [False, "l2", "standard", "standard+l2"]
    assert normalize.allowed == "False or 'l2' or 'standard' or 'standard+l2'"


def test_methods_are_found_by_any_spelling() -> None:
    for method in METHODS:
        name = estimator_class(method).__name__
        assert {
            method_named(text) for text in (method, name, name.lower(), method.replace("-", "_"))
        } == {method}
        assert describe_method(method)["class"] == name


def test_an_unknown_method_names_near_ones() -> None:
    with pytest.raises(UsageError, match=r"there is no method 'Fast_OSF' \(did you mean fast-osfs"):
        method_named("Fast_OSF")
