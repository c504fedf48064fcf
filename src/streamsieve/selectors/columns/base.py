"""The base of algorithms that take features as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import naming
from ...blocks import ColumnBlock
from ...errors import DataError, UsageError, prefix
from ...kernels.arrays import LARGEST_VALUE
from ...kernels.columns.centring import find_coarse
from ...kernels.columns.contents import count_constant
from ...model import NAMES, check_ids, check_scores, texts_of_arrays, texts_to_arrays
from ...selection import Selection
from ...sources.base import Missing
from ...state import Arrays, State, arrays_of, check_arrays, schema_of, with_arrays
from ...targets import TASK_OF_KIND, TASKS, Target, read_target
from ..base import Findings, Learner, Reads
from ..diagnosis import Look, Remark, checksums_of
from ..requirements import count_of, require_one_of
from .noted import COARSE, COLLAPSED, Noted, as_header, noted_in, remarks_of
from .parts import in_parts
from .saving import TARGET, TARGET_SCHEMA, target_of_model

STATE = "state."  # before the names of its arrays in a model


C = TypeVar("C", bound=State)
Tally = dict[str, Any]  # numbers, and arrays of them


@dataclass(slots=True, eq=False)
class ColumnMemory(Generic[C]):
    """All that a learner of columns has learned."""

    target: Target
    state: C
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, np.int64))  # features, non-zeros, constants
    earlier: int = 0  # features of the passes before this one; the counts are those of this pass
    names: dict[int, str] = field(default_factory=dict)  # of features that are or may be kept
    group_names: dict[int, str] = field(default_factory=dict)  # by number; empty if groups are called by that
    settled: C | None = None  # the state as if no feature were to come, once somebody asked
    noted: dict[str, Noted] = field(default_factory=dict)  # columns that a user should know of, by what there is


class ColumnLearner(Learner[ColumnBlock, ColumnMemory[C]], Generic[C]):
    """Sees features one by one, for rows and a target that are known from the start.

    An author writes ``_start``, ``_offer``, ``_finish`` if something is left to do after the last feature, ``_kept``,
    and what must hold between the arrays of a state from a file (``_check_state``). What is remembered is as large as
    the kept columns, whatever the number that went by.
    """

    reads: ClassVar[Reads] = "columns"
    takes_again: ClassVar[bool] = False  # features come again with every scan, and those that are held are passed over

    class_weight: str | None = None
    missing: str = "error"
    task: str = "auto"

    def check_parameters(self) -> None:
        require_one_of("task", self.task, TASKS)

    @property
    def missing_rows(self) -> Missing:
        """Missing values are fine in rows where the method skips them in columns."""
        return "keep" if self.missing == "skip" else "error"

    # ---- what an author writes

    def _start(self, target: Target) -> C:
        """A fresh state, a NamedTuple of arrays."""
        raise NotImplementedError

    def _offer(self, state: C, block: ColumnBlock) -> C:
        """The state after some more columns, which are measured against ``self.memory.target``."""
        raise NotImplementedError

    def _finish(self, state: C) -> C:
        """The state after the last column; the one that is given stays as it is."""
        return state

    def _kept(self, state: C) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Ids and scores of the kept features, in any order."""
        raise NotImplementedError

    def _groups(self, state: C) -> NDArray[Any] | None:
        """What the groups are called of the kept features, in the same order; None where there are no groups."""
        return None

    def _remembered(self, state: C) -> NDArray[np.int64]:
        """Ids of the features that are kept or may yet be."""
        return self._kept(state)[0]

    def _sizes(self, target: Target) -> dict[str, int]:
        """Return the sizes of arrays that do not depend on what was learned."""
        sizes = {"rows": target.n_rows, "classes": target.n_classes, "coded_rows": target.codes.size}
        return {**sizes, "max_levels": target.n_rows + 2}

    def _check_state(self, state: C, sizes: dict[str, int]) -> None:
        """Refuse, with a ValueError, a state whose arrays do not fit one another."""

    # ---- learning

    def start(
        self,
        n_features: int | None = None,
        classes: Any | None = None,
        feature_names: Any | None = None,
        *,
        y: Any | None = None,
        origin: str = "",
    ) -> Self:
        """Forget everything and be ready for the first feature; ``y`` has the target of every row.

        Its classes are those of ``y``; features bring their names with them.
        """
        self.check_parameters()
        if y is None:
            raise UsageError(f"{self.method} measures columns against a target; start with y=...")
        if classes is not None:
            raise UsageError(f"{self.method} takes the classes from the target; omit classes")
        target = self._read_target(y, origin)
        self._memory = ColumnMemory(target, self._start(target))
        self.n_features_in_ = n_features or 0
        return self

    def _read_target(self, y: Any, origin: str = "") -> Target:
        return read_target(y, self.task, self.targets, self.class_weight, origin)

    def refuse_other_target(self, y: Any) -> None:
        """Refuse a target that is not the one that learning started with."""
        if not np.array_equal(self._read_target(y).numbers, self.memory.target.numbers):
            raise DataError("the target differs from that of the first columns; start anew for another target")

    def begin_pass(self, number: int) -> None:
        memory = self.memory
        if number:
            memory.earlier += int(memory.counts[0])
            memory.counts[:] = 0

    def partial_fit_block(self, block: ColumnBlock) -> Self:
        """Take some more features; ``start`` comes before the first."""
        self.accept(block)
        if block.n_columns:
            self.commit(block)
        return self

    def accept(self, block: ColumnBlock) -> None:
        """Refuse columns that cannot be learned; nothing is changed."""
        n_rows = self.memory.target.n_rows
        if block.n_rows != n_rows:
            raise DataError(f"{prefix(block.origin)}columns of {block.n_rows:,} rows, but the target has {n_rows:,}")
        if not block.n_columns:
            return
        if block.ids.min() < 0:
            raise DataError(f"feature id {int(block.ids.min())} is negative; ids start at 0")
        if self.encoding is not None:
            self.encoding.refuse_more(int(block.ids.max()) + 1, block.origin)
        self._refuse_not_finite(block)
        if not self.takes_again:
            self._refuse_repeated(block)

    def commit(self, block: ColumnBlock) -> None:
        """Learn columns that were accepted."""
        memory = self.memory
        memory.settled = None
        memory.state = self._offer(memory.state, block)
        n_constant = count_constant(block.indptr, block.values, block.n_rows)
        memory.counts += (block.n_columns, block.n_nonzero, n_constant)
        self.n_features_in_ = max(self.n_features_in_, int(block.ids.max()) + 1)
        self._drop_names_of_some()
        self._note_names(block)
        self._note_coarse(block)

    def _refuse_not_finite(self, block: ColumnBlock) -> None:
        """Refuse infinite and enormous values, and missing ones unless the method skips them."""
        lowest, highest = (np.fmin, np.fmax) if self.missing == "skip" else (np.minimum, np.maximum)  # fmin omits NaN
        low, high = lowest.reduce(block.values, initial=0.0), highest.reduce(block.values, initial=0.0)
        if low >= -LARGEST_VALUE and high <= LARGEST_VALUE:
            return
        fine = np.abs(block.values) <= LARGEST_VALUE
        if self.missing == "skip":
            fine |= np.isnan(block.values)
        at = int(np.flatnonzero(~fine)[0])
        column = int(np.searchsorted(block.indptr, at, side="right")) - 1
        skips = ", or let missing='skip' omit such rows" if "missing" in self.parameter_names() else ""
        title, value = self.title_in(block, column), float(block.values[at])
        if np.isnan(value):
            what, cure = "is missing", f"fill it in{skips} or omit the feature"
        elif np.isinf(value):
            what, cure = "is infinite", "replace it"
        else:
            what, cure = f"is {value:g}", f"values beyond {LARGEST_VALUE:g} cannot be squared; divide the column"
        raise DataError(f"{prefix(block.origin)}{title} {what} in row {int(block.indices[at]) + 1}; {cure}")

    def _refuse_repeated(self, block: ColumnBlock) -> None:
        """Refuse features that come twice, as far as those that came before are remembered."""
        ids, remembered = block.ids, self.remembered()
        twice = are_repeated(ids)
        if remembered.size and ids.min() <= remembered.max():
            twice |= np.isin(ids, remembered)
        if twice.any():
            title = self.title_in(block, int(np.flatnonzero(twice)[0]))
            raise DataError(f"{prefix(block.origin)}{title} comes twice; give every feature an id of its own")

    def _grown(self, state: C) -> C:
        """Keep a state with larger arrays at once: counts it shares with the one before do not fit that any more."""
        self.memory.state = state
        return state

    def _note_coarse(self, block: ColumnBlock) -> None:
        """Take note of columns that 32-bit numbers cannot hold, if the data came through such."""
        if block.n_nonzero < block.n_rows or not (np.diff(block.indptr) == block.n_rows).any():
            return
        coarse, varies = np.zeros((2, block.n_columns), bool)
        in_parts(block, lambda a, b: find_coarse(block.indptr, block.values, block.n_rows, a, b, coarse, varies))
        self._note(COARSE, [self.title_in(block, column) for column in np.flatnonzero(coarse & varies).tolist()])
        self._note(COLLAPSED, [self.title_in(block, column) for column in np.flatnonzero(coarse & ~varies).tolist()])

    def _note(self, kind: str, texts: list[str]) -> None:
        """Take note of columns that a user should know of; those of later passes are the same once more."""
        if texts and not self.memory.earlier:
            self.memory.noted.setdefault(kind, Noted()).add(texts)

    def _note_names(self, block: ColumnBlock) -> None:
        """Remember the names of features that are or may be kept, and of no others."""
        memory = self.memory
        kept = self._remembered(memory.state)
        here = {} if block.names is None else dict(zip(block.ids.tolist(), map(str, block.names), strict=True))
        known = {**memory.names, **here} if memory.names or here else {}
        memory.names = {feature: known[feature] for feature in kept.tolist() if feature in known}

    # ---- learning what others have left

    def remembered(self) -> NDArray[np.int64]:
        """Ids of the features that are kept or may yet be, whose columns this learner holds."""
        return self._remembered(self.memory.state)

    def tally(self) -> Tally:
        """What was counted of all features that came by, for whoever learns those alone that are left of them."""
        memory = self.memory
        counted = {"counts": memory.counts.copy(), "earlier": memory.earlier, "width": self.n_features_in_}
        return {**counted, "noted": as_header(memory.noted)}

    def take_over(self, tallies: Sequence[Tally]) -> None:
        """Count what others have counted, of whose features this learner has learned those that were left."""
        memory = self.memory
        memory.counts[:] = sum(tally["counts"] for tally in tallies)
        memory.earlier = sum(tally["earlier"] for tally in tallies)
        self.n_features_in_ = max(tally["width"] for tally in tallies)
        self._note_others([noted_in(tally["noted"]) for tally in tallies])
        memory.settled = None

    def _note_others(self, others: Sequence[dict[str, Noted]]) -> None:
        """Take note of what others have noted, instead of what the same columns gave when they came once more."""
        noted = self.memory.noted
        for kind in (COARSE, COLLAPSED):
            noted.pop(kind, None)
        for other in others:
            for kind, found in other.items():
                noted.setdefault(kind, Noted()).add(found.first, found.count)

    def finish(self, origin: str = "") -> Self:
        """The end of the features: choose now what there is to choose, not when somebody asks."""
        self._settled()
        return self

    # ---- what was learned

    @property
    def n_learned(self) -> int:
        return self.memory.earlier + self.n_features_seen_

    @property
    def n_features_seen_(self) -> int:
        """Features that were offered, each once."""
        return int(self.memory.counts[0])

    @property
    def n_nonzero_(self) -> int:
        """Non-zeros in them."""
        return int(self.memory.counts[1])

    @property
    def n_constant_(self) -> int:
        """Features that never vary, or have no value at all: none of them is ever selected."""
        return int(self.memory.counts[2])

    @property
    def n_rows_(self) -> int:
        """Rows of every column."""
        return self.memory.target.n_rows

    def _settled(self) -> C:
        """The state as if no feature were to come."""
        memory = self.memory
        if memory.settled is None:
            memory.settled = self._finish(memory.state)
        return memory.settled

    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        ids, scores = self._kept(self._settled())
        order = np.argsort(ids)
        return ids[order], scores[order]

    def kept_now(self) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        return self._kept(self.memory.state)

    def class_rows(self) -> dict[Any, int] | None:
        return self.memory.target.class_rows()

    def selection(self) -> Selection:
        """The selected features, with scores, names and groups; its size is that of the selection."""
        indices, scores = self._selected()
        known, state = self.memory.names, self._settled()
        names = np.array([known.get(feature, f"x{feature}") for feature in indices.tolist()], object) if known else None
        groups = self._groups(state)
        return Selection(indices, scores, names, None if groups is None else groups[np.argsort(self._kept(state)[0])])

    def _held(self, state: C) -> NDArray[Any] | None:
        """The kept columns, a line each, as far as they are remembered in a form that is equal for equal columns only.

        In the order of ``_kept``; None where they are not, or where no two kept columns can be equal.
        """
        return None

    def _evidence(self, selection: Selection) -> NDArray[np.float64] | None:
        state = self._settled()
        held = self._held(state)
        return None if held is None else checksums_of(held[np.argsort(self._kept(state)[0])])[:, None]

    def _advice_if_empty(self) -> str:
        varies = self.n_constant_ < self.n_features_seen_
        return self._advice_if_too_strict() if varies else super()._advice_if_empty()

    def _advice_if_too_strict(self) -> str:
        """What to try where columns vary and none was good enough."""
        return super()._advice_if_empty()

    def diagnosis(self, look: Look) -> list[Remark]:
        return [*super().diagnosis(look), *remarks_of(self.memory.noted)]

    def title(self, feature: int) -> str:
        return naming.title(feature, self.memory.names.get(feature), self._first_id)

    def title_in(self, block: ColumnBlock, column: int) -> str:
        """What a column of a block is called in messages."""
        name = None if block.names is None else block.names[column]
        return naming.title(int(block.ids[column]), name, self._first_id)

    def findings(self) -> Findings:
        return Findings(details=self._details())

    def _details(self) -> dict[str, Any]:
        """What a run reports of this method alone."""
        groups = self.selection().groups
        details = {} if groups is None else {"groups": groups.tolist()}
        return {"task": TASK_OF_KIND[self.memory.target.kind], "constant": self.n_constant_, **details}

    # ---- saving

    def _header(self) -> dict[str, Any]:
        target, earlier = self.memory.target, self.memory.earlier
        more: dict[str, Any] = {"earlier": earlier} if earlier else {}
        if self.memory.noted:
            more["noted"] = as_header(self.memory.noted)
        return {"kind": target.kind, "centre": target.centre, "scale": target.scale, **more}

    def _arrays(self) -> Arrays:
        memory = self.memory
        target = memory.target
        arrays: Arrays = dict(arrays_of(memory.state, STATE))
        arrays |= {TARGET + name: getattr(target, name) for name in ("numbers", "codes", "class_counts", "weights")}
        arrays |= {"classes": np.array(target.classes.tolist()), "counts": memory.counts}
        if memory.names and self.feature_names is None:  # or all names are kept
            arrays["named_ids"] = np.array(list(memory.names), np.int64)
            arrays |= texts_to_arrays(NAMES, memory.names.values())
        return arrays

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        target = target_of_model(header, arrays)
        names = texts_of_arrays(NAMES, arrays)
        named = arrays.pop("named_ids", np.empty(0, np.int64))
        for name in (f"{NAMES}.text", f"{NAMES}.offsets", "classes"):
            arrays.pop(name, None)
        if named.dtype != np.int64 or named.shape != (0 if names is None else names.size,):
            raise ValueError("its names do not fit their features")
        if named.size and not 0 <= named.min() <= named.max() < self.n_features_in_:
            raise ValueError("it has names of features that there are not")
        counts = arrays["counts"]
        sizes = check_arrays({name: arrays.pop(name) for name in TARGET_SCHEMA}, TARGET_SCHEMA, self._sizes(target))
        fresh = self._start(target)
        sizes = check_arrays(arrays, schema_of(fresh, STATE), sizes)
        counted = np.bincount(target.codes, target.weights if target.codes.size else None, target.n_classes)
        if not np.allclose(counted, target.class_counts):
            raise ValueError("its classes are not as frequent as it says")
        state = with_arrays(fresh, arrays, STATE)
        self._memory = ColumnMemory(target, state, counts, count_of(header, "earlier") if "earlier" in header else 0)
        self._memory.noted = noted_in(header.get("noted", {}))
        self._check_state(state, sizes)
        check_ids(self._remembered(state), self.n_features_in_)
        check_scores(self._kept(state)[1])
        if names is not None:
            self._memory.names = dict(zip(named.tolist(), names.tolist(), strict=True))
        elif self.feature_names is not None:
            kept = self._remembered(state)
            self._memory.names = dict(zip(kept.tolist(), self.feature_names[kept].tolist(), strict=True))


def are_repeated(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which numbers are equal to an earlier one."""
    repeated = np.zeros(numbers.size, bool)
    if (numbers[1:] <= numbers[:-1]).any():
        repeated[:] = True
        repeated[np.unique(numbers, return_index=True)[1]] = False
    return repeated
