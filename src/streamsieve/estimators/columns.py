"""Learners of columns as scikit-learn selectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, columns_of
from ..class_search import naming_methods
from ..errors import UsageError
from ..selectors.columns import alpha_investing, asyos, blankets, filters, grafting, ogfs, osfs, saola, substitution
from ..sources.arrays import ArraySource, as_labels, as_matrix
from ..sources.base import ColumnBlockSource, DataSource
from ..sources.groups import GivenGroups, given_groups
from .base import Estimator
from .linear import LinearEstimator
from .validation import as_learned, validate_data

if TYPE_CHECKING:
    from ..selectors.columns.base import ColumnLearner
    from ..selectors.columns.groups import GroupLearner

    class AnyColumnLearner(ColumnLearner[Any]):
        """What an estimator of columns is mixed into."""

    class AnyGroupLearner(GroupLearner[Any]):
        """What an estimator of groups of columns is mixed into."""
else:
    AnyColumnLearner = AnyGroupLearner = object


class ColumnEstimator(Estimator, AnyColumnLearner):
    """A learner of columns as a scikit-learn selector."""

    def fit(self, X: Any, y: Any, groups: Any | None = None) -> Self:
        """Take the columns of ``X`` in their order, from scratch.

        ``groups``, for methods that know groups, has the group of each, an integer or a name; a dictionary has groups
        by the name or the index of a feature, and a path is that of a file as ``select`` takes it. Features of a group
        need not be neighbours: groups come in the order of their first features. The levels of a column of text are a
        group unless others are given.
        """
        self.check_parameters()
        known = None if groups is None else self._given(groups)
        finite = "allow-nan" if self.missing == "skip" else True
        accepted = {"accept_sparse": ("csc", "csr"), "dtype": "numeric", "ensure_all_finite": finite}
        X, names = as_learned(self, X, reset=True)
        X, y = validate_data(self, X, y, names, **accepted, ensure_min_samples=2)
        source = ArraySource(X, y, self.feature_names, name="")
        source.encoding = self.encoding
        return self._refit(source, groups=known)

    def fit_source(
        self,
        source: DataSource | Iterable[ColumnBlock],
        y: Any | None = None,
        groups: Any | None = None,
        *,
        progress: bool = False,
    ) -> Self:
        """Take all features of a source, from scratch; rows are transposed in memory.

        Any iterable of blocks of columns will do, a generator for one; ``y`` is then their target. ``groups`` are as in
        ``fit``; those of columns that can be read only once must come together. ``progress=True`` shows a bar, in a
        terminal or a notebook.
        """
        target = None if y is None else as_labels(y, "")
        known = None if groups is None else self._given(groups)
        if isinstance(source, DataSource):
            return self._refit(source, y=target, groups=known, progress=progress)
        if target is None:
            raise UsageError("blocks of columns come without a target; give it as y")
        return self._refit(ColumnBlockSource(source, target), groups=known, progress=progress)

    def _given(self, groups: Any) -> GivenGroups:
        """Groups, for a method that knows them."""
        if not self.knows_groups:
            raise UsageError(f"{type(self).__name__} knows no groups of features; GroupSAOLA and OGFS do")
        return given_groups(groups)

    def partial_fit_columns(
        self,
        X: Any,
        y: Any | None = None,
        feature_ids: Any | None = None,
        names: Any | None = None,
        groups: Any | None = None,
    ) -> Self:
        """Take some more columns. The first call brings ``y``; a later one may, and it must be the same.

        ``feature_ids`` are the ids of the columns; without them they go on from the highest so far. Names that ``X``
        brings with it are taken; other ``names`` can be given. ``groups`` are the columns' groups, integers or names,
        for methods that know groups; the columns of a group come one after the other.
        """
        matrix, known = as_matrix(X, "")
        if y is not None and not self.started:
            with naming_methods(self):
                self.start(y=as_labels(y, ""))
        elif not self.started:
            raise ValueError("the first columns must come with the target, y")
        elif y is not None:
            self.refuse_other_target(as_labels(y, ""))
        first = self.n_features_in_
        ids = np.arange(first, first + matrix.shape[1]) if feature_ids is None else np.asarray(feature_ids, np.int64)
        titles = known if names is None else np.asarray(names, dtype=object)
        belong = None if groups is None else self._numbers_given(groups, matrix.shape[1])
        return self.partial_fit_block(columns_of(matrix, ids=ids, names=titles, groups=belong))

    def _numbers_given(self, groups: Any, n_columns: int) -> NDArray[np.int64]:
        raise UsageError(f"{type(self).__name__} knows no groups of features; GroupSAOLA and OGFS do")

    def get_feature_names_out(self, input_features: Any | None = None) -> NDArray[Any]:
        """The names of the selected columns: those seen in training, otherwise x0, x1, ..."""
        names = self.selection().names
        return super().get_feature_names_out(input_features) if names is None or input_features is not None else names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "skip"
        tags.target_tags.required = True
        return tags


class GroupEstimator(ColumnEstimator, AnyGroupLearner):
    """A learner of groups of columns as a scikit-learn selector."""

    def _numbers_given(self, groups: Any, n_columns: int) -> NDArray[np.int64]:
        return self.numbers_of(groups, n_columns)


class SAOLA(ColumnEstimator, saola.SAOLALearner):
    __doc__ = saola.SAOLALearner.__doc__


class GroupSAOLA(GroupEstimator, saola.GroupSAOLALearner):
    __doc__ = saola.GroupSAOLALearner.__doc__


class AlphaInvesting(ColumnEstimator, alpha_investing.AlphaInvestingLearner):
    __doc__ = alpha_investing.AlphaInvestingLearner.__doc__


class OSFS(ColumnEstimator, osfs.OSFSLearner):
    __doc__ = osfs.OSFSLearner.__doc__


class FastOSFS(ColumnEstimator, osfs.FastOSFSLearner):
    __doc__ = osfs.FastOSFSLearner.__doc__


class OGFS(GroupEstimator, ogfs.OGFSLearner):
    __doc__ = ogfs.OGFSLearner.__doc__


class FCBF(ColumnEstimator, filters.FCBFLearner):
    __doc__ = filters.FCBFLearner.__doc__


class MRMR(ColumnEstimator, filters.MRMRLearner):
    __doc__ = filters.MRMRLearner.__doc__


class IAMB(ColumnEstimator, blankets.IAMBLearner):
    __doc__ = blankets.IAMBLearner.__doc__


class MMMB(ColumnEstimator, blankets.MMMBLearner):
    __doc__ = blankets.MMMBLearner.__doc__


class LinearColumnEstimator(ColumnEstimator, LinearEstimator):
    """A learner of columns with a linear model as a scikit-learn selector that predicts."""


class OnlineSubstitution(LinearColumnEstimator, substitution.OnlineSubstitutionLearner):
    __doc__ = substitution.OnlineSubstitutionLearner.__doc__


class AsyOS(LinearColumnEstimator, asyos.AsyOSLearner):
    __doc__ = asyos.AsyOSLearner.__doc__


class Grafting(LinearColumnEstimator, grafting.GraftingLearner):
    __doc__ = grafting.GraftingLearner.__doc__
