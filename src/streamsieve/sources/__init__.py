"""Files and arrays to sources of blocks; their contracts are in ``base``, the formats of files in ``formats``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ..errors import UsageError
from .finding import SYNTHETIC, Names, alone, files_of, is_names, name_of
from .formats import Options, format_of, function, table_files

if TYPE_CHECKING:
    from .base import ColumnSource, DataSource, Source

    Data = Names | DataSource | tuple[Any, Any]

__all__ = ["open_like", "open_source", "refuse_target"]


@overload
def open_source(
    data: Names | Source | tuple[Any, Any],
    target: str | None = None,
    zero_based: bool = False,
    columns: list[str] | None = None,
) -> Source: ...


@overload
def open_source(
    data: ColumnSource, target: str | None = None, zero_based: bool = False, columns: list[str] | None = None
) -> ColumnSource: ...


def open_source(
    data: Data, target: str | None = None, zero_based: bool = False, columns: list[str] | None = None
) -> DataSource:
    """The source for a file, by its suffix, or for several files that are read one after the other.

    .csv .tsv .tab are tables with a header line, .parquet (also .pq) and .arrow (also .feather, .ipc) tables, sparse
    rows or columns; for tables ``target`` names the column to predict and ``columns`` the features to read (default:
    all others). .npz is a sparse matrix as SciPy saves it, with labels ``y``; every other name is svmlight text, its
    ids counted from 1 unless ``zero_based``. Text may be compressed: .gz .bz2 .xz .zst. ``synthetic:x1`` makes rows of
    a synthetic set, ``-`` is standard input. A pair ``(X, y)`` of arrays, and what is a source already, are taken as
    they are.

    Several files, all of them sparse rows or all tables of the same columns, are a list of paths, a folder (and the
    folders in it) or a pattern such as ``"part-*.svm.gz"``, the last two in natural order: part-2 before part-10.
    """
    source = open_like(data, target, zero_based, columns)
    if target is not None and is_names(data):
        refuse_target(source)
    return source


def open_like(data: Data, target: str | None, zero_based: bool, columns: list[str] | None) -> DataSource:
    """As ``open_source``, for data like some other data: a ``target`` that only tables have is not a mistake."""
    from .base import DataSource

    if is_names(data):
        return _open_named(data, target, zero_based, columns)
    if isinstance(data, tuple):
        from .arrays import ArraySource

        return ArraySource(*data)
    if not isinstance(data, DataSource):
        raise UsageError(
            f"cannot read from {type(data).__name__}; give a path, a source or a pair (X, y); BlockSource and "
            "ColumnBlockSource make sources of blocks"
        )
    return data


def refuse_target(source: DataSource) -> None:
    """Refuse a target column for rows that come with their labels."""
    if not source.takes_target:
        raise UsageError(
            f"{source.name}: a target column is for tables ({table_files()}); here labels come with the rows"
        )


def _open_named(names: Names, target: str | None, zero_based: bool, columns: list[str] | None) -> DataSource:
    names = alone(names)
    if str(names).startswith(SYNTHETIC):
        from .synthetic import open_synthetic

        return open_synthetic(str(names))

    def open_file(path: Path, features: list[str] | None) -> DataSource:
        return _open_file(path, Options(target, features, zero_based))

    files = files_of(names)
    if len(files) == 1:
        return open_file(files[0], columns)
    from .many import open_many

    return open_many(name_of(names, files), files, open_file, columns)


def _open_file(path: Path, options: Options) -> DataSource:
    known, compression = format_of(path)
    named = known.open_rows or known.open_columns
    if named is None:
        raise UsageError(f"{path}: {known.name} is not read")
    source: DataSource = function(named)(path, options._replace(compression=compression))
    return source
