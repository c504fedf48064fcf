"""Open files and arrays as sources of blocks; see ``base`` for contracts, ``formats`` for files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from ..errors import UsageError, prefix, spell
from .finding import SYNTHETIC, Names, files_of, is_names, name_of, unwrap_single
from .formats import format_of, import_function, table_files
from .options import ReadKeywords, ReadOptions, document_options

if TYPE_CHECKING:
    from .base import ColumnSource, DataSource, Source
    from .encoding import Encoding

    # The last one stands for a table of pandas, polars or Arrow.
    Data = Names | DataSource | tuple[Any, Any] | Any

__all__ = [
    "open_like",
    "open_source",
    "open_to_grow",
    "open_with_options",
    "refuse_target",
]


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


@document_options
def open_source(
    data: Data,
    target: str | None = None,
    zero_based: bool = False,
    columns: list[str] | None = None,
    **read: Any,
) -> DataSource:
    """Open a file by its suffix, or several files that are read one after the other.

    Tables are .csv .tsv .tab text with a header line. Files in .parquet (also .pq) and .arrow (also
    .feather, .ipc) are tables, sparse rows or columns. For tables, ``target`` names the column to
    predict and ``columns`` the features to read (default: all others). A .npz file is a sparse
    matrix as SciPy saves it, with labels ``y``. Every other name is read as svmlight text, its ids
    counted from 1 unless ``zero_based``. Text may be compressed: .gz .bz2 .xz .zst.
    ``synthetic:x1`` generates rows of a synthetic data set, and ``-`` is standard input.

    A table of pandas, polars or Arrow has its ``target`` as a column; a pair ``(X, y)`` has it
    separately. An open source can be given, but not with other ``strings`` or ``missing``.

    Columns of a table may be text or categories: ``strings`` is "auto" (a feature for every value,
    ``column=value``, without columns that are like IDs or sentences), "onehot" (at most 1,000
    values a column, or an error), "hash" (a feature per bucket of a hash, ``column#bucket``, of
    which a column has ``n_buckets``), "drop" or "error". Boolean values become
    0 and 1, dates days since 1970 or, with ``dates="auto"``, the categories ``column.hour`` and
    ``column.weekday``. A missing value is an error, or it is filled in
    (``missing="zero"`` or ``"mean"``), or left to the method (``missing="skip"``). ``drop`` names
    the columns to omit, ``only`` the columns to read; in data other than tables, features are
    given by id.

    ``weight`` names the column of a table that says how often each row counts, such as 10 where one
    row in ten was kept; it does not become a feature.

    ``names`` gives names to the features of data that has none: a text file with one name per line,
    which may be compressed, or any sequence. Sparse data may have fewer features than names.

    Several files, all of them sparse rows or all tables of the same columns, are given as a list of
    paths, a folder (subfolders are read too) or a pattern such as ``"part-*.svm.gz"``. Files of a
    folder or pattern are read in natural order: part-2 before part-10.

    Examples
    --------
    >>> import streamsieve as ss
    >>> source = ss.open_source(([[1, 0], [0, 2]], ["no", "yes"]))
    >>> source.n_rows, source.n_features
    (2, 2)
    """
    return open_with_options(
        data, ReadOptions.of(target=target, zero_based=zero_based, **read), columns
    )


def open_with_options(
    data: Data, options: ReadOptions, columns: list[str] | None = None
) -> DataSource:
    """Open data as ``open_source`` does, with the options in one object."""
    # ``drop`` and ``only`` may refer to the given names, so they are applied after these.
    first_options = options if options.names is None else replace(options, drop=(), only=None)
    source = _open(data, first_options, columns, None, infer=True)
    if options.target is not None and is_names(data):
        refuse_target(source)
    if options.weight is not None and source.facts.weight is None:
        raise UsageError(
            f"{prefix(source.name)}a column of weights is for tables ({table_files()}); omit"
            f" {spell('weight')}, or pass the weights to fit: sample_weight=..."
        )
    if options.names is not None:
        from .wrapped import name_features

        source = name_features(source, options.names)
    elif _has_columns(data, source):
        return source
    if options.only is None and not options.drop:
        return source
    from .wrapped import keep_features

    return keep_features(source, options)


def _has_columns(data: Data, source: DataSource) -> bool:
    """Return True if ``drop`` and ``only`` were column names, applied when the data was opened."""
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
    """Open data that must look like other data, such as rows to predict.

    It is opened as by ``open_source``, with these differences: a ``target`` for data other than a
    table is not an error, all features are read whatever ``drop`` and ``only`` say, and there are
    no weights. A table has the features of an ``encoding`` or, without one, these ``columns``, all
    of which are numbers.
    """
    options = replace(options, weight=None)
    return _open(
        data, options, columns if encoding is None else encoding.column_names, encoding, infer=False
    )


def open_to_grow(data: Data, options: ReadOptions, encoding: Encoding) -> DataSource:
    """Open a table that has the columns of an encoding, which grows with new values of text."""
    return _open(data, options, encoding.column_names, encoding, infer=True)


def _open(
    data: Data,
    options: ReadOptions,
    columns: list[str] | None,
    encoding: Encoding | None,
    infer: bool,
) -> DataSource:
    """Open data of any kind as a source.

    With ``infer``, the data itself decides how its columns are read; otherwise ``encoding`` or
    ``columns`` do.
    """
    from .base import DataSource

    if is_names(data):
        return _open_named(data, options, columns, encoding, infer)
    if isinstance(data, DataSource):
        if infer:
            refuse_encoding(data, options)
        return data
    from .arrays import ArraySource, is_frame

    pair = data if isinstance(data, tuple) else None
    frame = data if pair is None else pair[0]
    if is_frame(frame):
        from .frames import open_frame

        if pair is None:
            return open_frame(frame, None, options, encoding, columns, infer)
        y = pair[1] if len(pair) > 1 else None
        return open_frame(
            frame, y, replace(options, target=None), encoding, None if infer else columns, infer
        )
    if pair is None:
        raise UsageError(
            f"cannot read from {type(data).__name__}; give a path, a source, a table or a pair (X,"
            " y); BlockSource and ColumnBlockSource make sources of blocks"
        )
    if encoding is not None:
        raise UsageError(
            "the training data was a table with text, dates or missing values; give a table here,"
            " too"
        )
    return ArraySource(*pair)


def refuse_target(source: DataSource) -> None:
    """Raise UsageError for a target column if a source has its labels with the rows."""
    if not source.facts.takes_target:
        raise UsageError(
            f"{source.name}: a target column is for tables ({table_files()}); here labels come with"
            " the rows"
        )


def refuse_encoding(source: DataSource, options: ReadOptions) -> None:
    """Raise UsageError if options would change how an open source is read."""
    filled = None if source.encoding is None else source.encoding.missing
    changes = {
        "strings": options.strings != "auto",
        "weight": options.weight is not None,
        "missing": options.missing in ("zero", "mean") and options.missing != filled,
    }
    for option, is_changed in changes.items():
        if is_changed:
            value = getattr(options, option)
            raise UsageError(
                f"{prefix(source.name)}{spell(option, value)}: cannot change how an open source is"
                f" read; open it with open_source(..., {option}={value!r})"
            )


def _open_named(
    names: Names,
    options: ReadOptions,
    columns: list[str] | None,
    encoding: Encoding | None,
    infer: bool,
) -> DataSource:
    names = unwrap_single(names)
    if str(names).startswith(SYNTHETIC):
        from .synthetic import open_synthetic

        return open_synthetic(str(names))

    def open_file(path: Path, features: list[str] | None) -> DataSource:
        file_format, _ = format_of(path)
        opener = file_format.open_rows or file_format.open_columns
        if opener is None:
            raise UsageError(f"{path}: {file_format.name} cannot be read")
        source: DataSource = import_function(opener)(path, options, features)
        return source

    def apply_options(parts: Sequence[DataSource], origin: str) -> None:
        if parts[0].facts.takes_target:
            from .inference import read_tables

            read_tables(parts, options, encoding, infer, origin)

    files = files_of(names)
    if len(files) > 1:
        from .many import open_many

        return open_many(name_of(names, files), files, open_file, columns, apply_options)
    source = open_file(files[0], columns)
    apply_options([source], source.name)
    return source
