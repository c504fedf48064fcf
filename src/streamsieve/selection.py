"""The result of a selection: which features are selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .display import MAX_IN_LIST, MAX_IN_TABLE, html_table, listed

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from .report.figures import Figures

More = Mapping[str, NDArray[Any] | None]  # other columns, by title, aligned with the indices
NO_MORE: More = MappingProxyType({})
# the columns of a data frame
FRAME = ("index", "name", "score", "weight", "class", "group", "frequency")


@dataclass(frozen=True, slots=True)
class Feature:
    """A selected feature.

    Attributes
    ----------
    index : int
        The id of the feature, from 0.
    score : float
        How good the feature is; larger is better.
    name : str or None
        The name of the feature, if the data has names.
    group : int, str or None
        The group of the feature, if features have groups.

    Examples
    --------
    >>> import streamsieve as ss
    >>> record = ss.select("synthetic:x1?rows=2000", n_features_to_select=5)
    >>> feature = next(iter(record.selection))
    >>> feature.name is None
    True
    """

    index: int
    score: float
    name: str | None = None
    group: Any = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Selection:
    """The selected features: ids in ascending order, with scores and names aligned.

    Its size is that of the selection, not of the data. A larger score is a better feature. ``for
    feature in selection`` yields each of them as a ``Feature``, best first.

    Attributes
    ----------
    indices : ndarray of int64
        The ids of the features, from 0, in ascending order.
    scores : ndarray of float64
        How good each feature is; larger is better.
    names : ndarray or None
        The names of the features, if the data has names.
    groups : ndarray or None
        The groups of the features, integers or names as they were given, if there are groups.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selection = ss.SOFS(4).fit(X, y).selection()
    >>> len(selection)
    4
    >>> selection.top(2).indices
    array([3, 7])
    >>> {feature.index for feature in selection} >= {3, 7}
    True
    """

    indices: NDArray[np.int64]
    scores: NDArray[np.float64]
    names: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None  # integers or names, as given

    def __len__(self) -> int:
        return self.indices.size

    def _best_first(self) -> NDArray[np.int64]:
        """Return positions by descending score; of equal scores the lower id comes first."""
        return np.lexsort((self.indices, -self.scores))

    def __iter__(self) -> Iterator[Feature]:
        for line in self.ranked():
            yield Feature(line["feature"], line["score"], line.get("name"), line.get("group"))

    def ranked(self, most: int | None = None, more: More = NO_MORE) -> list[dict[str, Any]]:
        """Return every feature as a dictionary, best first.

        Its keys are ``feature`` (the id), ``score`` and, where known, ``name`` and ``group``. With
        ``most``, only so many of the best features are returned. ``more`` has other columns, by
        title, aligned with the indices.
        """
        columns = {title: column.tolist() for title, column in self._columns(most, more).items()}
        return [
            dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)
        ]

    def to_frame(self, more: More = NO_MORE) -> pandas.DataFrame:
        """Return the features as a pandas DataFrame, best first.

        Its columns are ``index`` (the id), ``score`` and, where known, ``name`` and ``group``.
        ``more`` has other columns, as in ``ranked``. pandas must be installed.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "to_frame makes a pandas DataFrame, and pandas is not installed: pip install"
                " pandas; ranked() gives the same as a list of dictionaries"
            ) from None
        columns = self._columns(None, more)
        columns["index"] = columns.pop("feature")
        titles = [
            *(title for title in FRAME if title in columns),
            *(title for title in columns if title not in FRAME),
        ]
        return pandas.DataFrame({title: columns[title] for title in titles})

    def plot(self, axes: Axes | None = None) -> Figures:
        """Return the charts of a selection: the best features by score, and scores by rank.

        They are those of the report. A notebook shows them; ``save`` writes them as SVG. The first
        one is drawn on Matplotlib ``axes``, if given.
        """
        from .report.figures import plot

        return plot(self, axes)

    def _columns(self, most: int | None, more: More) -> dict[str, NDArray[Any]]:
        """Return the known properties of the best features, by title, best first."""
        columns = {
            "feature": self.indices,
            "score": self.scores,
            "name": self.names,
            "group": self.groups,
            **more,
        }
        order = self._best_first()[:most]
        return {title: column[order] for title, column in columns.items() if column is not None}

    def top(self, k: int) -> Selection:
        """Return the ``k`` best features in ascending order of id; ties go to the lower id."""
        best = np.sort(self._best_first()[:k])
        return Selection(
            self.indices[best],
            self.scores[best],
            None if self.names is None else self.names[best],
            None if self.groups is None else self.groups[best],
        )

    def __repr__(self) -> str:
        best = f"; best {listed(self.ranked(MAX_IN_LIST), len(self))}" if len(self) else ""
        return f"<Selection: {self._size_text()}{best}>"

    def _repr_html_(self) -> str:
        return html_table(f"Selection: {self._size_text()}", self.ranked(MAX_IN_TABLE), len(self))

    def _size_text(self) -> str:
        return f"{len(self):,} feature{'' if len(self) == 1 else 's'}"
