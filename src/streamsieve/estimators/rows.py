"""Methods on rows as scikit-learn classifiers and regressors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from ..blocks import RowBlock
from ..continuing import open_to_continue
from ..errors import UsageError
from ..kernels.types import I64
from ..recording import Recording
from ..selectors.rows.learner import RowLearner
from ..selectors.serial import alone
from ..sources import open_with_options
from ..sources.base import BlockSource, DataSource, Source, as_row_source
from ..sources.labels import expect_classes
from ..sources.named_rows import NamedRowSource
from ..sources.options import ReadKeywords, ReadOptions
from ..targets import ONLY_NUMBERS
from ..training import train, watching
from .base import Estimator, only_if, refit
from .inputs import (
    check_sample_weight,
    encode_table,
    input_options,
    make_row_source,
    read_matrix,
    read_named_rows,
    small_block,
    validate_data,
)

ONE_PASS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "one pass in the order given: a row of weight 2 takes one larger step, a row that appears twice"
    " takes two",
)


def asks(estimator: Estimator) -> bool:
    """Return True for methods that ask for the values that they read."""
    return estimator.method.asks


class RowClassifier(ClassifierMixin, Estimator):
    """A method on rows that learns classes, as a scikit-learn classifier and selector."""

    expected_failed_checks: ClassVar[dict[str, str]] = ONE_PASS

    @alone
    def fit(self, X: Any, y: Any, sample_weight: Any | None = None) -> Self:
        """Learn from the rows of ``X`` in their order, from scratch."""
        learner = self.new_learner()
        source = read_rows(self, learner, X, y, sample_weight)
        refit(self, learner, source, classes=classes_of(source.targets()))
        return self

    @alone
    def fit_source(
        self,
        source: Source | Iterable[RowBlock],
        classes: Any | None = None,
        *,
        progress: bool = False,
    ) -> Self:
        """Learn from a source, or from any iterable of blocks, from scratch.

        Without ``classes``, the classes are all labels that occur. If there are more than two,
        learning restarts with all of them. A source that can be read only once has the first two
        labels as its classes, and a third label is an error. ``progress=True`` shows a bar, in a
        terminal or a notebook.
        """
        rows = source if isinstance(source, DataSource) else BlockSource(source)
        expect_classes(rows, classes)
        refit(self, self.new_learner(), rows, classes=classes, progress=progress)
        return self

    @alone
    def partial_fit(
        self, X: Any, y: Any, classes: Any | None = None, sample_weight: Any | None = None
    ) -> Self:
        """Learn from more rows.

        The first call must give ``classes``, or rows of all classes.
        """
        if classes is not None and self.__sklearn_is_fitted__():
            expected = self.classes_
            if not np.array_equal(np.unique(classes), expected):
                raise ValueError(
                    f"classes must be those of the first call, {expected.tolist()}; got {classes!r}"
                )
        learn_rows(self, X, y, classes, sample_weight)
        return self

    @alone
    def partial_fit_source(
        self,
        data: Any,
        target: str | None = None,
        *,
        progress: bool = False,
        **read: Unpack[ReadKeywords],
    ) -> Self:
        """Learn from all rows of more data; everything learned before stays.

        ``data`` is what ``open_source`` takes, such as a file, and so are ``target`` and the
        options. A table is read with the columns that the model knows; new values of text, names
        and ids become features. The first call learns from scratch.
        """
        learn_source(self, data, ReadOptions.of(target=target, **read), progress)
        return self

    @only_if(asks)
    @alone
    def ask(self) -> I64:
        """Return the ids of the attributes to acquire for the next row, in ascending order.

        They stay the same until ``tell`` is called.
        """
        if not self.__sklearn_is_fitted__():
            raise UsageError("call start(n_features=..., classes=[...]) before the first ask")
        asked: I64 = self.learner.rule.ask(self.learner.memory)
        return asked

    @only_if(asks)
    @alone
    def tell(self, values: Any, y: Any) -> Self:
        """Learn from the values of the attributes that ``ask`` returned, and from the label."""
        asked, learner = self.ask(), self.learner
        seen = np.asarray(values, np.float64 if learner.inputs.centres else np.float32).ravel()
        if seen.size != asked.size:
            raise ValueError(
                f"expected {asked.size} values, one per attribute asked for, got {seen.size}"
            )
        if not np.isfinite(seen).all():
            raise ValueError(
                f"the value of attribute {asked[~np.isfinite(seen)][0]} is missing or infinite;"
                " give a number for each attribute asked for"
            )
        present = seen != 0
        bounds, width = np.array([0, np.count_nonzero(present)]), learner.memory.declared_width
        learner.partial_fit_block(
            RowBlock(bounds, asked[present], seen[present], np.asarray([y]), width, dense=True)
        )
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self.method.two_classes_only
        return tags


class RowRegressor(RegressorMixin, Estimator):
    """A method on rows that learns numbers, as a scikit-learn regressor and selector."""

    expected_failed_checks: ClassVar[dict[str, str]] = ONE_PASS

    @alone
    def fit(self, X: Any, y: Any, sample_weight: Any | None = None) -> Self:
        """Learn from the rows of ``X`` in their order, from scratch."""
        learner = self.new_learner()
        refit(self, learner, read_rows(self, learner, X, y, sample_weight))
        return self

    @alone
    def fit_source(self, source: Source | Iterable[RowBlock], *, progress: bool = False) -> Self:
        """Learn from a source, or from any iterable of blocks, from scratch.

        ``progress=True`` shows a bar, in a terminal or a notebook.
        """
        rows = source if isinstance(source, DataSource) else BlockSource(source)
        refit(self, self.new_learner(), rows, progress=progress)
        return self

    @alone
    def partial_fit(self, X: Any, y: Any, sample_weight: Any | None = None) -> Self:
        """Learn from more rows."""
        learn_rows(self, X, y, None, sample_weight)
        return self

    @alone
    def partial_fit_source(
        self,
        data: Any,
        target: str | None = None,
        *,
        progress: bool = False,
        **read: Unpack[ReadKeywords],
    ) -> Self:
        """Learn from all rows of more data; everything learned before stays.

        ``data`` is what ``open_source`` takes, such as a file, and so are ``target`` and the
        options. A table is read with the columns that the model knows; new values of text, names
        and ids become features. The first call learns from scratch.
        """
        learn_source(self, data, ReadOptions.of(target=target, **read), progress)
        return self


def learn_source(estimator: Any, data: Any, options: ReadOptions, progress: bool) -> None:
    """Learn from all rows of some data, after what was learned before."""
    if not estimator.__sklearn_is_fitted__():
        estimator.fit_source(open_with_options(data, options), progress=progress)
        return
    learner: RowLearner = estimator.learner
    if isinstance(data, DataSource):
        rows = as_row_source(data)
        learner.features.check_encoding(rows.encoding, rows.name, are_first=False)
    else:
        rows = open_to_continue(data, learner.features, options)
    classes = learner.results.classes_ if "classes" in learner.method.targets else None
    expect_classes(rows, classes)
    with watching(None, progress) as watch:
        before = Recording(earlier=learner.n_learned)
        train(learner, rows, classes=classes, watch=watch, recording=before)


def read_rows(
    estimator: Estimator, learner: Any, X: Any, y: Any, sample_weight: Any | None
) -> Source:
    """Return the validated rows to learn from."""
    rows = read_named_rows(learner, X)
    if rows is not None:
        return NamedRowSource(rows, y, sample_weight)
    return read_matrix(
        estimator,
        X,
        y,
        centres=learner.inputs.centres,
        sample_weight=sample_weight,
        y_numeric=learner.method.targets == ONLY_NUMBERS,
        **input_options(learner.method),
    )


def learn_rows(
    estimator: Any, X: Any, y: Any, classes: Any | None, sample_weight: Any | None
) -> None:
    """Learn from more rows; rows that cannot be learned change nothing."""
    is_first = not estimator.__sklearn_is_fitted__()
    learner: RowLearner = estimator.new_learner() if is_first else estimator.learner
    features, centres = learner.features, learner.inputs.centres
    if not is_first and sample_weight is None and features.names is None:
        block = small_block(X, y, features.width, centres)
        if block is not None:
            learner.partial_fit_block(block)
            return
    rows = read_named_rows(learner, X, learning=True)
    names: NDArray[Any] | None = None
    if rows is not None:
        source: Source = NamedRowSource(rows, y, sample_weight)
    else:
        X, y, names = read_chunk(estimator, learner, X, y, is_first)
        weights = None if sample_weight is None else check_sample_weight(sample_weight, X)
        source = make_row_source(X, y, centres=centres, sample_weight=weights)
    blocks = source.row_blocks(learner.missing_rows)
    if is_first:
        if classes is None and "classes" in learner.method.targets:
            classes = classes_of(source.targets())
        learner.start(source.n_features, classes, names)
    if rows is None:  # check the labels of all blocks before the first is learned
        labels = source.targets() if weights is None else source.targets()[weights != 0]
        learner.memory.target.encode(labels, "", learner.n_learned)
    for block in blocks:
        learner.partial_fit_block(block)
    features.given_names = names
    estimator._learner = learner


def read_chunk(
    estimator: Estimator, learner: RowLearner, X: Any, y: Any, is_first: bool
) -> tuple[Any, NDArray[Any], NDArray[Any] | None]:
    """Return a chunk of rows, as wide as before or wider, and the names of its columns.

    Columns keep their order.
    """
    features = learner.features
    X, titles, features.encoding = encode_table(
        estimator, X, None if is_first else features, grows=True
    )
    is_wider = is_first or np.shape(X)[1:] > (features.width,)
    (X, y), names = validate_data(
        estimator,
        X,
        y,
        None if is_wider else features,
        titles,
        y_numeric=learner.method.targets == ONLY_NUMBERS,
        **input_options(learner.method),
    )
    previous_names = None if is_first else features.names
    if previous_names is not None and (
        names is None or names[: features.width].tolist() != previous_names.tolist()
    ):
        raise ValueError(
            "the columns of earlier calls must come first, with the same names; add new ones last"
        )
    return X, y, names


def classes_of(y: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted classes; raise ValueError for the continuous target of a regression."""
    classes = np.unique(y)
    if classes.size > 2:
        try:
            check_classification_targets(y)
        except ValueError as error:
            raise ValueError(f"{error} SOFSRegressor and AROWRegressor learn numbers.") from None
    if classes.size < 2:
        raise ValueError(
            f"learning needs rows of two classes; y has only one class, {classes.tolist()[0]!r}"
        )
    return classes
