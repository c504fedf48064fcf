"""Rows of values by name as input of estimators: dictionaries, or pairs of names and values.

Where ``max_cells`` is given ``X`` may be a list, or any iterable, of dictionaries ``{name: value}`` or of pairs
``(names, values)``, a row each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import UsageError
from ..kernels.rows.batch import ALL_MARKED, keep_known
from ..kernels.types import I64
from ..selectors.base import AnyLearner
from ..selectors.rows.addresses import table_addresses
from ..selectors.rows.learner import NEEDS_CELLS
from ..sources.named_rows import NamedRowSource, as_named_rows


def named_rows(learner: AnyLearner, X: Any, *, learning: bool = False) -> Iterable[Any] | None:
    """Return ``X`` as rows by name, if it is such and the method of a learner can take them."""
    if "max_cells" not in learner.method.parameter_names:
        return None
    rows = as_named_rows(X)
    if rows is None:
        return None
    if learner.params.max_cells is None:
        raise UsageError(NEEDS_CELLS.format(type(learner.params).__name__.removesuffix("Parameters")))
    if learner.started and not learning and learner.memory.names is None:
        raise UsageError("these are rows by name, and it learned rows by id; give rows of the same kind")
    return rows


def select_named(rows: Iterable[Any], selected: I64) -> Any:
    """Return the values of some features, as a sparse array."""
    from scipy.sparse import csr_array, vstack

    lookup = table_addresses(selected)
    parts = []
    for block in NamedRowSource(rows).row_blocks():
        indptr, indices = np.zeros(block.n_rows + 1, np.int64), np.empty(block.n_nonzero, np.int32)
        entries = block.indptr, block.indices, block.values
        values = np.empty(block.n_nonzero, np.float32)
        filled = keep_known(ALL_MARKED, lookup.table, lookup.ids, *entries, indptr, indices, values)
        parts.append(csr_array((values[:filled], indices[:filled], indptr), shape=(block.n_rows, selected.size)))
    return vstack(parts, format="csr")
