"""``max_cells``: memory that does not grow with the number of different features.

Features that are kept are exact; all others share a table of ``max_cells`` cells (see ``kernels.rows.sketch``). Ids
need no positions then, and where they are hashes of names, only the names of kept features are remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import NamedIds, RowBlock
from ...errors import UsageError
from ...kernels.rows.members import KEPT
from ...kernels.table import fill_table
from ...machine import available_memory, more_memory, size_text
from ...model import NAMES, Model, texts_of_arrays, texts_to_arrays
from ...selection import Selection
from ...state import Arrays, changed
from ..requirements import require
from .addresses import direct_addresses
from .base import RowLearner
from .curves import STATE
from .limits import MOST_CELLS, require_count
from .memory import RowMemory, S
from .targets import RowTarget

NAMED = "named_ids"  # the ids of the features whose names a model has


class FixedMemoryLearner(RowLearner[S]):
    """A learner whose cells, where ``max_cells`` is given, are as many as that whatever ids there are.

    The state has ``cells``, ``excess``, ``scale``, ``member`` and ``member_id``; its kernel takes the table of kept
    features. A class names this one before others that it is made of.
    """

    max_cells: int | None

    def check_parameters(self) -> None:
        super().check_parameters()
        cells = self.max_cells
        if cells is not None:
            require_count("max_cells", cells, MOST_CELLS, "None or ")
        require(
            cells is None or self.normalize is False or self.normalize in ("auto", "l2"),
            "normalize",
            self.normalize,
            "'auto', 'l2' or False with max_cells: the spread of every feature would need memory of its own",
        )

    @property
    def shares_cells(self) -> bool:
        """Whether features that are not kept share a fixed number of cells."""
        return self.max_cells is not None

    # ---- learning

    @property
    def _chooses_scales(self) -> bool:
        return super()._chooses_scales and not self.shares_cells

    @property
    def centres(self) -> bool:
        return super().centres and not self.shares_cells

    def _fresh(self, target: RowTarget, width: int, budget: int | None = None) -> RowMemory[S]:
        if self.max_cells is not None:
            refuse_cells_beyond_memory(self.max_cells, target.n_vectors)
        memory = super()._fresh(target, width, budget)
        if self.max_cells is not None:
            width_of_cells = memory.state._asdict()["cells"].shape[1]
            memory.state = changed(memory.state, cells=np.zeros((self.max_cells, width_of_cells), np.float32))
            memory.addresses = direct_addresses(self.max_cells)
            # at most an eighth full: most features are not kept, and then the first look says so
            memory.kept_table = np.zeros(1 << (8 * memory.budget - 1).bit_length(), np.int32)
        return memory

    def _table_of(self, state: S) -> NDArray[np.int32] | None:
        """The table of kept features; the small learners of a curve see few features and need none."""
        return self.memory.kept_table if state is self.memory.state else None

    def partial_fit_block(self, block: RowBlock) -> Self:
        memory = self.memory
        if block.names is not None and not self.shares_cells:
            raise UsageError(NEEDS_CELLS.format(self.method))
        if self.n_rows_ and (block.names is None) != (memory.names is None):
            raise UsageError("some rows have names and some have ids; a learner takes one or the other")
        super().partial_fit_block(block)
        if block.names is not None:
            self.memory.names = self._names_after(memory.names or {}, block.names)
        return self

    def _names_after(self, known: dict[int, str], met: NamedIds) -> dict[int, str]:
        """The names of kept features, of which those that were not known must have been met.

        As long as the first rows may be learned again, the names of all features in them.
        """
        wanted = self._kept_by_any()
        if self.memory.warm_up is not None:
            wanted = np.union1d(np.array(list(known), np.int64), met.ids)
        elif len(known) == wanted.size and known.keys() >= set(wanted.tolist()):
            return known  # after most rows
        wanted.sort()
        found = met.of(np.array([feature for feature in wanted.tolist() if feature not in known], np.int64))
        return {feature: known[feature] if feature in known else found[feature] for feature in wanted.tolist()}

    def _kept_by_any(self) -> NDArray[np.int64]:
        """The ids of what is kept, by the small learners of a curve too."""
        rungs, kept = self.memory.rungs, self._kept(self.memory.state)[0]
        if rungs is None:
            return kept.copy()
        return np.unique(np.concatenate([kept, *(self._kept(rung.state)[0] for rung in rungs.rungs)]))

    # ---- what was learned

    def _names_of(self, indices: NDArray[np.int64]) -> NDArray[Any] | None:
        names = None if self._memory is None else self._memory.names
        if names is None:
            return super()._names_of(indices)
        return np.array([names[feature] for feature in indices.tolist()], dtype=object)

    def _evidence(self, selection: Selection) -> NDArray[np.float64] | None:
        if not self.shares_cells:
            return super()._evidence(selection)
        state: Any = self._predicting
        kept = state.member_id[: state.counts[KEPT]]
        order = np.argsort(kept)
        slots = order[np.searchsorted(kept[order], selection.indices)]
        excess: NDArray[np.float64] = state.excess.reshape(state.excess.shape[0], -1)[slots].astype(np.float64)
        return excess * float(state.scale[0])

    @classmethod
    def merge(cls, base: Model, parts: Sequence[Model], divisor: float | None = None) -> Model:
        if len(parts) > 1 and base.params.get("max_cells") is not None:
            raise UsageError(SHARED_CELLS)
        return super().merge(base, parts, divisor)

    def as_part(self, of: int) -> Self:
        if self.shares_cells and of != 1:
            raise UsageError(SHARED_CELLS)
        return super().as_part(of)

    # ---- saving

    def _arrays(self) -> Arrays:
        names = self.memory.names
        if names is None:
            return super()._arrays()
        named = {NAMED: np.array(list(names), np.int64)}
        return {**super()._arrays(), **named, **texts_to_arrays(NAMES, names.values())}

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        if self.shares_cells and arrays[STATE + "cells"].shape[0] != self.max_cells:
            raise ValueError(f"{arrays[STATE + 'cells'].shape[0]:,} cells with max_cells={self.max_cells}")
        names = names_of_model(arrays) if self.shares_cells else None
        super()._restore(header, arrays)
        state: Any = self.memory.state
        if self.memory.kept_table is not None:
            fill_table(self.memory.kept_table, state.member_id, int(state.counts[KEPT]))
        if names is not None and not set(names) >= set(self._kept_by_any().tolist()):
            raise ValueError("a kept feature has no name")
        self.memory.names = names


SHARED_CELLS = (
    "models with max_cells cannot be merged: a feature that is kept in one has left its cell there; learn all rows in "
    "one pass, or merge models without max_cells"
)
NEEDS_CELLS = (
    "rows of names can be endless, and {} would remember every name; set max_cells, or make a matrix of them by "
    "scikit-learn's FeatureHasher or DictVectorizer"
)


def names_of_model(arrays: Arrays) -> dict[int, str] | None:
    """The names of features by id, taken out of the arrays of a model; None if it has none."""
    names, ids = texts_of_arrays(NAMES, arrays), arrays.pop(NAMED, None)
    for name in (f"{NAMES}.text", f"{NAMES}.offsets"):
        arrays.pop(name, None)
    if names is None or ids is None:
        return None
    if ids.dtype != np.int64 or ids.shape != names.shape or np.unique(ids).size != ids.size:
        raise ValueError("its names do not fit their features")
    return dict(zip(ids.tolist(), names.tolist(), strict=True))


def refuse_cells_beyond_memory(cells: int, n_vectors: int) -> None:
    """Refuse a number of cells that the machine cannot hold, before it tries."""
    bytes_each, available = 8 * n_vectors, available_memory()
    if bytes_each * cells > available:
        raise UsageError(
            f"max_cells={cells} needs {size_text(bytes_each * cells)} of memory, and {size_text(available)} are "
            f"available; max_cells={available // bytes_each} would fit, or {more_memory(bytes_each * cells)}"
        )
