"""The learner of rows: one loop for all methods."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError, UsageError, prefix
from ...kernels.rows.members import KEPT
from ...kernels.table import all_below, fill_table
from ...kernels.types import I64
from ...model import Model, check_ids, check_scores
from ...sources.base import DataSource, Missing, Source
from ...state import Arrays
from ...targets import Encoded
from ..base import CANNOT_MERGE
from ..requirements import MOST_FEATURES, count_of, is_integer, is_number, require, require_one_of
from .auto_scaling import LAST_ROW, AutoScaling, choose, no_choice
from .curves import STATE, budget_of, grid_of, learn_counting, next_ranking, rank_slots, start_curve
from .fixed_memory import (
    NEEDS_CELLS,
    SHARED_CELLS,
    arrays_of_names,
    names_after,
    names_of_model,
    refuse_cells_beyond_memory,
    share_cells,
)
from .inputs import NORMALIZATIONS
from .limits import HALF_LIVES, MOST_CELLS, MOST_EPOCHS, is_grid, require_between, require_count, require_seed
from .memory import MOST_TIMES, RowMemory
from .merging import merge_models
from .results import RowResults
from .rules.base import S
from .rungs import Rungs, rung_grids
from .targets import FIRST_NUMBERS, Classes, Numbers, RowTarget
from .warm_up import WarmUp
from .weights import refuse_weights, require_class_weight

ATTRIBUTES = ("all", "random")


class RowLearner(RowResults[S]):
    """Learns from rows as they come, in one pass, and predicts with the features it keeps.

    An author declares the parameters of a method and writes ``rule_for``. Its ``inputs`` make rows ready, the target in
    its memory knows the classes or numbers, the rule learns.
    """

    learns_a_part = False  # others learn rows at the same time: then rows have no number, and their order says nothing

    def check_parameters(self) -> None:
        wanted: Any = self.n_features_to_select
        chooses = "curve" in self.parameter_names()
        auto = isinstance(wanted, str) and wanted == "auto" and chooses
        require(
            auto or (is_number(wanted) and (wanted >= 1 if is_integer(wanted) else 0 < wanted < 1)),
            "n_features_to_select",
            wanted,
            "an integer of 1 or more, or a fraction between 0 and 1" + (", or 'auto'" if chooses else ""),
        )
        require(auto or wanted < MOST_FEATURES, "n_features_to_select", wanted, f"below {MOST_FEATURES:,}")
        require_one_of("normalize", self.normalize, NORMALIZATIONS)
        require_one_of("fit_intercept", self.fit_intercept, (True, False))
        require_count("n_epochs", self.n_epochs, MOST_EPOCHS)
        if self.forget is not None:
            require_between("forget", self.forget, HALF_LIVES, "None or, in rows, ")
        expected = f"True, False or a list of integers from 1 to below {MOST_FEATURES:,}"
        require(isinstance(self.curve, bool) or is_grid(self.curve, MOST_FEATURES), "curve", self.curve, expected)
        require_seed(self.random_state)
        require_class_weight(self.class_weight)
        require_one_of("attributes", self.attributes, ATTRIBUTES)
        if self.max_cells is not None:
            require_count("max_cells", self.max_cells, MOST_CELLS, "None or ")
            expected = "'auto', 'l2' or False with max_cells: the spread of every feature would need memory of its own"
            require(self.normalize is False or self.normalize in ("auto", "l2"), "normalize", self.normalize, expected)

    # ---- learning

    def passes_over(self, source: DataSource) -> int:
        return self.n_epochs

    @property
    def needs_width(self) -> bool:
        """Whether the number of features must be known before the first row."""
        return self.draws or self.attributes == "random"

    @property
    def missing_rows(self) -> Missing:
        """Missing values are fine only where they are not read."""
        return "keep" if self.asks else "error"

    @property
    def warm_rows(self) -> int:
        """How many rows something is chosen from: the scales of columns, the centre of numbers."""
        return max(
            LAST_ROW if self.make_inputs().chooses_scales else 0, FIRST_NUMBERS if "numbers" in self.targets else 0
        )

    @property
    def is_settled(self) -> bool:
        """Whether all that is chosen from the first rows is chosen."""
        return self.memory.warm_up is None

    def width_of(self, source: DataSource) -> int | None:
        """The width of a source as far as it is known; if it must be known, the rows are read once to find it."""
        width = source.n_features
        if width is None and self.needs_width and source.rewindable and isinstance(source, Source):
            width = max(block.n_features for block in source.row_blocks(self.missing_rows))
        return width

    def start(
        self,
        n_features: int | None = None,
        classes: Any | None = None,
        feature_names: Any | None = None,
        *,
        y: Any | None = None,
        origin: str = "",
    ) -> Self:
        """Forget everything and be ready for the first row.

        ``y``, if all labels are known, gives the classes. Without either they are the first two labels that occur; a
        third is an error, after which ``train`` begins again if it can.
        """
        self.check_parameters()
        if self.needs_width and not n_features:
            raise UsageError(f"{self.method} draws from all features; start with n_features=...")
        numbers = "numbers" in self.targets
        target = Numbers() if numbers else self._allowed(Classes.start(classes, y, self.class_weight))
        self._memory = self.fresh_memory(target, n_features or 0)
        self.n_features_in_ = n_features or 0
        self._set_names(feature_names)
        return self

    def _allowed(self, target: Classes) -> Classes:
        """Return what is known of the classes, unless there are too many for the method."""
        if self.two_classes_only and target.labels.n_classes > 2:
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass. "  # scikit-learn's
                f"{self.method} learns two classes, and there are {target.labels.n_classes:,}; sofs learns any number"
            )
        return target

    def fresh_memory(self, target: RowTarget, width: int, budget: int | None = None) -> RowMemory[S]:
        """Return a memory without anything in it."""
        if self.max_cells is not None:
            refuse_cells_beyond_memory(self.max_cells, target.n_vectors)
        budget = budget_of(self.n_features_to_select, self.curve, width) if budget is None else budget
        random, rule, inputs = (
            np.random.default_rng(self.random_state),
            self.rule_for(target.n_vectors),
            self.make_inputs(),
        )
        curve = rungs = None
        if self.curve is not False or self.n_features_to_select == "auto":
            *small, main = rung_grids(grid_of(True if self.curve is False else self.curve, budget))
            curve = start_curve(main, target.n_vectors)
            if small:
                rungs = Rungs.start(small, lambda budget: rule.start(budget, target.n_vectors))
        memory = RowMemory(
            state=rule.start(budget, target.n_vectors),
            positions_are_ids=self.asks,
            standardizes=inputs.standardizes,
            target=target,
            random=random,
            attribute_random=random.spawn(1)[0],
            budget=budget,
            declared_width=width,
            width=width,
            curve=curve,
            rungs=rungs,
        )
        if inputs.chooses_scales:
            memory.scaling = AutoScaling.start(no_choice())
        if self.warm_rows:
            memory.warm_up = WarmUp(self.warm_rows, memory.random_states(), [], [])
        if self.max_cells is not None:
            share_cells(memory, self.max_cells)
        return memory

    def partial_fit_block(self, block: RowBlock) -> Self:
        """Learn the rows of one block; ``start`` comes before the first."""
        block, encoded = self.accept(block)
        known_names = self.memory.names or {}
        self.commit(block, encoded)
        if block.names is not None:
            memory = self.memory
            memory.names = names_after(known_names, self._kept_by_any(), block.names, memory.warm_up is not None)
        if not self.learns_a_part:
            self._warn_of_order(at_end=False)
        return self

    def accept(self, block: RowBlock) -> tuple[RowBlock, Encoded]:
        """Return the rows that count, and what is to be learned of them, or refuse them; nothing is changed."""
        memory = self.memory
        if block.names is not None and self.max_cells is None:
            raise UsageError(NEEDS_CELLS.format(self.method))
        if self.n_rows_ and (block.names is None) != (memory.names is None):
            raise UsageError("some rows have names and some have ids; a learner takes one or the other")
        refuse_weights(block, self.n_rows_)
        block = block.without_weightless()
        if self.needs_width and block.n_features > memory.declared_width:
            raise DataError(
                f"{prefix(block.origin)}rows of {block.n_features:,} features, and {self.method} draws from the "
                f"{memory.declared_width:,} that it was started with; start it with n_features={block.n_features}"
            )
        if not all_below(block.indices, block.n_features):
            raise DataError(f"a block of rows with ids that are not from 0 to below its width, {block.n_features:,}")
        self.inputs.refuse(block, memory)
        encoded = memory.target.encode(block.y, block.origin, None if self.learns_a_part else self.n_rows_)
        if self.encoding is not None:
            self.encoding.refuse_more(block.n_features, block.origin)
        memory.target.refuse_weights(block, encoded, self.n_rows_)
        return block, encoded

    def commit(self, block: RowBlock, encoded: Encoded) -> None:
        """Learn rows that were accepted."""
        memory, answers = self.memory, encoded.answers
        memory.target.learn_classes(encoded)
        if encoded.swap:
            rule = self.rule
            rule.negate(memory.state)
            if memory.rungs is not None:
                memory.rungs.swap_classes(rule.negate)
            if memory.warm_up is not None:
                memory.warm_up.swap_classes()
        memory.exact = memory.exact and block.values.dtype == np.float64
        at = 0
        while at < block.n_rows:
            warm_up = self.memory.warm_up
            if warm_up is None:
                self._learn(block.rows(at, block.n_rows), answers[at:])
                break
            stop = warm_up.stop(block, at)
            self._warm_up(warm_up, block.rows(at, stop), answers[at:stop])
            at = stop
        self._drop_names_of_some()

    def _warm_up(self, warm_up: WarmUp, block: RowBlock, answers: NDArray[Any]) -> None:
        """Learn some of the first rows; if they change what is chosen from them, all of them from the start."""
        self._learn(block, answers)
        warm_up.add(block, answers)
        if not warm_up.due:
            return
        old, rows = self.memory, warm_up.joined()
        old.warm_up = None if warm_up.ended else warm_up
        target = old.target.restarted(rows[1])
        scaling = None if old.scaling is None else AutoScaling.start(choose(rows[0]))
        same = scaling is None or old.scaling is None or scaling.choice.same_as(old.scaling.choice)
        if same and target.starts_as(old.target):
            return
        memory = self._memory = self.fresh_memory(target, old.declared_width, old.budget)
        memory.warned, memory.times, memory.exact = old.warned, old.times, old.exact
        if old.addresses.direct:
            memory.take_cleared(old, rows[0].indices)
        memory.set_random_states(warm_up.random)
        memory.warm_up = old.warm_up
        memory.scaling = scaling
        self._learn(*rows)

    def _learn(self, block: RowBlock, answers: NDArray[Any]) -> None:
        """Learn rows with these answers, in pieces: to rank kept features in between, and to stay in the cache."""
        memory, rule, inputs = self.memory, self.rule, self.inputs
        update = partial(rule.update, memory=memory)
        weights = memory.times * memory.target.row_weights(answers, block.sample_weight)
        own_weights = np.ones(block.n_rows) if block.sample_weight is None else block.sample_weight
        memory.target.count(answers)
        memory.counts[1] += block.n_nonzero
        at = 0
        while at < block.n_rows:
            stop = block.n_rows if memory.scaling is None else memory.scaling.stop(block, at)
            if memory.curve is not None:
                stop = min(stop, at + next_ranking(self.n_rows_) - self.n_rows_)
            rows = inputs.rows(block.rows(at, stop), memory, rule, answers[at:stop], weights[at:stop])
            learn_counting(update, memory.state, memory.addresses.ids, rows, memory.curve)
            memory.target.judge(rows, own_weights[at:stop])
            if memory.rungs is not None:
                by_id = rows._replace(indices=memory.addresses.ids_of(rows.indices))
                counted = own_weights[at:stop] if self.n_features_to_select == "auto" else None
                memory.rungs.learn(by_id, memory.width, self.n_rows_, counted, update)
            memory.counts[0] += stop - at
            if memory.curve is not None and next_ranking(self.n_rows_ - 1) == self.n_rows_:
                ids, _, ranks = self.kept_in(memory.state)
                order = rank_slots(memory.curve, ranks, ids)
                if memory.rungs is not None:
                    memory.rungs.rank(self.kept_in, ids[order], self.n_rows_)
            at = stop
        self.n_features_in_ = memory.width

    def finish(self, origin: str = "") -> Self:
        self.memory.target.finish(self.n_rows_, origin)
        self._warn_of_order(at_end=True)
        return self

    def _warn_of_order(self, at_end: bool) -> None:
        memory = self.memory
        if memory.warned or not isinstance(memory.target, Classes):
            return
        message = memory.target.labels.order_warning(at_end)
        if message:
            memory.warned = True
            warnings.warn(message, UserWarning, stacklevel=10)

    # ---- merging

    @classmethod
    def merge(cls, base: Model, parts: Sequence[Model], divisor: float | None = None) -> Model:
        if not cls.merges:
            raise UsageError(CANNOT_MERGE.format(cls.method))
        if len(parts) > 1 and base.params.get("max_cells") is not None:
            raise UsageError(SHARED_CELLS)
        return merge_models(cls, base, parts, divisor)

    def as_part(self, times: int) -> Self:
        if not self.merges:
            raise UsageError(CANNOT_MERGE.format(self.method))
        if self.max_cells is not None and times != 1:
            raise UsageError(SHARED_CELLS)
        fits = is_integer(times) and 1 <= times <= MOST_TIMES
        require(fits, "times", times, f"an integer from 1 to {MOST_TIMES:,}")
        self.memory.times, self.learns_a_part = int(times), True
        return self

    # ---- saving

    def _header(self) -> dict[str, Any]:
        return self.memory.header()

    def _arrays(self) -> Arrays:
        return {**self.memory.arrays(), **arrays_of_names(self.memory.names)}

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        if self.max_cells is not None and arrays[STATE + "cells"].shape[0] != self.max_cells:
            raise ValueError(f"{arrays[STATE + 'cells'].shape[0]:,} cells with max_cells={self.max_cells}")
        names = None if self.max_cells is None else names_of_model(arrays)
        of_numbers = "numbers" in self.targets
        target = Numbers() if of_numbers else self._allowed(Classes.of_model(header, arrays, self.class_weight))
        budget, width = count_of(header, "budget", MOST_FEATURES), count_of(header, "n_features")
        if self.needs_width and header["declared_width"] != width:
            raise ValueError("it draws from another number of features than it has")
        rule = self.rule_for(target.n_vectors)
        largest = max(array.shape[0] for array in arrays.values() if array.ndim)
        if budget > largest and not rule.keeps_all:  # or a few bytes would make room for billions
            raise ValueError(f"a budget of {budget:,} with arrays of {largest:,}")
        if is_integer(self.n_features_to_select) and budget != self.n_features_to_select:
            raise ValueError(f"a budget of {budget:,} with n_features_to_select={self.n_features_to_select}")
        memory = self._memory = self.fresh_memory(target, width, 1 if rule.keeps_all else budget)
        memory.budget = budget
        memory.restore(header, arrays, partial(rule.check, memory=memory))
        rungs = [] if memory.rungs is None else memory.rungs.rungs
        for state in (memory.state, *(rung.state for rung in rungs)):
            with np.errstate(all="ignore"):
                ids, _, scores = self.kept_in(state)
            check_scores(scores)
            if not rule.keeps_all:  # all of them were looked at already
                check_ids(ids, width)
        if memory.kept_table is not None:
            kept: Any = memory.state
            fill_table(memory.kept_table, kept.member_id, int(kept.counts[KEPT]))
        if names is not None and not set(names) >= set(self._kept_by_any().tolist()):
            raise ValueError("a kept feature has no name")
        memory.names = names

    def _kept_by_any(self) -> I64:
        """The ids of what is kept, by the small learners of a curve too."""
        rungs, kept = self.memory.rungs, self.kept_in(self.memory.state).ids
        if rungs is None:
            return kept.copy()
        return np.unique(np.concatenate([kept, *(self.kept_in(rung.state).ids for rung in rungs.rungs)]))
