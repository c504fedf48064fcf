"""Test that every function refuses input that would lose information, or has wrong indices."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import streamsieve as ss
from streamsieve.sources.base import BlockSource, ColumnBlockSource

ROWS = 60
NUMBERS = np.random.default_rng(0).normal(0, 1, (ROWS, 4))
CLASSES = (NUMBERS[:, 1] > 0).astype(int)
DAYS = np.datetime64("2020-01-01") + np.arange(ROWS)
ALL_DAYS = np.tile(DAYS[:, None], (1, 4))
FRAME = pd.DataFrame(NUMBERS, columns=list("abcd"))

FITTED = {
    "SOFS": ss.SOFS(2).fit(NUMBERS, CLASSES),
    "Grafting": ss.Grafting(2).fit(NUMBERS, CLASSES),
}
X_ENTRANCES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda X: ss.SOFS(2).fit(X, CLASSES),
    "more rows": lambda X: ss.SOFS(2).partial_fit(X, CLASSES, classes=[0, 1]),
    "columns": lambda X: ss.SAOLA().fit(X, CLASSES),
    "more columns": lambda X: ss.SAOLA().partial_fit_columns(X, CLASSES),
    "matrix": lambda X: ss.ReliefF().fit(X, CLASSES),
    "source of rows": lambda X: ss.SOFS(2).fit_source(ss.open_source((X, CLASSES))),
    "source of columns": lambda X: ss.SAOLA().fit_source(ss.open_source((X, CLASSES))),
    "select rows": lambda X: ss.select((X, CLASSES), "sofs", 2),
    "select columns": lambda X: ss.select((X, CLASSES), "saola"),
    "test": lambda X: ss.select((NUMBERS, CLASSES), "sofs", 2, test=(X, CLASSES)),
    "predict": lambda X: FITTED["SOFS"].predict(X),
    "predict_proba": lambda X: FITTED["SOFS"].predict_proba(X),
    "transform": lambda X: FITTED["SOFS"].transform(X),
    "predict by columns": lambda X: FITTED["Grafting"].predict(X),
}
Y_ENTRANCES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda y: ss.SOFS(2).fit(NUMBERS, y),
    "more rows": lambda y: ss.SOFS(2).partial_fit(NUMBERS, y, classes=[0, 1]),
    "regressor": lambda y: ss.SOFSRegressor(2).fit(NUMBERS, y),
    "columns": lambda y: ss.SAOLA().fit(NUMBERS, y),
    "more columns": lambda y: ss.SAOLA().partial_fit_columns(NUMBERS, y),
    "matrix": lambda y: ss.ReliefF().fit(NUMBERS, y),
    "select": lambda y: ss.select((NUMBERS, y), "sofs", 2),
    "learner": lambda y: ss.SAOLA().start(y=y),
}
WEIGHT_ENTRANCES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda w: ss.SOFS(2).fit(NUMBERS, CLASSES, sample_weight=w),
    "more rows": (
        lambda w: ss.SOFS(2).partial_fit(NUMBERS, CLASSES, classes=[0, 1], sample_weight=w)
    ),
    "rows by name": (
        lambda w: ss.SOFS(2, max_cells=64).fit([{"a": 1.0}] * ROWS, CLASSES, sample_weight=w)
    ),
}


def numpy_objects(value: Any) -> Any:
    objects = np.empty((ROWS, 4), object)
    objects[:] = value
    return objects


MASK = "X is a masked array, and its mask would be lost; fill it first: X.filled"
UNUSABLE: dict[str, tuple[Any, str]] = {
    "masked": (np.ma.masked_array(NUMBERS, NUMBERS > 1), MASK),
    "masked, nothing hidden": (np.ma.masked_array(NUMBERS), MASK),
    "masked rows": ([np.ma.masked_array(row, row > 1) for row in NUMBERS], MASK),
    "complex": (NUMBERS + 1j, "X holds complex values"),
    "complex list": ((NUMBERS + 1j).tolist(), "X holds complex values"),
    "complex objects": (numpy_objects(np.complex128(1 + 2j)), "X holds complex values"),
    "complex big-endian": ((NUMBERS + 1j).astype(">c16"), "X holds complex values"),
    "complex sparse": (sparse.csr_array(NUMBERS + 1j), "X holds complex values"),
    "complex CSC": (sparse.csc_array(NUMBERS + 1j), "X holds complex values"),
    "complex frame": (FRAME.assign(z=1j), "column 'z' holds complex values"),
    "dates": (ALL_DAYS, "X holds dates; turn them into numbers"),
    "dates as objects": (ALL_DAYS.astype(object), "X holds dates"),
    "spans": (ALL_DAYS - ALL_DAYS[0], "X holds time spans"),
    "spans as objects": (numpy_objects(np.timedelta64(3, "s")), "X holds time spans"),
    "date in a frame": (FRAME.assign(when=DAYS), "column 'when' holds dates"),
    "date as object in a frame": (
        FRAME.assign(when=DAYS.astype(object)),
        "column 'when' holds dates",
    ),
    "dates alone in a frame": (pd.DataFrame({"when": DAYS}), "column 'when' holds dates"),
    "dates of a zone": (
        pd.DataFrame({"when": pd.Series(DAYS).dt.tz_localize("UTC")}),
        "column 'when' holds dates",
    ),
    "periods": (
        pd.DataFrame({"when": pd.period_range("2020", periods=ROWS)}),
        "column 'when' holds dates",
    ),
    "categories of dates": (
        pd.DataFrame({"when": pd.Categorical(DAYS)}),
        "column 'when' holds dates",
    ),
    "span in a frame": (FRAME.assign(took=DAYS - DAYS[0]), "column 'took' holds time spans"),
    "arrow timestamp": (
        pa.table({"a": NUMBERS[:, 0], "when": DAYS.astype("M8[s]")}),
        "column 'when' holds dates",
    ),
    "arrow date": (pa.table({"when": pa.array(DAYS)}), "column 'when' holds dates"),
    "arrow time": (
        pa.table({"at": [datetime.time(1, 2)] * ROWS}),
        "column 'at' holds times of day",
    ),
    "arrow duration": (
        pa.table({"took": (DAYS - DAYS[0]).astype("m8[s]")}),
        "column 'took' holds time spans",
    ),
    "arrow struct": (pa.table({"z": [{"re": 1.0, "im": 2.0}] * ROWS}), "column 'z' holds records"),
    "polars date": (pl.DataFrame({"a": NUMBERS[:, 0], "when": DAYS}), "column 'when' holds dates"),
    "polars duration": (
        pl.DataFrame({"took": (DAYS - DAYS[0]).astype("m8[ms]")}),
        "column 'took' holds time spans",
    ),
    "structured": (np.zeros(ROWS, [("a", "f8"), ("b", "f8")]), "X holds records"),
    "raw bytes": (np.zeros((ROWS, 4), "V8"), "X holds records"),
}


ENCODED = (  # as days, by a training
    *("date in a frame", "date as object in a frame", "dates alone in a frame", "dates of a zone"),
    *("arrow timestamp", "arrow date", "polars date"),
)
TRAININGS = (
    *("rows", "more rows", "columns", "matrix", "source of rows", "source of columns"),
    *("select rows", "select columns"),
)


@pytest.mark.parametrize(
    ("entrance", "case"),
    [
        pair
        for pair in product(X_ENTRANCES, UNUSABLE)
        if pair[0] not in TRAININGS or pair[1] not in ENCODED
    ],
)
def test_what_would_lose_something_is_refused_by_name(entrance: str, case: str) -> None:
    values, message = UNUSABLE[case]
    with pytest.raises(ss.DataError, match=re.escape(message)):
        X_ENTRANCES[entrance](values)


@pytest.mark.parametrize("entrance", Y_ENTRANCES)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ma.masked_array(CLASSES, CLASSES > 5), "y is a masked array"),
        (CLASSES + 1j, "y holds complex values"),
        (np.array([np.complex128(k) for k in CLASSES], object), "y holds complex values"),
        (DAYS, "y holds dates"),
        (pd.Series(DAYS), "y holds dates"),
        (pl.Series(DAYS), "y holds dates"),
        (pa.array(DAYS), "y holds dates"),
        (pa.chunked_array([pa.array(DAYS.astype("M8[s]"))]), "y holds dates"),
        (DAYS - DAYS[0], "y holds time spans"),
        (np.zeros(ROWS, [("a", "i4"), ("b", "i4")]), "y holds records"),
    ],
)
def test_labels_that_would_lose_something_are_refused(entrance: str, y: Any, message: str) -> None:
    with pytest.raises(ss.DataError, match=message):
        Y_ENTRANCES[entrance](y)


@pytest.mark.parametrize("entrance", WEIGHT_ENTRANCES)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ma.masked_array(np.ones(ROWS), CLASSES > 0), r"fill it first: sample_weight\.filled"),
        (np.ones(ROWS) + 1j, "sample_weight holds complex values"),
        (DAYS - DAYS[0], "sample_weight holds time spans"),
    ],
)
def test_weights_that_would_lose_something_are_refused(
    entrance: str, weights: Any, message: str
) -> None:
    with pytest.raises(ss.DataError, match=message):
        WEIGHT_ENTRANCES[entrance](weights)


@pytest.mark.parametrize("entrance", [name for name in Y_ENTRANCES if name != "regressor"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [10**29 if k else 1 for k in CLASSES],
            "row .*has more than 64 bits; give such labels as text",
        ),
        (
            np.array([1 if k else "a" for k in CLASSES], object),
            "labels are all text or all numbers",
        ),
        (np.array([{} for _ in CLASSES], object), "row 1: the label .* is of type dict"),
        (
            np.array([bool(k) if k else "no" for k in CLASSES], object),
            "labels are all text or all numbers",
        ),
    ],
)
def test_labels_that_no_model_could_hold_are_refused(
    entrance: str, labels: Any, message: str
) -> None:
    with pytest.raises(ss.DataError, match=message):
        Y_ENTRANCES[entrance](labels)


@pytest.mark.parametrize("kind", [">i8", ">f4", "f2", "g", "u1", object])
def test_labels_of_any_type_of_number_are_saved_and_loaded(tmp_path: Path, kind: Any) -> None:
    model = ss.SOFS(2).fit(NUMBERS, CLASSES.astype(kind))
    model.save(tmp_path / "model")
    assert ss.load(tmp_path / "model").classes_.tolist() == [0, 1]


def test_decimal_labels_are_numbers(tmp_path: Path) -> None:
    model = ss.SOFS(2).fit(NUMBERS, pa.array([decimal.Decimal(int(k)) for k in CLASSES]))
    model.save(tmp_path / "model")
    assert ss.load(tmp_path / "model").predict(NUMBERS[:1]).dtype == np.float64


# Numbers of other types and forms simply work


@pytest.mark.parametrize("kind", [">f8", ">f4", "g", ">i4", "f2"])
@pytest.mark.parametrize("entrance", [name for name in X_ENTRANCES if name != "test"])
def test_numbers_of_any_type_are_taken(kind: str, entrance: str) -> None:
    X = np.round(100 * NUMBERS).astype(kind)
    expected, actual = (X_ENTRANCES[entrance](matrix) for matrix in (X.astype(np.float64), X))
    if isinstance(actual, np.ndarray):
        np.testing.assert_array_equal(expected, actual)
    else:
        chosen = [getattr(result, "selection", result) for result in (expected, actual)]
        ids = [(result() if callable(result) else result).indices.tolist() for result in chosen]
        assert ids[0] == ids[1]


def test_decimals_and_fractions_are_numbers() -> None:
    exact = [[decimal.Decimal(f"{value:.3f}") for value in row] for row in NUMBERS]
    model = ss.SOFS(2).fit(np.array(exact, object), CLASSES)
    assert (
        model.get_support(indices=True).tolist()
        == FITTED["SOFS"].get_support(indices=True).tolist()
    )


@pytest.mark.parametrize(
    "entrance", [name for name in X_ENTRANCES if name not in ("transform", "predict by columns")]
)
def test_integers_too_large_for_a_number_are_refused(entrance: str) -> None:
    with pytest.raises(ss.DataError, match=r"too large for a number|does not hold numbers"):
        X_ENTRANCES[entrance](numpy_objects(10**400))


@pytest.mark.parametrize("entrance", ["rows", "more rows", "select rows", "predict", "test"])
def test_value_beyond_float32_is_named_with_row_and_feature(entrance: str) -> None:
    X = NUMBERS.copy()
    X[7, 2] = 1e300
    with pytest.raises(
        ss.DataError, match="row 8: the value of feature 2 is infinite, or too large for float32"
    ):
        X_ENTRANCES[entrance](X)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_values_below_the_smallest_float32_are_zeros(make: Callable[[Any], Any]) -> None:
    X = NUMBERS.copy()
    X[:, 0] *= 5e-324
    model = ss.SOFS(4).fit(make(X), CLASSES)
    assert 0 not in model.get_support(indices=True)


@pytest.mark.parametrize("entrance", [name for name in X_ENTRANCES if name != "more columns"])
@pytest.mark.parametrize(
    "X", [NUMBERS[:0], NUMBERS[:, :0], NUMBERS.reshape(ROWS, 2, 2), NUMBERS[:, 0]]
)
def test_arrays_without_rows_or_columns_or_of_other_dimensions_are_refused(
    entrance: str, X: Any
) -> None:
    with pytest.raises(ValueError):  # scikit-learn's, or ours, which is one
        X_ENTRANCES[entrance](X)


# Sparse matrices


def broken(form: str, fault: str) -> Any:
    matrix = sparse.csr_array(NUMBERS).asformat(form)
    if form == "coo":
        matrix.coords[1][3] = -1 if fault == "negative" else 4
    elif fault == "negative":
        matrix.indices[3] = -1
    elif fault == "beyond":
        matrix.indices[3] = 2**31 - 1
    elif fault == "falling":
        matrix.indptr[2] = matrix.indptr[-1]
    elif fault == "long":
        matrix.indptr[-1] += 1000
    elif fault == "first":
        matrix.indptr[0] = -4
    return matrix


BROKEN = [
    *(
        (form, what)
        for form in ("csr", "csc", "bsr")
        for what in ("negative", "beyond", "falling", "long", "first")
    ),
    *(("coo", what) for what in ("negative", "beyond")),
]


@pytest.mark.parametrize("entrance", X_ENTRANCES)
@pytest.mark.parametrize(("form", "fault"), BROKEN)
def test_sparse_matrix_that_points_out_of_itself_is_refused(
    entrance: str, form: str, fault: str
) -> None:
    with pytest.raises(ss.DataError, match=r"X is a damaged sparse matrix: .*; build it again"):
        X_ENTRANCES[entrance](broken(form, fault))


@pytest.mark.parametrize("entrance", X_ENTRANCES)
def test_lil_matrix_with_wrong_indices_is_refused(entrance: str) -> None:
    matrix = sparse.lil_array(NUMBERS)
    matrix.rows[3][0] = 17
    with pytest.raises(ss.DataError, match="X is a damaged sparse matrix"):
        X_ENTRANCES[entrance](matrix)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    "entrance", ["rows", "more rows", "columns", "more columns", "select rows", "select columns"]
)
def test_ids_are_put_in_order_whatever_the_matrix_says_of_itself(form: str, entrance: str) -> None:
    X = NUMBERS * (np.arange(4) < 3) + NUMBERS * (np.arange(4) == 3) * 2
    wrong = sparse.csr_array(X).asformat(form)
    assert wrong.has_canonical_format  # SciPy remembers the answer from here on
    ends = wrong.indptr[:2]
    wrong.indices[ends[0] : ends[1]] = wrong.indices[ends[0] : ends[1]][::-1].copy()
    wrong.data[ends[0] : ends[1]] = wrong.data[ends[0] : ends[1]][::-1].copy()
    expected, actual = (X_ENTRANCES[entrance](matrix) for matrix in (X, wrong))
    chosen = [getattr(result, "selection", result) for result in (expected, actual)]
    scores = [(result() if callable(result) else result).scores for result in chosen]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-6)


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.uint64, np.int16, ">i4"])
def test_indices_of_any_type_of_integer_are_taken(kind: Any) -> None:
    matrix = sparse.csr_array(NUMBERS)
    matrix.indices, matrix.indptr = matrix.indices.astype(kind), matrix.indptr.astype(kind)
    record = ss.select((matrix, CLASSES), "sofs", 2)
    assert record.selection.indices.tolist() == FITTED["SOFS"].get_support(indices=True).tolist()


# Blocks


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 2], [0, -1], [1.0, 2.0]), "an index is negative or beyond its shape"),
        (([0, 2], [0, 9], [1.0, 2.0]), "an index is negative or beyond its shape"),
        (([0, 2], [1, 0], [1.0, 2.0]), "do not ascend, or appear twice"),
        (([0, 2], [1, 1], [1.0, 2.0]), "do not ascend, or appear twice"),
        (([0, 2, 1], [0, 1], [1.0, 2.0]), "does not ascend from 0"),
        (([-1, 2], [0, 1], [1.0, 2.0]), "does not ascend from 0"),
        (([0, 3], [0, 1], [1.0, 2.0]), "do not fit one another"),
        (([0, 2], [0, 1], [1.0]), "do not fit one another"),
        (([0, 2], [0, 1], ["1", "2"]), "do not fit one another"),
        (([0, 2], [0.0, 1.5], [1.0, 2.0]), "not lists of integers"),
        (([0, 2], [0, 1], [1 + 1j, 2.0]), "values holds complex values"),
        (([0, 2], [0, 1], np.ma.masked_array([1.0, 2.0], [0, 1])), "values is a masked array"),
        (([0, 1], [2**32], [1.0]), "an index is negative or beyond its shape"),
    ],
)
@pytest.mark.parametrize("by", ["rows", "columns"])
def test_block_that_kernels_could_not_believe_is_refused(
    arrays: Any, message: str, by: str
) -> None:
    indptr, indices, values = (np.asanyarray(array) for array in arrays)
    ids = None if by == "rows" else np.arange(indptr.size - 1)
    with pytest.raises(ss.DataError, match=message):
        (ss.RowBlock if by == "rows" else ss.ColumnBlock)(indptr, indices, values, ids, 4)


def test_block_of_other_types_is_converted() -> None:
    block = ss.RowBlock(
        np.array([0, 2], np.uint8), np.array([0, 1], np.uint32), np.array([1, 2]), np.array([1]), 4
    )
    assert (block.indptr.dtype, block.indices.dtype, block.values.dtype) == (
        np.int64,
        np.int64,
        np.float32,
    )


def test_labels_of_blocks_are_looked_at() -> None:
    entries = np.array([0, 1]), np.array([0]), np.array([1.0], np.float32)
    with pytest.raises(ss.DataError, match="y holds dates"):
        ss.RowBlock(*entries, DAYS[:1], 4)
    block = ss.ColumnBlock(*entries, np.array([0]), ROWS)
    with pytest.raises(ss.DataError, match="y holds dates"):
        ss.SAOLA().fit_source(ColumnBlockSource([block], DAYS))
    with pytest.raises(ss.DataError, match="classes holds dates"):
        ss.SOFS(2).fit_source(
            BlockSource([ss.RowBlock(*entries, np.array([1]), 4)]), classes=DAYS[:2]
        )


# Files


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([datetime.time(1, 2)] * ROWS), "column 'when' holds times of day"),
        (pa.array((DAYS - DAYS[0]).astype("m8[s]")), "column 'when' holds time spans"),
        (pa.array([{"re": 1.0}] * ROWS), "column 'when' holds records"),
    ],
)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("method", ["sofs", "saola"])
def test_times_and_spans_in_files_are_refused_with_their_column(
    tmp_path: Path, column: Any, message: str, suffix: str, method: str
) -> None:
    path = write(tmp_path / f"table{suffix}", {"a": NUMBERS[:, 0], "when": column, "y": CLASSES})
    with pytest.raises(ss.DataError, match=f"^{re.escape(str(path))}: {message}"):
        ss.select(path, method, target="y")
    with pytest.raises(
        ss.DataError, match=f"^{re.escape(str(path))}: the target {message.removeprefix('column ')}"
    ):
        ss.select(path, method, target="when")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_labels_of_files_are_what_a_model_can_hold(tmp_path: Path, suffix: str) -> None:
    columns = {
        "decimals": pa.array([decimal.Decimal(int(k)) for k in CLASSES]),
        "bytes": pa.array([b"yes" if k else b"no" for k in CLASSES]),
    }
    for name, column in columns.items():
        path = write(tmp_path / f"{name}{suffix}", {"a": NUMBERS[:, 1], "y": column})
        record = ss.select(path, "sofs", 1, target="y", output=tmp_path / f"run-{name}")
        selector = record.selector
        assert selector is not None
        assert selector.classes_.tolist() == ([0.0, 1.0] if name == "decimals" else ["no", "yes"])
        assert (
            ss.load(tmp_path / f"run-{name}" / "model").classes_.tolist()
            == selector.classes_.tolist()
        )


def write(path: Path, columns: dict[str, Any]) -> Path:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    return path


@pytest.mark.parametrize(
    "data", [NUMBERS + 1j, DAYS[:, None].repeat(4, 1).astype("i8").astype("m8[s]")]
)
def test_npz_of_complex_values_or_spans_is_refused(tmp_path: Path, data: Any) -> None:
    matrix = sparse.csr_array(NUMBERS)
    parts = {"indptr": matrix.indptr, "indices": matrix.indices, "data": data.ravel()[: matrix.nnz]}
    np.savez(tmp_path / "rows.npz", format=b"csr", shape=matrix.shape, y=CLASSES, **parts)
    with pytest.raises(ss.DataError, match=r"rows\.npz"):
        ss.select(tmp_path / "rows.npz", "sofs", 2)
