"""The base of algorithms that learn row by row."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError, UsageError
from ...kernels.rows.batch import Rows
from ...kernels.rows.curve import Curve
from ...kernels.rows.members import MISTAKES, UPDATES
from ...kernels.rows.scores import score_rows
from ...sources.base import BlockSource, Missing, Source
from ..base import Learner, is_number, is_whole, require
from .addresses import direct_addresses, find, table_addresses
from .curves import LARGEST, grid_of, next_ranking, rank_slots, smallest_good, start_curve
from .inputs import NORMALIZATIONS, Moments, constant_now, constants_of, prepare, start_moments
from .labels import Labels
from .storage import PerFeatureStorage

MOST_FEATURES = 2**31  # that can be kept: a kept one is known by an int32
STATE, MOMENTS, CURVE = "state.", "moments.", "curve."  # before the names of their arrays in a saved model


class RowLearner(PerFeatureStorage, Learner):
    """Learns from rows as they come, in one pass, and predicts with the features it keeps.

    An author writes ``_start``, ``_update``, ``_negate`` and ``_kept``, and names the arrays of the state that have one
    entry per feature (``per_feature``: zero must mean "never touched") and those that hold feature positions
    (``feature_positions``). Everything about labels, weights, widths, inputs, addresses and files is done here.
    """

    two_classes_only: ClassVar[bool] = False
    reads_what_it_asks: ClassVar[bool] = False  # and nothing else of a row: the rest may be missing
    keeps_all_weights: ClassVar[bool] = False  # predicts with every feature; the budget limits the selection alone

    # For the shared checks: parameters to try beside the defaults, and promises that cannot hold, with the reason.
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = ()
    exempt_from_checks: ClassVar[dict[str, str]] = {}

    n_features_to_select: int | float | str
    fit_intercept: bool
    class_weight: Any
    n_epochs: int
    forget: float | None = None
    curve: Any = False

    def check_parameters(self) -> None:
        wanted: Any = self.n_features_to_select
        auto = wanted == "auto" and "curve" in self.parameter_names()
        require(
            auto or (is_number(wanted) and (wanted >= 1 if is_whole(wanted) else 0 < wanted < 1)),
            "n_features_to_select",
            wanted,
            "a whole number of 1 or more, or a share between 0 and 1"
            + (", or 'auto'" if "curve" in self.parameter_names() else ""),
        )
        require(auto or wanted < MOST_FEATURES, "n_features_to_select", wanted, f"below {MOST_FEATURES:,}")
        known = " or ".join(map(repr, NORMALIZATIONS))
        fits = self.normalize is False or self.normalize in NORMALIZATIONS[1:]
        require(fits, "normalize", self.normalize, known)
        require(isinstance(self.fit_intercept, bool), "fit_intercept", self.fit_intercept, "True or False")
        balanced = self.class_weight is None or self.class_weight == "balanced"
        require(
            balanced or isinstance(self.class_weight, dict),
            "class_weight",
            self.class_weight,
            "None, 'balanced' or a dictionary of weights by label",
        )
        require(
            is_whole(self.n_epochs) and self.n_epochs >= 1, "n_epochs", self.n_epochs, "a whole number of 1 or more"
        )
        require(
            self.forget is None or (is_number(self.forget) and self.forget > 0),
            "forget",
            self.forget,
            "None or a number of rows above 0",
        )
        grid = not isinstance(self.curve, bool | str) and all(is_whole(k) and k >= 1 for k in self.curve)
        require(isinstance(self.curve, bool) or grid, "curve", self.curve, "True, False or a list of whole numbers")

    # ---- what an author writes

    def _start(self, budget: int, n_classes: int) -> Any:
        """A fresh state, a NamedTuple of arrays; those of ``per_feature`` empty. Two classes have one weight vector."""
        raise NotImplementedError

    def _update(self, state: Any, ids: NDArray[np.int64], rows: Rows, curve: Curve | None) -> None:
        """Learn rows whose ``indices`` are positions; ``ids``, if not empty, maps them to ids."""
        raise NotImplementedError

    def _negate(self, state: Any) -> None:
        """Swap the two classes in what was learned: turn the sign of every weight."""
        for weights in (state.weight, state.bias[:, 0]):
            np.negative(weights, out=weights)

    def _kept(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Ids, weights (a row each) and scores of the kept features, slot by slot."""
        raise NotImplementedError

    def _bias(self, state: Any) -> NDArray[np.float64]:
        """The weights of the intercept."""
        bias: NDArray[np.float64] = state.bias[:, 0]
        return bias

    # ---- learning

    def fit_source(self, source: Source | Iterable[RowBlock], classes: Any | None = None) -> Self:
        """Learn from a source, or from any iterable of blocks, from scratch.

        Without ``classes`` the first two labels that turn up are the classes; a third is an error.
        """
        rows = source if isinstance(source, Source) else BlockSource(source, name="")
        self.start(self.width_for(rows), classes, rows.feature_names)
        if self.n_epochs > 1 and not rows.rewindable:
            raise UsageError("n_epochs > 1 reads the rows again, and these can be read only once; save them to a file")
        for _ in range(self.n_epochs):
            for block in rows.row_blocks(self._missing()):
                self.partial_fit_block(block)
        return self.finish(rows.name)

    def _missing(self) -> Missing:
        """What is to be done with missing values in rows to learn from."""
        return "keep" if self.reads_what_it_asks else "error"

    @property
    def needs_width(self) -> bool:
        """Whether the number of features must be known before the first row."""
        return False

    def width_for(self, source: Source) -> int | None:
        """The width of a source as far as it is known; if it must be known, the rows are read once to find it."""
        width = source.n_features
        if width is None and self.needs_width:
            if not source.rewindable:
                return None
            width = max(block.n_features for block in source.row_blocks(self._missing()))
        return width

    def start(
        self, n_features: int | None = None, classes: Any | None = None, feature_names: Any | None = None
    ) -> Self:
        """Forget everything and be ready for the first row."""
        self.check_parameters()
        self._labels = Labels(classes)
        if self.needs_width and not n_features:
            raise UsageError(f"{self.method} draws from all features; start with n_features=...")
        self._declared_width = n_features or 0
        self._addresses = direct_addresses()
        self._counts = np.zeros(2, np.int64)  # rows, non-zeros
        self._warned = False
        self._random = np.random.default_rng(getattr(self, "random_state", None))
        self._attribute_random = self._random.spawn(1)[0]  # apart, or the answer would depend on the size of blocks
        self._budget = self._budget_for(n_features)
        n_classes = self._labels.n_classes
        if self.two_classes_only and n_classes > 2:
            raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
        self._state = self._start(self._budget, n_classes)
        self._moments = start_moments()
        self._curve: Curve | None = None
        if self.curve is not False or self.n_features_to_select == "auto":
            grid = grid_of(True if self.curve is False else self.curve, self._budget)
            self._curve = start_curve(grid, 1 if n_classes == 2 else n_classes)
        self.n_features_in_ = n_features or 0
        if feature_names is not None:
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def partial_fit_block(self, block: RowBlock) -> Self:
        """Learn the rows of one block; ``start`` comes before the first."""
        block = block.without_weightless()
        codes, swap = self._labels.encode(block.y, block.origin)
        if swap:
            self._negate(self._state)
        weights = self._row_weights(codes, block.sample_weight)
        self._labels.count(codes)
        self._counts[1] += block.n_nonzero
        block, constants = self._inputs(self._placed(block))
        at = 0
        while at < block.n_rows:
            stop = block.n_rows
            if self._curve is not None:
                stop = min(stop, at + next_ranking(self.n_rows_) - self.n_rows_)
            piece = block.rows(at, stop)
            rows = Rows(piece.indptr, piece.indices, piece.values, codes[at:stop], weights[at:stop], constants[at:stop])
            self._update(self._state, self._addresses.ids, rows, self._curve)
            self._counts[0] += piece.n_rows
            if self._curve is not None and next_ranking(self.n_rows_ - 1) == self.n_rows_:
                ids, _, scores = self._kept(self._state)
                rank_slots(self._curve, scores, ids)
            at = stop
        self._warn_of_order(at_end=False)
        return self

    def _inputs(self, block: RowBlock) -> tuple[RowBlock, NDArray[np.float64]]:
        """The rows as they are learned, and the intercept's input for each."""
        block = prepare(block, self._moments, self.normalize, learn=True)
        return block, constants_of(block, self._moments, self.fit_intercept)

    def _row_weights(self, codes: NDArray[np.int64], given: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """How much each row counts: its own weight times that of its class, by the class counts so far."""
        weights: NDArray[np.float64] = np.ones(codes.size) if given is None else given.astype(np.float64)
        if isinstance(self.class_weight, dict):
            by_class = np.ones(self._labels.n_classes)
            known = self.classes_.tolist()
            by_class[-len(known) :] = [weight_of(label, self.class_weight) for label in known]
            weights = weights * by_class[codes]
        elif self.class_weight == "balanced":
            n_classes = self._labels.n_classes
            members = (codes[:, None] == np.arange(n_classes)).cumsum(axis=0) + self._labels.counts + 1
            weights = weights * members.sum(axis=1) / (n_classes * members[np.arange(codes.size), codes])
        return weights

    def finish(self, origin: str = "") -> Self:
        """The end of the data: refuse what cannot have taught anything, naming ``origin``."""
        self._labels.refuse_one_class(origin)
        self._warn_of_order(at_end=True)
        return self

    def _warn_of_order(self, at_end: bool) -> None:
        message = None if self._warned else self._labels.order_warning(at_end)
        if message:
            self._warned = True
            warnings.warn(message, UserWarning, stacklevel=4)

    def _budget_for(self, n_features: int | None) -> int:
        wanted: Any = self.n_features_to_select
        if wanted == "auto":
            if self.curve is False or self.curve is True:
                return min(n_features or LARGEST, LARGEST)
            return int(max(self.curve))
        if is_whole(wanted):
            return int(wanted)
        if not n_features:
            raise UsageError(
                f"n_features_to_select={wanted} is a share of a width that is not known yet; give a number"
            )
        return max(1, round(float(wanted) * n_features))

    # ---- what was learned

    @property
    def started(self) -> bool:
        """Whether there is a state to learn into."""
        return hasattr(self, "_state")

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted; with two, ``predict`` gives the second where the score is positive."""
        if not hasattr(self, "_labels"):
            raise AttributeError("classes_")
        return self._labels.classes

    @property
    def n_rows_(self) -> int:
        """Rows learned, over all epochs."""
        return int(self._counts[0])

    @property
    def n_nonzero_(self) -> int:
        """Non-zeros in those rows."""
        return int(self._counts[1])

    @property
    def mistakes_(self) -> int:
        """Rows predicted wrongly before they were learned; a score of exactly 0 counts as wrong."""
        return int(self._state.counts[MISTAKES])

    @property
    def updates_(self) -> int:
        """Rows that something was learned from."""
        return int(self._state.counts[UPDATES])

    @property
    def curve_(self) -> dict[str, NDArray[Any]]:
        """Online accuracy against the number of features, from the same single pass: ``n_features``, ``accuracy``."""
        if self._curve is None:
            raise AttributeError(
                "curve_ is there after learning with curve=True, a grid, or n_features_to_select='auto'"
            )
        wrong = self._curve.mistakes / max(1, self.n_rows_)
        return {"n_features": self._curve.grid, "accuracy": 1.0 - wrong}

    @property
    def n_features_selected_(self) -> int:
        """The budget; with ``"auto"`` the smallest number of features within one standard error of the best."""
        if self.n_features_to_select != "auto" or not self.n_rows_:
            return self._budget
        curve = self.curve_
        return smallest_good(curve["n_features"], curve["accuracy"], self.n_rows_)

    def _weights(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Ids, weights and scores that count for prediction, ids ascending."""
        ids, weights, scores = self._kept(self._state)
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

    def decision_function_block(self, block: RowBlock) -> NDArray[np.float64]:
        """The scores of the rows of a block, one column per class beyond two; features without weight count nothing."""
        if self._standardizes:
            block = self._known_part(block)
        block = prepare(block, self._moments, self.normalize, learn=False)
        ids, weights, _ = self._weights()
        if self._standardizes:
            ids = find(self._addresses, ids)
        lookup = table_addresses(ids.astype(np.int64))
        scores = np.zeros((block.n_rows, weights.shape[1]))
        scores += self._bias(self._state) * constant_now(self._moments, self.fit_intercept)
        score_rows(lookup.table, lookup.ids, weights, block.indptr, block.indices, block.values, scores)
        return scores[:, 0] if weights.shape[1] == 1 else scores

    def _known_part(self, block: RowBlock) -> RowBlock:
        """The block with positions for ids, without features that were never seen: there are no moments for them."""
        positions = find(self._addresses, block.indices)
        known = (positions >= 0) & (positions < self._room())
        if not known.all():
            indptr = np.concatenate([[0], np.cumsum(known)])[block.indptr]
            block = replace(block, indptr=indptr, values=block.values[known])
        return replace(block, indices=positions[known])

    def classify(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The classes that scores stand for; of two, a score of exactly 0 is the first, of more the first best wins."""
        if not self.classes_.size:
            raise DataError("no rows were learned yet, so no classes are known")
        codes = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        classes: NDArray[Any] = self.classes_[np.minimum(codes, self.classes_.size - 1)]
        return classes

    # ---- saving

    def _header(self) -> dict[str, Any]:
        return {
            "classes_given": self._labels.given,
            "classes_are_objects": self.classes_.dtype == object,
            "declared_width": self._declared_width,
            "budget": self._budget,
            "used": self._addresses.used,
            "warned": self._warned,
            "random": [self._random.bit_generator.state, self._attribute_random.bit_generator.state],
        }

    def _arrays(self) -> dict[str, NDArray[Any]]:
        used = self._addresses.used
        holders = [(STATE, self._state), (MOMENTS, self._moments)]
        if self._curve is not None:
            holders.append((CURVE, self._curve))
        arrays = {prefix + name: array for prefix, holder in holders for name, array in holder._asdict().items()}
        for holder, name, array in self._per_feature_arrays():
            arrays[f"{holder[1:]}.{name}"] = array[:used]
        classes = self.classes_
        return {
            **arrays,
            "ids": self._addresses.ids[:used],
            "classes": np.array(classes.tolist()) if classes.dtype == object else classes,
            "label_counts": self._labels.counts,
            "label_order": self._labels.order,
            "counts": self._counts,
        }

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        classes = arrays["classes"]
        classes = classes.astype(object) if header["classes_are_objects"] else classes
        self.start(self.n_features_in_ or 1, classes if header["classes_given"] else None, self._names())
        self.n_features_in_ = header["n_features"]
        self._declared_width = header["declared_width"]
        self._budget = header["budget"]
        self._warned = header["warned"]
        self._random.bit_generator.state, self._attribute_random.bit_generator.state = header["random"]
        self._labels.classes = classes
        self._labels.counts, self._labels.order = arrays["label_counts"], arrays["label_order"]
        self._counts = arrays["counts"]
        ids = arrays["ids"]
        self._addresses = table_addresses(ids) if ids.size else direct_addresses(header["used"])
        self._state = type(self._state)(*(arrays[STATE + name] for name in self._state._fields))
        self._moments = Moments(*(arrays[MOMENTS + name] for name in Moments._fields))
        if self._curve is not None:
            self._curve = Curve(*(arrays[CURVE + name] for name in Curve._fields))
        if ids.size:
            self._grow(self._addresses.ids.size)


def weight_of(label: Any, weights: dict[Any, float]) -> float:
    """The weight of a class, found by its label or, as in JSON, by its label as text; 1 if it is not named."""
    text = str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
    return float(weights.get(label, weights.get(text, 1.0)))
