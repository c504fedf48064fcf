"""The answer: which features."""

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
FRAME = (
    "index",
    "name",
    "score",
    "weight",
    "class",
    "group",
    "frequency",
)  # the columns of a data frame


@dataclass(frozen=True, slots=True)
class Feature:
    """One selected feature; ``name`` and ``group`` are None where they are not known."""

    index: int
    score: float
    name: str | None = None
    group: Any = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Selection:
    """The selected features: ids in ascending order, with scores and names aligned.

    Its size is that of the selection, not of the data. A larger score is a better feature. ``for
    feature in selection`` gives each of them as a ``Feature``, best first.
    """

    indices: NDArray[np.int64]
    scores: NDArray[np.float64]
    names: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None  # integers or names, as they were given

    def __len__(self) -> int:
        return self.indices.size

    def _best_first(self) -> NDArray[np.int64]:
        """Positions by falling score; of equal scores the lower id comes first."""
        return np.lexsort((self.indices, -self.scores))

    def __iter__(self) -> Iterator[Feature]:
        for line in self.ranked():
            yield Feature(line["feature"], line["score"], line.get("name"), line.get("group"))

    def ranked(self, most: int | None = None, more: More = NO_MORE) -> list[dict[str, Any]]:
        """Every feature with its ``feature`` (id), ``score`` and, where known, ``name`` and ``group``, best first.

        The ``most`` best of them, if that is given. ``more`` has other columns, by title, aligned
        with the indices.
        """
        known = {title: column.tolist() for title, column in self._columns(most, more).items()}
        return [dict(zip(known, line, strict=True)) for line in zip(*known.values(), strict=True)]

    def to_frame(self, more: More = NO_MORE) -> pandas.DataFrame:
        """The features as a pandas DataFrame, best first: ``index`` (the id), ``score`` and, where known, ``name`` and
        ``group``.

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
        """Return the pictures that the report has of a selection: the best features by score, and scores by rank.

        A notebook shows them; ``save`` writes them as SVG. The first one is drawn on Matplotlib
        ``axes``, if given.
        """
        from .report.figures import plot

        return plot(self, axes)

    def _columns(self, most: int | None, more: More) -> dict[str, NDArray[Any]]:
        """What is known of the best features, by title, best first."""
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
        """The ``k`` best of them, still in ascending order of id; of equal scores the lower id is the better."""
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
