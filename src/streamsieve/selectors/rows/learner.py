"""The learner of rows: one loop for all methods."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError, UsageError, prefix
from ...kernels.rows.members import KEPT
from ...kernels.table import all_below, fill_table
from ...kernels.types import I64
from ...model import NAMED_IDS, NAMES, check_ids, check_scores, pop_numbered_texts
from ...sources.base import DataSource, Source
from ...state import Arrays
from ...targets import Encoded, Labels
from ..base import Learner, Method, Reads, Results
from ..parameters import MAX_FEATURES, count_of, ensure, is_integer, options_of, require
from ..serial import alone
from .curves import (
    SmallBudgets,
    budget_of,
    grid_of,
    learn_and_count,
    next_ranking,
    rank_slots,
    split_grid,
    start_curve,
    start_small_budget,
)
from .inputs import RowInputs, intercept_share
from .memory import (
    MAX_ROW_MULTIPLIER,
    STATE,
    TARGET,
    RowMemory,
    share_cells,
    update_names,
)
from .merging import CANNOT_MERGE, SHARED_CELLS
from .options import RowOptions
from .results import RowResults
from .rules import Kept, RowRule
from .targets import FIRST_NUMBERS, Classes, Numbers, RowTarget, classes_of_model
from .warm_up import LAST_ROW, AutoScaling, WarmUp, choose_scales
from .weights import check_sample_weights

NEEDS_CELLS = (
    "rows of names may have any number of features, and {} would store every name; set max_cells,"
    " or convert the rows to a matrix with scikit-learn's FeatureHasher or DictVectorizer"
)


class RowLearner(Learner[RowBlock, RowMemory[Any]]):
    """A learner that learns from rows as they come, in one pass.

    Its ``inputs`` prepare rows, the target in its memory knows the classes or numbers, and its
    ``rule`` learns.
    """

    reads: ClassVar[Reads] = "rows"
    results_type: ClassVar[type[Results]] = RowResults
    # True if others learn rows at the same time: then rows have no number, and their order says
    # nothing.
    is_shard = False

    def __init__(self, method: Method, params: Any) -> None:
        super().__init__(method, params)
        options: RowOptions = options_of(RowOptions, params)
        is_regression = "numbers" in method.targets
        self.options = options
        self.inputs = RowInputs(
            options.normalize,
            intercept_share(options.fit_intercept),
            shares_cells=options.max_cells is not None,
            keeps_lengths=is_regression,
            thins=options.attributes == "random",
            asks=method.asks,
        )
        self.rule: RowRule[Any] = params.rule_for(1)
        self.needs_width = method.draws or self.inputs.thins  # before the first row
        # Missing values are allowed only where they are not read.
        self.missing_rows = "keep" if method.asks else "error"
        # The number of rows from which scales of columns and the centre of numbers are chosen.
        self.warm_rows = max(
            LAST_ROW if self.inputs.chooses_scales else 0, FIRST_NUMBERS if is_regression else 0
        )

    # ---- learning

    def passes_over(self, source: DataSource) -> int:
        return self.options.n_epochs

    def width_of(self, source: DataSource) -> int | None:
        """Return the width of a source as far as it is known.

        If the method needs it and it is unknown, the rows are read once to find it.
        """
        width = source.n_features
        if width is None and self.needs_width and source.rewindable and isinstance(source, Source):
            width = max(block.n_features for block in source.row_blocks(self.missing_rows))
        return width

    @alone
    def start(
        self,
        n_features: int | None = None,
        classes: Any | None = None,
        feature_names: Any | None = None,
        *,
        y: Any | None = None,
        origin: str = "",
    ) -> Self:
        """Discard everything learned and prepare for the first row.

        ``y``, if all labels are known, gives the classes. Without ``y`` or ``classes`` they are the
        first two labels that occur; a third is an error, after which ``train`` starts again if it
        can.
        """
        if self.needs_width and not n_features:
            raise UsageError(
                f"{self.method.name} draws from all features, so their number must be known: call"
                " start with n_features=..."
            )
        target: RowTarget = Numbers()
        if "numbers" not in self.method.targets:
            target = self._make_classes(
                Labels(classes if y is None or classes is not None else np.unique(np.asarray(y)))
            )
        self.rule = self.params.rule_for(target.n_vectors)
        self._memory = self.make_memory(target, n_features or 0)
        self.features.start(n_features, feature_names)
        return self

    def _make_classes(self, labels: Labels) -> Classes:
        """Return the target for some labels; raise DataError if there are too many."""
        if self.method.two_classes_only and labels.n_classes > 2:
            # The first two sentences are scikit-learn's.
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass. "
                f"{self.method.name} learns two classes, and there are {labels.n_classes:,}; sofs"
                " learns any "
                "number"
            )
        return Classes(labels, self.options.class_weight)

    def make_memory(
        self, target: RowTarget, width: int, budget: int | None = None
    ) -> RowMemory[Any]:
        """Return a memory that has learned nothing."""
        options, inputs, rule = self.options, self.inputs, self.rule
        budget = (
            budget_of(options.n_features_to_select, options.curve, width)
            if budget is None
            else budget
        )
        random = np.random.default_rng(options.random_state)
        curve = small_budgets = None
        if options.curve is not False or options.chooses_budget:
            *small_grids, main_grid = split_grid(grid_of(options.curve, budget))
            curve = start_curve(main_grid, target.n_vectors)
            if small_grids:
                small_budgets = SmallBudgets(
                    [
                        start_small_budget(rule.start(int(grid[-1]), target.n_vectors), grid)
                        for grid in small_grids
                    ]
                )
        memory = RowMemory(
            state=rule.start(budget, target.n_vectors),
            positions_are_ids=self.method.asks,
            standardizes=inputs.standardizes,
            target=target,
            random=random,
            attribute_random=random.spawn(1)[0],
            budget=budget,
            declared_width=width,
            width=width,
            curve=curve,
            small_budgets=small_budgets,
        )
        if inputs.chooses_scales:
            memory.scaling = AutoScaling()
        if self.warm_rows:
            memory.warm_up = WarmUp(self.warm_rows, memory.random_states(), [], [])
        if options.max_cells is not None:
            share_cells(memory, options.max_cells)
        return memory

    @alone
    def partial_fit_block(self, block: RowBlock) -> Self:
        """Learn the rows of one block; ``start`` must be called before the first."""
        block, encoded = self.accept(block)
        old_names = self.memory.names or {}
        self.commit(block, encoded)
        if block.names is not None:
            memory = self.memory
            memory.names = update_names(
                old_names, self._kept_by_any(), block.names, memory.warm_up is not None
            )
        if not self.is_shard:
            self._warn_about_order(at_end=False)
        return self

    def accept(self, block: RowBlock) -> tuple[RowBlock, Encoded]:
        """Return the rows with a weight, and their encoded targets; change nothing.

        Raise an error if they cannot be learned.
        """
        memory, n_rows = self.memory, self.n_learned
        if block.names is not None and self.options.max_cells is None:
            raise UsageError(NEEDS_CELLS.format(self.method.name))
        if n_rows and (block.names is None) != (memory.names is None):
            raise UsageError(
                "some rows have names and some have ids; give all rows with names or all with ids"
            )
        check_sample_weights(block, n_rows)
        block = block.without_zero_weights()
        if self.needs_width and block.n_features > memory.declared_width:
            raise DataError(
                f"{prefix(block.origin)}the rows have {block.n_features:,} features, but"
                f" {self.method.name} was started with {memory.declared_width:,} and draws from"
                f" these; start it with n_features={block.n_features}"
            )
        if not all_below(block.indices, block.n_features):
            raise DataError(
                "the feature ids of a block of rows must be at least 0 and below its width,"
                f" {block.n_features:,}"
            )
        self.inputs.check_density(block, memory)
        encoded = memory.target.encode(block.y, block.origin, None if self.is_shard else n_rows)
        memory.target.check_weights(block, encoded, n_rows)
        self.features.check_encoding(block.encoding, block.origin, are_first=not n_rows)
        self.features.check_width(block.n_features, block.origin)
        return block, encoded

    def commit(self, block: RowBlock, encoded: Encoded) -> None:
        """Learn rows that were accepted."""
        memory, answers = self.memory, encoded.answers
        memory.target.learn_classes(encoded)
        if encoded.swap:
            self.rule.negate(memory.state)
            if memory.small_budgets is not None:
                memory.small_budgets.swap_classes(self.rule.negate)
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
        self.features.set_width(self.memory.width)

    def _warm_up(self, warm_up: WarmUp, block: RowBlock, answers: NDArray[Any]) -> None:
        """Learn some of the first rows.

        If they change what is chosen from the first rows, learn all of these again from the start.
        """
        self._learn(block, answers)
        warm_up.add(block, answers)
        if not warm_up.is_choice_due:
            return
        old, rows = self.memory, warm_up.join_rows()
        old.warm_up = None if warm_up.has_ended else warm_up
        target = old.target.restart(rows[1])
        scaling = None if old.scaling is None else AutoScaling(choose_scales(rows[0]))
        if old.has_chosen(scaling, target):
            return
        memory = self._memory = self.make_memory(target, old.declared_width, old.budget)
        memory.warned, memory.row_multiplier, memory.exact = (
            old.warned,
            old.row_multiplier,
            old.exact,
        )
        if old.addresses.direct:
            memory.reuse_arrays(old, rows[0].indices)
        memory.set_random_states(warm_up.random)
        memory.warm_up = old.warm_up
        memory.scaling = scaling
        self._learn(*rows)

    def _learn(self, block: RowBlock, answers: NDArray[Any]) -> None:
        """Learn rows with these targets, in pieces.

        Kept features are ranked between pieces, and a piece stays in the cache.
        """
        memory, rule, inputs = self.memory, self.rule, self.inputs
        update = partial(rule.update, memory=memory)
        weights = memory.row_multiplier * memory.target.weigh(answers, block.sample_weight)
        sample_weight = (
            np.ones(block.n_rows) if block.sample_weight is None else block.sample_weight
        )
        memory.counts[1] += block.n_nonzero
        at, seen = 0, self.n_learned
        while at < block.n_rows:
            stop = block.n_rows if memory.scaling is None else memory.scaling.stop(block, at)
            if memory.curve is not None:
                stop = min(stop, at + next_ranking(seen) - seen)
            rows = inputs.make_rows(
                block.rows(at, stop), memory, rule, answers[at:stop], weights[at:stop]
            )
            learn_and_count(update, memory.state, memory.addresses.ids, rows, memory.curve)
            memory.target.judge(rows, sample_weight[at:stop])
            if memory.small_budgets is not None:
                memory.small_budgets.learn(
                    rows._replace(indices=memory.addresses.ids_of(rows.indices)),
                    memory.width,
                    seen,
                    sample_weight[at:stop] if self.options.chooses_budget else None,
                    update,
                )
            memory.counts[0] += stop - at
            seen += stop - at
            if memory.curve is not None and next_ranking(seen - 1) == seen:
                ids, _, ranks = self.kept_by_state(memory.state)
                order = rank_slots(memory.curve, ranks, ids)
                if memory.small_budgets is not None:
                    memory.small_budgets.rank(self.kept_by_state, ids[order], seen)
            at = stop

    @alone
    def finish(self, origin: str = "") -> Self:
        self.memory.target.finish(self.n_learned, origin)
        self._warn_about_order(at_end=True)
        return self

    def _warn_about_order(self, at_end: bool) -> None:
        memory = self.memory
        if memory.warned or not isinstance(memory.target, Classes):
            return
        message = memory.target.labels.order_warning(at_end)
        if message:
            memory.warned = True
            warnings.warn(message, UserWarning, stacklevel=10)

    @alone
    def start_shard(self, row_multiplier: int) -> Self:
        """Continue as one of several parts that learn different rows until they are merged.

        For methods that merge. Every row counts ``row_multiplier`` times, as if that many parts had
        such a row; merging divides by it.
        """
        if not self.method.merges:
            raise UsageError(CANNOT_MERGE.format(self.method.name))
        if self.options.max_cells is not None and row_multiplier != 1:
            raise UsageError(SHARED_CELLS)
        require(
            is_integer(row_multiplier) and 1 <= row_multiplier <= MAX_ROW_MULTIPLIER,
            "row_multiplier",
            row_multiplier,
            f"an integer from 1 to {MAX_ROW_MULTIPLIER:,}",
        )
        self.memory.row_multiplier, self.is_shard = int(row_multiplier), True
        return self

    # ---- what was learned

    @property
    def n_learned(self) -> int:
        return int(self.memory.counts[0])

    def kept_by_state(self, state: Any) -> Kept:
        """Return the features that a state keeps."""
        return self.rule.kept(state, self.memory.addresses)

    def _kept_by_any(self) -> I64:
        """Return the ids of kept features, including those of small budgets."""
        kept, *small = (self.kept_by_state(state).ids for state in self.memory.states())
        return np.unique(np.concatenate([kept, *small])) if small else kept.copy()

    # ---- saving

    def _state_to_save(self) -> tuple[dict[str, Any], Arrays]:
        memory, arrays = self.memory, self.memory.arrays()
        if isinstance(memory.target, Classes):
            classes = memory.target.labels.classes
            arrays["classes"] = np.array(classes.tolist()) if classes.dtype == object else classes
        return memory.header(), arrays

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        options, requested = self.options, self.options.n_features_to_select
        names = None
        if options.max_cells is not None:
            cells = arrays[STATE + "cells"].shape[0]
            names = pop_numbered_texts(NAMES, NAMED_IDS, arrays)
            ensure(
                cells == options.max_cells, f"{cells:,} cells with max_cells={options.max_cells}"
            )
        target: RowTarget = Numbers()
        if "numbers" not in self.method.targets:
            target = self._make_classes(
                classes_of_model(header, arrays.pop("classes"), arrays, TARGET)
            )
        budget, width = count_of(header, "budget", MAX_FEATURES), self.features.width
        ensure(
            not self.needs_width or header["declared_width"] == width,
            "the number of features that it draws from is not its width",
        )
        rule = self.rule = self.params.rule_for(target.n_vectors)
        largest = max(array.shape[0] for array in arrays.values() if array.ndim)
        # Otherwise a few bytes could allocate room for billions.
        ensure(
            rule.keeps_all or budget <= largest,
            f"a budget of {budget:,} with arrays of {largest:,}",
        )
        ensure(
            not is_integer(requested) or budget == requested,
            f"a budget of {budget:,} with n_features_to_select={requested}",
        )
        memory = self._memory = self.make_memory(target, width, 1 if rule.keeps_all else budget)
        memory.budget = budget
        memory.restore(header, arrays, partial(rule.check, memory=memory))
        for state in memory.states():
            with np.errstate(all="ignore"):
                ids, _, scores = self.kept_by_state(state)
            check_scores(scores)
            if not rule.keeps_all:  # all arrays were checked already
                check_ids(ids, width)
        if memory.kept_table is not None:
            fill_table(memory.kept_table, memory.state.member_id, int(memory.state.counts[KEPT]))
        ensure(
            names is None or set(names) >= set(self._kept_by_any().tolist()),
            "a kept feature has no name",
        )
        memory.names = names
