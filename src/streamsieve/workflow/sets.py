"""Open, name and load the data sets of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, canonical
from ..errors import DataError, UsageError, prefix, spell
from ..evaluation.cells import DataSet, Rows
from ..evaluation.quality import check_class_counts
from ..sources import open_with_options
from ..sources.base import DataSource, Source, check_no_weight
from ..sources.finding import WILDCARDS, is_names, is_special_name
from ..sources.formats import COMPRESSIONS
from ..sources.options import ReadOptions
from ..sources.transpose import ROWS_READ, MemoryBudget, labels_of_blocks, whole_matrix
from ..targets import BOTH, Kind, has_fractions, kind_of, labels_like, show
from ..values import is_sparse
from .feature_matching import open_test_rows

NEEDS_ALL = "and a comparison learns from all of it many times; take fewer rows or features"


class OpenSet(NamedTuple):
    """A data set that can be read, and its test rows."""

    name: str
    train: DataSource
    test: Source | None


def open_sets(data: Any, test: Any, options: ReadOptions) -> list[OpenSet]:
    """Open every data set, so that a wrong name is found at once."""
    if options.missing == "skip":
        raise UsageError(
            "the models of a comparison do not support missing values; fill them in:"
            f" {fill_options()}"
        )
    check_no_weight(options.weight, "a comparison gives all rows the same weight")
    sets = name_sets(data)
    tests = tests_of(test, list(sets))
    opened = []
    for name, data_set in sets.items():
        source = open_with_options(data_set, options)
        if not source.has_labels:
            raise DataError(
                f"{prefix(source.name)}the rows have no labels; name the column to predict:"
                f" {spell('target', 'NAME')}"
            )
        opened.append(
            OpenSet(
                name,
                source,
                None if tests is None else open_test_rows(tests[name], source, options),
            )
        )
    return opened


def name_sets(data: Any) -> dict[str, Any]:
    """Return data sets by name: of a dictionary, a list of several, or a single one."""
    data_sets = list(data.values()) if isinstance(data, Mapping) else list_sets(data)
    names = list(map(clean_name, data)) if isinstance(data, Mapping) else names_of(data_sets)
    if len(set(names)) < len(names):
        raise UsageError("two data sets are the same, or have the same name; name each once")
    if not names:
        raise UsageError("no data is given; give one data set, or a list or dictionary of several")
    return dict(zip(names, data_sets, strict=True))


def list_sets(data: Any) -> list[Any]:
    """Return data sets as a list; a pair ``(X, y)`` is one data set."""
    is_several = isinstance(data, list) or (isinstance(data, tuple) and is_names(data))
    return list(data) if is_several else [data]


def tests_of(test: Any, names: Sequence[str]) -> dict[str, Any] | None:
    """Return the test rows of every data set, given in the same form as the data sets."""
    if test is None:
        return None
    if isinstance(test, Mapping):
        tests = {clean_name(name): rows for name, rows in test.items()}
        if tests.keys() != set(names):
            raise UsageError(
                "the rows to test on must have the names of the data sets, all of them and no"
                " others"
            )
        return tests
    test_sets = list_sets(test)
    if len(test_sets) != len(names):
        raise UsageError(
            f"{len(names)} data sets and {len(test_sets)} to test on: give one for each, in the"
            " same order, or none"
        )
    return dict(zip(names, test_sets, strict=True))


def names_of(data_sets: Sequence[Any]) -> list[str]:
    """Return the names of data sets.

    The name of a file is its file name without suffixes or, if two would be equal, its path.
    """
    names = [
        short_name(data_set, number, len(data_sets)) for number, data_set in enumerate(data_sets, 1)
    ]
    if len(set(names)) == len(names):
        return names
    return [
        clean_name(data_set) if isinstance(data_set, str | Path) else f"data {n}"
        for n, data_set in enumerate(data_sets, 1)
    ]


def short_name(data: Any, number: int, count: int) -> str:
    """Return the name of a data set: its file name without suffixes, or its number."""
    if isinstance(data, str | Path):
        text, path = str(data), Path(data)
        if is_special_name(text) or (WILDCARDS.search(text) and not path.exists()) or path.is_dir():
            return clean_name(path.name if path.is_dir() else text)
        name = Path(path.name)
        return clean_name(
            Path(name.stem).stem if name.suffix.lower() in COMPRESSIONS else name.stem
        )
    if isinstance(data, DataSource):
        return clean_name(data.name)
    return "data" if count == 1 else f"data {number}"


def clean_name(name: Any) -> str:
    """Return a name that every file can hold; bytes that are not text become escapes."""
    return str(name).encode("utf-8", "backslashreplace").decode("utf-8") or "data"


# ---- load data sets into memory


def load(
    opened: OpenSet, task: str, kinds: Sequence[frozenset[Kind]], folds: int | None
) -> DataSet:
    """Load a data set into memory; ``kinds`` are the targets that each method can learn."""
    rows, test = rows_of(opened.train), None
    kind = target_kind(rows.y, task, kinds, opened.train.name)
    rows = rows._replace(y=as_target(rows.y, kind))
    if opened.test is not None:
        test_rows = rows_of(opened.test)
        labels = labels_like(
            None if kind == "numbers" else np.unique(rows.y), test_rows.y, opened.test.name
        )
        assert labels is not None, "rows to test on have labels"
        test = Rows(set_width(test_rows.X, rows.X.shape[1]), as_target(labels, kind))
    elif folds is not None:
        refuse_few_rows(rows.y, kind, folds, opened.train.name)
    encoding = opened.train.encoding
    groups = encoding.groups if encoding is not None and encoding.has_groups else None
    return DataSet(opened.name, kind, rows, test, groups)


def rows_of(source: DataSource) -> Rows:
    """Return all rows of a source, dense or sparse as the source has them.

    Methods for rows scale dense and sparse rows in different ways.
    """
    if isinstance(source, Source):
        room = MemoryBudget(source, None, ROWS_READ, NEEDS_ALL)
        blocks = []
        for block in source.row_blocks():  # raises an error if values are missing
            if source.matrix is None:
                room.take(block.n_rows, block.n_bytes)
                blocks.append(block)
        if source.matrix is None:
            return join_blocks(blocks, source)
    matrix = whole_matrix(source)
    X: Any = (
        canonical(matrix.values.tocsr())
        if is_sparse(matrix.values)
        else np.ascontiguousarray(matrix.values)
    )
    if matrix.ids is not None:
        X = spread_columns(X, matrix.ids, matrix.n_features)
    elif is_sparse(X):
        X = csr_of(X.data, X.indices, X.indptr, X.shape)
    if not np.isfinite(X.data if is_sparse(X) else X).all():
        raise DataError(
            f"{prefix(source.name)}some values are missing or infinite; fill them in:"
            f" {fill_options()}"
        )
    return Rows(X, matrix.y)


def join_blocks(blocks: list[RowBlock], source: Source) -> Rows:
    """Return blocks of rows as one matrix."""
    y = labels_of_blocks(source, [block.y for block in blocks])
    width = max(source.n_features or 0, *(block.n_features for block in blocks))
    if all(block.dense for block in blocks):
        wide = (block.derived(n_features=width).to_dense(np.float32) for block in blocks)
        return Rows(np.concatenate(list(wide)), y)
    rows = RowBlock.joined(blocks)
    return Rows(csr_of(rows.values, rows.indices, rows.indptr, (y.size, width)), y)


def spread_columns(X: Any, ids: NDArray[np.int64], width: int) -> Any:
    """Return a matrix of some features widened to ``width``, with columns at their ids."""
    from scipy.sparse import csr_array

    X = csr_array(X)
    return csr_of(X.data, ids[X.indices], X.indptr, (X.shape[0], width))


def csr_of(
    values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> Any:
    """Return a CSR matrix, with 32-bit indices where they suffice.

    Many models of scikit-learn accept no others.
    """
    from scipy.sparse import csr_array

    kind = np.int32 if max(values.size, *shape) <= np.iinfo(np.int32).max else np.int64
    return csr_array(
        (values, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)), shape=shape
    )


def set_width(X: Any, width: int) -> Any:
    """Return test rows with at least ``width`` features.

    Features beyond those of the training are kept: they count for the length of a row.
    """
    if X.shape[1] >= width:
        return X
    if not is_sparse(X):
        return np.pad(X, ((0, 0), (0, width - X.shape[1])))
    return spread_columns(X, np.arange(X.shape[1]), width)


def target_kind(y: NDArray[Any], task: str, kinds: Sequence[frozenset[Kind]], origin: str) -> Kind:
    """Return what is to be learned: as the user says, or as the target looks like.

    Integers are classes, unless none of the methods learns classes.
    """
    values = np.unique(y)
    if values.size < 2:
        raise DataError(
            f"{prefix(origin)}the target is {show(values[0])} in all rows; nothing can depend on it"
        )
    if task != "auto":
        return kind_of(y, values, task, BOTH, origin)
    only_numbers = (
        bool(kinds) and not any("classes" in kind for kind in kinds) and y.dtype.kind in "biuf"
    )
    return "numbers" if only_numbers or has_fractions(values) else "classes"


def as_target(y: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """Return the target as floats if it holds numbers."""
    return y.astype(np.float64) if kind == "numbers" else y


def fill_options() -> str:
    """Return the ways to fill in missing values, for a message."""
    return f"{spell('missing', 'zero')} or {spell('missing', 'mean')}"


def refuse_few_rows(y: NDArray[Any], kind: Kind, folds: int, origin: str) -> None:
    """Raise DataError if there are too few rows for the folds."""
    if y.size < 2 * folds:
        raise DataError(
            f"{prefix(origin)}{y.size:,} rows are too few for {folds} folds; take fewer folds, or"
            f" {spell('test')}"
        )
    if kind == "classes":
        try:
            check_class_counts(y, folds)
        except DataError as error:
            raise DataError(f"{prefix(origin)}{error}, or {spell('test')}") from None
