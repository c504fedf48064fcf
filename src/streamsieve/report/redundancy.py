"""Read data of a run again: for correlations, and for the names of features that left.

The folder of a run may come from a stranger, and the data may have changed. Then these are missing,
with the reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, UsageError
from ..runs import RunRequest, check_unchanged
from ..sources import open_with_options
from ..sources.base import Source, as_row_source

MAX_ROWS = 10_000


def redundancy_of(
    best: list[dict[str, Any]], request: RunRequest | None, read_data: bool
) -> tuple[dict[str, Any], NDArray[Any] | None]:
    """Return the correlations of the best features, and the names of all features.

    If the correlations are unknown, ``missing`` is the reason.
    """
    names, missing = None, "correlations need at least two rows"
    values = np.empty((0, len(best)))
    try:
        source = source_of(request, read_data)
        values = first_rows(source, np.array([line["index"] for line in best], np.int64))
        names = source.feature_names
    except (DataError, UsageError, OSError) as error:
        missing = str(error)
    if len(best) < 2:
        return {"missing": "correlations need at least two selected features"}, names
    if len(values) < 2:
        return {"missing": missing}, names
    redundancy = {
        "names": [line["feature"] for line in best],
        "correlation": correlations(values).round(4).tolist(),
        "n_rows": len(values),
    }
    return redundancy, names


def source_of(request: RunRequest | None, read_data: bool) -> Source:
    """Return the data of a run, if it is still there and unchanged."""
    if not read_data:
        raise UsageError("the report was asked not to read the data again")
    if request is None:
        raise UsageError("the record is not from a run folder, so the data cannot be read again")
    if request.data is None:
        raise UsageError("the data was in memory or came through a pipe")
    check_unchanged(request.data, request.fingerprint)
    return as_row_source(open_with_options(request.data, request.read))


def first_rows(source: Source, features: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the given features of the first rows as a matrix; NaN is missing.

    Columns are in the order of ``features``.
    """
    order = np.argsort(features)
    ascending, parts, seen = features[order], [], 0
    for block in source.row_blocks("keep"):
        rows = block.rows(0, min(block.n_rows, MAX_ROWS - seen))
        begin, end = rows.indptr[0], rows.indptr[-1]
        ids, values = rows.indices[begin:end], rows.values[begin:end]
        wanted = np.isin(ids, features)
        row_of = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
        part = np.zeros((rows.n_rows, features.size))
        part[row_of[wanted], order[np.searchsorted(ascending, ids[wanted])]] = values[wanted]
        parts.append(part)
        seen += rows.n_rows
        if seen == MAX_ROWS:
            break
    return np.concatenate(parts)


def correlations(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pearson's correlations of all columns; NaN for constant columns.

    Each is over the rows in which both columns have a value.
    """
    has_value = ~np.isnan(values)
    centred = np.where(
        has_value,
        values - np.nanmean(np.where(has_value, values, np.nan), axis=0, keepdims=True),
        0.0,
    )
    present = has_value.astype(np.float64)
    count = present.T @ present
    sums = centred.T @ present  # of a column, over the rows in which the other has a value
    squares = (centred * centred).T @ present
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = centred.T @ centred - sums * sums.T / count
        variance = squares - sums * sums / count
        correlation = covariance / np.sqrt(variance * variance.T)
    correlation[~np.isfinite(correlation) | (variance <= 0) | (variance.T <= 0)] = np.nan
    return np.asarray(np.clip(correlation, -1.0, 1.0))
