"""Methods on columns as scikit-learn selectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from ..blocks import ColumnBlock, columns_of
from ..class_search import naming_methods
from ..errors import UsageError
from ..selectors.serial import alone
from ..sources.arrays import as_labels, as_matrix
from ..sources.base import ColumnBlockSource, DataSource
from ..sources.groups import GivenGroups, parse_groups
from .base import Estimator, refit
from .inputs import COLUMN_OPTIONS, read_matrix


class ColumnEstimator(Estimator):
    """A method on columns as a scikit-learn selector."""

    @alone
    def fit(self, X: Any, y: Any, groups: Any | None = None) -> Self:
        """Take the columns of ``X`` in their order, from scratch.

        ``groups``, for methods that support groups, has the group of each column, an integer or a
        name; a dictionary has groups by the name or the index of a feature, and a path is that of a
        file as ``select`` takes it. Features of a group need not be neighbours: groups come in the
        order of their first features. The levels of a column of text are a group unless others are
        given.
        """
        learner, checked_groups = self.new_learner(), self._check_groups(groups)
        finite = "allow-nan" if learner.missing_rows == "keep" else True
        source = read_matrix(self, X, y, **COLUMN_OPTIONS, ensure_all_finite=finite)
        refit(self, learner, source, groups=checked_groups)
        learner.features.given_names = source.feature_names
        return self

    @alone
    def fit_source(
        self,
        source: DataSource | Iterable[ColumnBlock],
        y: Any | None = None,
        groups: Any | None = None,
        *,
        progress: bool = False,
    ) -> Self:
        """Take all features of a source, from scratch; rows are transposed in memory.

        ``source`` may be any iterable of blocks of columns, such as a generator; ``y`` is then
        their target. ``groups`` are as in ``fit``; in a source that can be read only once the
        columns of a group must follow one another. ``progress=True`` shows a bar, in a terminal or
        a notebook.
        """
        target = None if y is None else as_labels(y, "")
        learner, checked_groups = self.new_learner(), self._check_groups(groups)
        if not isinstance(source, DataSource):
            if target is None:
                raise UsageError("blocks of columns have no target; pass it as y")
            source = ColumnBlockSource(source, target)
        refit(self, learner, source, y=target, groups=checked_groups, progress=progress)
        return self

    @alone
    def partial_fit_columns(
        self,
        X: Any,
        y: Any | None = None,
        feature_ids: Any | None = None,
        names: Any | None = None,
        groups: Any | None = None,
    ) -> Self:
        """Take more columns.

        ``y`` is required in the first call; in a later one it is optional, and must be the same.
        ``feature_ids`` are the ids of the columns; without them ids continue from the highest so
        far. The columns have the names in ``X``, or ``names``. ``groups`` are the groups of the
        columns, integers or names, for methods that support groups; the columns of a group follow
        one another.
        """
        matrix, titles = as_matrix(X, "")
        if self.__sklearn_is_fitted__():
            learner = self.learner
            if y is not None:
                learner.check_same_target(as_labels(y, ""))
        elif y is None:
            raise ValueError("the first call requires the target, y")
        else:
            learner = self.new_learner()
            with naming_methods(learner):
                learner.start(y=as_labels(y, ""))
        first, memory = learner.features.width, learner.memory
        ids = None if feature_ids is None else np.asarray(feature_ids, np.int64)
        titles = titles if names is None else np.asarray(names, dtype=object)
        previous_names = memory.group_names
        try:
            numbers = (
                None
                if self._check_groups(groups) is None
                else memory.number_groups(groups, matrix.shape[1])
            )
            learner.partial_fit_block(columns_of(matrix, first, ids, titles, numbers))
        except Exception:
            memory.group_names = previous_names  # columns that cannot be learned change nothing
            raise
        self._learner = learner
        return self

    def _check_groups(self, groups: Any | None) -> GivenGroups | None:
        """Return the groups, if given; raise UsageError if the method does not support them."""
        if groups is not None and not self.method.supports_groups:
            raise UsageError(
                f"{type(self).__name__} does not support groups; use GroupSAOLA or OGFS"
            )
        return None if groups is None else parse_groups(groups)
