"""What a learner of rows has learned: counters, the curve, the selection, scores, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...kernels.rows.curve import Curve
from ...kernels.rows.members import KEPT, MISTAKES, UPDATES
from ...kernels.rows.scores import measure_squares, score_rows
from ...kernels.types import F64, I64
from ...selection import Selection
from ..base import ClassWeight, Findings, Learner, Reads, Seed
from ..diagnosis import Look, Remark
from ..prediction import Predictor, Squares
from .addresses import find, table_addresses
from .curves import grid_of
from .diagnosis import remarks_on_rows
from .inputs import INTERCEPT_SHARE, RowInputs, of_unit_length
from .memory import RowMemory
from .merging import estimates_of
from .rules.base import Kept, RowRule, S
from .rungs import Rung
from .targets import Classes, Numbers

QUICKLY_READ = 4096  # entries
WORTH_READING = 4096  # non-zeros learned for every entry: then reading all entries is a small part of the work
LARGEST_SCORE = float(np.finfo(np.float32).max)  # a precision beyond float32 is shown as this, which JSON can hold


class Scorer(Protocol):
    """Gives the scores of rows; see ``Predictor`` for ``squares``."""

    def __call__(self, block: RowBlock, squares: Squares = None) -> F64: ...


class RowResults(Learner[RowBlock, RowMemory[S]], Generic[S]):
    """What can be asked of a learner of rows at any time."""

    reads: ClassVar[Reads] = "rows"
    predicts: ClassVar[bool] = True
    two_classes_only: ClassVar[bool] = False
    draws: ClassVar[bool] = False  # from all features: their number must be known before the first row
    asks: ClassVar[bool] = False  # for the values that it reads, and looks at no others: they may be missing

    n_features_to_select: int | float | str
    normalize: bool | str
    fit_intercept: bool
    n_epochs: int
    class_weight: ClassWeight = None
    forget: float | None = None
    curve: bool | Sequence[int] = False
    max_cells: int | None = None
    attributes: str = "all"
    random_state: Seed = None

    # ---- the parts

    def rule_for(self, n_vectors: int) -> RowRule[S]:
        """Return how rows are learned, with so many vectors of weights; an author writes this."""
        raise NotImplementedError

    def make_inputs(self) -> RowInputs:
        """Return what happens to rows before they are learned."""
        return RowInputs(
            self.normalize,
            self.share,
            shares_cells=self.max_cells is not None,
            keeps_lengths="numbers" in self.targets,
            thins=self.attributes == "random",
            asks=self.asks,
        )

    def _parts(self) -> tuple[RowMemory[S] | None, RowRule[S], RowInputs]:
        """Return rule and inputs for the memory there is; both are made once for each memory."""
        parts, memory = self.__dict__.get("_parts_of_memory"), self._memory
        if parts is None or parts[0] is not memory or memory is None:
            n_vectors = 1 if memory is None else memory.target.n_vectors
            parts = self._parts_of_memory = memory, self.rule_for(n_vectors), self.make_inputs()
        return parts

    def reset(self) -> None:
        super().reset()
        self.__dict__.pop("_parts_of_memory", None)  # or what was learned would stay in memory

    @property
    def rule(self) -> RowRule[S]:
        """How rows are learned."""
        return self._parts()[1]

    @property
    def inputs(self) -> RowInputs:
        """What happens to rows before."""
        return self._parts()[2]

    @property
    def share(self) -> float:
        """The intercept's input, in typical lengths of rows."""
        return INTERCEPT_SHARE if self.fit_intercept else 0.0

    # ---- counters and measures

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
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted; with two, ``predict`` gives the second where the score is positive."""
        return self._classes("classes_").labels.classes

    def _classes(self, attribute: str) -> Classes:
        """Return what is known of the classes, or raise AttributeError where none are learned."""
        if self._memory is None or not isinstance(self._memory.target, Classes):
            raise AttributeError(attribute)
        return self._memory.target

    @property
    def mistakes(self) -> int | None:
        return None if self.memory.target.kind == "numbers" else self.mistakes_

    @property
    def mistakes_(self) -> int:
        """Rows predicted wrongly before they were learned; a score of exactly 0 counts as wrong.

        With ``n_features_to_select="auto"`` they are those with the number of features that is taken.
        """
        target = self._classes("mistakes_")
        if self._chooses_number:
            curve = self._known_curve()
            return int(curve.mistakes[target.enough(curve, self.n_rows_)])
        return int(self.memory.state.counts[MISTAKES])

    @property
    def r2(self) -> float | None:
        return None if self.memory.target.kind == "classes" else self.r2_

    @property
    def r2_(self) -> float | None:
        """The fraction of the targets' variance that was predicted before the rows were learned.

        With ``n_features_to_select="auto"`` it is that with the number of features that is taken.
        """
        target = self.memory.target
        if not isinstance(target, Numbers):
            raise AttributeError("r2_")
        if not self._chooses_number or target.r2 is None:
            return target.r2
        curve = self._known_curve()
        return float(target.curve_values(curve, self.n_rows_)["r2"][target.enough(curve, self.n_rows_)])

    def class_rows(self) -> dict[Any, int] | None:
        """Of one epoch, as all see the same rows."""
        if self.memory.target.kind == "numbers":
            return None
        labels = self._classes("class_rows").labels
        classes = labels.classes.tolist()
        counts = labels.counts[labels.n_classes - len(classes) :] // self.n_epochs
        return dict(zip(classes, counts.tolist(), strict=True))

    # ---- the curve

    @property
    def curve_(self) -> dict[str, NDArray[Any]]:
        """How good online predictions are by the number of features, from the same single pass."""
        curve = self._known_curve()
        return {"n_features": curve.grid, **self.memory.target.curve_values(curve, self.n_rows_)}

    def _known_curve(self) -> Curve:
        curve = self.memory.curve
        if curve is None:
            raise AttributeError(
                "curve_ is there after learning with curve=True, a grid, or n_features_to_select='auto'"
            )
        if self.memory.rungs is None:
            return curve
        return self.memory.rungs.joined(curve, grid_of(True if self.curve is False else self.curve, self.memory.budget))

    @property
    def _chooses_number(self) -> bool:
        """Whether the number of features is taken from the curve."""
        return self.n_features_to_select == "auto" and self.n_rows_ > 0

    @property
    def n_features_selected_(self) -> int:
        """The budget; with ``"auto"`` the smallest number of features within one standard error of the best."""
        if not self._chooses_number:
            return self.memory.budget
        curve = self._known_curve()
        return int(curve.grid[self.memory.target.enough(curve, self.n_rows_)])

    # ---- the selection

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

    def kept_in(self, state: S) -> Kept:
        """Return the features that a state keeps."""
        return self.rule.kept(state, self.memory.addresses)

    def weights(self) -> Kept:
        """Return the features that count for prediction, ids ascending."""
        ids, weights, scores = self.kept_in(self._predicting)
        if self.n_features_to_select == "auto" and not self.rule.keeps_all:
            best = np.lexsort((ids, -scores))[: self.n_features_selected_]
            ids, weights, scores = ids[best], weights[best], scores[best]
        order = np.argsort(ids)
        return Kept(ids[order], weights[order], scores[order])

    def _selected(self) -> tuple[I64, F64]:
        ids, _, scores = self.weights()
        best = np.sort(np.lexsort((ids, -scores))[: self.n_features_selected_])
        return ids[best], np.minimum(scores[best], LARGEST_SCORE)

    def kept_now(self) -> tuple[I64, F64] | None:
        memory, keeps_all = self.memory, self.rule.keeps_all
        entries = memory.width if keeps_all else min(memory.budget, memory.width)
        if entries > QUICKLY_READ and self.n_nonzero_ < WORTH_READING * entries:
            return None
        if keeps_all or self.n_features_to_select == "auto":
            return self._selected()
        ids, _, scores = self.kept_in(memory.state)
        return ids, scores

    def _names_of(self, indices: I64) -> NDArray[Any] | None:
        names = None if self._memory is None else self._memory.names
        if names is None:
            return super()._names_of(indices)
        return np.array([names[feature] for feature in indices.tolist()], dtype=object)

    # ---- predictions

    def intercept(self) -> F64:
        """Return the score of a row without values, one per vector of weights."""
        state, rule, memory = self._predicting, self.rule, self.memory
        intercept = rule.bias(state) * rule.constant(state, self.share, memory.moments.totals)
        return intercept + memory.target.centre if isinstance(memory.target, Numbers) else intercept

    def scorer(self) -> Scorer:
        """Return what gives the scores of the rows of a block, made once for as many blocks as there are.

        One column per class beyond two; features without weight count nothing.
        """
        ids, weights, _ = self.weights()
        memory, inputs = self.memory, self.inputs
        if inputs.standardizes:
            ids = find(memory.addresses, ids).astype(np.int64)
        lookup = table_addresses(ids)
        start = self.intercept()

        def score(block: RowBlock, squares: Squares = None) -> F64:
            block, unit_length = inputs.scaled(block, memory), inputs.unit_length(memory)
            if unit_length and squares is not None:
                unknown = np.isnan(squares)
                if unknown.any():
                    squares = np.where(unknown, inputs.expected_squares(block, memory, ids), squares)
                block, unit_length = of_unit_length(block, squares), False
            scores = np.tile(start, (block.n_rows, 1))
            rows = block.indptr, block.indices, block.values
            score_rows(lookup.table, lookup.ids, weights, *rows, unit_length, scores)
            return scores[:, 0] if weights.shape[1] == 1 else scores

        return score

    def predictor(self) -> Predictor[RowBlock]:
        score, target, rung = self.scorer(), self.memory.target, self._rung
        classes = target.labels.classes if isinstance(target, Classes) else None
        calibration = None if rung is None else rung.calibration
        return Predictor(classes, lambda block, squares: target.predict(score(block, squares), calibration))

    def classify(self, scores: F64) -> NDArray[Any]:
        """Return the classes that scores stand for."""
        return self._classes("classify").classify(scores)

    def probabilities(self, scores: F64) -> F64:
        """Return the probability of every class, a column each, for rows with these scores."""
        rung = self._rung
        return self._classes("probabilities").probabilities(scores, None if rung is None else rung.calibration)

    def loss_on(self, block: RowBlock) -> float:
        """Return the mean loss of rows as they are predicted now."""
        return self.memory.target.loss(self.scorer()(block), block.y)

    @property
    def predicts_with_all(self) -> bool:
        return self.rule.keeps_all

    @property
    def uses_lengths(self) -> bool:
        return not self.asks and self.inputs.unit_length(self.memory)

    def row_squares(self, block: RowBlock) -> Squares:
        if not self.uses_lengths:
            return None
        block = self.inputs.scaled(block, self.memory)
        squares = np.empty(block.n_rows)
        measure_squares(block.indptr, block.values, squares)
        return squares

    # ---- what is reported

    def findings(self) -> Findings:
        memory = self.memory
        curve = None if memory.curve is None else {name: values.tolist() for name, values in self.curve_.items()}
        ids, weights, _ = self.weights()
        details = memory.target.meaning(weights[np.searchsorted(ids, self._selected()[0])])
        if memory.target.kind == "numbers":
            details["online_r2"] = self.r2_
        if memory.scaling is not None:
            details["scales"] = memory.scaling.report(final=memory.warm_up is None)
        return Findings(self.mistakes, self.updates_, curve, details=details)

    def _remarks(self, selection: Selection, look: Look) -> list[Remark]:
        remark = self.rule.remark(self._predicting)
        first = [] if remark is None else [remark]
        return [*first, *remarks_on_rows(self, look), *super()._remarks(selection, look)]

    def _evidence(self, selection: Selection) -> F64 | None:
        """What was learned of each selected feature, equal for equal columns: precisions, or the sizes of weights."""
        if self.asks:
            return None
        if self.max_cells is not None:
            return self._kept_precisions(selection.indices)
        if self.merges:
            return estimates_of(self, selection.indices).excess
        ids, weights, _ = self.weights()
        return np.abs(weights[np.searchsorted(ids, selection.indices)])

    def _kept_precisions(self, indices: I64) -> F64:
        state: Any = self._predicting
        kept = state.member_id[: state.counts[KEPT]]
        order = np.argsort(kept)
        slots = order[np.searchsorted(kept[order], indices)]
        excess: F64 = state.excess.reshape(state.excess.shape[0], -1)[slots].astype(np.float64)
        return excess * float(state.scale[0])

    def _advice_if_empty(self) -> str:
        return "try the method sofs" if self.n_nonzero_ and self.method != "sofs" else super()._advice_if_empty()

    def _advice_if_all(self) -> str:
        return "try n_features_to_select='auto'" if "curve" in self.parameter_names() else super()._advice_if_all()
