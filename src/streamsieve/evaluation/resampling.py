"""Measure how often features are selected from random subsamples of the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..class_search import naming_methods
from ..errors import UsageError
from ..naming import title
from ..parallel import Threads
from ..registry import make_learner, method_named, refuse_unknown_parameters
from ..selectors.base import AnyLearner
from ..selectors.fitting import TargetOptions
from ..selectors.parameters import is_integer, is_number, options_of
from ..targets import ONLY_NUMBERS, Kind, kind_of
from ..training import train
from .in_memory import InMemory
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
        wanted = np.asarray(
            features if isinstance(features, np.ndarray) else list(features), np.int64
        )
        if not self.indices.size:
            return np.zeros(wanted.size)
        positions = np.minimum(np.searchsorted(self.indices, wanted), self.indices.size - 1)
        return np.where(self.indices[positions] == wanted, self.frequency[positions], 0.0)

    def at_least(self, frequency: float) -> NDArray[np.int64]:
        """Return the features with at least this frequency, in ascending order."""
        return self.indices[self.frequency >= frequency]

    def ranked(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return dictionaries of the features, or of the ``most`` frequent, in order of frequency.

        Each has the ``feature`` (id), its ``frequency`` and, where known, its ``name``.
        """
        order = np.lexsort((self.indices, -self.frequency))[:most]
        lines = [
            {"feature": int(self.indices[position]), "frequency": float(self.frequency[position])}
            for position in order
        ]
        if self.names is not None:
            for line, position in zip(lines, order, strict=True):
                line["name"] = self.names[position]
        return lines

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
    if groups is None and learner.method.supports_groups:
        groups = data_set.groups
    data_set.check_copies_fit(fraction, min(jobs, n_resamples))
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
        data_set.first_id,
    )


def check_ranges(n_resamples: int, fraction: float, seed: int, jobs: int) -> None:
    """Raise UsageError if a number is out of range."""
    if not is_integer(n_resamples) or n_resamples < 2:
        raise UsageError("n_resamples", f"must be an integer of 2 or more, got {n_resamples!r}")
    if not is_number(fraction) or not 0 < fraction <= 1:
        raise UsageError("fraction", f"must be above 0, and 1 at most, got {fraction!r}")
    if not is_integer(seed) or seed < 0:
        raise UsageError("seed", f"must be an integer of 0 or more, got {seed!r}")
    if not is_integer(jobs) or jobs < 1:
        raise UsageError("jobs", f"must be an integer of 1 or more, got {jobs!r}")


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
        kind = kind_of(y, values, options.task, learner.method.targets, data_set.name)
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
