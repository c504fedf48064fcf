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
from ..sources.groups import GivenGroups, given_groups
from .base import Estimator, refit
from .inputs import read_matrix


class ColumnEstimator(Estimator):
    """A method on columns as a scikit-learn selector."""

    @alone
    def fit(self, X: Any, y: Any, groups: Any | None = None) -> Self:
        """Take the columns of ``X`` in their order, from scratch.

        ``groups``, for methods that know groups, has the group of each, an integer or a name; a
        dictionary has groups by the name or the index of a feature, and a path is that of a file as
        ``select`` takes it. Features of a group need not be neighbours: groups come in the order of
        their first features. The levels of a column of text are a group unless others are given.
        """
        learner, known = self.new_learner(), self._given(groups)
        finite = "allow-nan" if learner.missing_rows == "keep" else True
        options: dict[str, Any] = {
            "accept_sparse": ("csc", "csr"),
            "dtype": "numeric",
            "ensure_min_samples": 2,
        }
        source = read_matrix(self, X, y, **options, ensure_all_finite=finite)
        refit(self, learner, source, groups=known)
        learner.features.names = source.feature_names
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

        Any iterable of blocks of columns will do, a generator for one; ``y`` is then their target.
        ``groups`` are as in ``fit``; those of columns that can be read only once must come
        together. ``progress=True`` shows a bar, in a terminal or a notebook.
        """
        target = None if y is None else as_labels(y, "")
        learner, known = self.new_learner(), self._given(groups)
        if not isinstance(source, DataSource):
            if target is None:
                raise UsageError("blocks of columns come without a target; give it as y")
            source = ColumnBlockSource(source, target)
        refit(self, learner, source, y=target, groups=known, progress=progress)
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
        """Take some more columns. The first call brings ``y``; a later one may, and it must be the same.

        ``feature_ids`` are the ids of the columns; without them they go on from the highest so far.
        Names that ``X`` brings with it are taken; other ``names`` can be given. ``groups`` are the
        columns' groups, integers or names, for methods that know groups; the columns of a group
        come one after the other.
        """
        matrix, titles = as_matrix(X, "")
        if self.__sklearn_is_fitted__():
            learner = self.learner
            if y is not None:
                learner.refuse_other_target(as_labels(y, ""))
        elif y is None:
            raise ValueError("the first columns must come with the target, y")
        else:
            learner = self.new_learner()
            with naming_methods(learner):
                learner.start(y=as_labels(y, ""))
        first, memory = learner.features.width, learner.memory
        ids = (
            np.arange(first, first + matrix.shape[1])
            if feature_ids is None
            else np.asarray(feature_ids, np.int64)
        )
        titles = titles if names is None else np.asarray(names, dtype=object)
        before = memory.group_names
        try:
            numbers = (
                None if self._given(groups) is None else memory.numbers_of(groups, matrix.shape[1])
            )
            learner.partial_fit_block(columns_of(matrix, ids=ids, names=titles, groups=numbers))
        except Exception:
            memory.group_names = before  # what cannot be learned changes nothing
            raise
        self._learner = learner
        return self

    def _given(self, groups: Any | None) -> GivenGroups | None:
        """Return groups, if they are given, for a method that knows them."""
        if groups is not None and not self.method.knows_groups:
            raise UsageError(
                f"{type(self).__name__} knows no groups of features; GroupSAOLA and OGFS do"
            )
        return None if groups is None else given_groups(groups)
