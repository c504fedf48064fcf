"""Small data sets for ``combinations``: rows as tables, sparse rows and columns, in all formats."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray
from scipy.sparse import csr_array

from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.writers import label_text, write_rows
from streamsieve.workflow import convert_to_columns

if TYPE_CHECKING:
    from .combinations import Combination

TARGET, WEIGHT = "bought", "times"
LABELS = {"two": (-1, 1), "three": (1, 2, 3), "words": ("no", "yes")}
WORDS = np.array(["amber", "blue", "cyan", "dark red", "ebony"], object)


class Rows(NamedTuple):
    """Rows with their columns as a table has them."""

    frame: pd.DataFrame
    y: NDArray[Any]
    weights: NDArray[Any] | None = None


def make_rows(c: Combination, part: int) -> Rows:
    """Return training rows or new rows, whose target depends on the columns in the same way."""
    shared, rng = np.random.default_rng(c.seed), np.random.default_rng((c.seed, part))
    kinds = ["text"] * c.texts + ["date"] * c.dates + ["truth"] * c.truths
    kinds = (kinds + ["number"] * c.n_columns)[: c.n_columns]
    shared.shuffle(kinds)
    weights = shared.normal(size=c.n_columns)
    scales = shared.choice([1.0, 1.0, 50.0], c.n_columns)
    columns, score = {}, rng.normal(scale=0.5, size=c.n_rows)
    for column, kind in enumerate(kinds):
        if kind == "number":
            values = np.round(rng.normal(size=c.n_rows) * 8) / 8
            values *= 1 if c.layout in ("table", "named columns") else rng.random(c.n_rows) < 0.5
            cells = values * scales[column]
        elif kind == "truth":
            values = cells = rng.random(c.n_rows) < 0.4
        else:
            values = rng.integers(0, 4 + (part > 0), c.n_rows)  # new rows have a level more
            days = np.datetime64("2024-01-01", "D") + values * 40
            cells = WORDS[values] if kind == "text" else days.astype("datetime64[ms]")
        score += weights[column] * values
        columns[f"{c.titles}{column}"] = cells
    frame = pd.DataFrame(columns)
    for title, kind in zip(frame, kinds, strict=True):
        if c.gaps and kind != "truth" and rng.random() < 0.5:
            frame[title] = frame[title].mask(rng.random(c.n_rows) < 0.2)
    weights = shared.choice([0.0, 0.5, 1.0, 10.0], c.n_rows) if c.weighted and part == 0 else None
    if c.labels == "numbers":
        return Rows(frame, np.round(score, 3), weights)
    labels = np.array(LABELS[c.labels])
    return Rows(frame, labels[np.argsort(np.argsort(score)) * labels.size // c.n_rows], weights)


def matrix_of(rows: Rows) -> csr_array:
    """Return columns of numbers as a sparse matrix."""
    return csr_array(dense(rows))


def dense(rows: Rows) -> NDArray[np.float32]:
    return rows.frame.to_numpy(np.float32)


def write(
    path: Path, rows: Rows, c: Combination, as_table: bool, target_at: int | None = None
) -> None:
    """Write rows as a table or sparse, in the format of the suffix."""
    if as_table:
        write_table(path, table_of(rows, c, target_at))
    elif ".svm" in path.name:
        first = 0 if c.zero_based else 1
        lines = (
            svmlight_line(values, label, first)
            for values, label in zip(dense(rows), rows.y.tolist(), strict=True)
        )
        with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w") as file:
            file.writelines(lines)
    else:
        write_rows(path, ArraySource(matrix_of(rows), rows.y).row_blocks(), n_features=c.n_columns)


def svmlight_line(values: NDArray[Any], label: Any, first: int) -> str:
    entries = "".join(f" {feature + first}:{values[feature]}" for feature in np.flatnonzero(values))
    return f"{label_text(label)}{entries}\n"


def table_of(rows: Rows, c: Combination, target_at: int | None) -> pd.DataFrame:
    """Return rows with their target as a column.

    Features without names in a sparse training are called by their ids.
    """
    frame = rows.frame.copy()
    if c.layout in ("sparse", "columns"):
        frame.columns = [
            f"word{column}" if c.names else f"x{column}" for column in range(c.n_columns)
        ]
    title = TARGET if c.is_table else "label"
    frame.insert(frame.shape[1] if target_at is None else target_at, title, rows.y)
    if rows.weights is not None:
        frame.insert(c.seed % frame.shape[1], WEIGHT, rows.weights)
    return frame


def write_table(path: Path, frame: pd.DataFrame) -> None:
    if path.suffix in (".csv", ".tsv"):
        frame.to_csv(path, sep="," if path.suffix == ".csv" else "\t", index=False)
        return
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
        return
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def write_columns(path: Path, rows: Rows, c: Combination) -> None:
    """Write a file of columns, with their names or without."""
    X = rows.frame if c.layout == "named columns" else matrix_of(rows)
    convert_to_columns((X, rows.y), path)
