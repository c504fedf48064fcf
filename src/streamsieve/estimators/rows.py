"""Learners of rows as scikit-learn classifiers and selectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..blocks import RowBlock
from ..selectors.rows import baselines, first_order, ofs_partial, sofs
from ..sources.base import BlockSource, DataSource, Source
from ..sources.label_words import expect_classes
from ..targets import ONLY_NUMBERS
from .base import Estimator
from .exact_rows import row_source
from .named_rows import NamedRowsEstimator
from .small_chunks import small_block
from .validation import as_learned, check_array, check_sample_weight, validate_data

if TYPE_CHECKING:
    from ..selectors.rows.learner import RowLearner

    class AnyRowLearner(RowLearner[Any]):
        """What an estimator of rows is mixed into."""
else:
    AnyRowLearner = object


SET_BY_VALIDATION = ("n_features_in_", "feature_names_in_", "encoding")


class RowEstimator(Estimator, AnyRowLearner):
    """A learner of rows as a scikit-learn selector that predicts."""

    expected_failed_checks: ClassVar[dict[str, str]] = dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
        "one pass in the order given: a row of weight 2 takes one larger step, a row that comes twice takes two",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any | None = None) -> Self:
        """Learn from the rows of ``X`` in their order, from scratch."""
        self.check_parameters()
        source = self._source(X, y, sample_weight)
        return self._refit(source, classes=self._classes_in(source.targets()))

    def _source(self, X: Any, y: Any, sample_weight: Any | None) -> Source:
        """The rows to learn from, once it is clear that they can be."""
        X, names = as_learned(self, X, reset=True)
        X, y = validate_data(self, X, y, names, **self._accepted(), y_numeric=self.targets == ONLY_NUMBERS)
        weights = None if sample_weight is None else check_sample_weight(sample_weight, X)
        source = row_source(X, y, self.feature_names, centres=self.inputs.centres, sample_weight=weights)
        source.encoding = self.encoding
        return source

    def _classes_in(self, y: NDArray[Any]) -> NDArray[Any] | None:
        """The classes among some labels, for methods that learn classes."""
        return None

    def _partial_fit(self, X: Any, y: Any, classes: Any | None, sample_weight: Any | None) -> Self:
        """Learn from some more rows; what cannot be learned changes nothing."""
        first = not self.started
        if not first and sample_weight is None and self.feature_names is None:
            block = small_block(X, y, self.n_features_in_, self.inputs.centres)
            if block is not None:
                return self.partial_fit_block(block)
        before: dict[str, Any] = {name: value for name, value in vars(self).items() if name in SET_BY_VALIDATION}
        rows = -1 if first else self.n_rows_
        try:
            X, y = self._validated_chunk(X, y, first)
            weights = None if sample_weight is None else check_sample_weight(sample_weight, X)
            if first:
                self.start(X.shape[1], self._classes_in(y) if classes is None else classes, self.feature_names)
            source = row_source(X, y, centres=self.inputs.centres, sample_weight=weights)
            labels = source.targets() if weights is None else source.targets()[weights != 0]
            self.memory.target.encode(labels, "", self.n_rows_)  # those of all blocks, before the first is learned
            for block in source.row_blocks(self.missing_rows):
                self.partial_fit_block(block)
        except Exception:
            if first:
                self.reset()
            if first or self.n_rows_ == rows:  # nothing was learned: the widths and names are those of before
                self.__dict__.pop("n_features_in_", None)
                self.__dict__.pop("feature_names_in_", None)
                self.set_encoding(None)
                self.__dict__.update(before)
            raise
        return self

    def _validated_chunk(self, X: Any, y: Any, first: bool) -> tuple[Any, NDArray[Any]]:
        """A chunk of rows: as wide as before or wider; named columns keep their names and order."""
        known = None if first else self.feature_names
        width = 0 if first else self.n_features_in_
        X, titles = as_learned(self, X, reset=first)
        wider = np.shape(X)[1:] > (width,)
        numeric = self.targets == ONLY_NUMBERS
        X, y = validate_data(self, X, y, titles, **self._accepted(), y_numeric=numeric, reset=first or wider)
        names = self.feature_names
        if known is not None and (names is None or not np.array_equal(names[:width], known)):
            raise ValueError("the columns seen before must come first, under the same names; new ones after them")
        return X, y

    def _accepted(self) -> dict[str, Any]:
        """What input is let in: sparse or dense; missing values only where what is not asked for is not read."""
        finite = "allow-nan" if self.asks else True
        return {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": finite}

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """The score of every row, or of every row and class."""
        check_is_fitted(self)
        X, names = as_learned(self, X, reset=False)
        if self._has_unseen(X):  # they count nothing, but "l2" measures the rows with them
            X = check_array(X, **self._accepted())
        else:
            X = validate_data(self, X, names=names, **self._accepted(), reset=False)
        score = self.scorer()
        blocks = row_source(X, centres=self.inputs.centres).row_blocks(self.missing_rows)
        return np.concatenate([score(block) for block in blocks])

    @property
    def coef_(self) -> Any:
        """The weights, a sparse array as wide as the data: one row, or a row per class if there are more than two.

        They are for rows as ``normalize`` makes them: the scores, or predicted numbers, are ``N @ coef_.T +
        intercept_``, N being the rows of X brought to length 1, standardised, or as they are. With two classes a
        positive weight speaks for the second of ``classes_``.
        """
        from scipy.sparse import csr_array

        check_is_fitted(self)
        ids, weights, _ = self.weights()
        n_vectors = weights.shape[1]
        bounds = np.arange(n_vectors + 1) * ids.size
        shape = (n_vectors, self.n_features_in_)
        coef = csr_array((weights.T.ravel(), np.tile(ids, n_vectors), bounds), shape=shape)
        coef.eliminate_zeros()
        return coef

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The score of a row without values, one number or one per class: the intercept's weight times its input."""
        check_is_fitted(self)
        return self.intercept()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.asks
        return tags


class ClassifierEstimator(ClassifierMixin, RowEstimator):
    """A learner of rows as a scikit-learn classifier and selector."""

    def fit_source(
        self, source: Source | Iterable[RowBlock], classes: Any | None = None, *, progress: bool = False
    ) -> Self:
        """Learn from a source, or from any iterable of blocks, from scratch.

        Without ``classes`` they are the labels that occur: when more than two turn out to be there, learning begins
        again with all of them. In what can be read only once they are the first two, and a third is an error.
        ``progress=True`` shows a bar, in a terminal or a notebook.
        """
        rows = source if isinstance(source, DataSource) else BlockSource(source)
        expect_classes(rows, classes)
        return self._refit(rows, classes=classes, progress=progress)

    def partial_fit(self, X: Any, y: Any, classes: Any | None = None, sample_weight: Any | None = None) -> Self:
        """Learn from some more rows. The first call names the ``classes``, or has rows of all of them."""
        if self.started and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r} are not those of the first call, {self.classes_.tolist()}")
        return self._partial_fit(X, y, classes, sample_weight)

    def _classes_in(self, y: NDArray[Any]) -> NDArray[Any]:
        return classes_of(y)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of every row: positive for the second of two classes; a column per class for more."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row; a score of exactly 0 is the first class."""
        return self.classify(self.decision_function(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of every class, a column each, in the order of ``classes_``; the largest is that predicted.

        A logistic fit of the class on the score that each row had before it was learned (Platt 1999), from the same
        pass. Weights of rows count in it, ``class_weight`` does not: probabilities are those of the data as it is.
        Where class weights move the decision to where the class is less likely than not, its probability is given as
        just above 1/2.
        """
        return self.probabilities(self.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self.two_classes_only
        return tags


def classes_of(y: NDArray[Any]) -> NDArray[Any]:
    """The labels, sorted: any values, but not the continuous target of a regression."""
    classes = np.unique(y)
    if classes.size > 2:
        try:
            check_classification_targets(y)
        except ValueError as error:
            raise ValueError(f"{error} SOFSRegressor and AROWRegressor learn numbers.") from None
    if classes.size < 2:
        raise ValueError(f"learning needs rows of two classes; there is one class only, {classes.tolist()[0]!r}")
    return classes


class RegressorEstimator(RegressorMixin, RowEstimator):
    """A learner of rows as a scikit-learn regressor and selector."""

    def fit_source(self, source: Source | Iterable[RowBlock], *, progress: bool = False) -> Self:
        """Learn from a source, or from any iterable of blocks, from scratch.

        ``progress=True`` shows a bar, in a terminal or a notebook.
        """
        return self._refit(source if isinstance(source, DataSource) else BlockSource(source), progress=progress)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any | None = None) -> Self:
        """Learn from some more rows."""
        return self._partial_fit(X, y, None, sample_weight)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number of every row."""
        return self._scores(X)


class FirstOrderEstimator(ClassifierEstimator):
    """A learner whose step grows with the weight of a row."""

    expected_failed_checks: ClassVar[dict[str, str]] = {
        **RowEstimator.expected_failed_checks,
        "check_class_weight_classifiers": "in one pass a class weight of 1,000 is one long step, not 1,000 steps",
    }


class SOFS(NamedRowsEstimator, ClassifierEstimator, sofs.SOFSLearner):
    __doc__ = sofs.SOFSLearner.__doc__


class PET(FirstOrderEstimator, first_order.PETLearner):
    __doc__ = first_order.PETLearner.__doc__


class FOFS(FirstOrderEstimator, first_order.FOFSLearner):
    __doc__ = first_order.FOFSLearner.__doc__


class OFSPartial(ClassifierEstimator, ofs_partial.OFSPartialLearner):
    __doc__ = ofs_partial.OFSPartialLearner.__doc__


class OGD(FirstOrderEstimator, baselines.OGDLearner):
    __doc__ = baselines.OGDLearner.__doc__


class FOBOS(FirstOrderEstimator, baselines.FOBOSLearner):
    __doc__ = baselines.FOBOSLearner.__doc__


class AROW(ClassifierEstimator, baselines.AROWLearner):
    __doc__ = baselines.AROWLearner.__doc__


class RandomSelection(FirstOrderEstimator, baselines.RandomSelectionLearner):
    __doc__ = baselines.RandomSelectionLearner.__doc__


class SOFSRegressor(NamedRowsEstimator, RegressorEstimator, sofs.SOFSRegressorLearner):
    __doc__ = sofs.SOFSRegressorLearner.__doc__


class AROWRegressor(RegressorEstimator, baselines.AROWRegressorLearner):
    __doc__ = baselines.AROWRegressorLearner.__doc__
