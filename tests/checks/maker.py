"""What the checks of all kinds share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamsieve.errors import DataError
from streamsieve.estimators import estimator_class
from streamsieve.targets import Kind


class Maker:
    """Makes estimators of a method, for a kind of target."""

    def __init__(self, method: str, params: dict[str, Any], kind: Kind = "classes") -> None:
        self.method, self.kind = method, kind
        self.estimator = estimator_class(method)
        self.params = params

    def __call__(self, **params: Any) -> Any:
        return self.estimator(**{**self.params, **params})


def refuses_without_trace(learner: Any, block: Any, message: str) -> None:
    """Assert that a learner refuses a block with a message that says this, and is exactly as it was."""
    before = learner.model().to_bytes()
    refuses(lambda: learner.partial_fit_block(block), message)
    assert learner.model().to_bytes() == before, (
        f"a block that was refused ({message}) has changed the model"
    )


def refuses(call: Callable[[], Any], message: str) -> None:
    """A call raises a DataError that says this."""
    said = ""
    try:
        call()
    except DataError as error:
        said = str(error)
    assert message in said, f"{said!r} does not say {message!r}"
