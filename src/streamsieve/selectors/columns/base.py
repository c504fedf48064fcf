"""The base of algorithms that take features as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock, next_cut
from ...errors import DataError, UsageError
from ...kernels.columns.contents import count_constant
from ...parallel import cut
from ...parallel import in_parts as on_threads
from ...selection import Selection
from ...sources.base import Source
from ...sources.columns import ColumnSource, by_columns
from ..base import Learner, is_number, is_whole
from ..rows.labels import place
from .targets import Target, target_of

WORTH_A_PART = 1 << 16  # columns and non-zeros: threads for less work cost more than they save
STATE = "state."  # before the names of its arrays in a saved model


class ColumnLearner(Learner):
    """Sees features one by one, for rows and a target that are known from the start.

    An author writes ``_start``, ``_offer``, ``_finish`` if something is left to do behind the last feature, and
    ``_kept``. What is remembered is as large as the kept columns, whatever the number that went by.
    """

    check_variants: ClassVar[tuple[dict[str, Any], ...]] = ()
    exempt_from_checks: ClassVar[dict[str, str]] = {}

    knows_groups: ClassVar[bool] = False

    n_features_to_select: int | None
    class_weight: Any = None
    missing: str = "error"

    # ---- what an author writes

    def _start(self, target: Target) -> Any:
        """A fresh state, a NamedTuple of arrays."""
        raise NotImplementedError

    def _offer(self, state: Any, block: ColumnBlock) -> Any:
        """The state after some more columns, which are measured against ``self._target``."""
        raise NotImplementedError

    def _finish(self, state: Any) -> Any:
        """The state after the last column."""
        return state

    def _kept(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Ids and scores of the kept features, in any order."""
        raise NotImplementedError

    def _remembered(self, state: Any) -> NDArray[np.int64]:
        """Ids of the features that are kept or may yet be."""
        return self._kept(state)[0]

    # ---- learning

    def start(self, y: Any, origin: str = "") -> Self:
        """Forget everything and be ready for the first feature; ``y`` has the target of every row."""
        self.check_parameters()
        self._target, self._classes = target_of(y, self.class_weight, origin)
        self._counts = np.zeros(3, np.int64)  # features, non-zeros, features that never vary
        self._kept_names: dict[int, Any] = {}
        self._state = self._start(self._target)
        self.n_features_in_ = 0
        return self

    def refuse_other_target(self, y: Any) -> None:
        """Refuse a target that is not the one that learning started with."""
        if not np.array_equal(target_of(y, self.class_weight)[0].numbers, self._target.numbers):
            raise DataError("the target differs from that of the first columns; start anew for another target")

    def partial_fit_block(self, block: ColumnBlock) -> Self:
        """Take some more features; ``start`` comes before the first."""
        n_rows = self._target.weights.size
        if block.n_rows != n_rows:
            raise DataError(f"{place(block.origin)}columns of {block.n_rows:,} rows, but the target has {n_rows:,}")
        if not block.n_columns:
            return self
        if block.ids.min() < 0:
            raise DataError(f"feature id {int(block.ids.min())} is negative; ids start at 0")
        self._refuse_not_finite(block)
        self._state = self._offer(self._state, block)
        self._counts += (block.n_columns, block.n_nonzero, count_constant(block.indptr, block.values, n_rows))
        self.n_features_in_ = max(self.n_features_in_, int(block.ids.max()) + 1)
        self._note_names(block)
        return self

    def _refuse_not_finite(self, block: ColumnBlock) -> None:
        """Refuse infinite values, and missing ones unless the method skips them."""
        fine = np.isfinite(block.values)
        if self.missing == "skip":
            fine |= np.isnan(block.values)
        if fine.all():
            return
        at = int(np.flatnonzero(~fine)[0])
        column = int(np.searchsorted(block.indptr, at, side="right")) - 1
        skips = ", or let missing='skip' leave such rows out" if "missing" in self.parameter_names() else ""
        title = f"feature {int(block.ids[column])}" if block.names is None else f"column {block.names[column]!r}"
        what = "is missing" if np.isnan(block.values[at]) else "is infinite"
        cure = f"fill it in{skips} or leave the feature out" if np.isnan(block.values[at]) else "replace it"
        raise DataError(f"{place(block.origin)}{title} {what} in row {int(block.indices[at]) + 1}; {cure}")

    def _note_names(self, block: ColumnBlock) -> None:
        """Remember the names of features that are or may be kept, and of no others."""
        kept = self._remembered(self._state)
        here = {} if block.names is None else dict(zip(block.ids.tolist(), block.names.tolist(), strict=True))
        known = self._kept_names
        self._kept_names = {
            feature: here.get(feature, known.get(feature))
            for feature in kept.tolist()
            if feature in here or feature in known
        }

    def finish(self, origin: str = "") -> Self:
        """The end of the features."""
        self._state = self._finish(self._state)
        return self

    def fit_source(self, source: Source | ColumnSource | Iterable[ColumnBlock], y: Any | None = None) -> Self:
        """Take all features of a source, from scratch; rows are turned around in memory.

        Any iterable of blocks of columns will do, a generator for one; ``y`` is then their target.
        """
        if isinstance(source, Iterable):
            if y is None:
                raise UsageError("blocks of columns come without a target; give it as y")
            return self.fit_blocks(source, y)
        columns = by_columns(source)
        self.fit_blocks(columns.column_blocks(), columns.targets() if y is None else y, columns.name)
        self.n_features_in_ = max(self.n_features_in_, columns.n_features or 0)
        return self

    def fit_blocks(self, blocks: Iterable[ColumnBlock], y: Any, origin: str = "") -> Self:
        """Take all features of an iterable of blocks, from scratch."""
        self.start(y, origin)
        for block in blocks:
            self.partial_fit_block(block)
        return self.finish(origin)

    # ---- what was learned

    @property
    def started(self) -> bool:
        """Whether there is a state to go on with."""
        return hasattr(self, "_state")

    @property
    def n_features_seen_(self) -> int:
        """Features that were offered."""
        return int(self._counts[0])

    @property
    def n_nonzero_(self) -> int:
        """Non-zeros in them."""
        return int(self._counts[1])

    @property
    def n_constant_(self) -> int:
        """Features that never vary, or have no value at all: none of them is ever selected."""
        return int(self._counts[2])

    @property
    def n_rows_(self) -> int:
        """Rows of every column."""
        return int(self._target.weights.size)

    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        ids, scores = self._kept(self._state)
        order = np.argsort(ids)
        return ids[order], scores[order]

    def selection(self) -> Selection:
        """The selected features, with scores and names; its size is that of the selection."""
        indices, scores = self._selected()
        names = None
        if self._kept_names:
            names = np.array([self._kept_names.get(feature, f"x{feature}") for feature in indices.tolist()], object)
        return Selection(indices, scores, names)

    # ---- saving

    def _header(self) -> dict[str, Any]:
        return {"regression": self._classes is None, "names": [[k, str(v)] for k, v in self._kept_names.items()]}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        classes = {} if self._classes is None else {"classes": self._classes}
        target = {f"target.{name}": array for name, array in self._target._asdict().items()}
        state = {STATE + name: array for name, array in self._state._asdict().items()}
        return {**state, **target, **classes, "counts": self._counts}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._target = Target(*(arrays[f"target.{name}"] for name in Target._fields))
        self._classes = None if header["regression"] else arrays["classes"]
        self._counts = arrays["counts"]
        self._kept_names = {int(feature): name for feature, name in header["names"]}
        fresh = self._start(self._target)
        self._state = type(fresh)(*(arrays[STATE + name] for name in fresh._fields))


def as_groups(groups: Any, n_columns: int) -> NDArray[np.int64]:
    """The group of every column: whole numbers of 0 or more."""
    known = np.asarray(groups)
    if known.shape != (n_columns,):
        raise DataError(f"groups has shape {known.shape}, but there are {n_columns:,} columns: one group for each")
    wrong = np.array([not (is_whole(group) or (is_number(group) and group % 1 == 0)) or group < 0 for group in known])
    if wrong.any():
        column = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"the group of column {column} is {known.tolist()[column]!r}; groups are whole numbers of 0 or more"
        )
    return known.astype(np.int64)


def pieces(block: ColumnBlock, most_columns: int, most_nonzeros: int) -> Iterator[ColumnBlock]:
    """A block in parts of a bounded size, a column at least in each."""
    start = 0
    while start < block.n_columns:
        stop = next_cut(block.indptr, start, most_columns, most_nonzeros)
        yield block.columns(start, stop)
        start = stop


def in_parts(block: ColumnBlock, work: Callable[[int, int], None]) -> None:
    """Do work on ranges of columns, on threads if there is enough of it; their order does not matter."""
    before = block.indptr + np.arange(block.n_columns + 1)
    on_threads(np.searchsorted(before, cut(int(before[-1]), WORTH_A_PART)).tolist(), work)


def with_more_slots(state: Any, *per_slot: str) -> Any:
    """The same state with twice the slots in the arrays named; an ``order`` of slots goes on with the new ones."""
    grown = {name: np.concatenate([part := getattr(state, name), np.zeros_like(part)]) for name in per_slot}
    if "order" in state._fields:
        slots = state.order.size
        grown["order"] = np.concatenate([state.order, np.arange(slots, 2 * slots, dtype=np.int32)])
    return state._replace(**grown)
