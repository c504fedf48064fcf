"""A log of advertisements as people have them: counts, text with very many values, a date, an id.

    python benchmarks/ad_log.py [--rows N] [--folder DIR] [--write]

1,200,000 rows to learn from and 200,000 to test on, in the shape of public logs of clicks: 13 heavy
counts (some cells empty), 26 columns of text with 2 to 200,000 different values, of which the
frequent ones come first, the time and a user id; one row in four is a click. 19 values of text, the
logarithm of two counts and one pair of values (C2 with C5) say something about the class. Every
method gets the file and ends with its AUC and log loss on the test rows; the time is from the file
to these predictions. Peers get what their users would make by hand: the logarithm of counts, and a
matrix with a column for every value. ``--write`` puts the table into
docs/explanation/performance.md. LightGBM is measured if it is installed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from numpy.typing import NDArray
from pyarrow import csv
from sklearn.metrics import log_loss, roc_auc_score

import streamsieve as ss
from report import apart, installed, machine, table, write_section
from streamsieve.machine import peak_memory

ROWS, TEST_ROWS, K = 1_200_000, 200_000, 100
COUNTS, TEXTS = [f"I{i}" for i in range(1, 14)], [f"C{i}" for i in range(1, 27)]
SIZES = [  # the number of different values of every column of text
    *(1_400, 550, 180_000, 120_000, 300, 24, 12_000, 630, 3, 60_000, 5_000, 200_000, 3_200),
    *(26, 12_000, 160_000, 10, 5_500, 2_100, 4, 190_000, 18, 15, 110_000, 90, 70_000),
]
PLANTED = [  # column, value (its rank), and what it adds to the logarithm of the odds
    *((1, 3, 1.1), (1, 9, -1.2), (2, 0, 0.9), (2, 5, -1.0), (3, 2, 1.3), (4, 1, -1.4)),
    *((5, 4, 1.0), (6, 2, -0.9), (7, 6, 1.3), (8, 3, 0.9), (9, 1, -0.7), (11, 7, 1.4)),
    *((13, 2, -1.1), (14, 3, 0.8), (15, 4, 1.2), (18, 1, -0.9), (20, 2, 0.7), (23, 3, -0.8)),
    (25, 6, 1.0),
]
CROSS = 2, 0, 5, 1, 1.6  # two columns with a value each, and what both together add
BASE = -1.45


def make(rows: int, seed: int) -> pa.Table:
    """Return rows of the log."""
    random = np.random.default_rng(seed)
    ranks: dict[int, NDArray[Any]] = {}
    for column, size in enumerate(SIZES, 1):
        drawn = np.minimum(random.pareto(0.4, rows) * 3, size - 1).astype(np.int64)
        ranks[column] = np.where(drawn == size - 1, random.integers(0, size, rows), drawn)
    counts = {name: np.floor(random.lognormal(1.5, 1.6, rows)) for name in COUNTS}
    odds = np.full(rows, BASE)
    for column, rank, effect in PLANTED:
        odds += effect * (ranks[column] == rank)
    first, one, second, other, effect = CROSS
    odds += effect * ((ranks[first] == one) & (ranks[second] == other))
    odds += 0.45 * (np.log1p(counts["I2"]) - 1.9) - 0.5 * (np.log1p(counts["I7"]) - 1.9)
    y = (random.random(rows) < 1 / (1 + np.exp(-odds))).astype(np.int8)
    columns: dict[str, Any] = {"click": y}
    for number, name in enumerate(COUNTS):
        is_empty = random.random(rows) < 0.02 * (number % 4)
        columns[name] = pa.array(counts[name].astype(np.int64), mask=is_empty)
    for column, name in enumerate(TEXTS, 1):
        values = pa.array([f"{hash_of(column, rank):08x}" for rank in range(SIZES[column - 1])])
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(ranks[column]), values).cast(
            "string"
        )
    seconds = np.sort(random.integers(0, 7 * 86_400, rows)) + 1_700_000_000
    columns["time"] = pa.array(seconds, pa.timestamp("s"))
    columns["user"] = pa.array([f"u{user:x}" for user in random.integers(0, 2**48, rows)])
    return pa.table(columns)


def hash_of(column: int, rank: int) -> int:
    """Return a number that stands for a value of a column."""
    return (column * 1_000_003 + rank) * 2_654_435_761 % 2**32


def planted() -> set[str]:
    """Return the names of the features that say something about the class."""
    return {f"C{column}={hash_of(column, rank):08x}" for column, rank, _ in PLANTED}


def measure(learn: Callable[..., tuple[NDArray[Any], int | None]], *files: Path) -> dict[str, Any]:
    """Return the figures of a method."""
    began = time.perf_counter()
    probabilities, found = learn(*files)
    seconds = time.perf_counter() - began
    y = parquet.read_table(files[1], columns=["click"])["click"].to_numpy()
    auc, loss = roc_auc_score(y, probabilities), log_loss(y, probabilities)
    figures = {"AUC": auc, "log loss": loss, "seconds": seconds, "MB": peak_memory() / 1e6}
    return figures | {"planted": found}


def by_streamsieve(train: Path, test: Path, **params: Any) -> tuple[NDArray[Any], int]:
    """Return what SOFS predicts, and how many of the planted values it keeps."""
    record = ss.select(train, target="click", missing="zero", n_features_to_select=K, **params)
    found = len(planted() & set(record.selection.names.tolist()))
    frame = parquet.read_table(test).to_pandas()
    return record.selector.predict_proba(frame.drop(columns="click"))[:, 1], found


def matrices(train: Path, test: Path) -> tuple[Any, Any, Any, NDArray[Any]]:
    """Return one-hot matrices made by hand, the labels to learn, and the names of the columns."""
    from scipy.sparse import csr_array, hstack
    from sklearn.preprocessing import OneHotEncoder

    frames = [parquet.read_table(path).to_pandas() for path in (train, test)]
    encoder = OneHotEncoder(handle_unknown="ignore", dtype=np.float32).fit(frames[0][TEXTS])
    parts = []
    for frame in frames:
        numbers = csr_array(np.log1p(frame[COUNTS].fillna(0).to_numpy(np.float32)))
        parts.append(csr_array(hstack([numbers, encoder.transform(frame[TEXTS])])))
    names = [name.replace("_", "=", 1) for name in encoder.get_feature_names_out(TEXTS)]
    return parts[0], parts[1], frames[0]["click"], np.array([*COUNTS, *names])


def by_one_hot(train: Path, test: Path) -> tuple[NDArray[Any], int]:
    """Return what SOFS predicts from a matrix made by hand."""
    X, X_test, y, names = matrices(train, test)
    selector = ss.SOFS(K).fit(X, y)
    kept = set(names[selector.selection().indices])
    return selector.predict_proba(X_test)[:, 1], len(planted() & kept)


def by_chi2(train: Path, test: Path) -> tuple[NDArray[Any], int]:
    """Return what a logistic regression predicts with the best columns by chi squared."""
    from sklearn.feature_selection import SelectKBest, chi2
    from sklearn.linear_model import LogisticRegression

    X, X_test, y, names = matrices(train, test)
    selector = SelectKBest(chi2, k=K).fit(X, y)
    model = LogisticRegression(max_iter=200).fit(selector.transform(X), y)
    kept = set(names[selector.get_support()])
    return model.predict_proba(selector.transform(X_test))[:, 1], len(planted() & kept)


def by_sgd(train: Path, test: Path) -> tuple[NDArray[Any], None]:
    """Return what a linear model of all columns predicts, after one pass."""
    from sklearn.linear_model import SGDClassifier

    X, X_test, y, _ = matrices(train, test)
    model = SGDClassifier(loss="log_loss", max_iter=1, tol=None).fit(X, y)
    return model.predict_proba(X_test)[:, 1], None


def by_lightgbm(train: Path, test: Path) -> tuple[NDArray[Any], None]:
    """Return what boosted trees on target-encoded categories predict."""
    import lightgbm

    def frame(path: Path) -> Any:
        data = parquet.read_table(path).to_pandas()
        return data.drop(columns=["time", "user"])

    train_frame, test_frame = frame(train), frame(test)
    for name in TEXTS:
        kinds = train_frame[name].astype("category").dtype
        train_frame[name], test_frame[name] = (
            part[name].astype(kinds) for part in (train_frame, test_frame)
        )
    model = lightgbm.LGBMClassifier(n_estimators=200, verbose=-1)
    model.fit(train_frame.drop(columns="click"), train_frame["click"])
    return model.predict_proba(test_frame.drop(columns="click"))[:, 1], None


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=ROWS)
    options.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options.add_argument("--write", action="store_true")
    asked = options.parse_args()
    files = [asked.folder / f"ad_log_{asked.rows}_{part}" for part in ("train", "test")]
    for seed, (path, rows) in enumerate(zip(files, (asked.rows, TEST_ROWS), strict=True)):
        if not path.with_suffix(".csv").exists():
            rows_made = make(rows, seed)
            parquet.write_table(rows_made, path.with_suffix(".parquet"))
            csv.write_csv(
                rows_made, path.with_suffix(".csv"), csv.WriteOptions(quoting_style="needed")
            )
    train, test = (path.with_suffix(".parquet") for path in files)
    methods: dict[str, tuple[Callable[..., Any], Path]] = {
        "SOFS from Parquet": (by_streamsieve, train),
        "SOFS from CSV": (by_streamsieve, files[0].with_suffix(".csv")),
        "SOFS, one-hot by hand": (by_one_hot, train),
        "chi2 and logistic regression": (by_chi2, train),
        "SGD, all columns, one pass": (by_sgd, train),
    }
    if installed("lightgbm"):
        methods["LightGBM"] = by_lightgbm, train
    lines = []
    for name, (learn, path) in methods.items():
        print(name, file=sys.stderr)
        apart(measure, learn, *(file for file in (path, test)))  # compiles
        figures = apart(measure, learn, *(file for file in (path, test)))
        lines.append(
            (
                name,
                *(f"{figures[part]:.4g}" if figures[part] is not None else "" for part in figures),
            )
        )
    text = table(("", "AUC", "log loss", "seconds", "MB", "planted, of 19"), lines)
    print(text)
    if asked.write:
        write_section("ad-log", f"{text}\n\n{machine()}")


if __name__ == "__main__":
    main()
