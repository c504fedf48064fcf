"""Helpers of all checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamsieve.errors import DataError
from streamsieve.estimators import estimator_class
from streamsieve.targets import Kind


class Maker:
    """A maker of estimators of a method, for a kind of target."""

    def __init__(self, method: str, params: dict[str, Any], kind: Kind = "classes") -> None:
        self.method, self.kind = method, kind
        self.estimator = estimator_class(method)
        self.params = params

    def __call__(self, **params: Any) -> Any:
        return self.estimator(**{**self.params, **params})


def assert_refused_without_trace(learner: Any, block: Any, message: str) -> None:
    """Assert that a learner refuses a block with this message, and stays exactly as it was."""
    before = learner.model().to_bytes()
    assert_refused(lambda: learner.partial_fit_block(block), message)
    assert learner.model().to_bytes() == before, (
        f"a block that was refused ({message}) has changed the model"
    )


def assert_refused(call: Callable[[], Any], message: str) -> None:
    """Assert that a call raises a DataError whose text contains ``message``."""
    text = ""
    try:
        call()
    except DataError as error:
        text = str(error)
    assert message in text, f"{text!r} does not say {message!r}"
