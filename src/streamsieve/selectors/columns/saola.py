"""SAOLA: scalable and accurate online feature selection (Yu, Wu, Ding, Pei 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import DataError
from ...kernels.columns.contents import find_missing
from ...kernels.columns.copies import NO_COPY
from ...kernels.columns.dependence import EQUAL, correlate_with_target, uncertainties_of_target
from ...kernels.columns.saola import (
    CLOSED,
    CORRELATION,
    IRRELEVANT,
    KEPT,
    REDUNDANT,
    REPLACED,
    UNCERTAINTY,
    NewColumns,
    Rule,
    SaolaState,
    close_group,
    compare_with_kept,
    measure_present,
)
from ...state import empty, grown
from ...targets import BOTH, Kind, Target
from ..base import Findings
from ..requirements import is_number, require, require_budget, require_one_of
from .base import Tally
from .centring import centred
from .coding import are_discrete, coded, refuse_large_tables, require_bins
from .copies import DUPLICATES, CopyDropper
from .groups import GroupLearner, groups_of
from .parts import in_parts, pieces, with_more_slots
from .saving import check_codes, check_slots
from .statistics import advice_on_level, effective_rows, least_correlation

MEASURES = ("auto", "su", "fisher_z")
BOUNDS = ("min", "max")
VARIANTS = ("default", "paper", "lofs")
MISSING = ("error", "skip")
NO_BUDGET = 2**31 - 1
FIRST_SLOTS = 16
PIECE_COLUMNS, PIECE_NONZEROS = 1 << 16, 1 << 20


@dataclass(eq=False, repr=False, kw_only=True)
class SAOLALearner(CopyDropper[SaolaState]):
    """Scalable and accurate online feature selection (Yu, Wu, Ding, Pei 2016, section 3, algorithm 1).

    Features arrive one by one. One that says nothing about the target is dropped. One that says less about the target
    than a kept feature does, and no more about the target than about that feature, is redundant and dropped; kept
    features that the newcomer makes redundant in this sense are dropped for it. Only pairs are ever compared. What is
    remembered are the kept columns.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None keeps what the rule keeps; a number keeps that many of the most relevant at most.
    measure : {"auto", "su", "fisher_z"}, default="auto"
        Symmetrical uncertainty, for discrete features and classes; correlation with Fisher's Z test, for numbers.
        "auto" decides for each feature: one of integers with at most 32 different values is discrete. Two features
        are compared by uncertainty if both are discrete, otherwise by correlation. ``measures_`` counts what was used.
    alpha : float, default=0.01
        The level of Fisher's Z test.
    delta : float, default=0.0
        The uncertainty above which a discrete feature is relevant.
    bound : {"min", "max"}, default="min"
        What the dependence of two features must reach: the relevance of the less relevant one; "max", that of the more
        relevant one, is SAOLA-max.
    variant : {"default", "paper", "lofs"}, default="default"
        "paper" is the published rule, "lofs" that of the authors' published library, which decides ties and
        insignificant pairs in another way; both to the last feature. "default" is the paper's without exact copies.
    duplicates : {"auto", "drop", "keep"}, default="auto"
        What becomes of a feature that is equal to a kept one in every row: "drop" drops it, whatever else the rule
        says, so that of equals the first to come is kept; "keep" decides by the rule alone, and the paper's keeps
        features that are equally relevant. "auto" drops copies with ``variant="default"``, and keeps to the published
        rules with the others. How many were dropped is counted in ``n_duplicates_``.
    bins : None, int or "mdl", default=None
        Make features of many values discrete, for uncertainty: that many bins of equal frequency, or as many as
        describe the classes most briefly (Fayyad and Irani). With "auto" all features are then measured by uncertainty.
    class_weight : None or "balanced", default=None
        "balanced" lets all classes count alike in every measure. Fisher's Z then tests with the number of rows of equal
        weight that say as much.
    missing : {"error", "skip"}, default="error"
        What to do with values that are missing (NaN): refuse them, or omit, from each comparison of two variables, the
        rows where one of the two is missing. Not with ``variant="lofs"``.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether the target holds classes or numbers. "auto" takes numbers with a fraction for a regression's.
    """

    method: ClassVar[str] = "saola"
    targets: ClassVar[frozenset[Kind]] = BOTH
    selects_again: ClassVar[bool] = True
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"measure": "fisher_z", "class_weight": "balanced"},
        {"measure": "su", "bound": "max"},
        {"measure": "fisher_z", "variant": "lofs"},
        {"measure": "su", "variant": "lofs", "n_features_to_select": 2},
        {"bins": "mdl", "missing": "skip"},
        {"bins": 3},
        {"variant": "paper"},
    )

    n_features_to_select: int | None = field(default=None, kw_only=False)
    measure: str = "auto"
    alpha: float = 0.01
    delta: float = 0.0
    bound: str = "min"
    variant: str = "default"
    duplicates: str = "auto"
    bins: int | str | None = None
    class_weight: str | None = None
    missing: str = "error"
    task: str = "auto"

    def check_parameters(self) -> None:
        super().check_parameters()
        require_budget(self.n_features_to_select)
        require_one_of("measure", self.measure, MEASURES)
        require(is_number(self.alpha) and 0 < self.alpha < 1, "alpha", self.alpha, "a number between 0 and 1")
        require(is_number(self.delta) and self.delta >= 0, "delta", self.delta, "a number of 0 or more")
        require_one_of("bound", self.bound, BOUNDS)
        require_one_of("variant", self.variant, VARIANTS)
        require_one_of("duplicates", self.duplicates, ("auto", *DUPLICATES))
        require_bins(self.bins)
        require(self.bins is None or self.measure != "fisher_z", "bins", self.bins, "None where measure='fisher_z'")
        require_one_of("class_weight", self.class_weight, (None, "balanced"))
        require_one_of("missing", self.missing, MISSING)
        fits = self.missing == "error" or self.variant != "lofs"
        require(fits, "missing", self.missing, "'error' where variant='lofs'")

    def _start(self, target: Target) -> SaolaState:
        if self.measure == "su" and not target.codes.size:
            raise DataError("measure='su' needs classes, and this target is a regression's; use 'fisher_z'")
        return empty(SaolaState, **self._sizes(target), slots=FIRST_SLOTS, levels=1)

    def _sizes(self, target: Target) -> dict[str, int]:
        rows = {"column_rows": self.measure != "su", "code_rows": self.measure != "fisher_z"}
        return {**super()._sizes(target), **{name: target.n_rows * needed for name, needed in rows.items()}}

    def _rule(self) -> Rule:
        lofs = self.variant == "lofs"
        least = (
            (float(least_correlation(self.alpha, effective_rows(self.memory.target.weights))), self.delta + 2 * EQUAL)
            if lofs
            else (-1.0, -1.0)
        )
        return Rule(lofs and self.measure != "su", lofs, self.bound == "max", least, self._drops_copies)

    @property
    def _drops_copies(self) -> bool:
        return self.variant == "default" if self.duplicates == "auto" else super()._drops_copies

    def accept(self, block: ColumnBlock) -> None:
        super().accept(block)
        refuse_large_tables(block, self.memory.target, self.bins)

    def _offer(self, state: SaolaState, block: ColumnBlock) -> SaolaState:
        filled = block.without_empty() if block.groups is None else block
        state.counts[IRRELEVANT] += block.n_columns - filled.n_columns
        for piece in pieces(filled, PIECE_COLUMNS, PIECE_NONZEROS):
            new, candidates = self._measure(piece)
            state.measured[:] += np.bincount(new.measure[candidates], minlength=2)
            state.counts[IRRELEVANT] += piece.n_columns - candidates.size
            if new.codes.size and candidates.size:
                levels = int(new.n_levels[candidates].max())
                if levels > state.level_counts.shape[1]:
                    state = self._grown(grown(state, "levels", levels))
            state = self._compare(state, piece, new, candidates)
            self._note_copies(piece, new.copies)
        return state

    def _measure(self, block: ColumnBlock) -> tuple[NewColumns, NDArray[np.int64]]:
        """What columns say about the target, on threads: their order does not matter here; which of them are relevant.

        A pair of columns may need the correlation of one that is measured by uncertainty, so that both are taken.
        """
        target, columns = self.memory.target, (block.indptr, block.indices, centred(block))
        n_columns = block.n_columns
        relevance, norms = np.zeros((n_columns, 2)), np.zeros(n_columns)
        codes, n_levels = np.zeros(0, np.int32), np.ones(n_columns, np.int64)
        measure = np.full(n_columns, CORRELATION, np.int8)
        if self.measure != "su":
            strengths = np.zeros(n_columns)
            in_parts(
                block,
                lambda a, b: correlate_with_target(*columns, target.weights, target.numbers, a, b, strengths, norms),
            )
            relevance[:, CORRELATION] = np.abs(strengths)
        if self.measure != "fisher_z" and target.codes.size:
            discrete = self._discrete(block)
            codes, n_levels = coded(block, target, self.bins, discrete)
            uncertainties = np.zeros(n_columns)
            known = target.weights, target.codes, target.class_counts
            in_parts(
                block,
                lambda a, b: uncertainties_of_target(
                    block.indptr, block.indices, codes, n_levels, *known, a, b, uncertainties
                ),
            )
            relevance[:, UNCERTAINTY] = uncertainties
            measure[discrete] = UNCERTAINTY
        has_missing = np.zeros(n_columns, bool)
        given, ids, copies = block.values, block.ids, np.full(n_columns, NO_COPY)
        new = NewColumns(*columns, given, ids, codes, n_levels, measure, relevance, norms, has_missing, copies)
        if self.missing == "skip":
            in_parts(block, lambda a, b: find_missing(block.indptr, block.values, a, b, has_missing))
        rows = effective_rows(target.weights)
        least: Any = least_correlation(self.alpha, rows)
        if has_missing.any():
            present = np.full(n_columns, rows)
            against = target.weights, target.numbers, target.codes, target.class_counts.size
            in_parts(block, lambda a, b: measure_present(new, *against, a, b, present))
            least = least_correlation(self.alpha, present)
        by_correlation = relevance[:, CORRELATION] >= least - EQUAL
        relevant = np.where(measure == UNCERTAINTY, relevance[:, UNCERTAINTY] > self.delta + EQUAL, by_correlation)
        if self.measure != "su":  # a pair of both kinds is measured by correlation: a constant has none
            relevant &= norms > 0
        if self.variant == "lofs":
            sums = np.add.reduceat(np.append(block.values, 0.0), block.indptr[:-1]) * (np.diff(block.indptr) > 0)
            relevant &= sums != 0
        return new, np.flatnonzero(relevant)

    def _compare(
        self, state: SaolaState, block: ColumnBlock, new: NewColumns, candidates: NDArray[np.int64]
    ) -> SaolaState:
        """The state after the candidates of a block were compared with what is kept, one by one."""
        return self._compare_within(state, new, candidates, self._budget())

    def _compare_within(
        self, state: SaolaState, new: NewColumns, candidates: NDArray[np.int64], budget: int
    ) -> SaolaState:
        done = 0
        while done < candidates.size:
            if state.counts[KEPT] == state.order.size:
                state = self._grown(with_more_slots(state))
            done = compare_with_kept(state, self._rule(), budget, new, self.memory.target.weights, candidates, done)
        return state

    def _budget(self) -> int:
        return NO_BUDGET if self.n_features_to_select is None else int(self.n_features_to_select)

    def _discrete(self, block: ColumnBlock) -> NDArray[np.bool_]:
        """Which columns are measured by uncertainty."""
        if self.measure == "su" or self.bins is not None:
            return np.ones(block.n_columns, bool)
        return are_discrete(block)

    def _kept(self, state: SaolaState) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        slots = state.order[: state.counts[KEPT]]
        return state.ids[slots], state.relevance[slots, state.measure[slots]]

    def _held(self, state: SaolaState) -> NDArray[Any] | None:
        slots = state.order[: state.counts[KEPT]]
        if self.measure != "su":
            return state.columns[slots]
        return state.codes[slots] if self.bins is None else None  # columns that differ may have equal bins

    def _advice_if_too_strict(self) -> str:
        by_uncertainty = self.measure != "fisher_z" and self.delta > 0
        return "try delta=0" if by_uncertainty else advice_on_level(self.alpha)

    @property
    def counts_(self) -> dict[str, int]:
        """What became of the features: kept; irrelevant; redundant, dropped on arrival; replaced, dropped later.

        Copies that were dropped are among the redundant ones, and so is, with ``n_features_to_select``, a newcomer that
        is less relevant than all of a full selection.
        """
        kept, irrelevant, redundant, replaced, _ = self._settled().counts.tolist()
        return {"kept": kept, "irrelevant": irrelevant, "redundant": redundant, "replaced": replaced}

    @property
    def measures_(self) -> dict[str, int]:
        """How many relevant features were measured by what."""
        measured = self.memory.state.measured
        return {"fisher_z": int(measured[CORRELATION]), "su": int(measured[UNCERTAINTY])}

    def tally(self) -> Tally:
        state = self.memory.state
        return {**super().tally(), "fates": state.counts.copy(), "measured": state.measured.copy()}

    def take_over(self, tallies: Sequence[Tally]) -> None:
        super().take_over(tallies)
        state, dropped = self.memory.state, [IRRELEVANT, REDUNDANT, REPLACED]
        state.counts[dropped] += sum(tally["fates"][dropped] for tally in tallies)
        state.measured[:] = sum(tally["measured"] for tally in tallies)

    def findings(self) -> Findings:
        return Findings(measures=self.measures_, details=self._details())

    def _details(self) -> dict[str, Any]:
        return {**super()._details(), "counts": self.counts_}

    def _check_state(self, state: SaolaState, sizes: dict[str, int]) -> None:
        kept = int(state.counts[KEPT])
        check_slots(state.order, kept)
        slots = state.order[:kept]
        budget = self._budget()
        if budget != NO_BUDGET and (state.counts[CLOSED] if self.knows_groups else kept) > budget:
            raise ValueError(f"it keeps more than n_features_to_select={budget}")
        if state.counts[CLOSED] > kept or (state.n_levels > sizes["levels"]).any():
            raise ValueError("what it has counted does not fit what it keeps")
        check_codes(state.codes, state.n_levels, slots)


class GroupSAOLALearner(GroupLearner[SaolaState], SAOLALearner):
    """SAOLA for features that arrive in groups (Yu, Wu, Ding, Pei 2016, section 4, algorithm 2).

    A group with no relevant feature is dropped. The others are pruned inside by SAOLA's rule, then against every kept
    group in both directions; a group that is left without features goes. So few features remain, of few groups:
    ``selection().groups`` has the group of each. A group is complete when the next one begins. Columns that come
    without groups are a group each.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None keeps what the rule keeps; a number keeps that many of the most relevant at most, cut when a group closes.
    measure, alpha, delta, bound, duplicates, bins, class_weight, missing, task
        As in SAOLA; ``duplicates`` are dropped across groups, too.
    variant : {"default", "paper", "lofs"}, default="default"
        How copies, ties and insignificant pairs are decided, as in SAOLA. The authors' library also lets features
        that were removed remove others; this does not, as the paper has it.
    """

    method: ClassVar[str] = "group-saola"

    def _compare(
        self, state: SaolaState, block: ColumnBlock, new: NewColumns, candidates: NDArray[np.int64]
    ) -> SaolaState:
        starts = np.append(0, np.flatnonzero(np.diff(groups := groups_of(block))) + 1)
        runs, cuts = np.unique(np.searchsorted(starts, candidates, side="right") - 1, return_index=True)
        seen = 0
        for run, members in zip(runs.tolist(), np.split(candidates, cuts[1:]), strict=False):
            self._open_last(state, groups[starts[seen : run + 1]])
            state = self._compare_within(state, new, members, NO_BUDGET)
            seen = run + 1
        self._open_last(state, groups[starts[seen:]])
        return state

    def _open_last(self, state: SaolaState, groups: NDArray[np.int64]) -> None:
        """Close the open group, pass over groups without a candidate, and open the last of some; it may be open."""
        if groups.size and groups[0] == state.current[0]:
            groups = groups[1:]
        if not groups.size:
            return
        self._close_open(state)
        state.current[0] = groups[-1]

    def _close(self, state: SaolaState) -> None:
        if state.counts[CLOSED] < state.counts[KEPT]:
            close_group(state, self._rule(), self._budget(), self.memory.target.weights)
