"""What learners of rows share that learn classes."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError
from ...kernels.rows.members import MISTAKES
from ...state import Arrays
from ...targets import Encoded, Labels
from ..base import ClassWeight
from ..diagnosis import Remark
from ..prediction import Prediction, Predictor, Squares
from .base import RowLearner
from .calibration import probabilities
from .curves import most_accurate
from .diagnosis import no_better_than_majority
from .meaning import meaning
from .memory import S
from .targets import Classes
from .weights import refuse_products, refuse_strangers, require_class_weight, row_weights


class RowClassifier(RowLearner[S]):
    """A learner of rows that learns classes, and counts its mistakes on the way."""

    two_classes_only: ClassVar[bool] = False

    class_weight: ClassWeight

    def check_parameters(self) -> None:
        super().check_parameters()
        require_class_weight(self.class_weight)

    # ---- learning

    @property
    def known(self) -> Classes:
        """What is known of the classes."""
        target = self.memory.target
        assert isinstance(target, Classes)
        return target

    def _start_target(self, classes: Any | None, y: Any | None) -> Classes:
        return self._allowed(Classes(Labels(classes if y is None or classes is not None else np.unique(np.asarray(y)))))

    def _target_of_model(self, header: dict[str, Any], arrays: Arrays) -> Classes:
        return self._allowed(Classes.of_model(header, arrays))

    def _refuse_rows(self, block: RowBlock, encoded: Encoded) -> None:
        if encoded.classes.size == self.known.labels.n_classes:  # all are known
            refuse_strangers(self.class_weight, encoded.classes)
        refuse_products(block, encoded, self.class_weight, self.n_rows_)

    def _allowed(self, target: Classes) -> Classes:
        if self.two_classes_only and target.labels.n_classes > 2:
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass. "  # scikit-learn's
                f"{self.method} learns two classes, and there are {target.labels.n_classes:,}; sofs learns any number"
            )
        return target

    def _row_weights(self, answers: NDArray[Any], given: NDArray[np.float64] | None) -> NDArray[np.float64]:
        return row_weights(answers, given, self.class_weight, self.known.labels)

    def partial_fit_block(self, block: RowBlock) -> Self:
        super().partial_fit_block(block)
        if not self.learns_a_part:
            self._warn_of_order(at_end=False)
        return self

    def finish(self, origin: str = "") -> Self:
        self.known.labels.refuse_one_class(origin)
        self._warn_of_order(at_end=True)
        return self

    def _warn_of_order(self, at_end: bool) -> None:
        memory = self.memory
        message = None if memory.warned else self.known.labels.order_warning(at_end)
        if message:
            memory.warned = True
            warnings.warn(message, UserWarning, stacklevel=10)

    # ---- what was learned

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted; with two, ``predict`` gives the second where the score is positive."""
        if self._memory is None:
            raise AttributeError("classes_")
        return self.known.labels.classes

    @property
    def mistakes(self) -> int:
        return self.mistakes_

    @property
    def mistakes_(self) -> int:
        """Rows predicted wrongly before they were learned; a score of exactly 0 counts as wrong.

        With ``n_features_to_select="auto"`` they are those with the number of features that is taken.
        """
        if self._chooses_number:
            return int(self._known_curve().mistakes[self._enough()])
        return int(self.memory.state.counts[MISTAKES])

    def class_rows(self) -> dict[Any, int] | None:
        """Of one epoch, as all see the same rows."""
        labels = self.known.labels
        classes = labels.classes.tolist()
        counts = labels.counts[labels.n_classes - len(classes) :] // self.n_epochs
        return dict(zip(classes, counts.tolist(), strict=True))

    def _curve_values(self) -> dict[str, NDArray[np.float64]]:
        return {"accuracy": 1.0 - self._known_curve().mistakes / max(1, self.n_rows_)}

    def _enough(self) -> int:
        return most_accurate(self._curve_values()["accuracy"], self.n_rows_)

    def _meaning(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        return meaning(weights, self.known.labels)

    def _remark_on_quality(self) -> Remark | None:
        return no_better_than_majority(self)

    def predictor(self) -> Predictor[RowBlock]:
        score = self.scorer()

        def predict(block: RowBlock, squares: Squares) -> Prediction:
            scores = score(block, squares)
            return Prediction(self.classify(scores), scores, self.probabilities(scores))

        return Predictor(self.classes_, predict)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of every class, a column each, for rows with these scores; the largest is that predicted."""
        if self.classes_.size == 1:
            return np.ones((scores.size, 1))
        rung = self._rung
        return probabilities(scores, self.known.calibration if rung is None else rung.calibration)

    def loss_on(self, block: RowBlock) -> float:
        """The mean squared hinge loss; of many classes, between the right one and the best of the others."""
        scores, codes = self.scorer()(block), np.searchsorted(self.classes_, np.asarray(block.y))
        if scores.ndim == 1:
            margins = np.where(codes == 1, scores, -scores)
        else:
            right = np.arange(codes.size), codes
            margins = scores[right]
            scores[right] = -np.inf
            margins = margins - scores.max(axis=1)
        return float(np.mean(np.maximum(0.0, 1.0 - margins) ** 2))

    def classify(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The classes that scores stand for; of two, a score of exactly 0 is the first, of more the first best wins."""
        if not self.classes_.size:
            raise DataError("no rows were learned yet, so no classes are known")
        codes = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        classes: NDArray[Any] = self.classes_[np.minimum(codes, self.classes_.size - 1)]
        return classes
