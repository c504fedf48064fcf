"""Targets of the fuzzer: one function per reader, which takes bytes and returns nothing.

A reader may refuse its input with a DataError or a UsageError. Anything else it raises, a crash, a
hang and a wrong answer are findings. The first bytes of an input choose options; the rest is the
text, or the changes to a good file.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import streamsieve as ss
from streamsieve.blocks import RowBlock
from streamsieve.sources import delimited_text, open_like, open_source
from streamsieve.sources.named_rows import named_block
from streamsieve.sources.options import ReadOptions
from streamsieve.sources.svmlight import SvmlightSource
from streamsieve.sources.svmlight_parsing import Fault, parse_text

from . import files, readers

REFUSALS = (ss.DataError, ss.UsageError)
TINY = 7  # bytes of a chunk
MAX_BYTES = 4096  # of an input; longer ones try nothing else

Rows = list[readers.Row]


class WrongAnswerError(AssertionError):
    """A reader has read something else than what is there."""


def same(actual: object, expected: object, what: str) -> None:
    if actual != expected:
        raise WrongAnswerError(f"{what}: {str(actual)[:300]} instead of {str(expected)[:300]}")


@cache
def folder() -> Path:
    """Return the folder for inputs of readers of files, in memory if possible."""
    made = Path(
        tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    )
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def written(data: bytes, suffix: str) -> Path:
    path = folder() / f"input-{os.getpid()}{suffix}"
    path.write_bytes(data)
    return path


def rows_of(block: RowBlock) -> Rows:
    ends = block.indptr.tolist()
    ids, values = block.indices.tolist(), block.values.tolist()
    labels = [None] * block.n_rows if block.y is None else np.asarray(block.y).tolist()
    rows = [(ids[begin:end], values[begin:end]) for begin, end in pairwise(ends)]
    for row, (some, _) in enumerate(rows):
        same(some, sorted(set(some)), f"ids of row {row}")
        same(
            bool(some) and (some[0] < 0 or some[-1] >= block.n_features),
            False,
            "ids beyond the width",
        )
    return [
        readers.Row(label, dict(zip(*row, strict=True)), block.n_features)
        for label, row in zip(labels, rows, strict=True)
    ]


def contents(rows: Rows) -> list[tuple[object, dict[int, float]]]:
    """Labels and entries; the width of a row is that of its block."""
    return [(row.label, row.entries) for row in rows]


def all_rows(blocks: Iterator[RowBlock]) -> Rows:
    return [row for block in blocks for row in rows_of(block)]


def outcome(read: Callable[[], Any]) -> Any:
    """Return what is read, or None if it is refused."""
    try:
        return read()
    except REFUSALS:
        return None


# ---- svmlight


def svmlight_text(data: bytes) -> None:
    """Compare the parser with the simple one."""
    first_index, text = (data[:1] or b"\0")[0] & 1, data[1:]
    text += b"" if text.endswith(b"\n") else b"\n"
    result, lines = parse_text(np.frombuffer(text, np.uint8), first_index, "")
    try:
        expected = readers.svmlight(text, first_index)
    except readers.BadTextError as error:
        if isinstance(result, Fault):
            same(0 <= lines <= text.count(b"\n"), True, "the line of a fault")
            return
        same(
            result.n_rows,
            0 if str(error) == "no rows" else "a refusal",
            f"rows of bad text ({error})",
        )
        return
    if isinstance(result, Fault):
        raise WrongAnswerError(f"refused: {result.message}")
    same(contents(rows_of(result)), contents(expected), "rows")
    same(result.n_features, max(row.width for row in expected), "width")
    same(lines, text.count(b"\n"), "lines")


def svmlight_file(data: bytes) -> None:
    """Compare all ways to read a file: whole, in tiny chunks, as a stream, in shards."""
    flags, text = (data[:1] or b"\0")[0], data[1:]
    zero_based = bool(flags & 1)
    path = written(text, ".svm")
    whole = outcome(lambda: all_rows(SvmlightSource(path, zero_based).row_blocks()))
    try:
        expected = contents(readers.svmlight(text, 0 if zero_based else 1))
    except readers.BadTextError:
        expected = None
    same(whole if whole is None else contents(whole), expected, "rows")
    ways = {
        "chunks": lambda: all_rows(
            SvmlightSource(path, zero_based, 1 + (flags >> 1) % TINY).row_blocks()
        ),
        "shards": lambda: [
            row
            for shard in SvmlightSource(path, zero_based).shards(1 + (flags >> 4))
            for row in all_rows(shard.row_blocks())
        ],
        "stream": lambda: all_rows(stream_of(path, zero_based, 1 + (flags >> 1) % TINY)),
    }
    for name, read in ways.items():
        result = outcome(read)
        same(result if result is None else contents(result), expected, name)


def stream_of(path: Path, zero_based: bool, chunk_bytes: int) -> Iterator[RowBlock]:
    source = SvmlightSource(path, zero_based, chunk_bytes)
    source.facts = replace(source.facts, splittable=False)  # as a compressed file
    return source.row_blocks()


# ---- CSV and TSV


def delimited_file(data: bytes) -> None:
    """Compare ways to read a table of text with Python's reader.

    Tables are read by Arrow and by the kernel, whole, in tiny chunks and in shards.
    """
    flags, text = (data[:1] or b"\0")[0], data[1:]
    tabs, missing = bool(flags & 1), "keep" if flags & 2 else "error"
    path = written(text, ".tsv" if tabs else ".csv")
    target = None if flags & 4 else "y"
    columns = ["a", "b"] if flags & 8 else None

    def rows(n_shards: int = 1) -> Any:
        source: Any = open_like(
            path, ReadOptions(target=target), columns
        )  # all columns are numbers
        parts = source.shards(n_shards) if n_shards > 1 else [source]
        return [
            row for part in parts for block in part.dense_rows(missing) for row in as_lists(block)
        ]

    def features(n_shards: int = 1) -> Any:
        source: Any = open_source(
            path, target, columns=columns, missing="zero" if flags & 16 else "error"
        )
        parts = source.shards(n_shards) if n_shards > 1 else [source]
        return [row for part in parts for row in contents(all_rows(part.row_blocks(missing)))]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = outcome(rows)
        if whole is not None:
            same_as_python(whole, text, "\t" if tabs else ",", target, columns)
        with small_chunks(1 << 20, 1 + (flags >> 4)):
            same_rows(outcome(rows), whole, "chunks")
        encoded = outcome(features)
        with small_chunks(1 << 20, 1 + (flags >> 4)):
            same_rows(outcome(features), encoded, "chunks of features")
        for read, expected in ((rows, whole), (features, encoded)):
            shards = outcome(lambda read=read: read(3))
            if shards is not None:  # a field in quotes may go over the end of a line
                same_rows(shards, expected, "shards")


@contextmanager
def small_chunks(first: int, later: int) -> Iterator[None]:
    with mock.patch.multiple(delimited_text, FIRST_BYTES=first, CHUNK_BYTES=later):
        yield


def as_lists(block: Any) -> list[tuple[list[float], object]]:
    labels = [None] * block.n_rows if block.y is None else np.asarray(block.y).tolist()
    return list(zip(block.values.tolist(), labels, strict=True))


def same_rows(actual: Any, expected: Any, what: str) -> None:
    same(repr(actual), repr(expected), what)  # NaN is not equal to itself


def same_as_python(
    actual: list[tuple[list[float], object]],
    text: bytes,
    delimiter: str,
    target: str | None,
    columns: list[str] | None,
) -> None:
    header, records = readers.table(text, delimiter)
    wanted = columns or [name for name in header if name != target]
    same(len(actual), len(records), "the number of rows")
    for (values, label), record in zip(actual, records, strict=True):
        fields = dict(zip(header, record, strict=True))
        for value, name in zip(values, wanted, strict=True):
            if not np.isnan(value):
                same(value, readers.as_float32(fields[name]), f"a value of {name}")
        if target in fields:
            same(
                same_label(label, fields[str(target)]),
                True,
                f"the label {label!r} for {fields[str(target)]!r}",
            )


def same_label(label: object, field: str) -> bool:
    if isinstance(label, bool):
        return field.strip().lower() in (("true", "1") if label else ("false", "0"))
    if isinstance(label, int | float):
        return float(field) == label
    return not isinstance(label, str) or label in (field, field.strip())


# ---- rows by name


def names(data: bytes) -> None:
    """Compare rows of names and values, which become ids."""
    rows: list[dict[str, float]] = []
    for part in data.split(b"\n"):
        fields = [field.rpartition(b"=") for field in part.split(b";")]
        rows.append(
            {name.decode("utf-8", "replace"): float(len(value) - 2) for name, _, value in fields}
        )
    block = named_block(rows)
    expected = []
    for row in rows:
        entries: dict[int, float] = {}
        for name, value in row.items():
            entries[readers.name_hash(name)] = entries.get(readers.name_hash(name), 0.0) + value
        expected.append(
            (None, {feature: value for feature, value in sorted(entries.items()) if value})
        )
    same(contents(rows_of(block)), expected, "rows by name")
    hashes = {readers.name_hash(name) for row in rows for name in row}
    if block.names is not None:
        wanted = np.array(
            [feature for feature in block.indices.tolist() if feature in hashes], np.int64
        )
        same(sorted(block.names.of(wanted)), sorted(set(wanted.tolist())), "names")


# ---- files of tables and matrices


def read_all(path: Path, flags: int) -> None:
    """Everything that a file can be asked for; rows in shards are the rows in one go."""
    source: Any = open_source(path, "y" if flags & 1 else None)
    by_rows = outcome(lambda: all_rows(source.row_blocks("keep" if flags & 2 else "error")))
    if by_rows is not None and source.facts.splittable and not flags & 2:
        shards = outcome(
            lambda: [row for shard in source.shards(3) for row in all_rows(shard.row_blocks())]
        )
        same(repr(contents(shards or [])), repr(contents(by_rows)), "shards")
    if hasattr(source, "column_blocks"):
        outcome(lambda: [check_columns(block) for block in source.column_blocks()])
        outcome(source.targets)


def check_columns(block: Any) -> None:
    ends = block.indptr.tolist()
    for begin, end in pairwise(ends):
        some = block.indices[begin:end].tolist()
        same(some, sorted(set(some)), "rows of a column")
        same(
            bool(some) and (some[0] < 0 or some[-1] >= block.n_rows),
            False,
            "rows beyond the number of rows",
        )


def changed_file(data: bytes, kind: str, suffix: str) -> None:
    """Read a valid file with changed bytes; ``files.edited`` takes the changes from the input."""
    flags, which, edits = (data[:1] or b"\0")[0], (data[1:2] or b"\0")[0], data[2:]
    bases = files.bases(kind)
    path = written(files.edited(bases[which % len(bases)], edits), suffix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome(lambda: read_all(path, flags))


def arrow(data: bytes) -> None:
    changed_file(data, "arrow", ".arrow")


def parquet(data: bytes) -> None:
    changed_file(data, "parquet", ".parquet")


def npz(data: bytes) -> None:
    changed_file(data, "npz", ".npz")


def arrays(data: bytes) -> None:
    """Read valid tables of Arrow with any types, lists and missing values, in both formats."""
    flags, seed = (data[:1] or b"\0")[0], int.from_bytes(data[1:5], "little")
    table = files.random_table(np.random.default_rng(seed), data[5:])
    for suffix, write in files.WRITERS.items():
        path = folder() / f"input-{os.getpid()}{suffix}"
        if write(table, path):
            outcome(lambda path=path: read_all(path, flags))


# ---- models


def model(data: bytes) -> None:
    """Load a model file with changed bytes, with wrong check sums or with right ones."""
    from .bases import FEW
    from .mutations import mutated
    from .use import use

    bases = files.models(FEW)
    number, edits = int.from_bytes(data[:4], "little"), data[4:]
    if edits[:1] and edits[0] & 1:
        use(files.edited(list(bases.values())[number % len(bases)].to_bytes(), edits[1:]))
    else:
        use(mutated(bases, 2, number)[1].to_bytes())


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        svmlight_text,
        svmlight_file,
        delimited_file,
        names,
        arrow,
        parquet,
        npz,
        arrays,
        model,
    )
}
