"""The algorithms as scikit-learn estimators: all the glue, once.

Each public class is a face over a learner of the same name: ``SOFS`` over ``selectors.rows.sofs.SOFSLearner``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from .blocks import columns_of, is_sparse
from .persistence import read_model, refusing_damage
from .registry import learner_class
from .selection import Selection
from .selectors.base import Learner
from .selectors.columns import alpha_investing, blankets, filters, ogfs, osfs, saola
from .selectors.columns.base import ColumnLearner, as_groups
from .selectors.matrix import local_learning, relief
from .selectors.matrix.base import MatrixLearner
from .selectors.matrix.data import Matrix
from .selectors.rows import baselines, first_order, ofs_partial, sofs
from .selectors.rows.base import RowLearner
from .sources.arrays import ArraySource, as_labels, as_matrix


class Selector(TransformerMixin, BaseEstimator, Learner):
    """What all estimators share: the checks of input, the support, the reduced matrix.

    The methods are those of scikit-learn's ``SelectorMixin``, without a mask as long as the data is wide and without
    the import of half of scikit-learn.
    """

    # scikit-learn's checks that cannot hold for a class, with the reason; tests expect exactly these to fail.
    expected_failed_checks: ClassVar[dict[str, str]] = {}

    def selection(self) -> Selection:
        """The selected features, with scores and names; its size is that of the selection."""
        check_is_fitted(self)
        return super().selection()

    def save(self, path: str | Path, note: dict[str, Any] | None = None) -> None:
        """Write the model to one file, without pickle; ``streamsieve.load`` gives it back and learning can go on."""
        check_is_fitted(self)
        super().save(path, note)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """A mask over all features, or, with ``indices=True``, the selected ids in ascending order."""
        selected = self.selection().indices
        if indices:
            return selected
        mask = np.zeros(self.n_features_in_, bool)
        mask[selected] = True
        return mask

    def get_feature_names_out(self, input_features: Any | None = None) -> NDArray[Any]:
        """The names of the selected columns: those given or seen in training, otherwise x0, x1, ..."""
        selected = self.selection().indices
        if input_features is None and self._names() is None:
            return np.array([f"x{feature}" for feature in selected], dtype=object)
        names: NDArray[Any] = _check_feature_names_in(self, input_features)
        return names[selected]

    def transform(self, X: Any) -> Any:
        """The selected columns of ``X``, in ascending order of id."""
        check_is_fitted(self)
        options = {"dtype": None, "accept_sparse": "csr", "ensure_all_finite": not get_tags(self).input_tags.allow_nan}
        X = validate_data(self, self._without_unseen(X), **options, reset=False)
        return _safe_indexing(X, self.selection().indices, axis=1)

    def inverse_transform(self, X: Any) -> Any:
        """A matrix as wide as the training data, with the columns of ``X`` in their places and zeros elsewhere."""
        from scipy.sparse import csr_array

        selected = self.selection().indices
        X = check_array(X, accept_sparse="csr", dtype=None)
        if X.shape[1] != selected.size:
            raise ValueError(f"X has {X.shape[1]} columns, but {selected.size} features were selected")
        if is_sparse(X):
            return csr_array((X.data, selected[X.indices], X.indptr), shape=(X.shape[0], self.n_features_in_))
        wide = np.zeros((X.shape[0], self.n_features_in_), X.dtype)
        wide[:, selected] = X
        return wide

    def _without_unseen(self, X: Any) -> Any:
        """A sparse ``X`` without columns beyond those seen in training: there unseen features count nothing.

        A dense one of another width is a mistake, and refused as scikit-learn demands.
        """
        return X.tocsr()[:, : self.n_features_in_] if self._has_unseen(X) else X

    def _has_unseen(self, X: Any) -> bool:
        return is_sparse(X) and X.shape[1] > self.n_features_in_


class RowSelector(ClassifierMixin, Selector, RowLearner):
    """A learner of rows as a scikit-learn classifier and selector."""

    expected_failed_checks: ClassVar[dict[str, str]] = dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
        "one pass in the order given: a row of weight 2 takes one larger step, a row that comes twice takes two",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any | None = None) -> Self:
        """Learn from the rows of ``X`` in their order, from scratch."""
        self.check_parameters()
        X, y = validate_data(self, X, y, **self._accepted())
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        source = ArraySource(X, y, self._names(), name="", sample_weight=weights)
        return self.fit_source(source, classes_of(y))

    def partial_fit(self, X: Any, y: Any, classes: Any | None = None, sample_weight: Any | None = None) -> Self:
        """Learn from some more rows. The first call names the ``classes``, or has rows of all of them."""
        first = not self.started
        before = {name: getattr(self, name) for name in ("n_features_in_", "feature_names_in_") if hasattr(self, name)}
        rows = -1 if first else self.n_rows_
        try:
            X, y = self._validated_chunk(X, y, first)
            weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
            if first:
                self.start(X.shape[1], classes_of(y) if classes is None else classes, self._names())
            elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(f"classes={classes!r} are not those of the first call, {self.classes_.tolist()}")
            for block in ArraySource(X, y, name="", sample_weight=weights).row_blocks(self._missing()):
                self.partial_fit_block(block)
        except Exception:
            if not first and self.n_rows_ == rows:  # nothing was learned: the widths and names are those of before
                self.__dict__.pop("feature_names_in_", None)
                self.__dict__.update(before)
            raise
        return self

    def _validated_chunk(self, X: Any, y: Any, first: bool) -> tuple[Any, NDArray[Any]]:
        """A chunk of rows: as wide as before or wider; named columns keep their names and order."""
        known = None if first else self._names()
        width = 0 if first else self.n_features_in_
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
        wider = shape[1:] > (width,)
        X, y = validate_data(self, X, y, **self._accepted(), reset=first or wider)
        names = self._names()
        if known is not None and (names is None or not np.array_equal(names[:width], known)):
            raise ValueError("the columns seen before must come first, under the same names; new ones behind them")
        return X, y

    def _accepted(self) -> dict[str, Any]:
        """What input is let in: sparse or dense; missing values only where what is not asked for is not read."""
        finite = "allow-nan" if self.reads_what_it_asks else True
        return {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": finite}

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of every row: positive for the second of two classes; a column per class for more."""
        check_is_fitted(self)
        if self._has_unseen(X):  # they count nothing, but "l2" measures the rows with them
            X = check_array(X, **self._accepted())
        else:
            X = validate_data(self, X, **self._accepted(), reset=False)
        blocks = ArraySource(X, name="").row_blocks(self._missing())
        return np.concatenate([self.decision_function_block(block) for block in blocks])

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row; a score of exactly 0 is the first class."""
        return self.classify(self.decision_function(X))

    def __sklearn_is_fitted__(self) -> bool:
        return self.started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.reads_what_it_asks
        tags.classifier_tags.multi_class = not self.two_classes_only
        return tags


class ColumnSelector(Selector, ColumnLearner):
    """A learner of columns as a scikit-learn selector."""

    def fit(self, X: Any, y: Any, groups: Any | None = None) -> Self:
        """Take the columns of ``X`` in their order, from scratch; ``groups`` has the group of each, if any."""
        self.check_parameters()
        finite = "allow-nan" if self.missing == "skip" else True
        accepted = {"accept_sparse": ("csc", "csr"), "dtype": "numeric", "ensure_all_finite": finite}
        X, y = validate_data(self, X, y, **accepted, ensure_min_samples=2)
        source = ArraySource(X, y, self._names(), name="")
        blocks = source.column_blocks()
        if groups is not None:
            known = as_groups(groups, X.shape[1])
            blocks = (replace(block, groups=known[block.ids]) for block in blocks)
        self.fit_blocks(blocks, y)
        self.n_features_in_ = X.shape[1]
        return self

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
        brings with it are taken; other ``names`` can be given. ``groups`` are the columns' groups, for methods that
        know groups.
        """
        matrix, known = as_matrix(X, "")
        if y is not None and not self.started:
            self.start(as_labels(y, ""))
        elif not self.started:
            raise ValueError("the first columns must come with the target, y")
        elif y is not None:
            self.refuse_other_target(as_labels(y, ""))
        first = self.n_features_in_
        ids = np.arange(first, first + matrix.shape[1]) if feature_ids is None else np.asarray(feature_ids, np.int64)
        titles = known if names is None else np.asarray(names, dtype=object)
        belong = None if groups is None else as_groups(groups, matrix.shape[1])
        return self.partial_fit_block(columns_of(matrix, ids=ids, names=titles, groups=belong))

    def get_feature_names_out(self, input_features: Any | None = None) -> NDArray[Any]:
        """The names of the selected columns: those seen in training, otherwise x0, x1, ..."""
        names = self.selection().names
        return super().get_feature_names_out(input_features) if names is None or input_features is not None else names

    def __sklearn_is_fitted__(self) -> bool:
        return self.started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "skip"
        tags.target_tags.required = True
        return tags


class MatrixSelector(Selector, MatrixLearner):
    """A learner of the whole matrix as a scikit-learn selector."""

    def fit(self, X: Any, y: Any) -> Self:
        """Weigh all columns of ``X``, from scratch; a dense float32 or float64 array is not copied."""
        self.check_parameters()
        X, y = validate_data(self, X, y, accept_sparse=("csc", "csr"), dtype="numeric", ensure_min_samples=2)
        return self.fit_matrix(Matrix(X, names=self._names()), y)

    def __sklearn_is_fitted__(self) -> bool:
        return self.started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class LocalLearning(MatrixSelector, local_learning.LocalLearningLearner):
    __doc__ = local_learning.LocalLearningLearner.__doc__


class ReliefF(MatrixSelector, relief.ReliefFLearner):
    __doc__ = relief.ReliefFLearner.__doc__


class IRelief(MatrixSelector, relief.IReliefLearner):
    __doc__ = relief.IReliefLearner.__doc__


class SAOLA(ColumnSelector, saola.SAOLALearner):
    __doc__ = saola.SAOLALearner.__doc__


class AlphaInvesting(ColumnSelector, alpha_investing.AlphaInvestingLearner):
    __doc__ = alpha_investing.AlphaInvestingLearner.__doc__


class OSFS(ColumnSelector, osfs.OSFSLearner):
    __doc__ = osfs.OSFSLearner.__doc__


class FastOSFS(ColumnSelector, osfs.FastOSFSLearner):
    __doc__ = osfs.FastOSFSLearner.__doc__


class FCBF(ColumnSelector, filters.FCBFLearner):
    __doc__ = filters.FCBFLearner.__doc__


class MRMR(ColumnSelector, filters.MRMRLearner):
    __doc__ = filters.MRMRLearner.__doc__


class IAMB(ColumnSelector, blankets.IAMBLearner):
    __doc__ = blankets.IAMBLearner.__doc__


class MMMB(ColumnSelector, blankets.MMMBLearner):
    __doc__ = blankets.MMMBLearner.__doc__


class GroupSAOLA(ColumnSelector, saola.GroupSAOLALearner):
    __doc__ = saola.GroupSAOLALearner.__doc__


class OGFS(ColumnSelector, ogfs.OGFSLearner):
    __doc__ = ogfs.OGFSLearner.__doc__


def classes_of(y: NDArray[Any]) -> NDArray[Any]:
    """The labels, sorted: any values, but not the continuous target of a regression."""
    classes = np.unique(y)
    if classes.size > 2:
        check_classification_targets(y)
    if classes.size < 2:
        raise ValueError(f"learning needs rows of two classes; there is one class only, {classes.tolist()[0]!r}")
    return classes


class SOFS(RowSelector, sofs.SOFSLearner):
    __doc__ = sofs.SOFSLearner.__doc__


class FirstOrderSelector(RowSelector):
    """A learner whose step grows with the weight of a row."""

    expected_failed_checks: ClassVar[dict[str, str]] = {
        **RowSelector.expected_failed_checks,
        "check_class_weight_classifiers": "in one pass a class weight of 1,000 is one long step, not 1,000 steps",
    }


class PET(FirstOrderSelector, first_order.PETLearner):
    __doc__ = first_order.PETLearner.__doc__


class FOFS(FirstOrderSelector, first_order.FOFSLearner):
    __doc__ = first_order.FOFSLearner.__doc__


class OFSPartial(RowSelector, ofs_partial.OFSPartialLearner):
    __doc__ = ofs_partial.OFSPartialLearner.__doc__


class OGD(FirstOrderSelector, baselines.OGDLearner):
    __doc__ = baselines.OGDLearner.__doc__


class FOBOS(FirstOrderSelector, baselines.FOBOSLearner):
    __doc__ = baselines.FOBOSLearner.__doc__


class AROW(RowSelector, baselines.AROWLearner):
    __doc__ = baselines.AROWLearner.__doc__


class RandomSelection(FirstOrderSelector, baselines.RandomSelectionLearner):
    __doc__ = baselines.RandomSelectionLearner.__doc__


def estimator_class(method: str) -> type[Selector]:
    """The estimator over the learner of a method."""
    face: type[Selector] = globals()[learner_class(method).__name__.removesuffix("Learner")]
    return face


def as_estimator(learner: Learner) -> Selector:
    """The same learner with scikit-learn's face; what either learns from then on, both know."""
    face = estimator_class(learner.method)
    estimator = face.__new__(face)
    estimator.__dict__ = learner.__dict__
    return estimator


def load(path: str | Path) -> Any:
    """The estimator that ``save`` wrote to ``path``; learning goes on as if never interrupted."""
    header, arrays = read_model(path)
    with refusing_damage(path):
        return estimator_class(header["method"]).from_saved(header, arrays)
