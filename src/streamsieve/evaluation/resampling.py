"""How often features are selected when the rows are others: selection frequencies over subsamples."""

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
    """Every feature that was selected from some subsample, and from what fraction of the subsamples.

    ``stability`` is Nogueira's measure of how alike the ``selections`` are.
    """

    indices: NDArray[np.int64]  # ascending
    frequency: NDArray[np.float64]  # aligned with them
    names: NDArray[Any] | None  # likewise
    n_resamples: int
    stability: Stability
    selections: tuple[NDArray[np.int64], ...]  # the features of every subsample
    first_id: int = 0  # what the data calls the feature of id 0, if features have no names

    def frequency_of(self, features: Iterable[int]) -> NDArray[np.float64]:
        """How often some features were selected, in their order; 0 for those that never were."""
        wanted = np.asarray(
            features if isinstance(features, np.ndarray) else list(features), np.int64
        )
        if not self.indices.size:
            return np.zeros(wanted.size)
        at = np.minimum(np.searchsorted(self.indices, wanted), self.indices.size - 1)
        return np.where(self.indices[at] == wanted, self.frequency[at], 0.0)

    def at_least(self, frequency: float) -> NDArray[np.int64]:
        """The features that were selected from such a fraction of the subsamples, or more; ascending."""
        return self.indices[self.frequency >= frequency]

    def ranked(self, most: int | None = None) -> list[dict[str, Any]]:
        """Every feature with its ``feature`` (id), ``frequency`` and, where known, ``name``; most frequent first."""
        order = np.lexsort((self.indices, -self.frequency))[:most]
        lines = [
            {"feature": int(self.indices[at]), "frequency": float(self.frequency[at])}
            for at in order
        ]
        if self.names is not None:
            for line, at in zip(lines, order, strict=True):
                line["name"] = self.names[at]
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
        What to learn from, held in memory; refused if it does not fit.
    method : str
        A name that ``streamsieve methods`` lists, or that of its class.
    n_features_to_select : int or float, optional
        The budget; the method's own default if it is not given.
    n_resamples : int
        How many subsamples are drawn, 2 or more.
    fraction : float
        The fraction of the rows that each has, drawn without replacement; of every class the same
        fraction. They stay in their order.
    seed : int
        What subsamples are drawn by, and ``random_state`` of methods that draw, another one for
        each subsample.
    jobs : int
        How many subsamples are learned at the same time, on threads. The answer does not depend on
        it.
    groups
        The groups of the features, for methods that know groups, as in ``select``.
    **params
        Parameters of the method.
    """
    method = method_named(method)
    if n_features_to_select is not None:
        params["n_features_to_select"] = n_features_to_select
    refuse_unknown_parameters(method, params)
    refuse_counts(n_resamples, fraction, seed, jobs)
    learner = make_learner(method, params)
    if groups is not None and not learner.method.knows_groups:
        raise UsageError(f"{method} knows no groups of features; group-saola and ogfs do")
    held = InMemory.of(data)
    if groups is None and learner.method.knows_groups:
        groups = held.groups
    held.refuse_copies(fraction, min(jobs, n_resamples))
    with naming_methods(learner):
        codes, classes = classes_in(held, learner)
    draws = np.random.default_rng(seed).spawn(n_resamples)

    def selected(number: int) -> NDArray[np.int64]:
        random = draws[number]
        rows = subsample(random, codes, fraction)
        known = make_learner(method, params, int(random.integers(2**31)))
        train(known, held.rows(rows, known.reads), classes=classes, groups=groups)
        return held.selected(known)

    with Threads(jobs) as threads:
        selections = threads.each(n_resamples, selected)
    indices, counts = np.unique(np.concatenate(selections), return_counts=True)
    return StabilitySelection(
        indices,
        counts / n_resamples,
        held.names_of(indices),
        n_resamples,
        nogueira(selections, held.n_features),
        tuple(selections),
        held.first_id,
    )


def refuse_counts(n_resamples: int, fraction: float, seed: int, jobs: int) -> None:
    """Refuse numbers that make no sense."""
    if not is_integer(n_resamples) or n_resamples < 2:
        raise UsageError("n_resamples", f"must be an integer of 2 or more, got {n_resamples!r}")
    if not is_number(fraction) or not 0 < fraction <= 1:
        raise UsageError("fraction", f"must be above 0, and 1 at most, got {fraction!r}")
    if not is_integer(seed) or seed < 0:
        raise UsageError("seed", f"must be an integer of 0 or more, got {seed!r}")
    if not is_integer(jobs) or jobs < 1:
        raise UsageError("jobs", f"must be an integer of 1 or more, got {jobs!r}")


def classes_in(
    held: InMemory, learner: AnyLearner
) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
    """The stratum of every row, its class or 0; and the classes, for methods that must be given them."""
    y = held.y
    values, codes = np.unique(y, return_inverse=True)
    kind: Kind = "numbers"
    if learner.method.targets != ONLY_NUMBERS:
        options: TargetOptions = options_of(TargetOptions, learner.params)
        kind = kind_of(y, values, options.task, learner.method.targets, held.name)
    if kind == "numbers":
        return np.zeros(y.size, np.int64), None
    return codes.astype(np.int64), values if learner.reads == "rows" else None


def subsample(
    random: np.random.Generator, codes: NDArray[np.int64], fraction: float
) -> NDArray[np.int64]:
    """Rows drawn without replacement, ascending: of every stratum a fraction, and one row at least."""
    chosen = []
    for code in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == code)
        size = max(1, round(fraction * rows.size))
        chosen.append(random.choice(rows, size, replace=False, shuffle=False))
    return np.sort(np.concatenate(chosen))
