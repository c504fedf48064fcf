"""What is predicted of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

B = TypeVar("B")  # the kind of block that has the rows
Squares = NDArray[np.float64] | None


class Prediction(NamedTuple):
    """What is predicted of some rows."""

    labels: NDArray[Any]  # classes, or numbers
    scores: NDArray[np.float64]  # per row; for more than two classes, per row and class
    probabilities: NDArray[np.float64] | None  # per row and class; None of numbers


@dataclass(frozen=True, slots=True)
class Predictor(Generic[B]):
    """Predicts the rows of a block, made once for as many blocks as there are.

    Of rows with the selected features alone, ``squares`` has the squared lengths that the complete rows have, as
    ``Learner.row_squares`` gives them; NaN where that is not known.
    """

    classes: NDArray[Any] | None  # sorted; None if it predicts numbers
    predict: Callable[[B, Squares], Prediction]

    def __call__(self, block: B, squares: Squares = None) -> Prediction:
        return self.predict(block, squares)
