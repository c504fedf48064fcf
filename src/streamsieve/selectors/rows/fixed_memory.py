"""``max_cells``: memory that does not grow with the number of different features.

Features that are kept are exact; all others share a table of ``max_cells`` cells (see ``kernels.rows.sketch``). Ids
need no positions then, and where they are hashes of names, only the names of kept features are remembered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...blocks import NamedIds
from ...errors import UsageError
from ...kernels.types import I64
from ...machine import available_memory, more_memory, size_text
from ...model import NAMES, texts_of_arrays, texts_to_arrays
from ...state import Arrays, grown
from .addresses import direct_addresses
from .memory import RowMemory

NAMED = "named_ids"  # the ids of the features whose names a model has
SHARED_CELLS = (
    "models with max_cells cannot be merged: a feature that is kept in one has left its cell there; learn all rows in "
    "one pass, or merge models without max_cells"
)
NEEDS_CELLS = (
    "rows of names can be endless, and {} would remember every name; set max_cells, or make a matrix of them by "
    "scikit-learn's FeatureHasher or DictVectorizer"
)


def share_cells(memory: RowMemory[Any], max_cells: int) -> None:
    """Let all features that are not kept share some cells, in a fresh memory."""
    memory.state = grown(memory.state, "features", max_cells)
    memory.addresses = direct_addresses(max_cells)
    # at most an eighth full: most features are not kept, and then the first look says so
    memory.kept_table = np.zeros(1 << (8 * memory.budget - 1).bit_length(), np.int32)


def refuse_cells_beyond_memory(cells: int, n_vectors: int) -> None:
    """Refuse a number of cells that the machine cannot hold, before it tries."""
    bytes_each, available = 8 * n_vectors, available_memory()
    if bytes_each * cells > available:
        raise UsageError(
            f"max_cells={cells} needs {size_text(bytes_each * cells)} of memory, and {size_text(available)} are "
            f"available; max_cells={available // bytes_each} would fit, or {more_memory(bytes_each * cells)}"
        )


# ---- names of features whose ids are hashes


def names_after(known: dict[int, str], kept: I64, met: NamedIds, warms_up: bool) -> dict[int, str]:
    """Return the names of kept features, of which those that were not known must have been met.

    As long as the first rows may be learned again, the names of all features in them.
    """
    wanted = kept
    if warms_up:
        wanted = np.union1d(np.array(list(known), np.int64), met.ids)
    elif len(known) == wanted.size and known.keys() >= set(wanted.tolist()):
        return known  # after most rows
    wanted.sort()
    found = met.of(np.array([feature for feature in wanted.tolist() if feature not in known], np.int64))
    return {feature: known[feature] if feature in known else found[feature] for feature in wanted.tolist()}


def arrays_of_names(names: dict[int, str] | None) -> Arrays:
    """Return the names of features by id as arrays of a model."""
    if names is None:
        return {}
    return {NAMED: np.array(list(names), np.int64), **texts_to_arrays(NAMES, names.values())}


def names_of_model(arrays: Arrays) -> dict[int, str] | None:
    """Take the names of features by id out of the arrays of a model; None if it has none."""
    names, ids = texts_of_arrays(NAMES, arrays), arrays.pop(NAMED, None)
    for name in (f"{NAMES}.text", f"{NAMES}.offsets"):
        arrays.pop(name, None)
    if names is None or ids is None:
        return None
    if ids.dtype != np.int64 or ids.shape != names.shape or np.unique(ids).size != ids.size:
        raise ValueError("its names do not fit their features")
    return dict(zip(ids.tolist(), names.tolist(), strict=True))
