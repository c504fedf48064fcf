"""What learners of rows share that learn numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError, prefix
from ...kernels.rows.errors import DEVIATIONS
from ...state import Arrays
from ...targets import ONLY_NUMBERS, Kind
from ..diagnosis import Remark
from ..prediction import Prediction, Predictor, Squares
from .base import RowLearner
from .curves import least_wrong
from .diagnosis import no_better_than_mean
from .memory import S
from .targets import FIRST_NUMBERS, Numbers


class RowRegressor(RowLearner[S]):
    """A learner of rows that learns numbers, and measures its errors on the way."""

    targets: ClassVar[frozenset[Kind]] = ONLY_NUMBERS

    # ---- learning

    @property
    def known(self) -> Numbers:
        """What is known of the target."""
        target = self.memory.target
        assert isinstance(target, Numbers)
        return target

    @property
    def _warm_rows(self) -> int:
        return max(super()._warm_rows, FIRST_NUMBERS)

    @property
    def _unit_length(self) -> bool:
        """Tables of numbers keep their lengths where nothing else is asked for: a number depends on them."""
        scaling = self.memory.scaling
        return super()._unit_length and not (scaling is not None and scaling.choice.is_table)

    def _start_target(self, classes: Any | None, y: Any | None) -> Numbers:
        return Numbers()

    def _target_of_model(self, header: dict[str, Any], arrays: Arrays) -> Numbers:
        return Numbers()

    def _row_weights(self, answers: NDArray[Any], given: NDArray[np.float64] | None) -> NDArray[np.float64]:
        return np.ones(answers.size) if given is None else given

    def finish(self, origin: str = "") -> Self:
        if not self.n_rows_:
            raise DataError(f"{prefix(origin)}there are no rows to learn from")
        if not self.known.totals[DEVIATIONS]:
            rows = "there is one sample only" if self.n_rows_ == 1 else f"the target is {self.known.centre} in all rows"
            raise DataError(f"{prefix(origin)}{rows}; nothing can depend on it")
        return self

    # ---- what was learned

    @property
    def r2(self) -> float | None:
        return self.r2_

    @property
    def r2_(self) -> float | None:
        """The fraction of the targets' variance that was predicted before the rows were learned.

        With ``n_features_to_select="auto"`` it is that with the number of features that is taken.
        """
        r2 = self.known.r2
        return float(self._curve_values()["r2"][self._enough()]) if self._chooses_number and r2 is not None else r2

    def _curve_values(self) -> dict[str, NDArray[np.float64]]:
        deviations = self.known.totals[DEVIATIONS]
        return {"r2": 1.0 - self._known_curve().errors / (deviations or 1.0)}

    def _enough(self) -> int:
        return least_wrong(self._known_curve().errors, self.n_rows_)

    def _intercept(self) -> NDArray[np.float64]:
        return super()._intercept() + self.known.centre

    def _meaning(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        return {"weights": weights[:, 0].tolist(), "online_r2": self.r2_}

    def _remark_on_quality(self) -> Remark | None:
        return no_better_than_mean(self)

    def loss_on(self, block: RowBlock) -> float:
        """The mean squared error."""
        return float(np.mean((self.scorer()(block) - np.asarray(block.y, np.float64)) ** 2))

    def predictor(self) -> Predictor[RowBlock]:
        score = self.scorer()

        def predict(block: RowBlock, squares: Squares) -> Prediction:
            numbers = score(block, squares)
            return Prediction(numbers, numbers, None)

        return Predictor(None, predict)
