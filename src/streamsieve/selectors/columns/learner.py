"""The learner of columns, one feature after the other for a known target, and its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import DataError, UsageError, prefix, spell
from ...kernels.arrays import NO_GROUP
from ...kernels.columns.centring import find_coarse
from ...kernels.columns.contents import count_constant
from ...kernels.types import F64, I64
from ...model import (
    NAMED_IDS,
    NAMES,
    check_ids,
    check_scores,
    pop_numbered_texts,
    texts_to_arrays,
)
from ...selection import Selection
from ...sources.base import DataSource
from ...state import Arrays, arrays_of, check_arrays, schema_of, with_arrays
from ...targets import TASK_OF_KIND, Target
from ..base import Learner, Method, Reads, Results, ResultSummary
from ..diagnosis import DataSample, Finding, checksums_of
from ..fitting import target_for
from ..parameters import count_of, ensure, options_of
from ..prediction import LinearModel
from ..serial import alone
from .memory import (
    COARSE,
    COLLAPSED,
    COPIES,
    TARGET,
    TARGET_SCHEMA,
    ColumnMemory,
    ColumnWarnings,
    Tally,
    findings_of,
    refuse_not_finite,
    refuse_repeated,
    sizes_of_target,
    target_of_model,
    warnings_from_json,
    warnings_to_json,
)
from .rules import ColumnRule, CopyDropper, run_in_parts

STATE = "state."  # prefix of the names of its arrays in a model
# Arrays of a model.
NAMED_GROUPS, GROUP_NAMES = "named_groups", "group_names"
DEFAULT_SCANS = 2  # of data that can be read more than once


@dataclass(frozen=True)
class ColumnOptions:
    """Parameters that a learner reads, with defaults for methods without them."""

    missing: str = "error"
    n_scans: int | None = 1


class ColumnResults(Results):
    """Results of a learner of columns; the selection is read as if the data ended here."""

    memory: ColumnMemory[Any]

    def __init__(self, learner: Any) -> None:
        super().__init__(learner)
        self.n_rows_, self.n_nonzero_ = self.memory.target.n_rows, int(self.memory.counts[1])
        self.rule: ColumnRule[Any] = learner.rule
        self.n_features_seen_ = int(self.memory.counts[0])  # offered features, each counted once
        # Features that never vary or have no value: none is ever selected.
        self.n_constant_ = int(self.memory.counts[2])

    @alone
    def final_state(self) -> Any:
        """Return the state after ``finish``, as if the data ended here."""
        memory = self.memory
        if memory.final_state is None:
            memory.final_state = self.rule.finish(memory.state)
        return memory.final_state

    def selected(self) -> tuple[I64, F64]:
        ids, scores = self.rule.kept(self.final_state())
        order = np.argsort(ids)
        return ids[order], scores[order]

    @alone
    def selection(self) -> Selection:
        """Return the selected features with scores, names and groups."""
        (indices, scores), feature_names, state = (
            self.selected(),
            self.memory.names,
            self.final_state(),
        )
        names = (
            np.array(
                [feature_names.get(feature, f"x{feature}") for feature in indices.tolist()], object
            )
            if feature_names
            else None
        )
        groups = self.rule.groups(state)
        if groups is None:
            return Selection(indices, scores, names)
        groups = groups[np.argsort(self.rule.kept(state)[0])]
        titles = self.memory.titles_of_groups(groups) if self.memory.group_names else None
        return Selection(
            indices, scores, names, groups if titles is None else np.array(titles, object)
        )

    @alone
    def current_selection(self) -> tuple[I64, F64] | None:
        return self.rule.current_selection(self.memory.state)

    def class_rows(self) -> dict[Any, int] | None:
        return self.memory.target.class_rows()

    # ---- attributes that some methods have

    @property
    def counts_(self) -> dict[str, int]:
        """Return the number of features that were kept, irrelevant, redundant or replaced.

        Redundant features were dropped when they arrived, replaced ones later. Dropped copies count
        as redundant; so does, with ``n_features_to_select``, a new feature that is less relevant
        than all of a full selection.
        """
        counts = self.rule.counted(self.final_state()).get("counts")
        if counts is None:
            raise AttributeError(f"{self.method.name} does not count kept and dropped features")
        return counts

    @property
    def measures_(self) -> dict[str, int]:
        """Return the number of relevant features by the measure that was used."""
        measures = self.rule.counted(self.memory.state).get("measures")
        if measures is None:
            raise AttributeError(f"{self.method.name} uses the same measure for all features")
        return measures

    @property
    def n_duplicates_(self) -> int:
        """Return the number of features dropped because they equal a kept one in every row."""
        if not isinstance(self.rule, CopyDropper):
            raise AttributeError(f"{self.method.name} does not check for copies")
        return int(self.memory.warnings.get(COPIES, ColumnWarnings()).count)

    @property
    def penalty_(self) -> float:
        """Return the final penalty."""
        return float(self.memory.state.penalty[0])

    @alone
    def linear_model(self) -> LinearModel:
        return self.rule.linear_model(self.final_state()) or super().linear_model()

    # ---- what is reported

    @property
    def advice_if_empty(self) -> str:  # type: ignore[override]
        varies = self.n_constant_ < self.n_features_seen_
        return (self.rule.advice(self.final_state()) if varies else None) or Results.advice_if_empty

    @alone
    def diagnosis(self, sample: DataSample) -> list[Finding]:
        return [*super().diagnosis(sample), *findings_of(self.memory.warnings)]

    def findings(self, selection: Selection, sample: DataSample) -> list[Finding]:
        return [*super().findings(selection, sample), *self.rule.findings(self.memory.state)]

    def evidence(self, selection: Selection) -> F64 | None:
        state = self.final_state()
        held = self.rule.held(state)
        return (
            None
            if held is None
            else checksums_of(held[np.argsort(self.rule.kept(state)[0])])[:, None]
        )

    def title(self, feature: int) -> str:
        return self.memory.title(feature)

    @alone
    def result_summary(self) -> ResultSummary:
        state, groups = self.final_state(), self.selection().groups
        details = {"task": TASK_OF_KIND[self.memory.target.kind], "constant": self.n_constant_}
        if groups is not None:
            details["groups"] = groups.tolist()
        if isinstance(self.rule, CopyDropper):
            details["duplicates"] = self.n_duplicates_
        counted, model = self.rule.counted(state), self.rule.linear_model(state)
        details |= {"counts": counted["counts"]} if counted else {}
        details |= {} if model is None else model.details()
        return ResultSummary(
            measures=counted.get("measures"), details={**details, **self.rule.details(state)}
        )


class ColumnLearner(Learner[ColumnBlock, ColumnMemory[Any]]):
    """Learns features one by one; its ``rule``, made for the target, keeps or drops them."""

    reads: ClassVar[Reads] = "columns"
    results_type: ClassVar[type[Results]] = ColumnResults
    rule: ColumnRule[Any]

    def __init__(self, method: Method, params: Any) -> None:
        super().__init__(method, params)
        self.options: ColumnOptions = options_of(ColumnOptions, params)
        self.missing_rows = "keep" if self.options.missing == "skip" else "error"

    # ---- learning

    def passes_over(self, source: DataSource) -> int:
        scans = self.options.n_scans
        if scans is None:
            return DEFAULT_SCANS if source.rewindable else 1
        if scans > 1 and not source.rewindable:
            raise UsageError(
                f"{source.name}: can be read only once, so {spell('n_scans', scans)} is too many;"
                f" set {spell('n_scans', 1)}, or give the columns in a form that can be read again:"
                " a list of blocks, a matrix or a file"
            )
        return int(scans)

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
        """Reset the learner and prepare it for the first feature, given the target of every row.

        The classes are those of ``y``; blocks bring the names of their features.
        """
        if y is None:
            raise UsageError(
                f"{self.method.name} measures columns against a target; start with y=..."
            )
        if classes is not None:
            raise UsageError(f"{self.method.name} takes the classes from the target; omit classes")
        self.features.start(n_features, None)
        self.adopt(target_for(self.method, self.params, y, origin))
        return self

    def adopt(
        self, target: Target, state: Any | None = None, rule: ColumnRule[Any] | None = None
    ) -> None:
        """Prepare to learn for a target, from a new state and rule or from given ones."""
        self.rule = self.method.rule(self.params, target) if rule is None else rule
        self._memory = ColumnMemory(
            target, self.rule.start() if state is None else state, self.features
        )

    def check_same_target(self, y: Any) -> None:
        """Raise DataError for a target other than the one that learning started with."""
        if not np.array_equal(
            target_for(self.method, self.params, y).numbers, self.memory.target.numbers
        ):
            raise DataError(
                "the target differs from that of the first columns; call start for another target"
            )

    @alone
    def name_groups(self, names: NDArray[Any] | None) -> None:
        if names is not None and self.method.supports_groups:
            self.memory.group_names = {group: str(name) for group, name in enumerate(names)}

    @alone
    def begin_pass(self, number: int) -> None:
        memory = self.memory
        if number:
            memory.earlier += int(memory.counts[0])
            memory.counts[:] = 0

    @alone
    def partial_fit_block(self, block: ColumnBlock) -> Self:
        """Learn more features; call ``start`` before the first."""
        self.accept(block)
        if block.n_columns:
            self.commit(block)
        return self

    def accept(self, block: ColumnBlock) -> None:
        """Raise DataError for columns that cannot be learned, before anything is changed."""
        memory, n_rows = self.memory, self.memory.target.n_rows
        if block.n_rows != n_rows:
            raise DataError(
                f"{prefix(block.origin)}columns of {block.n_rows:,} rows, but the target has"
                f" {n_rows:,}"
            )
        if not block.n_columns:
            return
        if block.ids.min() < 0:
            raise DataError(f"feature id {int(block.ids.min())} is negative; ids start at 0")
        self.features.check_width(int(block.ids.max()) + 1, block.origin)
        refuse_not_finite(
            memory, block, self.missing_rows == "keep", "missing" in self.method.parameter_names
        )
        if not self.rule.allows_repeats:
            refuse_repeated(memory, block, self.remembered())
        self.rule.refuse(memory, block)

    def commit(self, block: ColumnBlock) -> None:
        """Learn columns that passed ``accept``."""
        memory = self.memory
        memory.final_state = None
        self.rule.offer(memory, block)
        memory.counts += (
            block.n_columns,
            block.n_nonzero,
            count_constant(block.indptr, block.values, block.n_rows),
        )
        self.features.set_width(max(self.features.width, int(block.ids.max()) + 1))
        memory.store_names(block, self.remembered(), self.rule.holds_all)
        if not memory.earlier and (np.diff(block.indptr) == block.n_rows).any():
            self._warn_of_coarse(block)

    def _warn_of_coarse(self, block: ColumnBlock) -> None:
        """Add warnings for columns whose values lost precision as 32-bit numbers."""
        memory, (coarse, varies) = self.memory, np.zeros((2, block.n_columns), bool)
        run_in_parts(
            block,
            lambda a, b: find_coarse(
                block.indptr, block.values, block.n_rows, a, b, coarse, varies
            ),
        )
        for kind, is_affected in ((COARSE, coarse & varies), (COLLAPSED, coarse & ~varies)):
            memory.add_warning(
                kind,
                [
                    memory.column_title(block, column)
                    for column in np.flatnonzero(is_affected).tolist()
                ],
            )

    @alone
    def finish(self, origin: str = "") -> Self:
        """Compute the final state now, not when the selection is read."""
        self.results.final_state()
        return self

    # ---- counts of other workers

    @property
    def n_learned(self) -> int:
        return self.memory.earlier + int(self.memory.counts[0])

    @alone
    def remembered(self) -> I64:
        """Return the ids of the features whose columns this learner holds."""
        return self.rule.remembered(self.memory.state)

    @alone
    def tally(self) -> Tally:
        """Return the counters of all offered features, for a learner of those that are left."""
        memory = self.memory
        return {
            "counts": memory.counts.copy(),
            "earlier": memory.earlier,
            "width": self.features.width,
            "noted": warnings_to_json(memory.warnings),
            **self.rule.tally(memory.state),
        }

    @alone
    def adopt_counts(self, tallies: Sequence[Tally]) -> None:
        """Adopt the counters of other learners, whose kept features this learner has learned.

        Their warnings replace those that the same columns gave here, when they were learned again.
        """
        memory = self.memory
        memory.counts[:] = sum(tally["counts"] for tally in tallies)
        memory.earlier = sum(tally["earlier"] for tally in tallies)
        self.features.width = max(tally["width"] for tally in tallies)
        for kind in (COARSE, COLLAPSED):
            memory.warnings.pop(kind, None)
        for tally in tallies:
            for kind, entry in warnings_from_json(tally["noted"]).items():
                memory.add_warning(kind, entry.examples, entry.count)
        self.rule.adopt_counts(memory.state, tallies)
        memory.final_state = None

    # ---- saving

    def _state_to_save(self) -> tuple[dict[str, Any], Arrays]:
        memory, target = self.memory, self.memory.target
        header: dict[str, Any] = {
            "kind": target.kind,
            "centre": target.centre,
            "scale": target.scale,
        }
        header |= {"earlier": memory.earlier} if memory.earlier else {}
        header |= {"noted": warnings_to_json(memory.warnings)} if memory.warnings else {}
        arrays: Arrays = dict(arrays_of(self.rule.saved(memory), STATE))
        arrays |= {
            TARGET + name: getattr(target, name)
            for name in ("numbers", "codes", "class_counts", "weights")
        }
        arrays |= {"classes": np.array(target.classes.tolist()), "counts": memory.counts}
        if memory.names and self.features.names is None:  # or all names are kept
            arrays |= {NAMED_IDS: np.array(list(memory.names), np.int64)}
            arrays |= texts_to_arrays(NAMES, memory.names.values())
        if memory.group_names:
            numbers = self._groups()
            arrays |= {
                NAMED_GROUPS: numbers,
                **texts_to_arrays(GROUP_NAMES, memory.titles_of_groups(numbers)),
            }
        return header, arrays

    def _groups(self) -> I64:
        """Return the groups of the kept features and the open group."""
        state = self.memory.state
        groups: Any = self.rule.groups(state)  # groups have names only where the rule knows groups
        return np.setdiff1d(np.append(groups, state.current), NO_GROUP)

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        features = self.features
        names = pop_numbered_texts(NAMES, NAMED_IDS, arrays) or {}
        group_names = pop_numbered_texts(GROUP_NAMES, NAMED_GROUPS, arrays)
        ensure(
            all(0 <= feature < features.width for feature in names),
            "it has names of features that do not exist",
        )
        target = target_of_model(header, arrays.pop("classes"), arrays)
        target_arrays = {name: arrays.pop(name) for name in TARGET_SCHEMA}
        check_arrays(target_arrays, TARGET_SCHEMA, sizes_of_target(target))
        self.adopt(target)
        memory, rule = self.memory, self.rule
        sizes = check_arrays(arrays, schema_of(memory.state, STATE), rule.sizes())
        class_counts = np.bincount(
            target.codes, target.weights if target.codes.size else None, target.n_classes
        )
        ensure(
            np.allclose(class_counts, target.class_counts),
            "its class counts do not match its target",
        )
        state = memory.state = with_arrays(memory.state, arrays, STATE)
        memory.counts, memory.earlier = (
            target_arrays["counts"],
            count_of(header, "earlier") if "earlier" in header else 0,
        )
        memory.warnings = warnings_from_json(header.get("noted", {}))
        rule.check(state, sizes, features.width)
        remembered = rule.remembered(state)
        check_ids(remembered, features.width)
        check_scores(rule.kept(state)[1])
        memory.names = names
        if features.names is not None:
            memory.names = dict(
                zip(remembered.tolist(), features.names[remembered].tolist(), strict=True)
            )
        if group_names:
            ensure(
                len(set(group_names.values())) == len(group_names)
                and set(self._groups().tolist()) == set(group_names),
                "its group names do not match its groups",
            )
            memory.group_names = group_names
