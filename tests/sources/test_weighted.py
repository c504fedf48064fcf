"""A column of weights: rows count as it says, and methods without weights of rows reject it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import streamsieve as ss
from streamsieve import SOFS, DataError, UsageError, open_source, workflow
from streamsieve.evaluation.resampling import stability_selection

from .reading import put, read

FORMATS = ".csv", ".tsv", ".parquet", ".arrow"


def clicks(n: int = 300) -> pd.DataFrame:
    """Return rows of which one class counts four times, with a column of text."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4)).round(3)
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    table["label"] = (X[:, 1] + random.normal(size=n) > 0.5).astype(int)
    table.insert(1, "times", np.where(table["label"] == 1, 1.0, 4.0))
    table.insert(2, "place", random.choice(["here", "there"], n))
    return table


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table in the format of the suffix."""
    if path.suffix in (".csv", ".tsv"):
        table.to_csv(path, index=False, sep="," if path.suffix == ".csv" else "\t")
    else:
        table.to_parquet(path) if path.suffix == ".parquet" else table.to_feather(path)


def fitted(source) -> SOFS:
    return SOFS(2).fit_source(source)


def assert_equal_models(first: SOFS, second: SOFS) -> None:
    assert first.selection().names.tolist() == second.selection().names.tolist()
    np.testing.assert_allclose(
        first.scores_, second.scores_, rtol=1e-6
    )  # a table in memory is read as float64
    np.testing.assert_allclose(first.intercept_, second.intercept_, rtol=1e-6)


@pytest.mark.parametrize("with_text", [False, True])
@pytest.mark.parametrize("suffix", FORMATS)
def test_weights_of_a_column_are_those_given_to_fit(tmp_path, suffix, with_text):
    table = clicks() if with_text else clicks().drop(columns="place")
    path = tmp_path / f"rows{suffix}"
    write(table, path)
    source = open_source(path, "label", weight="times")
    names = source.feature_names.tolist()
    assert "times" not in names
    assert source.n_features == len(names) == (6 if with_text else 4)
    X = table.drop(columns=["label", "times"])
    expected = SOFS(2).fit(X, table["label"], sample_weight=table["times"])
    assert_equal_models(fitted(source), expected)
    assert source.encoding is None or "times" not in source.encoding.column_names


@pytest.mark.parametrize("convert", [lambda table: table, pl.from_pandas], ids=["pandas", "polars"])
def test_tables_in_memory_have_weights_too(convert):
    table = clicks()
    X = table.drop(columns=["label", "times"])
    expected = SOFS(2).fit(X, table["label"], sample_weight=table["times"])
    assert_equal_models(fitted(open_source(convert(table), "label", weight="times")), expected)
    pair = convert(table.drop(columns="label")), table["label"].to_numpy()
    assert_equal_models(fitted(open_source(pair, weight="times")), expected)


def test_weights_come_with_the_rows_and_zeros_stay_zeros(tmp_path):
    path = put(tmp_path, "w,a,b,y\n2,1,0,0\n0,0,3,1\n.5,4,0,1\n")
    source = open_source(path, "y", weight="w")
    assert read(source) == ([[1, 0], [0, 3], [4, 0]], [0, 1, 1])
    assert np.concatenate([block.sample_weight for block in source.row_blocks()]).tolist() == [
        2,
        0,
        0.5,
    ]
    assert source.targets().tolist() == [0, 1, 1]
    assert np.concatenate(list(source.labels())).tolist() == [0, 1, 1]


@pytest.mark.parametrize("n", [2, 3])
def test_shards_have_their_weights(tmp_path, n):
    path = tmp_path / "rows.parquet"
    write(clicks(), path)
    source = open_source(path, "label", weight="times")
    expected = np.concatenate([block.sample_weight for block in source.row_blocks()])
    weights = [block.sample_weight for shard in source.shards(n) for block in shard.row_blocks()]
    assert np.concatenate(weights).tolist() == expected.tolist()


def test_several_files_have_their_weights(tmp_path):
    table = clicks()
    table[:120].to_csv(tmp_path / "1.csv", index=False)
    table[120:][table.columns[::-1]].to_csv(tmp_path / "2.csv", index=False)
    source = open_source([tmp_path / "1.csv", tmp_path / "2.csv"], "label", weight="times")
    weights = np.concatenate([block.sample_weight for block in source.row_blocks()])
    assert weights.tolist() == table["times"].tolist()


def test_the_column_is_no_feature_whatever_is_kept(tmp_path):
    path = tmp_path / "rows.csv"
    write(clicks(), path)
    assert open_source(path, "label", weight="times", only="a,times").feature_names.tolist() == [
        "a"
    ]
    assert open_source(
        path, "label", weight="times", drop="times,place"
    ).feature_names.tolist() == ["a", "b", "c", "d"]
    assert open_source(
        path, "label", columns=["c", "a"], weight="times"
    ).feature_names.tolist() == ["c", "a"]


def test_rows_to_test_on_and_later_rows_need_no_weights(tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    clicks().to_csv(train, index=False)
    clicks().drop(columns="times").to_csv(test, index=False)
    record = ss.select(
        train, "sofs", 2, target="label", weight="times", test=test, output=tmp_path / "run"
    )
    assert record.test_accuracy is not None
    assert sum(len(part.labels) for part, _ in workflow.predict(tmp_path / "run", test)) == 300
    assert workflow.apply(tmp_path / "run", test, tmp_path / "reduced.csv") == 300


def test_a_run_with_weights_goes_on_as_it_began(tmp_path):
    path, table = tmp_path / "rows.csv", clicks()
    table.loc[::3, "times"] = 0
    write(table, path)
    whole = ss.select(path, "sofs", 2, target="label", weight="times")

    def stop(now):
        if now.done >= 120:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ss.select(
            path,
            "sofs",
            2,
            target="label",
            weight="times",
            output=tmp_path / "run",
            checkpoint_every=100,
            watch=stop,
        )
    record = workflow.resume(tmp_path / "run")
    assert record.selection.scores.tolist() == whole.selection.scores.tolist()
    assert record.mistakes == whole.mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"weight": "time"},
            "there is no column 'time' for the row weights; did you mean times?",
        ),
        (
            {"weight": "label"},
            "there is no column 'label' for the row weights; did you mean place?",
        ),
        (
            {"weight": "place"},
            "column 'place' is not numeric, and weights must be numbers",
        ),
        ({"weight": "place", "strings": "drop"}, "column 'place' is not numeric"),
        ({"weight": "b"}, "row 1: its sample_weight is -"),
    ],
)
def test_what_is_no_weight_is_refused(tmp_path, options, message):
    table = clicks()
    table["b"] -= 10
    path = tmp_path / "rows.csv"
    write(table, path)
    with pytest.raises((DataError, UsageError), match=message):
        fitted(open_source(path, "label", **options))


def test_what_has_no_columns_is_refused():
    with pytest.raises(UsageError, match="a column of weights is for tables"):
        open_source((np.eye(3), [0, 1, 0]), weight="a")
    with pytest.raises(UsageError, match="cannot change how an open source is read"):
        open_source(open_source((np.eye(3), [0, 1, 0])), weight="a")


@pytest.mark.parametrize(
    ("refuse", "reason"),
    [
        (
            lambda path: ss.select(path, "saola", target="label", weight="times"),
            "saola does not learn row by row",
        ),
        (
            lambda path: ss.select(path, "mrmr", 2, target="label", weight="times"),
            "mrmr does not learn row by row",
        ),
        (
            lambda path: ss.SAOLA().fit_source(open_source(path, "label", weight="times")),
            "saola does not learn row",
        ),
        (
            lambda path: ss.select(path, "sofs", 2, target="label", weight="times", resamples=3),
            "subsamples have no weights; omit resamples or weight",
        ),
        (
            lambda path: stability_selection(open_source(path, "label", weight="times")),
            "rows.parquet: subsamples have no weights",
        ),
        (
            lambda path: ss.compare(path, "sofs", 2, target="label", weight="times"),
            "a comparison gives all rows the same weight",
        ),
        (
            lambda path: workflow.convert(path, path.with_suffix(".csv"), "label", weight="times"),
            "their column is written like any other",
        ),
        (
            lambda path: workflow.convert_to_columns(
                path, path.with_suffix(".arrow"), "label", weight="times"
            ),
            "their column is written like any other",
        ),
    ],
)
def test_what_cannot_weigh_rows_says_so(tmp_path, refuse, reason):
    path = tmp_path / "rows.parquet"
    write(clicks().drop(columns="place"), path)
    with pytest.raises(UsageError, match=reason):
        refuse(path)
