"""What a learner of rows has learned: counters, the curve, the selection, scores, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...kernels.rows.curve import Curve
from ...kernels.rows.members import UPDATES
from ...kernels.rows.scaling import NORMS, ROWS
from ...kernels.rows.scores import measure_squares, score_rows
from ...selection import Selection
from ..base import Findings, Learner, Reads, Seed
from ..diagnosis import Look, Remark
from ..prediction import Squares
from .addresses import find, table_addresses
from .curves import grid_of
from .diagnosis import remarks_on_rows
from .inputs import AUTO, INTERCEPT_SHARE, UNIT_LENGTH, of_unit_length, standardized
from .memory import RowMemory, S
from .rungs import Rung

QUICKLY_READ = 4096  # entries
WORTH_READING = 4096  # non-zeros learned for every entry: then reading all entries is a small part of the work


class Scorer(Protocol):
    """Gives the scores of rows; see ``Predictor`` for ``squares``."""

    def __call__(self, block: RowBlock, squares: Squares = None) -> NDArray[np.float64]: ...


class RowResults(Learner[RowBlock, RowMemory[S]], Generic[S]):
    """What can be asked of a learner of rows at any time."""

    reads: ClassVar[Reads] = "rows"
    predicts: ClassVar[bool] = True
    reads_what_it_asks: ClassVar[bool] = False  # and nothing else of a row: the rest may be missing
    keeps_all_weights: ClassVar[bool] = False  # predicts with every feature; the budget limits the selection alone
    positions_are_ids: ClassVar[bool] = False  # always: its kernel reaches features that no row has had yet

    n_features_to_select: int | float | str
    normalize: bool | str
    fit_intercept: bool
    n_epochs: int
    forget: float | None = None
    curve: bool | Sequence[int] = False
    random_state: Seed = None

    def _kept(self, state: S) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Ids, weights (a row each) and scores of the kept features, slot by slot."""
        raise NotImplementedError

    def _bias(self, state: S) -> NDArray[np.float64]:
        """The weights of the intercept."""
        return state.bias[:, 0]

    @property
    def _standardizes(self) -> bool:
        return isinstance(self.normalize, str) and self.normalize.startswith("standard")

    @property
    def centres(self) -> bool:
        """Whether a mean is taken off the values of columns, which then must not have been rounded before."""
        return self._standardizes or self.normalize == AUTO

    @property
    def _unit_length(self) -> bool:
        """Whether rows are divided by their length."""
        return self.normalize in UNIT_LENGTH

    @property
    def _share(self) -> float:
        """The intercept's input, in typical lengths of rows."""
        return INTERCEPT_SHARE if self.fit_intercept else 0.0

    def _constant(self, state: S) -> float:
        """The intercept's input for rows to predict."""
        totals = self.memory.moments.totals
        return float(self._share * totals[NORMS] / totals[ROWS]) if totals[ROWS] else 0.0

    def _intercept(self) -> NDArray[np.float64]:
        """The score of a row without values, one per vector of weights."""
        state = self._predicting
        return self._bias(state) * self._constant(state)

    @property
    def n_learned(self) -> int:
        return self.n_rows_

    @property
    def n_rows_(self) -> int:
        """Rows learned, over all epochs."""
        return int(self.memory.counts[0])

    @property
    def n_nonzero_(self) -> int:
        """Non-zeros in those rows."""
        return int(self.memory.counts[1])

    @property
    def updates(self) -> int:
        return self.updates_

    @property
    def updates_(self) -> int:
        """Rows that something was learned from."""
        return int(self.memory.state.counts[UPDATES])

    @property
    def curve_(self) -> dict[str, NDArray[Any]]:
        """How good online predictions are by the number of features, from the same single pass."""
        return {"n_features": self._known_curve().grid, **self._curve_values()}

    def _known_curve(self) -> Curve:
        curve = self.memory.curve
        if curve is None:
            raise AttributeError(
                "curve_ is there after learning with curve=True, a grid, or n_features_to_select='auto'"
            )
        if self.memory.rungs is None:
            return curve
        return self.memory.rungs.joined(curve, grid_of(True if self.curve is False else self.curve, self.memory.budget))

    def _curve_values(self) -> dict[str, NDArray[np.float64]]:
        """What is measured at each number of features, by name."""
        raise NotImplementedError

    def _enough(self) -> int:
        """Where on the curve's grid predictions are as good as anywhere, within one standard error."""
        raise NotImplementedError

    @property
    def _chooses_number(self) -> bool:
        """Whether the number of features is taken from the curve."""
        return self.n_features_to_select == "auto" and self.n_rows_ > 0

    @property
    def n_features_selected_(self) -> int:
        """The budget; with ``"auto"`` the smallest number of features within one standard error of the best."""
        if not self._chooses_number:
            return self.memory.budget
        return int(self._known_curve().grid[self._enough()])

    def findings(self) -> Findings:
        curve = None
        if self.memory.curve is not None:
            curve = {name: values.tolist() for name, values in self.curve_.items()}
        ids, weights, _ = self._weights()
        chosen = weights[np.searchsorted(ids, self._selected()[0])]
        details = self._meaning(chosen)
        if self.memory.scaling is not None:
            details["scales"] = self.memory.scaling.report(final=self.memory.warm_up is None)
        return Findings(self.mistakes, self.updates_, curve, details=details)

    def _meaning(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """What the weights of the selected features say, a row each, in the user's terms."""
        raise NotImplementedError

    def _remark_on_quality(self) -> Remark | None:
        """What to say where predictions are no better than without features."""
        raise NotImplementedError

    def _remarks(self, selection: Selection, look: Look) -> list[Remark]:
        quality = self._remark_on_quality()
        remarks = [] if quality is None else [quality]
        return [*remarks, *remarks_on_rows(self, look), *super()._remarks(selection, look)]

    def _evidence(self, selection: Selection) -> NDArray[np.float64] | None:
        """The sizes of the weights, equal for equal columns that were kept over the same rows."""
        if self.reads_what_it_asks:
            return None
        ids, weights, _ = self._weights()
        return np.abs(weights[np.searchsorted(ids, selection.indices)])

    def _advice_if_empty(self) -> str:
        return "try the method sofs" if self.n_nonzero_ and self.method != "sofs" else super()._advice_if_empty()

    def _advice_if_all(self) -> str:
        return "try n_features_to_select='auto'" if "curve" in self.parameter_names() else super()._advice_if_all()

    @property
    def _rung(self) -> Rung[S] | None:
        """Which of the small learners of a curve predicts, if one does."""
        rungs = self.memory.rungs
        chosen = self.n_features_to_select == "auto" and rungs is not None
        return rungs.answering(self.n_features_selected_) if chosen and rungs is not None else None

    @property
    def _predicting(self) -> S:
        """The state that selection and predictions are read from."""
        rung = self._rung
        return self.memory.state if rung is None else rung.state

    def _weights(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Ids, weights and scores that count for prediction, ids ascending."""
        ids, weights, scores = self._kept(self._predicting)
        if self.n_features_to_select == "auto" and not self.keeps_all_weights:
            best = np.lexsort((ids, -scores))[: self.n_features_selected_]
            ids, weights, scores = ids[best], weights[best], scores[best]
        order = np.argsort(ids)
        return ids[order], weights[order], scores[order]

    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        ids, _, scores = self._weights()
        best = np.sort(np.lexsort((ids, -scores))[: self.n_features_selected_])
        largest = float(np.finfo(np.float32).max)  # a precision beyond float32 is shown as this, which JSON can hold
        return ids[best], np.minimum(scores[best], largest)

    def kept_now(self) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        memory = self.memory
        entries = memory.width if self.keeps_all_weights else min(memory.budget, memory.width)
        if entries > QUICKLY_READ and self.n_nonzero_ < WORTH_READING * entries:
            return None
        if self.keeps_all_weights or self.n_features_to_select == "auto":
            return self._selected()
        ids, _, scores = self._kept(memory.state)
        return ids, scores

    def scorer(self) -> Scorer:
        """What gives the scores of the rows of a block, made once for as many blocks as there are.

        One column per class beyond two; features without weight count nothing.
        """
        ids, weights, _ = self._weights()
        if self._standardizes:
            ids = find(self.memory.addresses, ids).astype(np.int64)
        lookup = table_addresses(ids)
        start = self._intercept()

        def score(block: RowBlock, squares: Squares = None) -> NDArray[np.float64]:
            block, unit_length = self._scaled(block), self._unit_length
            if unit_length and squares is not None:
                unknown = np.isnan(squares)
                if unknown.any():
                    squares = np.where(unknown, self._expected_squares(block, ids), squares)
                block, unit_length = of_unit_length(block, squares), False
            scores = np.tile(start, (block.n_rows, 1))
            rows = block.indptr, block.indices, block.values
            score_rows(lookup.table, lookup.ids, weights, *rows, unit_length, scores)
            return scores[:, 0] if weights.shape[1] == 1 else scores

        return score

    def _scaled(self, block: RowBlock) -> RowBlock:
        """Rows to predict as they would be learned, but for their length."""
        memory = self.memory
        if self._standardizes:  # there are no moments for features that were never seen
            block = standardized(memory.known_part(block), memory.moments, learn=False)
        return block if memory.scaling is None else memory.scaling.scaled(block, learn=False)

    @property
    def predicts_with_all(self) -> bool:
        return self.keeps_all_weights

    @property
    def uses_lengths(self) -> bool:
        return self._unit_length

    def row_squares(self, block: RowBlock) -> Squares:
        if not self.uses_lengths:
            return None
        block = self._scaled(block)
        squares = np.empty(block.n_rows)
        measure_squares(block.indptr, block.values, squares)
        return squares

    def _expected_squares(self, block: RowBlock, there: NDArray[np.int64]) -> NDArray[np.float64]:
        """The squared lengths to expect of complete rows, of which the features ``there`` are known.

        A column that is standardised adds 1 on average; of others nothing is known.
        """
        known = np.isin(block.indices[block.indptr[0] : block.indptr[-1]], there)
        rows = np.repeat(np.arange(block.n_rows), np.diff(block.indptr))[known]
        values = block.values[block.indptr[0] : block.indptr[-1]][known].astype(np.float64)
        varying, scaling, moments = np.empty(0, np.int64), self.memory.scaling, self.memory.moments
        if scaling is not None:
            varying = scaling.choice.dense[scaling.moments.deviations > 0.0]
        elif self._standardizes and moments.dense[0] == 1:
            varying = np.flatnonzero(moments.second > 0.0)
        absent = np.count_nonzero(~np.isin(varying, there))
        squares: NDArray[np.float64] = np.bincount(rows, values * values, block.n_rows).astype(np.float64)
        return squares + absent
