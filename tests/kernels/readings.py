"""Collect generated data, and data read from files of every form, as JSON values."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from streamsieve import workflow
from streamsieve.sources import open_source
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.named_rows import named_block
from streamsieve.sources.writers import write_rows
from tests.checks.data import sparse_stream

GENERATED = (
    "x1?rows=5",
    "x2?rows=3&seed=3",
    "x3?rows=2",
    "spiral?rows=20&features=30",
    "clicks?rows=20&features=1000",
    "substitution?rows=40&features=50&informative=5",
    "substitution?rows=40&features=50&informative=5&task=classification&noise=0.5",
)
NUMBERS = (
    "1,0,-2.5,1e3,0.1,123456789012345678901,1e-320,.5,7.,+3,-0,2.2250738585072014e-308,1E+2,"
    "98765.43210987654321"
)
HEADER = "y" + "".join(f",c{k}" for k in range(NUMBERS.count(",") + 1))
ENTRIES = " ".join(f"{k}:{number}" for k, number in enumerate(NUMBERS.split(","), 1))
WIDE_NUMBERS = ",".join([NUMBERS] * 150)
WIDE_HEADER = "y" + "".join(f",c{k}" for k in range(WIDE_NUMBERS.count(",") + 1))
ODD = (1.0, -2.5, 0.1, 123456.789, 1e20, 3e38, 1e-20, -1e-44, 1e9, 0.0001, 16777216.0, 0.0)
# numbers in all spellings, quotes, empty fields and lines, returns, comments, ids out of order
TEXTS = {
    "rows.svm": (
        f"1 3:1 17:2.5\n-1 qid:3 2:0.1 1:4 # a query\n\n# nothing\n1.0e0\t{ENTRIES}\r\n-1"
        " 12345678:1"
    ),
    "rows.csv": (
        f'{HEADER}\n1,{NUMBERS}\n\n"0",{NUMBERS}\r\n1{"," * NUMBERS.count(",")},"5"\n0,{NUMBERS}\n'
    ),
    "wide.csv": (
        f"{WIDE_HEADER}\n\n\r\n1,{WIDE_NUMBERS}\n0,{WIDE_NUMBERS}\r\n"
        f"1{',' * WIDE_HEADER.count(',')}\n"
    ),
    "rows.tsv": f"{HEADER}\n1,{NUMBERS}\r\n\r\n0{',' * NUMBERS.count(',')},\r\n0,{NUMBERS}".replace(
        ",", "\t"
    ),
}


def rows_of(source: Any, **options: Any) -> list[Any]:
    blocks = list(source.row_blocks(**options))
    arrays = [(b.indptr, b.indices, b.values, np.array([]) if b.y is None else b.y) for b in blocks]
    return [np.nan_to_num(array).tolist() for block in arrays for array in block]


def readings() -> dict[str, Any]:
    """Return arrays as lists, by name of the data set or the file."""
    arrays_by_name = {name: rows_of(open_source(f"synthetic:{name}")) for name in GENERATED}
    for name in GENERATED[-2:]:
        blocks = open_source(f"synthetic:{name}").column_blocks()
        arrays_by_name[f"{name} by columns"] = [
            array.tolist() for block in blocks for array in (block.ids, block.values)
        ]
    named = named_block(
        [{"a": 1.0, "b": 2.0}, (["c", "a", "c", "a"], [1.0, 0.5, -1.0, 2.0]), {"b": 0.0}]
    )
    arrays_by_name["by name"] = [
        named.indptr.tolist(),
        named.indices.tolist(),
        named.values.tolist(),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in TEXTS.items():
            path = Path(folder, name)
            path.write_bytes(text.encode())
            arrays_by_name[name] = rows_of(
                open_source(path, None if name.endswith("svm") else "y"), missing="keep"
            )
        odd_rows = ArraySource(np.array([ODD, ODD[::-1]]), np.array([0.5, -1.0]))
        write_rows(Path(folder, "written.svm"), odd_rows.row_blocks(), n_features=len(ODD))
        arrays_by_name["written.svm"] = rows_of(open_source(Path(folder, "written.svm")))
        X, y = sparse_stream(rows=20, features=10)
        for name in ("rows.arrow", "rows.parquet"):
            path, columns = Path(folder, name), Path(folder, f"columns.{name}")
            write_rows(path, ArraySource(X, y).row_blocks(), n_features=10)
            arrays_by_name[name] = rows_of(open_source(path))
            workflow.convert_to_columns(path, columns)
            blocks = open_source(columns).column_blocks()
            arrays_by_name[columns.name] = [
                array.tolist() for block in blocks for array in (block.ids, block.values)
            ]
    return arrays_by_name
