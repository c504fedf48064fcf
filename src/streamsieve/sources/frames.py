"""Tables in memory, of pandas, polars and Arrow, whose columns are not all numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import DataError, prefix
from ..values import is_object
from .arrays import ArraySource, names_of
from .arrow_values import Where, numbers_of
from .encoded_rows import encode_batch, matrix_of
from .encoding import Encoding
from .inference import (
    Inferred,
    check_columns_exist,
    check_target_column,
    content_of,
    infer_by_types,
    infer_encoding,
    pick_columns,
    refuse_repeated,
)
from .options import ReadOptions

BATCH_ROWS = 1 << 16
# Types of Python objects that are not numbers as they are.
NEED_ENCODING = (str, bool, np.bool_, date, np.datetime64)


def needs_encoding(frame: Any) -> bool:
    """Return True if some columns of a table are not numbers."""
    if type(frame).__module__.startswith("pandas"):
        return any(
            _column_needs_encoding(frame, position, dtype)
            for position, dtype in enumerate(frame.dtypes)
        )
    schema = frame.schema if hasattr(frame, "column_names") else frame.clear().to_arrow().schema
    return any(content_of(kind) != "number" for kind in schema.types)


def _column_needs_encoding(frame: Any, position: int, dtype: Any) -> bool:
    """Return True if a column of pandas is not numbers."""
    if isinstance(dtype, np.dtype):
        if is_object(dtype):
            kinds = set(map(type, frame.iloc[:, position].tolist()))
            return any(issubclass(kind, NEED_ENCODING) for kind in kinds)
        return dtype.kind in "Mb"
    return str(dtype) in ("category", "string", "str", "boolean") or str(dtype).startswith(
        ("datetime64", "string[", "bool[")
    )


def positions_of(names: list[str]) -> dict[str, int]:
    """Return the first position of each name."""
    return {name: position for position, name in reversed(list(enumerate(names)))}


def as_arrow(frame: Any, columns: list[str], origin: str) -> pa.Table:
    """Return some columns of a table as an Arrow table."""
    names = names_of(frame)
    check_columns_exist(columns, names, origin)
    refuse_repeated(names, origin)
    if isinstance(frame, pa.Table | pa.RecordBatch):
        table = frame if isinstance(frame, pa.Table) else pa.Table.from_batches([frame])
        return table.select(columns)
    if not type(frame).__module__.startswith("pandas"):
        return frame.select(columns).to_arrow()
    positions = positions_of(names)
    arrays = [_array_of(frame.iloc[:, positions[name]], name, origin) for name in columns]
    return pa.Table.from_arrays(arrays, columns)


def _array_of(values: Any, name: str, origin: str) -> pa.Array:
    """Return a column of pandas as an Arrow array."""
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError) as error:
        raise DataError(
            f"{prefix(origin)}column {name!r} holds values of several types; convert them to one,"
            " for example by astype(str)"
        ) from error
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def infer_frame(
    frame: Any, options: ReadOptions, columns: list[str], origin: str
) -> Inferred | None:
    """Return the inferred encoding of the columns of a table, or None if they are numbers."""
    if options.missing not in ("zero", "mean") and not needs_encoding(frame):
        return None
    table = as_arrow(
        frame, columns if options.weight is None else [*columns, options.weight], origin
    )

    def batches_with(names: list[str]) -> Iterator[pa.RecordBatch]:
        return iter(table.select(names).to_batches(BATCH_ROWS))

    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    return infer_encoding([partial(infer_by_types, origin, types, batches_with)], options, origin)


def encode_frame(frame: Any, encoding: Encoding, origin: str, known: bool) -> Any:
    """Return a table as the matrix of its features.

    The encoding grows with new levels, unless it is ``known`` from other data.
    """
    table, unseen = as_arrow(frame, encoding.column_names, origin), dict[str, str]()
    parts, row = [], 0
    for batch in table.to_batches(BATCH_ROWS):
        where = Where(origin, row, unseen if known else None, grows=not known)
        parts.append(encode_batch(encoding, batch, where, encoding.missing == "skip", np.float64))
        parts[-1] = encoding.learn(parts[-1])
        row += batch.num_rows
    Where(origin, unseen=unseen).warn_unseen()
    return matrix_of(encoding, parts)


def open_frame(
    frame: Any,
    y: Any | None,
    options: ReadOptions,
    encoding: Encoding | None,
    columns: list[str] | None,
    infer: bool,
) -> ArraySource:
    """Return the source for a table in memory, whose target is a column or given as ``y``.

    With ``infer``, the encoding is inferred from the table.
    """
    names, target, weight = names_of(frame), options.target, options.weight
    if y is None and infer:
        check_target_column(target, names, "")
    if y is None and target is not None and target in names:
        y = frame.iloc[:, names.index(target)] if hasattr(frame, "iloc") else frame[target]
    others = [name for name in names if name != target or y is None]
    if columns is None:
        columns = pick_columns(others, options, "the table")
    weights = None if weight is None else weights_of(frame, weight)
    inferred = infer_frame(frame, options, columns, "") if encoding is None and infer else None
    used = encoding if inferred is None else inferred.encoding
    if used is None:
        if columns != names:
            check_columns_exist(columns, names, "")
            positions = positions_of(names)
            is_pandas = hasattr(frame, "iloc")
            frame = (
                frame.iloc[:, [positions[name] for name in columns]]
                if is_pandas
                else frame.select(columns)
            )
        source = ArraySource(frame, y, sample_weight=weights)
    else:
        matrix = encode_frame(frame, used, "", not infer)
        source = ArraySource(matrix, y, np.asarray(used.feature_names), sample_weight=weights)
    source.facts = replace(
        source.facts, weight=weight, encoding=None if used is None or used.is_plain else used
    )
    if inferred is not None:
        source.facts = replace(source.facts, notes=inferred.notes, incomplete=inferred.incomplete)
    return source


def weights_of(frame: Any, name: str) -> NDArray[np.float64]:
    """Return a column of a table as the weights of its rows."""
    values = as_arrow(frame, [name], "").column(0).combine_chunks()
    if content_of(values.type) not in ("number", "boolean"):
        raise DataError(f"column {name!r} is not a column of numbers, and weights must be numbers")
    weights = numbers_of(values, name, Where(""))
    if np.isnan(weights).any():
        raise Where("").missing_value_error(int(np.argmax(np.isnan(weights))), name)
    return weights
