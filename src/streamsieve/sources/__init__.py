"""Files and arrays to blocks of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, overload

from ..errors import UsageError
from .base import BlockSource, ColumnBlockSource, ColumnSource, DataSource, Source
from .streams import split_suffix

TABLE_SUFFIXES = (".csv", ".tsv", ".tab")
PARQUET_SUFFIXES = (".parquet", ".pq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")

__all__ = [
    "BlockSource",
    "ColumnBlockSource",
    "ColumnSource",
    "DataSource",
    "Source",
    "open_like",
    "open_source",
    "refuse_target",
]

Data = str | Path | DataSource | tuple[Any, Any]


@overload
def open_source(
    data: str | Path | Source | tuple[Any, Any],
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
    """The source for a file, by its suffix.

    .csv .tsv .tab are tables with a header line, .parquet and .arrow (also .feather, .ipc) tables or sparse rows; for
    tables ``target`` names the column to predict and ``columns`` the features to read (default: all others). .npz is a
    sparse matrix as SciPy saves it, with labels ``y``; every other name is svmlight text, its ids counted from 1 unless
    ``zero_based``. Text may be packed: .gz .bz2 .xz .zst. ``synthetic:x1`` makes rows of P1's synthetic data, ``-`` is
    standard input. A pair ``(X, y)`` of arrays, and what is a source already, are taken as they are.
    """
    source = open_like(data, target, zero_based, columns)
    if target is not None and isinstance(data, str | Path):
        refuse_target(source)
    return source


def open_like(data: Data, target: str | None, zero_based: bool, columns: list[str] | None) -> DataSource:
    """As ``open_source``, for data like some other data: a ``target`` that only tables have is no mistake."""
    if isinstance(data, tuple):
        from .arrays import ArraySource

        return ArraySource(*data)
    if isinstance(data, str | Path):
        return _open_named(data, target, zero_based, columns)
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
            f"{source.name}: a target column is for tables (.csv .tsv .parquet .arrow); here labels come with the rows"
        )


def _open_named(data: str | Path, target: str | None, zero_based: bool, columns: list[str] | None) -> Source:
    name = str(data)
    if name.startswith("synthetic:"):
        from .synthetic import open_synthetic

        return open_synthetic(name)
    path = Path(data)
    suffix, packing = split_suffix(path)
    if suffix in TABLE_SUFFIXES:
        from .delimited import DelimitedSource

        return DelimitedSource(path, target, columns)
    if packing and suffix in (*PARQUET_SUFFIXES, *ARROW_SUFFIXES, ".npz"):
        raise UsageError(f"{path}: {suffix} files are not read packed; unpack it first")
    if suffix in PARQUET_SUFFIXES:
        from .parquet import open_parquet

        return open_parquet(path, target, columns)
    if suffix in ARROW_SUFFIXES:
        from .arrow import open_arrow

        return open_arrow(path, target, columns)
    if suffix == ".npz":
        from .arrays import open_npz

        return open_npz(path)
    from .svmlight import SvmlightSource

    return SvmlightSource(path, zero_based)
