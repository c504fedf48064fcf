"""Validate the input of estimators, and read it as blocks of rows.

scikit-learn's checks come after our own, which reject input that would lose information before
anything is converted. Small chunks of plain arrays skip scikit-learn's checks, which take longer
than learning the rows: ``small_block`` accepts only input that these checks would pass unchanged;
all other input is checked by scikit-learn and gets its messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.utils import get_tags, validation

from ..blocks import RowBlock, dense_block
from ..errors import DataError, UsageError
from ..kernels.rows.batch import ALL_MARKED, copy_table_entries
from ..kernels.types import F64, I64
from ..selectors.base import AnyLearner, FeatureInfo, Method
from ..selectors.prediction import Predictor
from ..selectors.rows.addresses import table_addresses
from ..selectors.rows.learner import NEEDS_CELLS
from ..sources.arrays import ArraySource, as_matrix, is_frame, names_of, rows_of
from ..sources.base import Missing
from ..sources.encoding import Encoding
from ..sources.named_rows import NamedRowSource, as_named_rows
from ..sources.options import ReadOptions
from ..values import (
    ascends,
    check_sparse,
    check_usable,
    fault_of,
    frozen,
    is_object,
    is_sparse,
    normalize_labels,
)

FILL = "fill it in or drop the row, or use fit_source(open_source((X, y), missing='mean'))"
NOTHING = "no_validation"  # scikit-learn's value of X or y if it is not given
MAX_VALUES = 4096  # of a small block
INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))
# scikit-learn's options for the input of methods on columns, or on the whole matrix
COLUMN_OPTIONS: dict[str, Any] = {
    "accept_sparse": ("csc", "csr"),
    "dtype": "numeric",
    "ensure_min_samples": 2,
}
VALUE_TYPES = (np.dtype(np.float32), np.dtype(np.float64))


# ---- matrices and tables


def check_matrix(X: Any) -> Any:
    """Return ``X``, in CSR or CSC form if it is sparse; raise DataError if it cannot be used."""
    if is_sparse(X):
        return check_sparse(X, "X")
    check_usable(X, "X")
    return X


def encode_table(
    estimator: Any, X: Any, features: FeatureInfo | None, grows: bool = False
) -> tuple[Any, NDArray[Any] | None, Encoding | None]:
    """Return a table with columns that are not numbers as a matrix, with names and encoding.

    Of anything else return ``X``, None and the encoding learned before, if any. Without
    ``features`` the encoding is inferred from the table; with them it is the one learned before,
    which ``grows`` with new values of text if the table is learned.
    """
    encoding = None if features is None else features.encoding
    if not is_frame(X):
        return X, None, encoding
    from ..sources.frames import encode_frame, infer_frame

    if features is None:
        read = ReadOptions(missing="skip" if get_tags(estimator).input_tags.allow_nan else "error")
        inferred = infer_frame(X, read, names_of(X), "")
        encoding = None if inferred is None else inferred.encoding
    if encoding is None:
        return X, None, None
    table_encoding, names = encoding, np.asarray(encoding.feature_names)
    if names_of(X) == names.tolist():  # may be encoded already
        if encoding.has_groups:  # sparse, as the matrix of a table is
            return csr_array(as_matrix(X, "")[0]), names, encoding
        table_encoding = Encoding(encoding.columns, encoding.missing, reduced=True)
    matrix = encode_frame(X, table_encoding, "", known=features is not None and not grows)
    return matrix, np.asarray(encoding.feature_names), encoding


def has_unseen(X: Any, features: FeatureInfo) -> bool:
    """Return True for a sparse ``X`` with columns beyond those seen in training.

    A dense ``X`` of another width is an error, as scikit-learn requires.
    """
    return is_sparse(X) and X.shape[1] > features.width


def validate_data(
    estimator: Any,
    X: Any = NOTHING,
    y: Any = NOTHING,
    features: FeatureInfo | None = None,
    names: NDArray[Any] | None = None,
    **options: Any,
) -> tuple[Any, NDArray[Any] | None]:
    """Return the result of scikit-learn's function of this name, and the names of the columns.

    The estimator is not changed. ``features`` are those that ``X`` must have; ``names`` are those
    of the features of a matrix that was made from a table.
    """
    stand_in = type(estimator)(**estimator.get_params(deep=False))  # gets the width and the names
    if features is not None:
        stand_in.n_features_in_ = features.width
        # a matrix made from a table has no names, and scikit-learn would warn
        if features.names is not None and names is None:
            stand_in.feature_names_in_ = np.asarray(features.names)
    X = check_matrix(X)
    if y is not None and not isinstance(y, str):
        check_usable(y, "y")
        if is_object(getattr(y, "dtype", None)):
            normalize_labels(np.asarray(y).ravel())
    try:
        checked = validation.validate_data(stand_in, X, y, **options, reset=features is None)
    except OverflowError as error:
        raise DataError(f"X or y contains an integer too large for a number ({error})") from None
    except ValueError as error:
        raise with_column(error, X) from None
    return checked, stand_in.__dict__.get("feature_names_in_") if names is None else names


def with_column(error: ValueError, X: Any) -> ValueError:
    """Return scikit-learn's error of a missing or infinite value, with its column and row.

    Any other error is returned unchanged.
    """
    if not str(error).startswith("Input X contains") or not is_frame(X):
        return error
    from ..sources.arrow_values import Where, numbers_of
    from ..sources.frames import as_arrow

    for name in names_of(X):
        column = as_arrow(X, [name], "").column(0).combine_chunks()
        is_wrong = ~np.isfinite(numbers_of(column, name, Where("")))
        if is_wrong.any():
            reason = str(error).splitlines()[0].rstrip(".")
            return ValueError(
                f"{reason}: column {name!r}, row {int(np.argmax(is_wrong)) + 1}; {FILL}"
            )
    return error


def check_array(X: Any, **options: Any) -> Any:
    """Return ``X`` as scikit-learn validates it."""
    return validation.check_array(check_matrix(X), **options)


def check_sample_weight(weights: Any, X: Any) -> NDArray[np.float64]:
    """Return the weights of rows as numbers, one for each row."""
    check_usable(weights, "sample_weight")
    checked: NDArray[np.float64] = validation._check_sample_weight(weights, X, dtype=np.float64)
    return checked


# ---- as blocks of rows


class ExactRows(ArraySource):
    """A matrix whose blocks of rows have exact values; those that are 0 in float32 are omitted.

    Blocks of rows are float32 otherwise. For learners that subtract a mean before they round: a
    column of mean 10^8 and deviation 1, such as Unix seconds within an hour, would lose all digits
    that differ.
    """

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        start, matrix = 0, self._in_form("csr")
        for block in super().row_blocks(missing):
            lines = rows_of(matrix, start, start + block.n_rows)
            values = (
                np.asarray(lines.data if is_sparse(lines) else lines)
                .ravel()
                .astype(np.float64, copy=False)
            )
            if values.size > block.n_nonzero:
                values = values[values.astype(np.float32) != 0]
            yield block.derived(values=values)
            start += block.n_rows


def make_row_source(
    X: Any,
    y: Any | None = None,
    names: NDArray[Any] | None = None,
    *,
    centres: bool = False,
    sample_weight: F64 | None = None,
) -> ArraySource:
    """Return the rows of a matrix as a source.

    They are exact if they are to be centred and float32 could not hold them.
    """
    source = ArraySource(X, y, names, name="", sample_weight=sample_weight)
    if not centres or np.can_cast(source.matrix.dtype, np.float32):
        return source
    return ExactRows(
        source.matrix, source.y, source.feature_names, name="", sample_weight=sample_weight
    )


def read_matrix(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    centres: bool = False,
    sample_weight: Any | None = None,
    **options: Any,
) -> ArraySource:
    """Return a validated matrix or table as a source; ``options`` are scikit-learn's."""
    X, names, encoding = encode_table(estimator, X, None)
    (X, y), names = validate_data(estimator, X, y, names=names, **options)
    weights = None if sample_weight is None else check_sample_weight(sample_weight, X)
    source = make_row_source(X, y, names, centres=centres, sample_weight=weights)
    source.facts = replace(source.facts, encoding=encoding)
    return source


def read_named_rows(learner: AnyLearner, X: Any, *, learning: bool = False) -> Iterable[Any] | None:
    """Return ``X`` if it has rows by name, else None; raise UsageError if they cannot be used.

    If the method of a learner has ``max_cells``, ``X`` may be a list, or any iterable, of rows,
    each a dictionary ``{name: value}`` or a pair ``(names, values)``.
    """
    rows = as_named_rows(X) if "max_cells" in learner.method.parameter_names else None
    if rows is None:
        return None
    if learner.params.max_cells is None:
        raise UsageError(
            NEEDS_CELLS.format(type(learner.params).__name__.removesuffix("Parameters"))
        )
    if learner.started and not learning and learner.memory.names is None:
        raise UsageError(
            "X has rows by name, but the estimator learned rows by id; give rows by id"
        )
    return rows


def select_named(rows: Iterable[Any], selected: I64) -> Any:
    """Return the values of some features in rows by name, as a sparse array."""
    lookup = table_addresses(selected)
    parts = []
    for block in NamedRowSource(rows).row_blocks():
        indptr, indices = np.zeros(block.n_rows + 1, np.int64), np.empty(block.n_nonzero, np.int32)
        entries = block.indptr, block.indices, block.values
        values = np.empty(block.n_nonzero, np.float32)
        filled = copy_table_entries(
            ALL_MARKED, lookup.table, lookup.ids, *entries, indptr, indices, values
        )
        parts.append(
            csr_array(
                (values[:filled], indices[:filled], indptr), shape=(block.n_rows, selected.size)
            )
        )
    return vstack(parts, format="csr")


def input_options(method: Method) -> dict[str, Any]:
    """Return scikit-learn's options for the input of a method: sparse or dense numbers.

    Missing values are allowed only for a method that asks for the values that it reads.
    """
    return {
        "accept_sparse": "csr",
        "dtype": "numeric",
        "ensure_all_finite": "allow-nan" if method.asks else True,
    }


def score_rows(estimator: Any, X: Any) -> tuple[Predictor, F64]:
    """Return the predictor and the score of every row, or of every row and class."""
    learner = estimator.learner
    if learner.reads != "rows":  # by a linear model of the selected features
        chosen, model = estimator.transform(X), learner.results.linear_model()
        return learner.results.predictor(), np.asarray(chosen @ model.weights + model.intercept)
    predictor, rows = learner.results.predictor(), read_named_rows(learner, X)
    if rows is not None:
        blocks = NamedRowSource(rows).row_blocks()
    else:
        X, names, _ = encode_table(estimator, X, learner.features)
        options = input_options(learner.method)
        # unseen columns have no weight, but count in the length of a row (normalize="l2")
        if has_unseen(X, learner.features):
            X = check_array(X, **options)
        else:
            X = validate_data(estimator, X, features=learner.features, names=names, **options)[0]
        blocks = make_row_source(X, centres=learner.inputs.centres).row_blocks(learner.missing_rows)
    return predictor, np.concatenate([predictor.score(block) for block in blocks])


# ---- a few rows, without scikit-learn's checks


def small_block(X: Any, y: Any, width: int, exact: bool) -> RowBlock | None:
    """Return a small matrix of this width and its labels as a block; None if it must be validated.

    ``exact`` keeps float64 values as they are, for learners that subtract a mean before they round.
    """
    if type(y) is not np.ndarray or not is_simple_target(y):
        return None
    if type(X) is np.ndarray:
        return small_dense(X, y, exact) if X.ndim == 2 and X.shape == (y.size, width) else None
    is_csr = getattr(X, "format", None) == "csr" and type(X).__module__.startswith("scipy.sparse")
    return small_sparse(X, y, exact) if is_csr and X.shape == (y.size, width) else None


def is_simple_target(y: NDArray[Any]) -> bool:
    """Return True for labels, or numbers, that need no conversion."""
    if y.ndim != 1 or not 0 < y.size <= MAX_VALUES or not y.dtype.isnative:
        return False
    kind = y.dtype.kind
    return kind in "biuU" or (kind == "f" and y.dtype.itemsize <= 8 and bool(np.isfinite(y).all()))


def small_dense(X: NDArray[Any], y: NDArray[Any], exact: bool) -> RowBlock | None:
    """Return the block of a small dense matrix; None if it must be validated."""
    if not 0 < X.size <= MAX_VALUES or X.dtype not in VALUE_TYPES:
        return None
    rounded = rounded_values(X)
    if rounded is None:
        return None
    block = dense_block(rounded, y)
    if exact and X.dtype == np.float64:
        return block.derived(values=X[rounded != 0] if block.n_nonzero < X.size else X.reshape(-1))
    return block


def small_sparse(X: Any, y: NDArray[Any], exact: bool) -> RowBlock | None:
    """Return the block of a small CSR matrix; None if it must be validated."""
    indptr, indices, values = X.indptr, X.indices, X.data
    if (
        values.dtype not in VALUE_TYPES
        or indices.dtype not in INDEX_TYPES
        or values.size > MAX_VALUES
        or not indices.size == values.size == indptr[-1]
        or indptr[0]
        or fault_of(indptr, indices, values.size, y.size, X.shape[1])
    ):
        return None
    rounded = rounded_values(values)
    if rounded is None or not rounded.all() or not ascends(indptr, indices):
        return None
    kept = values if exact else rounded
    entries = frozen(indices, indices.dtype), frozen(kept, kept.dtype)
    return RowBlock.trusted(indptr.astype(np.int64), *entries, y, X.shape[1])


def rounded_values(values: NDArray[Any]) -> NDArray[np.float32] | None:
    """Return the values in float32; None if one of them is not finite there."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32, copy=False)
    return rounded if np.isfinite(rounded).all() else None
