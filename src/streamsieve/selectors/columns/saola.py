"""SAOLA: scalable and accurate online feature selection (Yu, Wu, Ding, Pei 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import DataError, spell
from ...kernels.columns.contents import NO_COPY
from ...kernels.columns.dependence import EQUAL
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
    measure_with_missing,
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
    check_table_size,
    correlate,
    critical_correlation,
    effective_n_rows,
    encode,
    measure_uncertainty,
)
from .memory import ColumnMemory, Tally
from .rules import (
    FATES,
    FIRST_SLOTS,
    NO_BUDGET,
    CopyDropper,
    GroupRule,
    centre_block,
    check_codes,
    check_slots,
    groups_of,
    run_in_parts,
    split_block,
    take_columns,
)


@dataclass(eq=False, repr=False, kw_only=True)
class SAOLAParameters:
    """Scalable and accurate online feature selection, SAOLA (Yu, Wu, Ding, Pei 2016, algorithm 1).

    Features arrive one by one (section 3 of the paper). A feature that says nothing about the
    target is dropped. A new feature is redundant, and dropped, if a kept feature says more about
    the target, and the new one says no more about the target than about the kept one. Kept features
    that the new one makes redundant in this sense are replaced by it. Only pairs of features are
    compared, and only the kept columns are held in memory.

    Parameters
    ----------
    n_features_to_select : int, default=None
        Maximum number of features, the most relevant ones. None keeps all that the rule keeps.
    measure : {"auto", "su", "fisher_z"}, default="auto"
        Symmetrical uncertainty ("su"), for discrete features and classes; correlation with Fisher's
        Z test ("fisher_z"), for numbers. "auto" decides for each feature: integers with at most 32
        different values are discrete. Two features are compared by uncertainty if both are
        discrete, otherwise by correlation. ``measures_`` counts which measure was used.
    alpha : float, default=0.01
        Significance level of Fisher's Z test.
    delta : float, default=0.0
        Symmetrical uncertainty above which a discrete feature is relevant.
    bound : {"min", "max"}, default="min"
        The less relevant of two features is redundant if the two depend on each other at least as
        much as this bound. "min" is the relevance of the less relevant feature; "max", as in
        SAOLA-max, that of the more relevant one. With "max", fewer features are redundant.
    variant : {"default", "paper", "lofs"}, default="default"
        "paper" is the published rule, "lofs" the rule of the authors' published library, which
        decides ties and insignificant pairs differently; both are reproduced exactly. "default" is
        the paper's rule without exact copies.
    duplicates : {"auto", "drop", "keep"}, default="auto"
        Treatment of a feature that equals a kept one in every row. "drop" drops it regardless of
        the rule, so the first of equal features is kept; "keep" decides by the rule alone, and the
        paper's rule keeps features that are equally relevant. "auto" drops copies with
        ``variant="default"`` and follows the published rules otherwise. ``n_duplicates_`` counts
        the dropped copies.
    bins : None, int or "mdl", default=None
        Discretisation of features with many values, for uncertainty: the number of bins of equal
        frequency, or "mdl" for as many as give the shortest description of the classes (Fayyad and
        Irani). With ``measure="auto"`` all features are then measured by uncertainty.
    class_weight : None or "balanced", default=None
        "balanced" gives all classes the same total weight in every measure. Fisher's Z test then
        uses the effective number of rows.
    missing : {"error", "skip"}, default="error"
        Treatment of missing values (NaN): raise an error, or omit from each comparison of two
        variables the rows where one of the two is missing. "skip" is not supported by
        ``variant="lofs"``.
    task : {"auto", "classification", "regression"}, default="auto"
        Kind of target: classes or numbers. "auto" takes a target with fractional numbers as
        regression.

    Attributes
    ----------
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.
    counts_ : dict
        The number of features that were kept, irrelevant, redundant or replaced.
    measures_ : dict
        The number of relevant features by the measure that was used.
    n_duplicates_ : int
        The number of features dropped because they equal a kept one in every row.

    References
    ----------
    K. Yu, X. Wu, W. Ding, J. Pei: Scalable and accurate online feature selection for big data.
    ACM Transactions on Knowledge Discovery from Data 11(2), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.SAOLA(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
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
            "None if measure is 'fisher_z'",
        ),
    )
    class_weight: str | None = parameter(None, BALANCE)
    missing: str = parameter(
        "error",
        one_of("error", "skip"),
        together(
            lambda params, missing: missing == "error" or params.variant != "lofs",
            "'error' if variant is 'lofs'",
        ),
    )
    task: str = parameter("auto", one_of(*TASKS))


class SaolaRule(CopyDropper[SaolaState]):
    """Drop irrelevant features, then features that are redundant by pairs."""

    # Entry of ``counts`` that the budget limits.
    limited_count: ClassVar[int] = KEPT

    @property
    def budget(self) -> int:
        """Return the maximum number of kept features."""
        return int(self.params.n_features_to_select or NO_BUDGET)

    @property
    def drops_copies(self) -> bool:
        return (
            self.params.variant == "default"
            if self.params.duplicates == "auto"
            else super().drops_copies
        )

    def make_kernel_rule(self) -> Rule:
        """Return the rule in the form of kernels."""
        params, is_lofs = self.params, self.params.variant == "lofs"
        thresholds = (-1.0, -1.0)
        if is_lofs:
            thresholds = (
                float(critical_correlation(params.alpha, effective_n_rows(self.target.weights))),
                params.delta + 2 * EQUAL,
            )
        return Rule(
            is_lofs and params.measure != "su",
            is_lofs,
            params.bound == "max",
            thresholds,
            self.drops_copies,
        )

    def sizes(self) -> dict[str, int]:
        n_rows = self.target.n_rows
        return {
            **super().sizes(),
            "column_rows": n_rows * (self.params.measure != "su"),
            "code_rows": n_rows * (self.params.measure != "fisher_z"),
        }

    def start(self) -> SaolaState:
        if self.params.measure == "su" and not self.target.codes.size:
            raise DataError(
                f"{spell('measure', 'su')} needs classes, but the target holds numbers; use"
                " 'fisher_z'"
            )
        return empty(SaolaState, **self.sizes(), slots=FIRST_SLOTS, levels=1)

    def refuse(self, memory: ColumnMemory[SaolaState], block: ColumnBlock) -> None:
        super().refuse(memory, block)
        check_table_size(block, self.target, self.params.bins)

    def offer(self, memory: ColumnMemory[SaolaState], block: ColumnBlock) -> None:
        filled = block.without_empty() if block.groups is None else block
        memory.state.counts[IRRELEVANT] += block.n_columns - filled.n_columns
        for piece in split_block(filled):
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
        """Measure columns against the target, on threads, and return which are relevant.

        A pair of columns may need the correlation of a column that is measured by uncertainty, so
        both measures are computed.
        """
        params, target, n_columns = self.params, self.target, block.n_columns
        values = centre_block(block)
        relevance, norms = np.zeros((n_columns, 2)), np.zeros(n_columns)
        codes, n_levels = np.zeros(0, np.int32), np.ones(n_columns, np.int64)
        measure = np.full(n_columns, CORRELATION, np.int8)
        if params.measure != "su":
            strengths, norms = correlate(block, values, target)
            relevance[:, CORRELATION] = np.abs(strengths)
        if params.measure != "fisher_z" and target.codes.size:
            all_discrete = params.measure == "su" or params.bins is not None
            is_discrete = np.ones(n_columns, bool) if all_discrete else are_discrete(block)
            codes, n_levels = encode(block, target, params.bins, is_discrete)
            relevance[:, UNCERTAINTY] = measure_uncertainty(block, codes, n_levels, target)
            measure[is_discrete] = UNCERTAINTY
        has_missing = np.zeros(n_columns, bool)
        new = NewColumns(
            block.indptr,
            block.indices,
            values,
            block.values,
            block.ids,
            codes,
            n_levels,
            measure,
            relevance,
            norms,
            has_missing,
            np.full(n_columns, NO_COPY),
        )
        if params.missing == "skip":
            missing = np.flatnonzero(np.isnan(block.values))
            has_missing[np.searchsorted(block.indptr, missing, side="right") - 1] = True
        n_rows = effective_n_rows(target.weights)
        threshold: Any = critical_correlation(params.alpha, n_rows)
        if has_missing.any():
            n_present = np.full(n_columns, n_rows)
            targets = target.weights, target.numbers, target.codes, target.n_classes
            run_in_parts(block, lambda a, b: measure_with_missing(new, *targets, a, b, n_present))
            threshold = critical_correlation(params.alpha, n_present)
        is_relevant = np.where(
            measure == UNCERTAINTY,
            relevance[:, UNCERTAINTY] > params.delta + EQUAL,
            relevance[:, CORRELATION] >= threshold - EQUAL,
        )
        if params.measure != "su":  # a mixed pair is measured by correlation: a constant has none
            is_relevant &= norms > 0
        if params.variant == "lofs":
            sums = np.add.reduceat(np.append(block.values, 0.0), block.indptr[:-1]) * (
                np.diff(block.indptr) > 0
            )
            is_relevant &= sums != 0
        return new, np.flatnonzero(is_relevant)

    def compare(
        self, memory: ColumnMemory[SaolaState], block: ColumnBlock, new: NewColumns, candidates: I64
    ) -> None:
        """Compare the candidates of a block with the kept features, one by one."""
        self.compare_candidates(memory, new, candidates, self.budget)

    def compare_candidates(
        self, memory: ColumnMemory[SaolaState], new: NewColumns, candidates: I64, budget: int
    ) -> None:
        """Compare candidates with the kept features, keeping at most ``budget``."""
        arguments = self.make_kernel_rule(), budget, new, self.target.weights, candidates
        take_columns(
            memory,
            candidates.size,
            lambda state, n_taken: compare_with_kept(state, *arguments, n_taken),
        )

    def kept(self, state: SaolaState) -> tuple[I64, F64]:
        slots = state.order[: state.counts[KEPT]]
        return state.ids[slots], state.relevance[slots, state.measure[slots]]

    def held(self, state: SaolaState) -> NDArray[Any] | None:
        slots = state.order[: state.counts[KEPT]]
        if self.params.measure != "su":
            return state.columns[slots]
        # Columns that differ may have equal bins.
        return state.codes[slots] if self.params.bins is None else None

    def advice(self, state: SaolaState) -> str:
        by_uncertainty = self.params.measure != "fisher_z" and self.params.delta > 0
        return f"try {spell('delta', 0)}" if by_uncertainty else advice_on_level(self.params.alpha)

    def counted(self, state: SaolaState) -> dict[str, dict[str, int]]:
        return {
            "counts": dict(zip(FATES, state.counts[:CLOSED].tolist(), strict=True)),
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
            budget == NO_BUDGET or state.counts[self.limited_count] <= budget,
            f"it keeps more features than n_features_to_select={budget}",
        )
        ensure(
            state.counts[CLOSED] <= kept and (state.n_levels <= sizes["levels"]).all(),
            "its counters do not match the features it keeps",
        )
        check_codes(state.codes, state.n_levels, state.order[:kept])


class GroupSaolaRule(GroupRule, SaolaRule):
    """Apply SAOLA's rule within a group, then against every kept group."""

    limited_count: ClassVar[int] = CLOSED

    def compare(
        self, memory: ColumnMemory[SaolaState], block: ColumnBlock, new: NewColumns, candidates: I64
    ) -> None:
        starts = np.append(0, np.flatnonzero(np.diff(groups := groups_of(block))) + 1)
        runs, cuts = np.unique(
            np.searchsorted(starts, candidates, side="right") - 1, return_index=True
        )
        n_seen = 0
        for run, members in zip(runs.tolist(), np.split(candidates, cuts[1:]), strict=False):
            self.open_group(memory.state, groups[starts[n_seen : run + 1]])
            self.compare_candidates(memory, new, members, NO_BUDGET)
            n_seen = run + 1
        self.open_group(memory.state, groups[starts[n_seen:]])

    def open_group(self, state: SaolaState, groups: I64) -> None:
        """Close the open group and open the last of ``groups``, unless it is open already.

        Groups between them have no candidate and are skipped.
        """
        if groups.size and groups[0] == state.current[0]:
            groups = groups[1:]
        if groups.size:
            self.close(state)
            state.current[0] = groups[-1]

    def close(self, state: SaolaState) -> None:
        if state.counts[CLOSED] < state.counts[KEPT]:
            close_group(state, self.make_kernel_rule(), self.budget, self.target.weights)


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
    can_select_again=True,
    check_variants=VARIANTS,
)
GROUP_SAOLA = Method(
    "group-saola",
    SAOLAParameters,
    ColumnLearner,
    BOTH,
    rule=GroupSaolaRule,
    supports_groups=True,
    can_select_again=True,
    check_variants=VARIANTS,
    doc_override="""SAOLA for features that arrive in groups (Yu, Wu, Ding, Pei 2016, algorithm 2).

    Section 4 of the paper. A group without a relevant feature is dropped. The features of other
    groups are pruned by SAOLA's rule within the group, then against every kept group in both
    directions; a group without remaining features is dropped. So few features of few groups remain,
    and ``selection().groups`` has the group of each feature. A group is complete when the next one
    begins. Columns without groups are one group each.

    Parameters
    ----------
    n_features_to_select : int, default=None
        Maximum number of features, the most relevant ones, applied when a group is complete. None
        keeps all that the rule keeps.
    measure, alpha, delta, bound, duplicates, bins, class_weight, missing, task
        As in SAOLA; ``duplicates`` are dropped across groups, too.
    variant : {"default", "paper", "lofs"}, default="default"
        Treatment of copies, ties and insignificant pairs, as in SAOLA. In the authors' library
        removed features also remove others; here they do not, as in the paper.

    Attributes
    ----------
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.
    counts_ : dict
        The number of features that were kept, irrelevant, redundant or replaced.
    measures_ : dict
        The number of relevant features by the measure that was used.
    n_duplicates_ : int
        The number of features dropped because they equal a kept one in every row.

    References
    ----------
    K. Yu, X. Wu, W. Ding, J. Pei: Scalable and accurate online feature selection for big data.
    ACM Transactions on Knowledge Discovery from Data 11(2), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> groups = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    >>> selector = ss.GroupSAOLA(n_features_to_select=2).fit(X, y, groups=groups)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """,
)
