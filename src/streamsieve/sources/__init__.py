"""Files and arrays to sources of blocks; their contracts are in ``base``, the formats of files in ``formats``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from ..errors import UsageError, prefix, spell
from .finding import SYNTHETIC, Names, alone, files_of, is_names, name_of
from .formats import format_of, function, table_files
from .options import ReadKeywords, ReadOptions, shows_options

if TYPE_CHECKING:
    from .base import ColumnSource, DataSource, Source
    from .encoding import Encoding

    Data = (
        Names | DataSource | tuple[Any, Any] | Any
    )  # the last: a table of pandas, polars or Arrow

__all__ = ["open_like", "open_source", "open_with", "refuse_target"]


@overload
def open_source(
    data: Names | Source | tuple[Any, Any],
    target: str | None = None,
    zero_based: bool = False,
    columns: list[str] | None = None,
    **read: Unpack[ReadKeywords],
) -> Source: ...


@overload
def open_source(
    data: ColumnSource,
    target: str | None = None,
    zero_based: bool = False,
    columns: list[str] | None = None,
    **read: Unpack[ReadKeywords],
) -> ColumnSource: ...


@shows_options
def open_source(
    data: Data,
    target: str | None = None,
    zero_based: bool = False,
    columns: list[str] | None = None,
    **read: Any,
) -> DataSource:
    """The source for a file, by its suffix, or for several files that are read one after the other.

    .csv .tsv .tab are tables with a header line, .parquet (also .pq) and .arrow (also .feather,
    .ipc) tables, sparse rows or columns; for tables ``target`` names the column to predict and
    ``columns`` the features to read (default: all others). .npz is a sparse matrix as SciPy saves
    it, with labels ``y``; every other name is svmlight text, its ids counted from 1 unless
    ``zero_based``. Text may be compressed: .gz .bz2 .xz .zst. ``synthetic:x1`` makes rows of a
    synthetic set, ``-`` is standard input. A table of pandas, polars or Arrow has its ``target`` as
    a column, a pair ``(X, y)`` apart. An open source cannot be given other ``strings`` or
    ``missing``.

    Columns of a table may be text or categories: ``strings`` is "onehot" (one feature per level,
    ``column=level``), "hash" (a fixed number of features), "drop" or "error". Truth values are 0
    and 1, dates days since 1970. A missing value is an error, or with ``missing`` "zero" or "mean"
    filled in, or with "skip" left to the method. ``drop`` and ``only`` name columns, or features of
    other data by id, that are omitted, or read alone.

    ``weight`` names the column of a table that says how often each row counts, such as 10 where one
    in ten was kept; it is no feature.

    ``names`` gives names to features of data that has none: a text file with one a line, which may
    be compressed, or any sequence. Sparse data may have fewer features than names.

    Several files, all of them sparse rows or all tables of the same columns, are a list of paths, a
    folder (and the folders in it) or a pattern such as ``"part-*.svm.gz"``, the last two in natural
    order: part-2 before part-10.
    """
    return open_with(data, ReadOptions.of(target=target, zero_based=zero_based, **read), columns)


def open_with(data: Data, options: ReadOptions, columns: list[str] | None = None) -> DataSource:
    """Open data as ``open_source`` does, with the options as one."""
    whole = (
        options if options.names is None else replace(options, drop=(), only=None)
    )  # which may go by these names
    source = _opened(data, whole, columns, None, find=True)
    if options.target is not None and is_names(data):
        refuse_target(source)
    if options.weight is not None and source.facts.weight is None:
        raise UsageError(
            f"{prefix(source.name)}a column of weights is for tables ({table_files()}); omit"
            f" {spell('weight')}, or give the weights to fit: sample_weight=..."
        )
    if options.names is not None:
        from .wrapped import give_names

        source = give_names(source, options.names)
    elif _has_columns(data, source):
        return source
    if options.only is None and not options.drop:
        return source
    from .wrapped import keep_named

    return keep_named(source, options)


def _has_columns(data: Data, source: DataSource) -> bool:
    """Return True if ``drop`` and ``only`` are names of columns, which the opening has picked."""
    if is_names(data):
        return source.facts.takes_target
    from .arrays import is_frame
    from .base import DataSource

    return not isinstance(data, DataSource) and is_frame(
        data[0] if isinstance(data, tuple) else data
    )


def open_like(
    data: Data, options: ReadOptions, columns: list[str] | None, encoding: Encoding | None = None
) -> DataSource:
    """As ``open_source``, for data like some other data: a ``target`` that only tables have is not a mistake.

    It has all of its features, whatever ``drop`` and ``only`` say, and no weights. A table has
    those of an ``encoding`` or, without one, these ``columns``, all of which are numbers.
    """
    options = replace(options, weight=None)
    return _opened(
        data, options, columns if encoding is None else encoding.column_names, encoding, find=False
    )


def _opened(
    data: Data,
    options: ReadOptions,
    columns: list[str] | None,
    encoding: Encoding | None,
    find: bool,
) -> DataSource:
    """The source for data; ``find`` says that it is the first of its kind, which shows how its columns are read."""
    from .base import DataSource

    if is_names(data):
        return _open_named(data, options, columns, encoding, find)
    if isinstance(data, DataSource):
        if find:
            refuse_encoding(data, options)
        return data
    from .arrays import ArraySource, is_frame

    pair = data if isinstance(data, tuple) else None
    frame = data if pair is None else pair[0]
    if is_frame(frame):
        from .frames import open_frame

        if pair is None:
            return open_frame(frame, None, options, encoding, columns, find)
        y = pair[1] if len(pair) > 1 else None
        return open_frame(
            frame, y, replace(options, target=None), encoding, None if find else columns, find
        )
    if pair is None:
        raise UsageError(
            f"cannot read from {type(data).__name__}; give a path, a source, a table or a pair (X,"
            " y); BlockSource and ColumnBlockSource make sources of blocks"
        )
    if encoding is not None:
        raise UsageError(
            "the training read a table with text, dates or missing values; give a table here, too"
        )
    return ArraySource(*pair)


def refuse_target(source: DataSource) -> None:
    """Refuse a target column for rows that come with their labels."""
    if not source.facts.takes_target:
        raise UsageError(
            f"{source.name}: a target column is for tables ({table_files()}); here labels come with"
            " the rows"
        )


def refuse_encoding(source: DataSource, options: ReadOptions) -> None:
    """Raise UsageError if text, missing values or weights of an open source are to be read in another way."""
    filled = None if source.encoding is None else source.encoding.missing
    changes = {
        "strings": options.strings != "onehot",
        "weight": options.weight is not None,
        "missing": options.missing in ("zero", "mean") and options.missing != filled,
    }
    for option, is_changed in changes.items():
        if is_changed:
            value = getattr(options, option)
            raise UsageError(
                f"{prefix(source.name)}{spell(option, value)}: cannot change how an open source is"
                f" read; open it so: open_source(..., {option}={value!r})"
            )


def _open_named(
    names: Names,
    options: ReadOptions,
    columns: list[str] | None,
    encoding: Encoding | None,
    find: bool,
) -> DataSource:
    names = alone(names)
    if str(names).startswith(SYNTHETIC):
        from .synthetic import open_synthetic

        return open_synthetic(str(names))

    def open_file(path: Path, features: list[str] | None) -> DataSource:
        file_format, _ = format_of(path)
        opener = file_format.open_rows or file_format.open_columns
        if opener is None:
            raise UsageError(f"{path}: {file_format.name} is not read")
        source: DataSource = function(opener)(path, options, features)
        return source

    def as_asked(parts: Sequence[DataSource], origin: str) -> None:
        if parts[0].facts.takes_target:
            from .inference import read_tables

            read_tables(parts, options, encoding, find, origin)

    files = files_of(names)
    if len(files) > 1:
        from .many import open_many

        return open_many(name_of(names, files), files, open_file, columns, as_asked)
    source = open_file(files[0], columns)
    as_asked([source], source.name)
    return source
