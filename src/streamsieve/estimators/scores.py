"""Scores of the rows of a matrix, a table, or rows by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.types import F64
from ..selectors.base import Method
from ..selectors.prediction import Predictor
from ..sources.named_rows import NamedRowSource
from .exact_rows import row_source
from .named_rows import named_rows
from .validation import check_array, encode_table, has_unseen, validate_data


def accepted(method: Method) -> dict[str, Any]:
    """Return what input is let in: sparse or dense; missing values only where what is not asked for is not read."""
    finite = "allow-nan" if method.asks else True
    return {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": finite}


def score_rows(estimator: Any, X: Any) -> tuple[Predictor, F64]:
    """Return what predicts, and the score of every row, or of every row and class."""
    learner = estimator.learner
    if learner.reads != "rows":  # by a linear model of the selected features
        chosen, model = estimator.transform(X), learner.results.linear_model()
        return learner.results.predictor(), np.asarray(chosen @ model.weights + model.intercept)
    predictor, rows = learner.results.predictor(), named_rows(learner, X)
    if rows is not None:
        blocks = NamedRowSource(rows).row_blocks()
    else:
        X, names, _ = encode_table(estimator, X, learner.features)
        options = accepted(learner.method)
        if has_unseen(X, learner.features):  # they count nothing, but "l2" measures the rows with them
            X = check_array(X, **options)
        else:
            X = validate_data(estimator, X, features=learner.features, names=names, **options)[0]
        blocks = row_source(X, centres=learner.inputs.centres).row_blocks(learner.missing_rows)
    return predictor, np.concatenate([predictor.score(block) for block in blocks])
