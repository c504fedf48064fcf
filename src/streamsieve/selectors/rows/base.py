"""The base of algorithms that learn row by row."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError, UsageError, prefix
from ...kernels.rows.batch import Rows
from ...kernels.rows.curve import Curve
from ...model import check_ids, check_scores
from ...sources.base import DataSource, Missing, Source
from ...state import Arrays, negate
from ...targets import Encoded
from ..requirements import MOST_FEATURES, count_of, is_integer, is_number, require, require_one_of
from .auto_scaling import LAST_ROW, AutoScaling, choose, no_choice
from .curves import budget_of, grid_of, learn_counting, next_ranking, rank_slots, start_curve
from .inputs import AUTO, NORMALIZATIONS, Lengths, refuse_other_kind, standardized
from .limits import HALF_LIVES, MOST_EPOCHS, is_grid, require_between, require_count, require_seed
from .memory import RowMemory, S
from .results import RowResults
from .rungs import Rungs, rung_grids
from .targets import RowTarget
from .warm_up import WarmUp
from .weights import refuse_weights


class RowLearner(RowResults[S]):
    """Learns from rows as they come, in one pass, and predicts with the features it keeps.

    What is learned is a matter of ``RowClassifier`` and ``RowRegressor``. An author writes ``_start``, ``_update``,
    ``_negate``, ``_kept`` and, for states from files, ``_check_state``. In the arrays of a state that are as long as
    there are "features", zero must mean "never touched". All else is done here.
    """

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

    # ---- what an author writes

    def _start(self, budget: int, n_vectors: int) -> S:
        """A fresh state, a NamedTuple of arrays, with so many vectors of weights, and no feature."""
        raise NotImplementedError

    def _update(self, state: S, ids: NDArray[np.int64], rows: Rows, curve: Curve | None) -> None:
        """Learn rows whose ``indices`` are positions; ``ids``, if not empty, maps them to ids."""
        raise NotImplementedError

    def _start_target(self, classes: Any | None, y: Any | None) -> RowTarget:
        """What is known of the target before the first row."""
        raise NotImplementedError

    def _target_of_model(self, header: dict[str, Any], arrays: Arrays) -> RowTarget:
        """What is known of the target, as far as it is needed to make room for the rest."""
        raise NotImplementedError

    def _row_weights(self, answers: NDArray[Any], given: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """How much rows count, before they are counted; ``given`` are their own weights."""
        raise NotImplementedError

    def _refuse_rows(self, block: RowBlock, encoded: Encoded) -> None:
        """Refuse rows that, with these answers, must not be learned; nothing has been learned of the block yet."""

    def _negate(self, state: Any) -> None:
        """Swap the two classes in what was learned: change the sign of every weight."""
        negate(state.weight)
        negate(state.bias[:, 0])

    def _check_state(self, state: S, sizes: dict[str, int], ids: NDArray[np.int64]) -> None:
        """Refuse, with a ValueError, a state whose arrays do not fit one another; ``ids`` as for ``_update``."""

    def loss_on(self, block: RowBlock) -> float:
        """The mean loss of rows as they are predicted now."""
        raise NotImplementedError

    # ---- learning

    learns_a_part = False  # others learn rows at the same time: then rows have no number, and their order says nothing

    def passes_over(self, source: DataSource) -> int:
        return self.n_epochs

    @property
    def _longest(self) -> float:
        """The squared length that a row may have, in mean ones; a longer one is shortened."""
        return np.inf

    @property
    def _left_of_sums(self) -> float:
        """What a row leaves of the sums of squared lengths before it."""
        return 1.0

    @property
    def needs_width(self) -> bool:
        """Whether the number of features must be known before the first row."""
        return False

    @property
    def missing_rows(self) -> Missing:
        """Missing values are fine only where they are not read."""
        return "keep" if self.reads_what_it_asks else "error"

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
        self._memory = self._fresh(self._start_target(classes, y), n_features or 0)
        self.n_features_in_ = n_features or 0
        self._set_names(feature_names)
        return self

    def _fresh(self, target: RowTarget, width: int, budget: int | None = None) -> RowMemory[S]:
        """A memory without anything in it."""
        budget = budget_of(self.n_features_to_select, self.curve, width) if budget is None else budget
        random = np.random.default_rng(self.random_state)
        curve = rungs = None
        if self.curve is not False or self.n_features_to_select == "auto":
            *small, main = rung_grids(grid_of(True if self.curve is False else self.curve, budget))
            curve = start_curve(main, target.n_vectors)
            if small:
                rungs = Rungs.start(small, lambda budget: self._start(budget, target.n_vectors))
        memory = RowMemory(
            state=self._start(budget, target.n_vectors),
            positions_are_ids=self.positions_are_ids,
            standardizes=self._standardizes,
            target=target,
            random=random,
            attribute_random=random.spawn(1)[0],
            budget=budget,
            declared_width=width,
            width=width,
            curve=curve,
            rungs=rungs,
        )
        if self._chooses_scales:
            memory.scaling = AutoScaling.start(no_choice())
        if self._warm_rows:
            memory.warm_up = WarmUp(self._warm_rows, memory.random_states(), [], [])
        return memory

    @property
    def _chooses_scales(self) -> bool:
        """Whether the scale of every column is chosen from the first rows."""
        return self.normalize == AUTO

    @property
    def _warm_rows(self) -> int:
        """How many rows something is chosen from."""
        return LAST_ROW if self._chooses_scales else 0

    @property
    def is_settled(self) -> bool:
        """Whether all that is chosen from the first rows is chosen."""
        return self.memory.warm_up is None

    def partial_fit_block(self, block: RowBlock) -> Self:
        """Learn the rows of one block; ``start`` comes before the first."""
        refuse_weights(block, self.n_rows_)
        block = block.without_weightless()
        memory = self.memory
        if self.needs_width and block.n_features > memory.declared_width:
            raise DataError(
                f"{prefix(block.origin)}rows of {block.n_features:,} features, and {self.method} draws from the "
                f"{memory.declared_width:,} that it was started with; start it with n_features={block.n_features}"
            )
        if self._standardizes and not self.reads_what_it_asks:
            refuse_other_kind(block, memory.moments)
        rows_before = None if self.learns_a_part else self.n_rows_
        encoded = memory.target.encode(block.y, block.origin, rows_before)
        if self.encoding is not None:
            self.encoding.refuse_more(block.n_features, block.origin)
        self._refuse_rows(block, encoded)
        answers = encoded.answers
        memory.target.learn_classes(encoded)
        if encoded.swap:
            self._negate(memory.state)
            if memory.rungs is not None:
                memory.rungs.swap_classes(self._negate)
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
        return self

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
        if not same or not target.starts_as(old.target):
            self._start_again(target, rows[0].indices)
            memory = self.memory
            memory.set_random_states(warm_up.random)
            memory.warm_up = old.warm_up
            memory.scaling = scaling
            self._learn(*rows)

    def _start_again(self, target: RowTarget, touched: NDArray[Any]) -> None:
        """Forget what was learned, but not which classes there are; ``touched`` are the ids of all features met."""
        old = self.memory
        memory = self._memory = self._fresh(target, old.declared_width, old.budget)
        memory.warned, memory.times, memory.exact = old.warned, old.times, old.exact
        if old.addresses.direct:
            memory.take_cleared(old, touched)

    def _learn(self, block: RowBlock, answers: NDArray[Any]) -> None:
        """Learn rows with these answers, in pieces: to rank kept features in between, and to stay in the cache."""
        memory = self.memory
        weights = memory.times * self._row_weights(answers, block.sample_weight)
        own_weights = np.ones(block.n_rows) if block.sample_weight is None else block.sample_weight
        memory.target.count(answers)
        memory.counts[1] += block.n_nonzero
        at = 0
        while at < block.n_rows:
            stop = block.n_rows if memory.scaling is None else memory.scaling.stop(block, at)
            if memory.curve is not None:
                stop = min(stop, at + next_ranking(self.n_rows_) - self.n_rows_)
            piece = self._inputs(block.rows(at, stop))
            scores = np.empty((piece.n_rows, memory.state.bias.shape[0]))
            known = *memory.target.for_kernels(answers[at:stop]), weights[at:stop], *self._lengths(piece), scores
            rows = Rows(piece.indptr, piece.indices, piece.values, *known)
            learn_counting(self._update, memory.state, memory.addresses.ids, rows, memory.curve)
            memory.target.judge(rows, own_weights[at:stop])
            if memory.rungs is not None:
                by_id = rows._replace(indices=memory.addresses.ids_of(rows.indices))
                counted = own_weights[at:stop] if self.n_features_to_select == "auto" else None
                memory.rungs.learn(by_id, memory.width, self.n_rows_, counted, self._update)
            memory.counts[0] += piece.n_rows
            if memory.curve is not None and next_ranking(self.n_rows_ - 1) == self.n_rows_:
                ids, _, ranks = self._kept(memory.state)
                order = rank_slots(memory.curve, ranks, ids)
                if memory.rungs is not None:
                    memory.rungs.rank(self._kept, ids[order], self.n_rows_)
            at = stop
        self.n_features_in_ = memory.width

    def _inputs(self, block: RowBlock) -> RowBlock:
        """The rows as they are learned but for their length, with positions for ids."""
        memory = self.memory
        if memory.scaling is not None:
            return memory.placed(memory.scaling.scaled(block, learn=True))
        block = memory.placed(block)
        return standardized(block, memory.moments, learn=True) if self._standardizes else block

    def _lengths(self, block: RowBlock) -> Lengths:
        """How long these rows are, which are about to be learned."""
        totals = self.memory.moments.totals
        return Lengths.of(block, totals, self._unit_length, self._share, self._longest, self._left_of_sums)

    # ---- saving

    def _header(self) -> dict[str, Any]:
        return self.memory.header()

    def _arrays(self) -> Arrays:
        return self.memory.arrays()

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        target = self._target_of_model(header, arrays)
        budget, width = count_of(header, "budget", MOST_FEATURES), count_of(header, "n_features")
        if self.needs_width and header["declared_width"] != width:
            raise ValueError("it draws from another number of features than it has")
        largest = max(array.shape[0] for array in arrays.values() if array.ndim)
        if budget > largest and not self.keeps_all_weights:  # or a few bytes would make room for billions
            raise ValueError(f"a budget of {budget:,} with arrays of {largest:,}")
        if is_integer(self.n_features_to_select) and budget != self.n_features_to_select:
            raise ValueError(f"a budget of {budget:,} with n_features_to_select={self.n_features_to_select}")
        self._memory = self._fresh(target, width, 1 if self.keeps_all_weights else budget)
        self._memory.budget = budget
        self._memory.restore(header, arrays, self._check_state)
        rungs = self._memory.rungs
        for state in (self._memory.state, *(() if rungs is None else (rung.state for rung in rungs.rungs))):
            with np.errstate(all="ignore"):
                ids, _, scores = self._kept(state)
            check_scores(scores)
            if not self.keeps_all_weights:  # all of them were looked at already
                check_ids(ids, width)
