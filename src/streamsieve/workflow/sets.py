"""The data of a comparison: which sets there are, what they are called, all of each in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, canonical
from ..errors import DataError, UsageError, prefix, spell
from ..evaluation.cells import DataSet, Rows
from ..evaluation.quality import refuse_rare
from ..sources import open_with
from ..sources.base import DataSource, Source, refuse_weight
from ..sources.finding import MAGIC, is_names, is_no_file
from ..sources.formats import COMPRESSIONS
from ..sources.options import ReadOptions
from ..sources.transpose import ROWS_READ, Room, whole_matrix
from ..targets import BOTH, Kind, has_fractions, kind_of, labels_like, show
from ..values import is_sparse
from .feature_matching import open_test_rows

NEEDS_ALL = "and a comparison learns from all of it many times; take fewer rows or features"


class Opened(NamedTuple):
    """A set that can be read, and the rows to test on."""

    name: str
    train: DataSource
    test: Source | None


def open_sets(data: Any, test: Any, options: ReadOptions) -> list[Opened]:
    """Every set opened, so that a wrong name costs no time."""
    if options.missing == "skip":
        raise UsageError(
            "a comparison needs every value, for the models; fill in missing ones:"
            f" {fill_options()}"
        )
    refuse_weight(options.weight, "a comparison gives all rows the same weight")
    sets = named_sets(data)
    tests = tests_of(test, list(sets))
    opened = []
    for name, one in sets.items():
        source = open_with(one, options)
        if not source.has_labels:
            raise DataError(
                f"{prefix(source.name)}the rows have no labels; name the column to predict:"
                f" {spell('target', 'NAME')}"
            )
        opened.append(
            Opened(
                name,
                source,
                None if tests is None else open_test_rows(tests[name], source, options),
            )
        )
    return opened


def named_sets(data: Any) -> dict[str, Any]:
    """Sets by name: those of a dictionary, a list of several or one alone."""
    several = list(data.values()) if isinstance(data, Mapping) else as_several(data)
    names = list(map(clean, data)) if isinstance(data, Mapping) else names_of(several)
    if len(set(names)) < len(names):
        raise UsageError("two data sets have the same name; rename one")
    if not names:
        raise UsageError("there is no data; give one set, or a list or dictionary of several")
    return dict(zip(names, several, strict=True))


def as_several(data: Any) -> list[Any]:
    """Return data sets as a list; a pair ``(X, y)`` is one."""
    is_several = isinstance(data, list) or (isinstance(data, tuple) and is_names(data))
    return list(data) if is_several else [data]


def tests_of(test: Any, names: Sequence[str]) -> dict[str, Any] | None:
    """The rows to test on for every set, in the same form as the sets."""
    if test is None:
        return None
    if isinstance(test, Mapping):
        tests = {clean(name): one for name, one in test.items()}
        if tests.keys() != set(names):
            raise UsageError(
                "the rows to test on must have the names of the data sets, all of them and no"
                " others"
            )
        return tests
    several = as_several(test)
    if len(several) != len(names):
        raise UsageError(
            f"{len(names)} data sets and {len(several)} to test on: give one for each, in the same"
            " order, or none"
        )
    return dict(zip(names, several, strict=True))


def names_of(several: Sequence[Any]) -> list[str]:
    """What to call sets: files by their names without suffixes or, if two were the same, by their paths."""
    names = [short_name(one, number, len(several)) for number, one in enumerate(several, 1)]
    if len(set(names)) < len(names):
        names = [
            clean(one) if isinstance(one, str | Path) else f"data {n}"
            for n, one in enumerate(several, 1)
        ]
    if len(set(names)) < len(names):
        raise UsageError("two data sets are the same; name each once")
    return names


def short_name(data: Any, number: int, count: int) -> str:
    if isinstance(data, str | Path):
        text, path = str(data), Path(data)
        if is_no_file(text) or (MAGIC.search(text) and not path.exists()) or path.is_dir():
            return clean(path.name if path.is_dir() else text)
        name = Path(path.name)
        return clean(Path(name.stem).stem if name.suffix.lower() in COMPRESSIONS else name.stem)
    if isinstance(data, DataSource):
        return clean(data.name)
    return "data" if count == 1 else f"data {number}"


def clean(name: Any) -> str:
    """A name that every file can hold: bytes of a file name that are not text as escapes."""
    return str(name).encode("utf-8", "backslashreplace").decode("utf-8") or "data"


# ---- into memory


def load(opened: Opened, task: str, kinds: Sequence[frozenset[Kind]], folds: int | None) -> DataSet:
    """All of a set; ``kinds`` are what each of the methods can learn."""
    rows, test = rows_of(opened.train), None
    kind = target_kind(rows.y, task, kinds, opened.train.name)
    rows = rows._replace(y=as_target(rows.y, kind))
    if opened.test is not None:
        tested = rows_of(opened.test)
        labels = labels_like(
            None if kind == "numbers" else np.unique(rows.y), tested.y, opened.test.name
        )
        assert labels is not None, "rows to test on have labels"
        test = Rows(as_wide(tested.X, rows.X.shape[1]), as_target(labels, kind))
    elif folds is not None:
        refuse_few(rows.y, kind, folds, opened.train.name)
    encoding = opened.train.encoding
    groups = encoding.groups if encoding is not None and encoding.has_groups else None
    return DataSet(opened.name, kind, rows, test, groups)


def rows_of(source: DataSource) -> Rows:
    """All rows of a source, as dense or sparse as it has them: methods for rows scale these in different ways."""
    if isinstance(source, Source):
        room = Room(source, None, ROWS_READ, NEEDS_ALL)
        blocks = []
        for block in source.row_blocks():  # which refuses values that are missing
            if source.matrix is None:
                room.take(block.n_rows, block.n_bytes)
                blocks.append(block)
        if source.matrix is None:
            return joined(blocks, source)
    whole = whole_matrix(source)
    X: Any = (
        canonical(whole.values.tocsr())
        if is_sparse(whole.values)
        else np.ascontiguousarray(whole.values)
    )
    if whole.ids is not None:
        X = under_ids(X, whole.ids, whole.n_features)
    elif is_sparse(X):
        X = csr_of(X.data, X.indices, X.indptr, X.shape)
    if not np.isfinite(X.data if is_sparse(X) else X).all():
        raise DataError(
            f"{prefix(source.name)}some values are missing or infinite; fill them in:"
            f" {fill_options()}"
        )
    return Rows(X, whole.y)


def joined(blocks: list[RowBlock], source: Source) -> Rows:
    """Blocks of rows as one matrix."""
    labels = [block.y for block in blocks if block.y is not None]
    if not labels:
        raise DataError(f"{prefix(source.name)}holds no rows")
    y = np.concatenate(labels)
    y = y.astype(str) if y.dtype == object else y
    width = max(source.n_features or 0, *(block.n_features for block in blocks))
    if all(block.dense for block in blocks):
        return Rows(
            np.concatenate(
                [block.derived(n_features=width).to_dense(np.float32) for block in blocks]
            ),
            y,
        )
    values = np.concatenate([block.values[block.indptr[0] : block.indptr[-1]] for block in blocks])
    indices = np.concatenate(
        [block.indices[block.indptr[0] : block.indptr[-1]] for block in blocks]
    )
    counts = np.concatenate([np.diff(block.indptr) for block in blocks])
    return Rows(
        csr_of(values, indices, np.concatenate([[0], np.cumsum(counts)]), (y.size, width)), y
    )


def under_ids(X: Any, ids: NDArray[np.int64], width: int) -> Any:
    """A matrix of some of the features as wide as all of them."""
    from scipy.sparse import csr_array

    X = csr_array(X)
    return csr_of(X.data, ids[X.indices], X.indptr, (X.shape[0], width))


def csr_of(
    values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> Any:
    """A CSR matrix with short indices where they are enough: many models of scikit-learn take no others."""
    from scipy.sparse import csr_array

    kind = np.int32 if max(values.size, *shape) <= np.iinfo(np.int32).max else np.int64
    return csr_array(
        (values, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)), shape=shape
    )


def as_wide(X: Any, width: int) -> Any:
    """Rows to test on with all features of the training, and others that they may have: those lengthen a row."""
    if X.shape[1] >= width:
        return X
    if not is_sparse(X):
        return np.pad(X, ((0, 0), (0, width - X.shape[1])))
    return under_ids(X, np.arange(X.shape[1]), width)


def target_kind(y: NDArray[Any], task: str, kinds: Sequence[frozenset[Kind]], origin: str) -> Kind:
    """What is to be learned: what the user says or, if nobody does, what the target looks like.

    Integers are classes, unless there is no method among those asked for that learns classes.
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
    return y.astype(np.float64) if kind == "numbers" else y


def fill_options() -> str:
    """Return the ways to fill in missing values, for a message."""
    return f"{spell('missing', 'zero')} or {spell('missing', 'mean')}"


def refuse_few(y: NDArray[Any], kind: Kind, folds: int, origin: str) -> None:
    """Refuse data with too few rows for the folds."""
    if y.size < 2 * folds:
        raise DataError(
            f"{prefix(origin)}{y.size:,} rows are too few for {folds} folds; take fewer folds, or"
            f" {spell('test')}"
        )
    if kind == "classes":
        try:
            refuse_rare(y, folds)
        except DataError as error:
            raise DataError(f"{prefix(origin)}{error}, or {spell('test')}") from None
