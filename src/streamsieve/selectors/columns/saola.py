"""SAOLA: scalable and accurate online feature selection (Yu, Wu, Ding, Pei 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import DataError, spell
from ...kernels.columns.contents import NO_COPY, find_missing
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
from ...kernels.types import F64, I64
from ...state import empty, grown
from ...targets import BOTH, TASKS
from ..base import Method
from ..parameters import (
    BUDGET_OR_NONE,
    LEVEL,
    NOT_NEGATIVE,
    checked,
    ensure,
    one_of,
    parameter,
    together,
)
from .learner import ColumnLearner
from .measures import (
    BALANCE,
    BINS,
    advice_on_level,
    are_discrete,
    coded,
    effective_rows,
    least_correlation,
    refuse_large_tables,
)
from .memory import ColumnMemory, Tally
from .rules import (
    FIRST_SLOTS,
    NO_BUDGET,
    CopyDropper,
    GroupRule,
    centred,
    check_codes,
    check_slots,
    groups_of,
    in_parts,
    pieces,
    take_columns,
)


@dataclass(eq=False, repr=False, kw_only=True)
class SAOLAParameters:
    """Scalable and accurate online feature selection (Yu, Wu, Ding, Pei 2016, section 3, algorithm 1).

    Features arrive one by one. One that says nothing about the target is dropped. One that says
    less about the target than a kept feature does, and no more about the target than about that
    feature, is redundant and dropped; kept features that the newcomer makes redundant in this sense
    are dropped for it. Only pairs are ever compared. What is remembered are the kept columns.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None keeps what the rule keeps; a number keeps that many of the most relevant at most.
    measure : {"auto", "su", "fisher_z"}, default="auto"
        Symmetrical uncertainty, for discrete features and classes; correlation with Fisher's Z
        test, for numbers. "auto" decides for each feature: one of integers with at most 32
        different values is discrete. Two features are compared by uncertainty if both are discrete,
        otherwise by correlation. ``measures_`` counts what was used.
    alpha : float, default=0.01
        The level of Fisher's Z test.
    delta : float, default=0.0
        The uncertainty above which a discrete feature is relevant.
    bound : {"min", "max"}, default="min"
        What the dependence of two features must reach: the relevance of the less relevant one;
        "max", that of the more relevant one, is SAOLA-max.
    variant : {"default", "paper", "lofs"}, default="default"
        "paper" is the published rule, "lofs" that of the authors' published library, which decides
        ties and insignificant pairs in another way; both to the last feature. "default" is the
        paper's without exact copies.
    duplicates : {"auto", "drop", "keep"}, default="auto"
        What becomes of a feature that is equal to a kept one in every row: "drop" drops it,
        whatever else the rule says, so that of equals the first to come is kept; "keep" decides by
        the rule alone, and the paper's keeps features that are equally relevant. "auto" drops
        copies with ``variant="default"``, and keeps to the published rules with the others. How
        many were dropped is counted in ``n_duplicates_``.
    bins : None, int or "mdl", default=None
        Make features of many values discrete, for uncertainty: that many bins of equal frequency,
        or as many as describe the classes most briefly (Fayyad and Irani). With "auto" all features
        are then measured by uncertainty.
    class_weight : None or "balanced", default=None
        "balanced" lets all classes count alike in every measure. Fisher's Z then tests with the
        number of rows of equal weight that say as much.
    missing : {"error", "skip"}, default="error"
        What to do with values that are missing (NaN): refuse them, or omit, from each comparison of
        two variables, the rows where one of the two is missing. Not with ``variant="lofs"``.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether the target holds classes or numbers. "auto" takes numbers with a fraction for a
        regression's.
    """

    n_features_to_select: int | None = field(
        default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE)
    )
    measure: str = parameter("auto", one_of("auto", "su", "fisher_z"))
    alpha: float = parameter(0.01, LEVEL)
    delta: float = parameter(0.0, NOT_NEGATIVE)
    bound: str = parameter("min", one_of("min", "max"))
    variant: str = parameter("default", one_of("default", "paper", "lofs"))
    duplicates: str = parameter("auto", one_of("auto", "drop", "keep"))
    bins: int | str | None = parameter(
        None,
        BINS,
        together(
            lambda params, bins: bins is None or params.measure != "fisher_z",
            "None where measure is 'fisher_z'",
        ),
    )
    class_weight: str | None = parameter(None, BALANCE)
    missing: str = parameter(
        "error",
        one_of("error", "skip"),
        together(
            lambda params, missing: missing == "error" or params.variant != "lofs",
            "'error' where variant is 'lofs'",
        ),
    )
    task: str = parameter("auto", one_of(*TASKS))


class SaolaRule(CopyDropper[SaolaState]):
    """Relevance to the target, then redundancy by pairs."""

    limited: ClassVar[int] = (
        KEPT  # entry of ``counts``: the features of which the budget is a limit
    )

    @property
    def budget(self) -> int:
        """Return the most features that are kept."""
        return int(self.params.n_features_to_select or NO_BUDGET)

    @property
    def drops_copies(self) -> bool:
        return (
            self.params.variant == "default"
            if self.params.duplicates == "auto"
            else super().drops_copies
        )

    def kernel_rule(self) -> Rule:
        """Return the rule as kernels take it."""
        params, lofs = self.params, self.params.variant == "lofs"
        least = (-1.0, -1.0)
        if lofs:
            least = (
                float(least_correlation(params.alpha, effective_rows(self.target.weights))),
                params.delta + 2 * EQUAL,
            )
        return Rule(
            lofs and params.measure != "su", lofs, params.bound == "max", least, self.drops_copies
        )

    def sizes(self) -> dict[str, int]:
        rows = {
            "column_rows": self.params.measure != "su",
            "code_rows": self.params.measure != "fisher_z",
        }
        return {
            **super().sizes(),
            **{name: self.target.n_rows * needed for name, needed in rows.items()},
        }

    def start(self) -> SaolaState:
        if self.params.measure == "su" and not self.target.codes.size:
            raise DataError(
                f"{spell('measure', 'su')} needs classes, and this target is a regression's; use"
                " 'fisher_z'"
            )
        return empty(SaolaState, **self.sizes(), slots=FIRST_SLOTS, levels=1)

    def refuse(self, memory: ColumnMemory[SaolaState], block: ColumnBlock) -> None:
        super().refuse(memory, block)
        refuse_large_tables(block, self.target, self.params.bins)

    def offer(self, memory: ColumnMemory[SaolaState], block: ColumnBlock) -> None:
        filled = block.without_empty() if block.groups is None else block
        memory.state.counts[IRRELEVANT] += block.n_columns - filled.n_columns
        for piece in pieces(filled):
            new, candidates = self.measure(piece)
            memory.state.measured[:] += np.bincount(new.measure[candidates], minlength=2)
            memory.state.counts[IRRELEVANT] += piece.n_columns - candidates.size
            if new.codes.size and candidates.size:
                levels = int(new.n_levels[candidates].max())
                if levels > memory.state.level_counts.shape[1]:
                    memory.state = grown(memory.state, "levels", levels)
            self.compare(memory, piece, new, candidates)
            self.note_copies(memory, piece, new.copies)

    def measure(self, block: ColumnBlock) -> tuple[NewColumns, I64]:
        """What columns say about the target, on threads: their order does not matter here; which of them are relevant.

        A pair of columns may need the correlation of one that is measured by uncertainty, so that
        both are taken.
        """
        params, target, columns = (
            self.params,
            self.target,
            (block.indptr, block.indices, centred(block)),
        )
        n_columns = block.n_columns
        relevance, norms = np.zeros((n_columns, 2)), np.zeros(n_columns)
        codes, n_levels = np.zeros(0, np.int32), np.ones(n_columns, np.int64)
        measure = np.full(n_columns, CORRELATION, np.int8)
        if params.measure != "su":
            strengths = np.zeros(n_columns)
            in_parts(
                block,
                lambda a, b: correlate_with_target(
                    *columns, target.weights, target.numbers, a, b, strengths, norms
                ),
            )
            relevance[:, CORRELATION] = np.abs(strengths)
        if params.measure != "fisher_z" and target.codes.size:
            all_discrete = params.measure == "su" or params.bins is not None
            discrete = np.ones(n_columns, bool) if all_discrete else are_discrete(block)
            codes, n_levels = coded(block, target, params.bins, discrete)
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
        new = NewColumns(
            *columns, given, ids, codes, n_levels, measure, relevance, norms, has_missing, copies
        )
        if params.missing == "skip":
            in_parts(
                block, lambda a, b: find_missing(block.indptr, block.values, a, b, has_missing)
            )
        rows = effective_rows(target.weights)
        least: Any = least_correlation(params.alpha, rows)
        if has_missing.any():
            present = np.full(n_columns, rows)
            against = target.weights, target.numbers, target.codes, target.class_counts.size
            in_parts(block, lambda a, b: measure_present(new, *against, a, b, present))
            least = least_correlation(params.alpha, present)
        by_correlation = relevance[:, CORRELATION] >= least - EQUAL
        relevant = np.where(
            measure == UNCERTAINTY, relevance[:, UNCERTAINTY] > params.delta + EQUAL, by_correlation
        )
        if (
            params.measure != "su"
        ):  # a pair of both kinds is measured by correlation: a constant has none
            relevant &= norms > 0
        if params.variant == "lofs":
            sums = np.add.reduceat(np.append(block.values, 0.0), block.indptr[:-1]) * (
                np.diff(block.indptr) > 0
            )
            relevant &= sums != 0
        return new, np.flatnonzero(relevant)

    def compare(
        self, memory: ColumnMemory[SaolaState], block: ColumnBlock, new: NewColumns, candidates: I64
    ) -> None:
        """Compare the candidates of a block with what is kept, one by one."""
        self.compare_within(memory, new, candidates, self.budget)

    def compare_within(
        self, memory: ColumnMemory[SaolaState], new: NewColumns, candidates: I64, budget: int
    ) -> None:
        """Compare candidates with what is kept, of which there may be so many."""
        given = self.kernel_rule(), budget, new, self.target.weights, candidates
        take_columns(
            memory, candidates.size, lambda state, done: compare_with_kept(state, *given, done)
        )

    def kept(self, state: SaolaState) -> tuple[I64, F64]:
        slots = state.order[: state.counts[KEPT]]
        return state.ids[slots], state.relevance[slots, state.measure[slots]]

    def held(self, state: SaolaState) -> NDArray[Any] | None:
        slots = state.order[: state.counts[KEPT]]
        if self.params.measure != "su":
            return state.columns[slots]
        return (
            state.codes[slots] if self.params.bins is None else None
        )  # columns that differ may have equal bins

    def advice(self, state: SaolaState) -> str:
        by_uncertainty = self.params.measure != "fisher_z" and self.params.delta > 0
        return f"try {spell('delta', 0)}" if by_uncertainty else advice_on_level(self.params.alpha)

    def counted(self, state: SaolaState) -> dict[str, dict[str, int]]:
        kept, irrelevant, redundant, replaced, _ = state.counts.tolist()
        fates = {
            "kept": kept,
            "irrelevant": irrelevant,
            "redundant": redundant,
            "replaced": replaced,
        }
        return {
            "counts": fates,
            "measures": {
                "fisher_z": int(state.measured[CORRELATION]),
                "su": int(state.measured[UNCERTAINTY]),
            },
        }

    def tally(self, state: SaolaState) -> Tally:
        return {"fates": state.counts.copy(), "measured": state.measured.copy()}

    def adopt_counts(self, state: SaolaState, tallies: Sequence[Tally]) -> None:
        dropped = [IRRELEVANT, REDUNDANT, REPLACED]
        state.counts[dropped] += sum(tally["fates"][dropped] for tally in tallies)
        state.measured[:] = sum(tally["measured"] for tally in tallies)

    def check(self, state: SaolaState, sizes: dict[str, int], n_features: int) -> None:
        kept, budget = int(state.counts[KEPT]), self.budget
        check_slots(state.order, kept)
        ensure(
            budget == NO_BUDGET or state.counts[self.limited] <= budget,
            f"it keeps more than n_features_to_select={budget}",
        )
        ensure(
            state.counts[CLOSED] <= kept and (state.n_levels <= sizes["levels"]).all(),
            "what it has counted does not fit what it keeps",
        )
        check_codes(state.codes, state.n_levels, state.order[:kept])


class GroupSaolaRule(GroupRule, SaolaRule):
    """SAOLA's rule within a group, then against every kept group."""

    limited: ClassVar[int] = CLOSED

    def compare(
        self, memory: ColumnMemory[SaolaState], block: ColumnBlock, new: NewColumns, candidates: I64
    ) -> None:
        starts = np.append(0, np.flatnonzero(np.diff(groups := groups_of(block))) + 1)
        runs, cuts = np.unique(
            np.searchsorted(starts, candidates, side="right") - 1, return_index=True
        )
        seen = 0
        for run, members in zip(runs.tolist(), np.split(candidates, cuts[1:]), strict=False):
            self.open_last(memory.state, groups[starts[seen : run + 1]])
            self.compare_within(memory, new, members, NO_BUDGET)
            seen = run + 1
        self.open_last(memory.state, groups[starts[seen:]])

    def open_last(self, state: SaolaState, groups: I64) -> None:
        """Close the open group, pass over groups without a candidate, and open the last of some; it may be open."""
        if groups.size and groups[0] == state.current[0]:
            groups = groups[1:]
        if groups.size:
            self.close(state)
            state.current[0] = groups[-1]

    def close(self, state: SaolaState) -> None:
        if state.counts[CLOSED] < state.counts[KEPT]:
            close_group(state, self.kernel_rule(), self.budget, self.target.weights)


VARIANTS: tuple[dict[str, Any], ...] = (
    {"measure": "fisher_z", "class_weight": "balanced"},
    {"measure": "su", "bound": "max"},
    {"measure": "fisher_z", "variant": "lofs"},
    {"measure": "su", "variant": "lofs", "n_features_to_select": 2},
    {"bins": "mdl", "missing": "skip"},
    {"bins": 3},
    {"variant": "paper"},
)
SAOLA = Method(
    "saola",
    SAOLAParameters,
    ColumnLearner,
    BOTH,
    rule=SaolaRule,
    selects_again=True,
    check_variants=VARIANTS,
)
GROUP_SAOLA = Method(
    "group-saola",
    SAOLAParameters,
    ColumnLearner,
    BOTH,
    rule=GroupSaolaRule,
    knows_groups=True,
    selects_again=True,
    check_variants=VARIANTS,
    own_doc="""SAOLA for features that arrive in groups (Yu, Wu, Ding, Pei 2016, section 4, algorithm 2).

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
    """,
)
