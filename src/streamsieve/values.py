"""Checks of values from outside that cannot be used as they are.

Values that would lose information when converted to numbers are rejected: a mask, an imaginary
part, a date or the fields of a record would be dropped silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, prefix

COMPLEX, DATES, TIMES, SPANS, RECORDS = (
    "complex values",
    "dates",
    "times of day",
    "time spans",
    "records or lists",
)
CURES = {
    COMPLEX: "give real and imaginary parts as columns of their own",
    DATES: "turn them into numbers, such as days since a certain day",
    TIMES: "turn them into numbers, such as hours since midnight",
    SPANS: "turn them into numbers, such as seconds",
    RECORDS: "give their fields as columns of their own",
}
OF_KIND = {"c": COMPLEX, "M": DATES, "m": SPANS, "V": RECORDS}  # NumPy's
# prefixes of the type names of pandas, polars and Arrow, in lower case; the first match counts
OF_NAME = {
    "complex": COMPLEX,
    "datetime": DATES,
    "timestamp": DATES,
    "date": DATES,
    "period": DATES,
    "timedelta": SPANS,
    "duration": SPANS,
    "month_day_nano": SPANS,
    "time": TIMES,
    "struct": RECORDS,
    "list": RECORDS,
    "large_list": RECORDS,
    "fixed_size_list": RECORDS,
    "map": RECORDS,
}
# prefixes that may precede the type of the values
AROUND = ("sparse[", "dictionary<values=", "torch.")
OF_OBJECT: tuple[tuple[tuple[type, ...], str], ...] = (
    ((complex, np.complexfloating), COMPLEX),
    ((date, np.datetime64), DATES),
    ((timedelta, np.timedelta64), SPANS),
    ((time,), TIMES),
)


def is_sparse(matrix: Any) -> bool:
    """Return True for a sparse matrix of SciPy."""
    return hasattr(matrix, "tocsr")


def check_usable(values: Any, what: str, origin: str = "") -> None:
    """Raise DataError for a matrix, table, labels or weights that cannot be used without loss.

    That includes a sparse matrix with invalid indices. ``what`` is their name for the caller, such
    as ``X``.
    """
    if is_masked(values):
        raise DataError(
            f"{prefix(origin)}{what} is a masked array, and its mask would be lost; fill it first:"
            f" {what}.filled(...)"
        )
    if is_sparse(values):
        refuse_broken(values, what, origin)
    for column, loss in losses_in(values):
        raise unusable_error(what if column is None else f"column {column!r}", loss, origin)


def unusable_error(what: str, loss: str, origin: str) -> DataError:
    """Return the error for values that would lose something."""
    # as the checks of scikit-learn require
    start = "Complex data not supported: " if loss == COMPLEX else ""
    return DataError(f"{prefix(origin)}{start}{what} holds {loss}; {CURES[loss]}")


def is_masked(values: Any) -> bool:
    """Return True for a masked array, or rows of which some are masked."""
    rows = values if isinstance(values, list | tuple) else [values]
    return any(isinstance(row, np.ma.MaskedArray) for row in rows)


def losses_in(values: Any) -> Iterator[tuple[Any, str]]:
    """Yield what would be lost, with the name of the column if there are columns."""
    if type(values).__module__.startswith("pyarrow"):
        schema = getattr(values, "schema", None)
        named = (
            [(None, values.type)]
            if schema is None
            else zip(schema.names, schema.types, strict=True)
        )
        yield from ((name, loss) for name, dtype in named if (loss := loss_of(dtype)))
    elif hasattr(values, "columns") and hasattr(values, "dtypes"):  # a data frame
        for position, (name, dtype) in enumerate(zip(values.columns, values.dtypes, strict=True)):
            loss = (
                loss_among(values.iloc[:, position].to_numpy())
                if is_object(dtype)
                else loss_of(dtype)
            )
            if loss:
                yield name, loss
    else:
        array = as_array(values) if isinstance(values, list | tuple) else values
        dtype = getattr(array, "dtype", None)
        loss = loss_among(np.asarray(array)) if is_object(dtype) else loss_of(dtype)
        if loss:
            yield None, loss


def as_array(values: list[Any] | tuple[Any, ...]) -> NDArray[Any] | None:
    """Return a list as an array; None if its rows differ in length.

    The error for that is raised by the later conversion.
    """
    try:
        return np.asarray(values)
    except ValueError:
        return None


def is_object(dtype: Any) -> bool:
    """Return True if values of a type are arbitrary Python objects."""
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def loss_of(dtype: Any) -> str | None:
    """Return what values of a type would lose as numbers or labels; None if nothing."""
    if isinstance(dtype, np.dtype):
        return OF_KIND.get(dtype.kind)
    categories = getattr(dtype, "categories", None)
    if categories is not None and hasattr(categories, "dtype"):  # of pandas
        return loss_of(categories.dtype)
    name = str(dtype).lower()
    for type_prefix in AROUND:
        name = name.removeprefix(type_prefix)
    return next((loss for start, loss in OF_NAME.items() if name.startswith(start)), None)


def loss_among(objects: NDArray[Any]) -> str | None:
    """Return what objects would lose as numbers or labels; None if nothing."""
    kinds = set(map(type, objects.ravel().tolist())) if objects.dtype == object else set()
    return next(
        (loss for types, loss in OF_OBJECT if any(issubclass(kind, types) for kind in kinds)), None
    )


# ---- labels


def normalize_labels(labels: NDArray[Any], origin: str = "") -> NDArray[Any]:
    """Return labels in a form that a model file can hold: text, or numbers in native byte order.

    Objects that are numbers become such. A missing label, None, is left to the caller.
    """
    if labels.dtype.kind in "iuf":
        return labels.astype(
            np.float64 if labels.dtype.itemsize > 8 else labels.dtype.newbyteorder("="), copy=False
        )
    if labels.dtype != object:
        return labels
    present = [label for label in labels.tolist() if label is not None]
    kinds = set(map(type, present))
    if all(issubclass(kind, str) for kind in kinds) or all(
        issubclass(kind, bytes) for kind in kinds
    ):
        return labels
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return labels if len(present) < len(labels) else labels.astype(bool)
    for row, label in enumerate(labels.tolist()):
        start, type_name = (
            f"{prefix(origin)}row {row + 1}: the label {str(label)[:40]!r}",
            type(label).__name__,
        )
        if not isinstance(label, Real | Decimal | NoneType) or isinstance(label, bool | np.bool_):
            raise DataError(f"{start} is of type {type_name}; labels are all text or all numbers")
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise DataError(
                f"{start} has more than 64 bits; give such labels as text, or as floats if"
                " they are numbers to predict"
            )
    integers = len(present) == len(labels) and all(
        issubclass(kind, int | np.integer) for kind in kinds
    )
    return labels.astype(np.int64 if integers else np.float64)


# ---- sparse matrices


def check_sparse(matrix: Any, what: str, origin: str = "") -> Any:
    """Return a sparse matrix as CSR or CSC with valid indices of a standard integer type.

    Raise DataError if an index is out of range.
    """
    check_usable(matrix, what, origin)
    if matrix.format not in ("csr", "csc"):
        matrix = matrix.tocsr()
        refuse_broken(matrix, what, origin)  # some formats have no indices before the conversion
    if any(array.dtype not in (np.int32, np.int64) for array in (matrix.indices, matrix.indptr)):
        indices, indptr = (array.astype(np.int64) for array in (matrix.indices, matrix.indptr))
        matrix = type(matrix)((matrix.data, indices, indptr), shape=matrix.shape)
    return matrix


def refuse_broken(matrix: Any, what: str, origin: str) -> None:
    """Raise DataError for a sparse matrix with indices out of range.

    The compiled code of SciPy and the kernels do not check them.
    """
    problem = None
    if matrix.format in ("csr", "csc", "bsr"):
        block = matrix.blocksize if matrix.format == "bsr" else (1, 1)
        lines, width = matrix.shape[0] // block[0], matrix.shape[1] // block[1]
        if matrix.format == "csc":
            lines, width = width, lines
        problem = fault_of(matrix.indptr, matrix.indices, len(matrix.data), lines, width)
    elif matrix.format == "coo" and not all(
        in_range(ids, size) for ids, size in zip(matrix.coords, matrix.shape, strict=True)
    ):
        problem = "an index is negative or beyond its shape"
    if problem:
        raise DataError(
            f"{prefix(origin)}{what} is a damaged sparse matrix: {problem}; build it again"
        )


def fault_of(
    indptr: NDArray[Any], indices: NDArray[Any], n_values: int, lines: int, width: int
) -> str | None:
    """Return what is wrong with the lines of a sparse matrix; None if nothing."""
    if (
        indptr.ndim != 1
        or indices.ndim != 1
        or indptr.dtype.kind not in "iu"
        or indices.dtype.kind not in "iu"
    ):
        return "its indptr or its indices are not lists of integers"
    if (
        indptr.size != lines + 1
        or indptr[0] < 0
        or (np.diff(indptr.astype(np.int64, copy=False)) < 0).any()
    ):
        return f"its indptr does not ascend from 0 for {lines:,} lines"
    if indptr[-1] > min(indices.size, n_values):
        return (
            f"its indptr ends at {int(indptr[-1]):,}, but there are {min(indices.size, n_values):,}"
            " entries"
        )
    if not in_range(indices[: indptr[-1]], width):
        return "an index is negative or beyond its shape"
    return None


def in_range(indices: NDArray[Any], size: int) -> bool:
    """Return True if all indices are from 0 to below ``size``."""
    return not indices.size or (int(indices.min()) >= 0 and int(indices.max()) < size)


def ascends(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    """Return True if the indices of every line ascend without repetition."""
    rises = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < indices.size)] - 1] = True
    return bool(rises.all())


# ---- blocks


def refuse_unfit(what: str, indptr: Any, indices: Any, values: Any, width: int) -> None:
    """Raise DataError if arrays do not form a valid block; the kernels do not check them."""
    for name, array in (("indptr", indptr), ("indices", indices), ("values", values)):
        check_usable(array, name)
    lines, ids, numbers = (np.asarray(array) for array in (indptr, indices, values))
    same_size = lines.size and lines[-1] <= ids.size == numbers.size
    if not same_size or (numbers.size and numbers.dtype.kind not in "biuf"):
        raise DataError(
            f"a block of {what} whose indptr, indices and values do not fit one another"
        )
    problem = fault_of(lines, ids, numbers.size, lines.size - 1, width)
    if problem is None and not ascends(*from_zero(lines, ids, numbers)[:2]):
        problem = "indices do not ascend, or appear twice"
    if problem:
        raise DataError(f"a block of {what} that is damaged: {problem}")


def from_zero(
    indptr: Any, indices: Any, values: Any
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the same lines with the first entry at 0, without entries outside of the lines."""
    ends, ids, numbers = (np.asarray(array) for array in (indptr, indices, values))
    begin, end = int(ends[0]), int(ends[-1])
    return ends - begin if begin else ends, ids[begin:end], numbers[begin:end]


def frozen(array: Any, kind: Any) -> NDArray[Any]:
    """Return a read-only view of an array, or a read-only copy if the type differs."""
    view = np.ascontiguousarray(array, kind).view()
    view.flags.writeable = False
    return view
