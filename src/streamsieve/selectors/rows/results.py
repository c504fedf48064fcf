"""Results of a learner of rows: counters, the curve, the selection, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import spell
from ...kernels.rows.curve import Curve
from ...kernels.rows.members import KEPT, MISTAKES, UPDATES
from ...kernels.rows.scores import measure_squares
from ...kernels.types import F64, I64
from ...selection import Selection
from ..base import Counters, Results, ResultSummary
from ..diagnosis import DataSample, Finding
from ..prediction import Predictor
from ..serial import alone
from .curves import grid_of
from .diagnosis import diagnose_rows
from .memory import RowMemory
from .merging import estimates_of
from .rules import Kept
from .targets import Classes, Numbers

QUICKLY_READ = 4096  # entries
# Non-zeros learned per entry; from here on reading all entries is a small part of the work.
WORTH_READING = 4096
MAX_SCORE = float(np.finfo(np.float32).max)  # shown for larger precisions, so that JSON can hold it


class RowResults(Results):
    """The results of a learner of rows, readable at any time."""

    def __init__(self, learner: Any) -> None:
        super().__init__(learner)
        self.n_rows_, self.n_nonzero_ = map(int, self.memory.counts)
        self.rule, self.inputs, self.options = learner.rule, learner.inputs, learner.options
        self.uses_all_features = self.rule.keeps_all
        self.uses_row_lengths = not self.method.asks and self.inputs.unit_length(self.memory)
        if self.n_nonzero_ and self.method.name != "sofs":
            self.advice_if_empty = "try the method sofs"
        if "curve" in self.method.parameter_names:
            self.advice_if_all = f"try {spell('n_features_to_select', 'auto')}"

    # ---- counters and measures

    @property
    def updates_(self) -> int:
        """Return the number of rows that changed the model."""
        return int(self.memory.state.counts[UPDATES])

    @property
    def classes_(self) -> NDArray[Any]:
        """Return the labels, sorted.

        With two, ``predict`` returns the second where the score is positive.
        """
        target = self.memory.target
        if not isinstance(target, Classes):
            raise AttributeError("classes_ is not available: the target is numeric")
        return target.labels.classes

    @property
    def mistakes_(self) -> int:
        """Return the number of rows predicted wrongly before they were learned.

        A score of exactly 0 counts as wrong. With ``n_features_to_select="auto"`` the mistakes are
        those with the chosen number of features.
        """
        if self.memory.target.kind == "numbers":
            raise AttributeError("mistakes_ is not available: the target is numeric")
        curve, index = find_chosen(self)
        return int(self.memory.state.counts[MISTAKES] if curve is None else curve.mistakes[index])

    @property
    def r2_(self) -> float | None:
        """Return the fraction of the targets' variance predicted before the rows were learned.

        With ``n_features_to_select="auto"`` it is that with the chosen number of features.
        """
        target = self.memory.target
        if not isinstance(target, Numbers):
            raise AttributeError("r2_ is not available: the target is classes")
        curve, index = find_chosen(self)
        if curve is None or target.r2 is None:
            return target.r2
        return float(target.curve_values(curve, self.n_rows_)["r2"][index])

    def counters(self) -> Counters:
        if self.memory.target.kind == "numbers":
            return Counters(None, self.updates_, self.r2_)
        return Counters(self.mistakes_, self.updates_)

    def class_rows(self) -> dict[Any, int] | None:
        """Return the rows of every class in one epoch, as all see the same rows."""
        target = self.memory.target
        if not isinstance(target, Classes):
            return None
        classes = target.labels.classes.tolist()
        counts = (
            target.labels.counts[target.labels.n_classes - len(classes) :] // self.options.n_epochs
        )
        return dict(zip(classes, counts.tolist(), strict=True))

    @property
    @alone
    def curve_(self) -> dict[str, NDArray[Any]]:
        """Return the quality of online predictions by number of features, from a single pass."""
        curve = complete_curve(self.memory, self.options.curve)
        return {"n_features": curve.grid, **self.memory.target.curve_values(curve, self.n_rows_)}

    @property
    def n_features_selected_(self) -> int:
        """Return the budget, or the number chosen for ``"auto"``.

        That is the smallest number of features within one standard error of the best.
        """
        curve, index = find_chosen(self)
        return int(self.memory.budget if curve is None else curve.grid[index])

    # ---- the selection

    @property
    def answering_state(self) -> tuple[Any, F64 | None]:
        """Return the state that predicts, and its calibration if it is that of a small budget."""
        memory = self.memory
        budgets = memory.small_budgets.members if memory.small_budgets is not None else ()
        wanted = self.n_features_selected_ if self.options.chooses_budget else memory.budget
        small = next((small for small in budgets if small.budget >= wanted), None)
        return (memory.state, None) if small is None else (small.state, small.calibration)

    @alone
    def weights(self) -> Kept:
        """Return the features that predictions use, ids ascending."""
        ids, weights, scores = self.learner.kept_by_state(self.answering_state[0])
        if self.options.chooses_budget and not self.rule.keeps_all:
            best = np.lexsort((ids, -scores))[: self.n_features_selected_]
            ids, weights, scores = ids[best], weights[best], scores[best]
        order = np.argsort(ids)
        return Kept(ids[order], weights[order], scores[order])

    def selected(self) -> tuple[I64, F64]:
        ids, _, scores = self.weights()
        best = np.sort(np.lexsort((ids, -scores))[: self.n_features_selected_])
        return ids[best], np.minimum(scores[best], MAX_SCORE)

    @alone
    def current_selection(self) -> tuple[I64, F64] | None:
        memory, keeps_all = self.memory, self.rule.keeps_all
        entries = memory.width if keeps_all else min(memory.budget, memory.width)
        if entries > QUICKLY_READ and self.n_nonzero_ < WORTH_READING * entries:
            return None
        if keeps_all or self.options.chooses_budget:
            return self.selected()
        ids, _, scores = self.learner.kept_by_state(memory.state)
        return ids, scores

    def names_of(self, indices: I64) -> NDArray[Any] | None:
        names = self.memory.names
        if names is None:
            return super().names_of(indices)
        return np.array([names[feature] for feature in indices.tolist()], dtype=object)

    # ---- predictions

    @property
    @alone
    def coef_(self) -> Any:
        """Return the weights as a sparse array that is as wide as the data.

        It has one row, or one per class if there are more than two. The weights are for rows after
        ``normalize``: the scores, or predicted numbers, are ``N @ coef_.T + intercept_``, N being
        the rows of X brought to length 1, standardised, or unchanged. With two classes a positive
        weight predicts the second of ``classes_``.
        """
        from scipy.sparse import csr_array

        ids, weights, _ = self.weights()
        n_vectors = weights.shape[1]
        bounds = np.arange(n_vectors + 1) * ids.size
        coef = csr_array(
            (weights.T.ravel(), np.tile(ids, n_vectors), bounds),
            shape=(n_vectors, self.features.width),
        )
        coef.eliminate_zeros()
        return coef

    @property
    @alone
    def intercept_(self) -> F64:
        """Return the score of a row without values, one per vector.

        It is the intercept's weight times its input.
        """
        (state, _), rule, memory = self.answering_state, self.rule, self.memory
        intercept: F64 = rule.bias(state) * rule.constant(
            state, self.inputs.share, memory.moments.totals
        )
        return intercept + memory.target.centre if isinstance(memory.target, Numbers) else intercept

    @alone
    def predictor(self) -> Predictor:
        target, (_, calibration), memory, inputs = (
            self.memory.target,
            self.answering_state,
            self.memory,
            self.inputs,
        )

        def squares(block: RowBlock) -> F64:
            block = inputs.scale_to_predict(block, memory)
            lengths = np.empty(block.n_rows)
            measure_squares(block.indptr, block.values, lengths)
            return lengths

        return Predictor(
            target.labels.classes if isinstance(target, Classes) else None,
            self.rule.scorer(self),
            target.classify,
            lambda scores: target.probabilities(scores, calibration),
            self.lock,
            squares if self.uses_row_lengths else None,
        )

    # ---- what is reported

    @alone
    def result_summary(self) -> ResultSummary:
        memory = self.memory
        curve = (
            None
            if memory.curve is None
            else {name: values.tolist() for name, values in self.curve_.items()}
        )
        ids, weights, _ = self.weights()
        details = memory.target.describe_weights(weights[np.searchsorted(ids, self.selected()[0])])
        mistakes, updates, r2 = self.counters()
        if memory.target.kind == "numbers":
            details["online_r2"] = r2
        if memory.scaling is not None:
            details["scales"] = memory.scaling.report(final=memory.warm_up is None)
        return ResultSummary(mistakes, updates, curve, details=details)

    def findings(self, selection: Selection, sample: DataSample) -> list[Finding]:
        return [*diagnose_rows(self, sample), *super().findings(selection, sample)]

    def evidence(self, selection: Selection) -> F64 | None:
        """Return precisions, or sizes of weights, of each selected feature.

        They are equal for equal columns.
        """
        if self.method.asks:
            return None
        if self.options.max_cells is not None:
            return kept_precisions(self.answering_state[0], selection.indices)
        if self.method.merges:
            return estimates_of(self.learner, selection.indices).precision_gain
        ids, weights, _ = self.weights()
        return np.abs(weights[np.searchsorted(ids, selection.indices)])


def kept_precisions(state: Any, indices: I64) -> F64:
    """Return the precisions above their start of kept features, one line each."""
    kept = state.member_id[: state.counts[KEPT]]
    order = np.argsort(kept)
    slots = order[np.searchsorted(kept[order], indices)]
    excess = state.excess.reshape(state.excess.shape[0], -1)[slots].astype(np.float64)
    return np.asarray(excess * float(state.scale[0]))


def complete_curve(memory: RowMemory[Any], curve: bool | Sequence[int]) -> Curve:
    """Return the curve of a learner, including its small budgets."""
    if memory.curve is None:
        raise AttributeError(
            "curve_ requires learning with curve=True, a grid, or n_features_to_select='auto'"
        )
    if memory.small_budgets is None:
        return memory.curve
    return memory.small_budgets.join_curves(memory.curve, grid_of(curve, memory.budget))


def find_chosen(results: RowResults) -> tuple[Curve | None, int]:
    """Return the curve from which a number of features was chosen, and its index on the grid.

    The curve is None if the number was given.
    """
    if not results.options.chooses_budget or not results.n_rows_:
        return None, 0
    curve = complete_curve(results.memory, results.options.curve)
    return curve, results.memory.target.choose_number(curve, results.n_rows_)
