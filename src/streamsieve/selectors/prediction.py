"""What is predicted of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

B = TypeVar("B")  # the kind of block that has the rows


class Prediction(NamedTuple):
    """What is predicted of some rows."""

    labels: NDArray[Any]  # classes, or numbers
    scores: NDArray[np.float64]  # per row; for more than two classes, per row and class
    probabilities: NDArray[np.float64] | None  # per row and class; None of numbers


@dataclass(frozen=True, slots=True)
class Predictor(Generic[B]):
    """Predicts the rows of a block, made once for as many blocks as there are."""

    classes: NDArray[Any] | None  # sorted; None if it predicts numbers
    predict: Callable[[B], Prediction]

    def __call__(self, block: B) -> Prediction:
        return self.predict(block)
