"""Small valid files of every kind that is not text, and ways to damage them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamsieve.model import Model
from streamsieve.sources.arrays import ArraySource
from streamsieve.workflow.convert import convert, convert_to_columns

EDIT = 4  # bytes: where (two of them), what to do, with what
WORDS = (0, 1, 2, 0x7F, 0x80, 0xFF, 2**31 - 1, 2**31, 2**32 - 1, 2**62)


def edited(data: bytes, edits: bytes) -> bytes:
    """Return a file with changed bytes and words, another length, or reordered parts."""
    changed = bytearray(data)
    for start in range(0, len(edits) - EDIT + 1, EDIT):
        where, way, value = (
            int.from_bytes(edits[start : start + 2], "little"),
            edits[start + 2],
            edits[start + 3],
        )
        if not changed:
            break
        at = (
            where % len(changed)
            if where < 2**15
            else len(changed) - 1 - (where - 2**15) % len(changed)
        )
        match way % 8:
            case 0 | 1:
                changed[at] = value
            case 2:
                changed[at] ^= 1 << value % 8
            case 3:
                changed[at : at + 4] = (WORDS[value % len(WORDS)] & 0xFFFFFFFF).to_bytes(
                    4, "little"
                )
            case 4:
                changed[at : at + 8] = WORDS[value % len(WORDS)].to_bytes(8, "little")
            case 5:
                del changed[at : at + 1 + value % 64]
            case 6:
                changed[at:at] = changed[max(0, at - value) : at]
            case _:
                changed[at] = (changed[at] + (1 if value % 2 else 255)) % 256
    return bytes(changed)


def small_rows() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.integers(-3, 4, (6, 4)).astype(np.float32)
    return X, np.array([1, 2, 1, 2, 2, 1])


@cache
def bases(kind: str) -> tuple[bytes, ...]:
    """Files of a kind: those that we write, rows and columns, and tables that others write."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return npz_files(folder) if kind == "npz" else table_files(folder, kind)


def npz_files(folder: Path) -> tuple[bytes, ...]:
    from scipy.sparse import csr_array, save_npz

    X, y = small_rows()
    convert(ArraySource(X, y), folder / "ours.npz")
    stored = io.BytesIO()
    matrix = csr_array(X)
    np.savez(
        stored,
        format=b"csr",
        shape=X.shape,
        indptr=matrix.indptr,
        indices=matrix.indices,
        data=matrix.data,
        y=y,
    )
    save_npz(folder / "theirs.npz", matrix)
    return (
        (folder / "ours.npz").read_bytes(),
        stored.getvalue(),
        (folder / "theirs.npz").read_bytes(),
    )


def table_files(folder: Path, kind: str) -> tuple[bytes, ...]:
    suffix = f".{kind}"
    X, y = small_rows()
    convert(ArraySource(X, y), folder / f"rows{suffix}")
    convert_to_columns(ArraySource(X, y), folder / f"columns{suffix}")
    table = pa.table({**{f"c{j}": X[:, j] for j in range(4)}, "y": y})
    text = pa.table(
        {
            "a": pa.array([1, None, 3]),
            "b": pa.array([0.5, 1.5, 2.5]),
            "y": pa.array(["p", "q", "p"]),
        }
    )
    coded = text.set_column(2, "y", text.column("y").dictionary_encode())
    for number, made in enumerate((table, text, coded)):
        WRITERS[suffix](made, folder / f"table{number}{suffix}")
    return tuple(path.read_bytes() for path in sorted(folder.glob(f"*{suffix}")))


def write_arrow(table: pa.Table, path: Path) -> bool:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    return True


def write_parquet(table: pa.Table, path: Path) -> bool:
    try:
        pq.write_table(table, path, row_group_size=4)
    except (pa.ArrowException, ValueError):  # a type that Parquet has not
        return False
    return True


WRITERS: dict[str, Callable[[pa.Table, Path], bool]] = {
    ".arrow": write_arrow,
    ".parquet": write_parquet,
}

NAMES = (
    "y",
    "label",
    "ids",
    "values",
    "indices",
    "feature",
    "rows",
    "c0",
    "a",
    "",
    "\x1b[2J",
    "a\nb",
)
TYPES = (
    *(
        pa.int8(),
        pa.int64(),
        pa.uint64(),
        pa.float16(),
        pa.float32(),
        pa.float64(),
        pa.bool_(),
        pa.string(),
    ),
    *(
        pa.large_string(),
        pa.binary(),
        pa.null(),
        pa.date32(),
        pa.timestamp("ns"),
        pa.decimal128(20, 3),
    ),
    *(
        pa.list_(pa.int64()),
        pa.list_(pa.float32()),
        pa.list_(pa.int32()),
        pa.large_list(pa.float64()),
    ),
    *(pa.struct([("a", pa.int32())]), pa.dictionary(pa.int8(), pa.string()), pa.duration("s")),
)


def random_table(random: np.random.Generator, letters: bytes) -> pa.Table:
    """Return a table of odd columns: like sparse rows or columns, or of any names and types."""
    n = int(random.integers(0, 9))
    schema_of = random.integers(4)
    fields: list[tuple[str, pa.DataType]]
    if schema_of == 0:
        whole = (pa.int32(), pa.int64(), pa.uint32(), pa.int8())[random.integers(4)]
        real = (pa.float32(), pa.float64(), pa.float16(), pa.int64())[random.integers(4)]
        label = TYPES[random.integers(len(TYPES))]
        fields = [("indices", pa.list_(whole)), ("values", pa.list_(real)), ("label", label)]
    elif schema_of == 1:
        fields = [
            ("feature", pa.int64()),
            ("rows", pa.list_(pa.int32())),
            ("values", pa.list_(pa.float32())),
            ("name", pa.string()),
        ]
    else:
        count = int(random.integers(1, 5))
        fields = [
            (NAMES[random.integers(len(NAMES))], TYPES[random.integers(len(TYPES))])
            for _ in range(count)
        ]
    columns = [random_column(random, kind, n, letters) for _, kind in fields]
    return pa.Table.from_arrays(columns, names=[name for name, _ in fields])


def random_column(
    random: np.random.Generator, kind: pa.DataType, n: int, letters: bytes
) -> pa.Array:
    values = [random_value(random, kind, letters) for _ in range(n)]
    if random.integers(3):
        values = [value if value is not None else default_of(kind) for value in values]
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        return pa.nulls(n, kind)


def default_of(kind: pa.DataType) -> Any:
    return [] if pa.types.is_nested(kind) and not pa.types.is_struct(kind) else None


def random_value(random: np.random.Generator, kind: pa.DataType, letters: bytes) -> Any:
    if random.integers(12) == 0:
        return None
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = [
            random_value(random, kind.value_type, letters)
            for _ in range(int(random.integers(0, 5)))
        ]
        return sorted(inner, key=repr) if random.integers(2) and None not in inner else inner
    if pa.types.is_struct(kind):
        return {"a": int(random.integers(9))}
    if pa.types.is_floating(kind):
        value = (0.0, -0.0, 1.5, np.nan, np.inf, 1e30, 1e300, float(random.integers(-4, 5)))[
            random.integers(8)
        ]
        return np.float16(np.clip(value, -6e4, 6e4)) if pa.types.is_float16(kind) else value
    if pa.types.is_boolean(kind):
        return bool(random.integers(2))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
        return (letters[:8].decode("latin-1"), "", "1", "01", "nan", "x")[random.integers(6)]
    if pa.types.is_binary(kind):
        return letters[:8]
    return int((0, 1, 2, 3, 5, 100, -1, 2**31, 2**40, 2**62)[random.integers(10)])


@cache
def models(names: Sequence[str]) -> dict[str, Model]:
    from .bases import all_bases

    return all_bases(only=names)
