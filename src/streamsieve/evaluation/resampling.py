"""Measure how often features are selected from random subsamples of the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..class_search import naming_methods
from ..errors import UsageError, prefix
from ..machine import refuse_beyond_memory
from ..naming import title
from ..parallel import Threads
from ..registry import make_learner, method_named, refuse_unknown_parameters
from ..runs.data import arrays_of
from ..selectors.base import AnyLearner, Reads
from ..selectors.fitting import TargetOptions
from ..selectors.parameters import is_integer, is_number, options_of
from ..sources import open_source
from ..sources.arrays import ArraySource
from ..sources.base import ColumnSource, DataSource, SourceFacts, check_no_weight
from ..sources.columns import MatrixColumns
from ..sources.transpose import whole_matrix
from ..targets import ONLY_NUMBERS, Kind, kind_of
from ..training import train
from ..values import is_sparse
from .stability import Stability, nogueira


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StabilitySelection:
    """The features selected from subsamples, and the fraction of the subsamples for each of them.

    ``stability`` is Nogueira's measure of how alike the ``selections`` are.
    """

    indices: NDArray[np.int64]  # of every feature that was ever selected, ascending
    frequency: NDArray[np.float64]  # one per index
    names: NDArray[Any] | None  # one per index
    n_resamples: int
    stability: Stability
    selections: tuple[NDArray[np.int64], ...]  # the features of every subsample
    first_id: int = 0  # the id in the data of feature 0, if features have no names

    def frequency_of(self, features: Iterable[int]) -> NDArray[np.float64]:
        """Return the frequencies of some features, in their order; 0 for those never selected."""
        frequencies = dict(zip(self.indices.tolist(), self.frequency.tolist(), strict=True))
        return np.array([frequencies.get(int(feature), 0.0) for feature in features], np.float64)

    def at_least(self, frequency: float) -> NDArray[np.int64]:
        """Return the features with at least this frequency, in ascending order."""
        return self.indices[self.frequency >= frequency]

    def ranked(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return dictionaries of the features, or of the ``most`` frequent, in order of frequency.

        Each has the ``feature`` (id), its ``frequency`` and, where known, its ``name``.
        """
        order = np.lexsort((self.indices, -self.frequency))[:most]
        return [
            {"feature": int(self.indices[position]), "frequency": float(self.frequency[position])}
            | ({} if self.names is None else {"name": self.names[position]})
            for position in order
        ]

    def __repr__(self) -> str:
        best = [
            f"{title(line['feature'], line.get('name'), self.first_id)} ({line['frequency']:.0%})"
            for line in self.ranked(3)
        ]
        value, low, high = self.stability
        return (
            f"<StabilitySelection: {self.indices.size:,} features in {self.n_resamples} subsamples,"
            f" stability {value:.2f} ({low:.2f} to {high:.2f}); most often"
            f" {', '.join(best) or 'none'}>"
        )


def stability_selection(
    data: Any,
    method: str = "sofs",
    n_features_to_select: int | float | None = None,
    n_resamples: int = 20,
    fraction: float = 0.5,
    seed: int = 0,
    jobs: int = 1,
    groups: Any = None,
    **params: Any,
) -> StabilitySelection:
    """Select features from many subsamples of the rows, and count how often each is selected.

    Parameters
    ----------
    data : pair (X, y), table, source or path
        The data to learn from. It is held in memory, and must fit.
    method : str
        A name that ``streamsieve methods`` lists, or the name of its class.
    n_features_to_select : int or float, optional
        The budget; by default that of the method.
    n_resamples : int
        The number of subsamples, 2 or more.
    fraction : float
        The fraction of the rows in each subsample, the same for every class. Rows are drawn without
        replacement, and stay in their order.
    seed : int
        The seed of the subsamples, and of the ``random_state`` of methods that use randomness,
        which is different for each subsample.
    jobs : int
        The number of subsamples that are learned at the same time, on threads. The result does not
        depend on it.
    groups
        The groups of the features, for methods that support groups, as in ``select``.
    **params
        Parameters of the method.
    """
    method = method_named(method)
    if n_features_to_select is not None:
        params["n_features_to_select"] = n_features_to_select
    refuse_unknown_parameters(method, params)
    check_ranges(n_resamples, fraction, seed, jobs)
    learner = make_learner(method, params)
    if groups is not None and not learner.method.supports_groups:
        raise UsageError(f"{method} does not support groups; use group-saola or ogfs")
    data_set = InMemory.of(data)
    refuse_beyond_memory(
        # twice, as rows may be transposed
        int(2 * fraction * min(jobs, n_resamples) * data_set.n_bytes),
        f"{prefix(data_set.facts.name)}subsamples",
        "take a smaller fraction or fewer jobs",
    )
    if groups is None and learner.method.supports_groups:
        groups = data_set.groups
    with naming_methods(learner):
        codes, classes = classes_in(data_set, learner)
    draws = np.random.default_rng(seed).spawn(n_resamples)

    def select_from(number: int) -> NDArray[np.int64]:
        random = draws[number]
        rows = subsample(random, codes, fraction)
        trained = make_learner(method, params, int(random.integers(2**31)))
        train(trained, data_set.rows(rows, trained.reads), classes=classes, groups=groups)
        return data_set.selected(trained)

    with Threads(jobs) as threads:
        selections = threads.each(n_resamples, select_from)
    indices, counts = np.unique(np.concatenate(selections), return_counts=True)
    return StabilitySelection(
        indices,
        counts / n_resamples,
        data_set.names_of(indices),
        n_resamples,
        nogueira(selections, data_set.n_features),
        tuple(selections),
        data_set.facts.first_id,
    )


@dataclass(frozen=True, slots=True, eq=False)
class InMemory:
    """All data of a source, as a dense array or a CSR matrix.

    The columns of the matrix are the features ``ids``, or all features if that is None. Columns
    that come with their own names or groups are the only features of their source: they are
    numbered from 0 for learning, and have ``original_ids`` in the source.
    """

    facts: SourceFacts
    matrix: Any
    y: NDArray[Any]
    n_features: int
    names: NDArray[Any] | None  # of all features, or of the columns if they are numbered from 0
    ids: NDArray[np.int64] | None
    original_ids: NDArray[np.int64] | None = None
    groups: list[Any] | None = None  # of columns, where the source has them

    @classmethod
    def of(cls, data: Any) -> InMemory:
        """Read data into memory: a pair ``(X, y)``, a table, or anything ``open_source`` opens."""
        source = open_source(data)
        check_no_weight(source.facts.weight, f"{prefix(source.name)}subsamples have no weights")
        if not source.has_labels:
            raise UsageError(f"{prefix(source.name)}the rows have no labels; give a pair (X, y)")
        whole = whole_matrix(source)
        matrix = whole.values.tocsr() if is_sparse(whole.values) else whole.values
        held = cls(source.facts, matrix, whole.y, whole.n_features, source.feature_names, whole.ids)
        if not isinstance(source, ColumnSource) or not (
            source.facts.has_groups or (held.names is None and source.has_names)
        ):
            return held
        ids = np.arange(matrix.shape[1]) if whole.ids is None else whole.ids
        names, groups = names_and_groups(source, ids)
        return replace(held, ids=None, original_ids=ids, names=names, groups=groups)

    @property
    def n_bytes(self) -> int:
        """Return the number of bytes of the matrix."""
        return sum(array.nbytes for array in arrays_of(self.matrix))

    def rows(self, rows: NDArray[np.int64], reads: Reads) -> DataSource:
        """Return some rows, in the order given, as a source that a method reads in its way.

        ``reads`` is that way: by rows, by columns, or as a whole matrix.
        """
        from scipy.sparse import csr_array

        part, y, name = self.matrix[rows], self.y[rows], self.facts.name
        source: DataSource
        if self.ids is None:
            source = ArraySource(part, y, self.names, name)
        elif reads == "rows":  # with a column for every feature of the data
            sparse = csr_array(part)
            entries = sparse.data, self.ids[sparse.indices], sparse.indptr
            wide = csr_array(entries, shape=(y.size, self.n_features))
            source = ArraySource(wide, y, self.names, name)
        else:
            columns = part.tocsc() if is_sparse(part) else part
            source = MatrixColumns(name, columns, y, self.n_features, self.ids)
        source.facts = replace(
            source.facts, first_id=self.facts.first_id, encoding=self.facts.encoding
        )
        return source

    def selected(self, learner: AnyLearner) -> NDArray[np.int64]:
        """Return the ids of the features that a learner selected, in ascending order."""
        indices: NDArray[np.int64] = learner.results.selection().indices
        return indices if self.original_ids is None else self.original_ids[indices]

    def names_of(self, features: NDArray[np.int64]) -> NDArray[Any] | None:
        """Return the names of some features, or None if the data has no names."""
        if self.names is None:
            return None
        if self.original_ids is None:
            return self.names[features]
        return self.names[np.searchsorted(self.original_ids, features)]


def names_and_groups(
    source: ColumnSource, ids: NDArray[np.int64]
) -> tuple[NDArray[Any] | None, list[Any] | None]:
    """Return the names and the groups of some columns of a source, None where it has none."""
    if not source.rewindable:
        raise UsageError(
            f"{source.name}: can be read only once, but must be read twice; save the columns to a"
            " file"
        )
    names = np.full(ids.size, "", object) if source.has_names else None
    groups = np.zeros(ids.size, np.int64) if source.facts.has_groups else None
    for block in source.column_blocks():
        is_wanted = np.isin(block.ids, ids)
        positions = np.searchsorted(ids, block.ids[is_wanted])
        if names is not None and block.names is not None:
            names[positions] = block.names[is_wanted]
        if groups is not None and block.groups is not None:
            groups[positions] = block.groups[is_wanted]
    group_names = source.facts.group_names
    if groups is not None and group_names is not None:
        groups = group_names[groups]
    return names, None if groups is None else groups.tolist()


def check_ranges(n_resamples: int, fraction: float, seed: int, jobs: int) -> None:
    """Raise UsageError if a number is out of range."""
    if not is_number(fraction) or not 0 < fraction <= 1:
        raise UsageError("fraction", f"must be above 0, and 1 at most, got {fraction!r}")
    for name, value, low in (("n_resamples", n_resamples, 2), ("seed", seed, 0), ("jobs", jobs, 1)):
        if not is_integer(value) or value < low:
            raise UsageError(name, f"must be an integer of {low} or more, got {value!r}")


def classes_in(
    data_set: InMemory, learner: AnyLearner
) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
    """Return the stratum of every row, and the classes for methods that must be given them.

    The stratum is the code of the class, or 0 for all rows if the target holds numbers.
    """
    y = data_set.y
    values, codes = np.unique(y, return_inverse=True)
    kind: Kind = "numbers"
    if learner.method.targets != ONLY_NUMBERS:
        options: TargetOptions = options_of(TargetOptions, learner.params)
        kind = kind_of(y, values, options.task, learner.method.targets, data_set.facts.name)
    if kind == "numbers":
        return np.zeros(y.size, np.int64), None
    return codes.astype(np.int64), values if learner.reads == "rows" else None


def subsample(
    random: np.random.Generator, codes: NDArray[np.int64], fraction: float
) -> NDArray[np.int64]:
    """Return rows drawn without replacement, in ascending order.

    They are a fraction of every stratum, and at least one row of it.
    """
    chosen = []
    for code in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == code)
        size = max(1, round(fraction * rows.size))
        chosen.append(random.choice(rows, size, replace=False, shuffle=False))
    return np.sort(np.concatenate(chosen))
