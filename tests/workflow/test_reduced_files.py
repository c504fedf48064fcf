"""Select, apply, predict: predictions of reduced files in every format, and refusals."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import streamsieve as ss
from streamsieve import workflow
from streamsieve.runs import RunDirectory
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.base import BlockSource
from streamsieve.sources.writers import write_rows
from streamsieve.workflow.row_norms import lengths_path

ROWS, FEATURES, KEPT = 240, 30, 6
SPARSE = {
    "svm": "rows.svm",
    "parquet": "sparse.parquet",
    "arrow": "sparse.arrow",
    "npz": "rows.npz",
}
TABLES = {
    "csv": "table.csv",
    "tsv": "table.tsv",
    "parquet-table": "table.parquet",
    "arrow-table": "table.arrow",
}
SOURCES = SPARSE | TABLES
TARGET = "bought"


def some_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return counts of different sums, some columns dense, for normalize="auto"."""
    rng = np.random.default_rng(5)
    X = rng.poisson(0.4, (ROWS, FEATURES)).astype(np.float32) * rng.integers(1, 9, ROWS)[:, None]
    X[:, 20:24] = rng.normal(3.0, 1.0, (ROWS, 4))
    y = np.where(X[:, 2] + X[:, 11] + 2 * X[:, 21] > X[:, 7] + X[:, 22] + 4.0, 1, -1)
    return X, y


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same rows in every format, and a run on each."""
    folder = tmp_path_factory.mktemp("formats")
    X, y = some_rows()
    for name in SPARSE.values():
        write_rows(folder / name, ArraySource(csr_array(X), y).row_blocks(), n_features=FEATURES)
    names = np.array([f"column {j}" for j in range(FEATURES)], object)
    for name in TABLES.values():
        write_rows(folder / name, ArraySource(X, y).row_blocks(), names, FEATURES, target=TARGET)
    for kind, name in SOURCES.items():
        target = TARGET if kind in TABLES else None
        ss.select(
            folder / name, n_features_to_select=KEPT, target=target, output=folder / f"run-{kind}"
        )
    return folder


def predict(run: Path, data: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and the scores that a run predicts."""
    blocks = list(workflow.predict(run, data, **options))
    labels, scores = (
        np.concatenate([getattr(prediction, name) for prediction, _ in blocks])
        for name in ("labels", "scores")
    )
    return labels, scores


def accuracy(run: Path, data: Any, **options: Any) -> float:
    rows = workflow.predict(run, data, **options)
    quality = workflow.measure(rows, rows.classes)
    assert quality is not None
    return float(quality[0])


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("output", ["svm", "svm.xz", "csv", "tsv.gz", "parquet", "arrow", "npz"])
@pytest.mark.parametrize("renumber", [False, True])
def test_reduced_rows_are_predicted_as_complete_ones(
    folder: Path, tmp_path: Path, kind: str, output: str, renumber: bool
) -> None:
    run, data, reduced = (
        folder / f"run-{kind}",
        folder / SOURCES[kind],
        tmp_path / f"reduced.{output}",
    )
    is_table = output in ("csv", "tsv.gz") or (kind in TABLES and output in ("parquet", "arrow"))
    if is_table and renumber:
        with pytest.raises(ss.UsageError, match="the columns of a table have names; omit renumber"):
            workflow.apply(run, data, reduced, renumber=renumber)
        return
    assert workflow.apply(run, data, reduced, renumber=renumber) == ROWS
    expected, reduced_result = predict(run, data), predict(run, reduced)
    np.testing.assert_array_equal(reduced_result[0], expected[0])
    np.testing.assert_allclose(reduced_result[1], expected[1], rtol=1e-6)
    assert accuracy(run, reduced) == accuracy(run, data) > 0.8
    width = ss.open_source(
        reduced, target=(TARGET if kind in TABLES else "label") if is_table else None
    ).n_features
    assert width in (
        (None,) if output.startswith("svm") else (KEPT,) if is_table or renumber else (FEATURES,)
    )


@pytest.mark.parametrize("kind", ["csv", "arrow-table"])
def test_selected_columns_are_enough_in_any_order_without_labels(
    folder: Path, tmp_path: Path, kind: str
) -> None:
    run = folder / f"run-{kind}"
    workflow.apply(run, folder / SOURCES[kind], tmp_path / "reduced.csv")
    table = pd.read_csv(tmp_path / "reduced.csv").drop(columns=TARGET)
    shuffled = table.assign(more=1.0)[["more", *reversed(table.columns)]]
    shuffled.to_csv(tmp_path / "other.csv", index=False)
    lengths_path(tmp_path / "reduced.csv").unlink()
    table.to_csv(tmp_path / "reduced.csv", index=False)
    same = predict(run, tmp_path / "other.csv")[1]
    np.testing.assert_allclose(same, predict(run, tmp_path / "reduced.csv")[1])
    np.testing.assert_allclose(same, predict(run, (shuffled, None))[1])
    shuffled.drop(columns=table.columns[2]).to_csv(tmp_path / "fewer.csv", index=False)
    with pytest.raises(ss.DataError, match=f"there is no column '{table.columns[2]}'"):
        predict(run, tmp_path / "fewer.csv")


def test_lengths_that_are_not_known_are_estimated_and_said_to_be(
    folder: Path, tmp_path: Path, caplog: Any
) -> None:
    run, data = folder / "run-csv", folder / SOURCES["csv"]
    workflow.apply(run, data, tmp_path / "reduced.csv")
    complete = predict(run, data)[0]
    with caplog.at_level(logging.WARNING, "streamsieve"):
        assert np.array_equal(predict(run, tmp_path / "reduced.csv")[0], complete)
        assert not caplog.records
        shutil.copy(tmp_path / "reduced.csv", tmp_path / "moved.csv")
        assert np.mean(predict(run, tmp_path / "moved.csv")[0] == complete) > 0.95
        shutil.copy(lengths_path(tmp_path / "reduced.csv"), lengths_path(tmp_path / "changed.csv"))
        pd.read_csv(tmp_path / "reduced.csv").iloc[::-1].to_csv(
            tmp_path / "changed.csv", index=False
        )
        predict(run, tmp_path / "changed.csv")
        lengths_path(tmp_path / "reduced.csv").write_bytes(b"{}")
        predict(run, tmp_path / "reduced.csv")
    reasons = [record.getMessage().split("unknown (")[1].split(")")[0] for record in caplog.records]
    assert reasons == [
        ".moved.csv.lengths is missing",
        "changed.csv has changed since .changed.csv.lengths was written",
        ".reduced.csv.lengths is damaged",
    ]


@pytest.mark.parametrize("renumber", [False, True])
def test_reduced_rows_of_a_zero_based_run_are_written_as_predict_reads_them(
    tmp_path: Path, renumber: bool
) -> None:
    X, y = some_rows()
    data, run, reduced = tmp_path / "zero.svm", tmp_path / "run", tmp_path / "reduced.svm"
    write_rows(
        data, ArraySource(csr_array(X), y).row_blocks(), n_features=FEATURES, zero_based=True
    )
    ss.select(data, n_features_to_select=KEPT, zero_based=True, output=run)
    workflow.apply(run, data, reduced, renumber=renumber)
    np.testing.assert_array_equal(predict(run, reduced)[0], predict(run, data)[0])


OMITTED = {
    "drop": "3,12,22",
    "only": "1,2,4,7,8,21,22,23,24",
}  # ids that count from 1, some of them informative


@pytest.mark.parametrize("option", OMITTED)
@pytest.mark.parametrize("later", SPARSE.values())
def test_omitted_ids_are_those_of_the_training_in_every_later_file(
    folder: Path, tmp_path: Path, option: str, later: str
) -> None:
    data, run, given = folder / SPARSE["svm"], tmp_path / "run", {option: OMITTED[option]}
    record = ss.select(data, n_features_to_select=4, output=run, test=folder / later, **given)
    expected = predict(run, data)
    np.testing.assert_array_equal(predict(run, folder / later)[1], expected[1])
    assert record.test_accuracy == accuracy(run, data)
    for renumber in (False, True):
        workflow.apply(run, folder / later, tmp_path / later, renumber=renumber)
        np.testing.assert_allclose(predict(run, tmp_path / later)[1], expected[1], rtol=1e-6)


def test_all_features_that_are_kept_make_complete_rows(
    folder: Path, tmp_path: Path, caplog: Any
) -> None:
    data, run = folder / SPARSE["svm"], tmp_path / "run"
    ss.select(data, n_features_to_select=4, only="3,12,22,23", output=run)
    with caplog.at_level(logging.WARNING, "streamsieve"):
        predict(run, data)
    assert not caplog.records


def test_names_that_are_omitted_need_not_be_in_later_files(folder: Path, tmp_path: Path) -> None:
    words = [f"word {j}" for j in range(FEATURES)]
    data, run = folder / SPARSE["svm"], tmp_path / "run"
    (tmp_path / "words.txt").write_text("\n".join(words))
    by_id = ss.select(data, n_features_to_select=KEPT, drop="3,12", test=data)
    for names in (tmp_path / "words.txt", words):
        record = ss.select(
            data,
            n_features_to_select=KEPT,
            names=names,
            drop="word 2,word 11",
            test=data,
            output=run,
        )
        assert record.selection.names.tolist() == [
            words[feature] for feature in by_id.selection.indices
        ]
        assert record.test_accuracy == by_id.test_accuracy == accuracy(run, data)
        workflow.apply(run, data, tmp_path / "less.csv")
        assert accuracy(run, tmp_path / "less.csv") == by_id.test_accuracy
        workflow.apply(run, data, tmp_path / "less.npz")
        assert ss.open_source(tmp_path / "less.npz").feature_names.tolist() == words
        assert workflow.resume(run).selection.names.tolist() == record.selection.names.tolist()
        shutil.rmtree(run)


def test_complete_rows_are_known_as_such_however_small_their_blocks_are(
    folder: Path, tmp_path: Path, caplog: Any
) -> None:
    run = folder / "run-npz"
    selected = RunDirectory(run).result().selection.indices
    X, y = some_rows()
    X[:2] = 0
    X[0, selected] = 1.0  # a row without other features, and one without values
    whole = ArraySource(csr_array(X), y, name="rows")
    expected = predict(run, whole)
    single = list(ArraySource(csr_array(X), y, name="rows", block_rows=1).row_blocks())
    with caplog.at_level(logging.WARNING, "streamsieve"):
        result = predict(run, BlockSource(iter(single), n_features=FEATURES))
        workflow.apply(
            run, BlockSource(iter(single), n_features=FEATURES), tmp_path / "reduced.npz"
        )
        reduced = predict(run, tmp_path / "reduced.npz")
    assert not caplog.records
    np.testing.assert_array_equal(result[1], expected[1])
    np.testing.assert_allclose(reduced[1], expected[1], rtol=1e-6)


def test_rows_that_another_selection_has_renumbered_are_refused(
    folder: Path, tmp_path: Path
) -> None:
    run, data = folder / "run-svm", folder / SOURCES["svm"]
    ss.select(data, n_features_to_select=3, output=tmp_path / "other")
    for suffix in ("svm", "npz", "parquet", "arrow", "svm.gz"):
        reduced = tmp_path / f"reduced.{suffix}"
        workflow.apply(tmp_path / "other", data, reduced, renumber=True)
        with pytest.raises(ss.DataError, match="renumbered, and not by the selection of this run"):
            workflow.predict(run, reduced)
    ss.select(data, n_features_to_select=KEPT, drop="3", output=tmp_path / "dropping")
    with pytest.raises(ss.DataError, match="renumbered, and not by the selection of this run"):
        workflow.predict(tmp_path / "dropping", tmp_path / "reduced.npz")
    workflow.convert(tmp_path / "reduced.svm", tmp_path / "copy.npz")
    with pytest.raises(ss.DataError, match="renumbered, and not by the selection of this run"):
        workflow.predict(run, tmp_path / "copy.npz")
    with pytest.raises(ss.UsageError, match="have no names for the columns of a table"):
        workflow.convert(tmp_path / "reduced.svm", tmp_path / "copy.csv")


def test_a_run_on_renumbered_rows_takes_rows_that_are_numbered_alike(
    folder: Path, tmp_path: Path
) -> None:
    data, reduced = folder / SOURCES["svm"], tmp_path / "reduced.svm"
    workflow.apply(folder / "run-svm", data, reduced, renumber=True)
    ss.select(reduced, n_features_to_select=2, output=tmp_path / "second")
    assert accuracy(tmp_path / "second", reduced) > 0.5
    with pytest.raises(
        ss.DataError,
        match="the run has learned from rows with renumbered features, and these are not",
    ):
        workflow.predict(tmp_path / "second", data)
    twice = tmp_path / "twice.svm"
    workflow.apply(tmp_path / "second", reduced, twice, renumber=True)
    assert accuracy(tmp_path / "second", twice) == accuracy(tmp_path / "second", reduced)


def test_columns_of_methods_that_read_columns_are_found_by_name(
    folder: Path, tmp_path: Path
) -> None:
    data = folder / SOURCES["csv"]
    ss.select(data, "online-substitution", 3, target=TARGET, output=tmp_path / "run")
    table = pd.read_csv(data)
    table[table.columns[::-1]].to_csv(tmp_path / "other.csv", index=False)
    assert accuracy(tmp_path / "run", tmp_path / "other.csv") == accuracy(tmp_path / "run", data)
    workflow.apply(tmp_path / "run", tmp_path / "other.csv", tmp_path / "reduced.svm")
    assert not lengths_path(tmp_path / "reduced.svm").exists()
    assert accuracy(tmp_path / "run", tmp_path / "reduced.svm") == accuracy(tmp_path / "run", data)


def test_a_method_that_predicts_with_all_features_says_so(
    folder: Path, tmp_path: Path, caplog: Any
) -> None:
    ss.select(folder / "table.csv", "arow", KEPT, target=TARGET, output=tmp_path / "run")
    workflow.apply(tmp_path / "run", folder / "table.csv", tmp_path / "reduced.csv")
    with pytest.raises(
        ss.DataError, match=r"there is no column .*; this model predicts with all features"
    ):
        workflow.predict(tmp_path / "run", tmp_path / "reduced.csv")
    workflow.apply(tmp_path / "run", folder / "table.csv", tmp_path / "reduced.npz")
    with caplog.at_level(logging.WARNING, "streamsieve"):
        list(workflow.predict(tmp_path / "run", tmp_path / "reduced.npz"))
    assert "arow predicts with all features; predict the complete rows" in caplog.text


@pytest.mark.parametrize("kept", [2, 3])
@pytest.mark.parametrize("output", ["csv", "parquet", "arrow"])
def test_a_selected_date_is_predicted_from_the_days_that_apply_writes(
    tmp_path: Path, output: str, kept: int
) -> None:
    rng = np.random.default_rng(0)
    days = rng.integers(0, 1000, ROWS)
    frame = pd.DataFrame({"noise": rng.normal(size=ROWS), "since": pd.Timestamp("2020-01-01")})
    frame["since"] += pd.to_timedelta(days, "D")
    frame["member"], frame["y"] = rng.random(ROWS) < 0.5, (days > 500).astype(int)
    data, run, reduced = tmp_path / "table.csv", tmp_path / "run", tmp_path / f"reduced.{output}"
    frame.to_csv(data, index=False)
    record = ss.select(data, n_features_to_select=kept, target="y", output=run)
    assert record.selection.names is not None
    assert "since" in record.selection.names
    workflow.apply(run, data, reduced)
    np.testing.assert_array_equal(predict(run, reduced)[0], predict(run, data)[0])
    chosen = frame[[*record.selection.names, "y"]]
    chosen.to_csv(tmp_path / "chosen.csv", index=False)  # dates as they are, which are days no less
    np.testing.assert_array_equal(
        predict(run, (chosen, None))[0], predict(run, tmp_path / "chosen.csv")[0]
    )
    if kept < 3:
        frame.assign(since=days).to_csv(tmp_path / "other.csv", index=False)
        with pytest.raises(ss.DataError, match="expected a date such as 2024-01-31 as in the"):
            predict(run, tmp_path / "other.csv")


@pytest.mark.parametrize("kind", ["svm", "csv"])
@pytest.mark.parametrize("output", ["csv", "parquet", "arrow", "npz", "svm"])
def test_rows_of_which_nothing_was_selected_are_predicted(
    folder: Path, tmp_path: Path, kind: str, output: str
) -> None:
    data, run, reduced = folder / SOURCES[kind], tmp_path / "run", tmp_path / f"reduced.{output}"
    record = ss.select(
        data, "grafting", target=TARGET if kind in TABLES else None, penalty=1e9, output=run
    )
    assert not len(record.selection)
    workflow.apply(run, data, reduced)
    np.testing.assert_array_equal(predict(run, reduced)[1], predict(run, data)[1])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_rows_of_which_nothing_was_selected_may_have_columns_that_are_not_numbers(
    tmp_path: Path, suffix: str
) -> None:
    table = pd.DataFrame(
        {
            "a": [1.0, 2.0] * 20,
            "day": pd.Timestamp("2024-01-31"),
            "town": "Ulm",
            "y": [0] * 20 + [1] * 20,
        }
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    table.to_parquet(tmp_path / "table.parquet")
    table.to_feather(tmp_path / "table.arrow")
    data, run = tmp_path / f"table.{suffix}", tmp_path / "run"
    assert not len(ss.select(data, "saola", target="y", drop="day,town", output=run).selection)
    assert workflow.apply(run, data, tmp_path / "less.npz") == len(table)
    assert ss.open_source(tmp_path / "less.npz").targets().tolist() == table["y"].tolist()


def test_rows_without_labels_are_reduced_and_predicted(folder: Path, tmp_path: Path) -> None:
    run, data = folder / "run-svm", folder / SOURCES["svm"]
    lines = [line.split(" ", 1)[1] for line in data.read_text().splitlines()]
    (tmp_path / "new.svm").write_text("\n".join(lines) + "\n")
    expected = predict(run, data)[0]
    assert np.array_equal(predict(run, tmp_path / "new.svm")[0], expected)
    for suffix in ("csv", "parquet", "npz"):
        workflow.apply(run, tmp_path / "new.svm", tmp_path / f"reduced.{suffix}")
        assert np.array_equal(predict(run, tmp_path / f"reduced.{suffix}")[0], expected)
    with pytest.raises(
        ss.DataError, match="the rows have no labels, which svmlight text must have"
    ):
        workflow.apply(run, tmp_path / "new.svm", tmp_path / "reduced.svm")
    with pytest.raises(ss.DataError, match="the rows have no labels"):
        ss.select(tmp_path / "new.svm")
    (tmp_path / "mixed.svm").write_text("1 1:1\n2:1\n")
    with pytest.raises(ss.DataError, match=r"mixed.svm:2: this row has no label"):
        predict(run, tmp_path / "mixed.svm")


@pytest.mark.parametrize("suffix", ["svm", "npz", "parquet", "arrow"])
@pytest.mark.parametrize("method", ["sofs", "saola"])
def test_names_from_a_file_travel_to_every_format(
    folder: Path, tmp_path: Path, suffix: str, method: str
) -> None:
    words = [f"word {j}" for j in range(FEATURES)]
    (tmp_path / "words.txt").write_text("\n".join(words))
    data = folder / SPARSE[suffix]
    run = tmp_path / "run"
    record = ss.select(data, method, 4, names=tmp_path / "words.txt", output=run)
    assert record.selection.names.tolist() == [
        words[feature] for feature in record.selection.indices
    ]
    table = pd.read_csv(run / "selection.csv")
    assert table["feature"].tolist() == [words[feature] for feature in table["index"]]
    for output in ("parquet", "arrow", "npz"):
        workflow.apply(run, data, tmp_path / f"less.{output}")
        assert ss.open_source(tmp_path / f"less.{output}").feature_names.tolist() == words
        workflow.apply(run, data, tmp_path / f"compact.{output}", renumber=True)
        compact = ss.open_source(tmp_path / f"compact.{output}").feature_names
        assert compact.tolist() == record.selection.names.tolist()
    workflow.apply(run, data, tmp_path / "less.csv")
    assert list(pd.read_csv(tmp_path / "less.csv").columns) == [*record.selection.names, "label"]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("method", ["sofs", "local-learning", "saola"])
@pytest.mark.parametrize("names", ["of the file", "given"])
def test_names_of_a_file_of_columns_are_kept(
    folder: Path, tmp_path: Path, suffix: str, method: str, names: str
) -> None:
    columns, run, table = tmp_path / f"columns.{suffix}", tmp_path / "run", folder / TABLES["csv"]
    words = pd.read_csv(table).columns.drop(TARGET).tolist()
    given = names == "given"
    workflow.convert_to_columns(
        folder / SPARSE["npz"] if given else table, columns, target=None if given else TARGET
    )
    record = ss.select(
        columns, method, n_features_to_select=3, names=words if given else None, output=run
    )
    assert record.selection.names.tolist() == [
        words[feature] for feature in record.selection.indices
    ]
    workflow.apply(run, table, tmp_path / "less.csv")
    workflow.apply(run, columns, tmp_path / "columns.csv")
    for reduced in ("less.csv", "columns.csv"):
        assert pd.read_csv(tmp_path / reduced).columns.drop(
            "label", errors="ignore"
        ).tolist() == list(record.selection.names)
    if method == "sofs":
        np.testing.assert_array_equal(predict(run, table)[0], predict(run, columns)[0])


@pytest.mark.parametrize("form", ["svm", "columns.parquet"])
def test_rows_to_test_on_may_be_a_table_as_apply_writes_it(
    folder: Path, tmp_path: Path, form: str
) -> None:
    X, y = some_rows()
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(FEATURES)]).assign(label=y)
    table[table.columns[::-1]].to_csv(tmp_path / "test.csv", index=False)
    data = folder / SPARSE["svm"]
    if form != "svm":
        workflow.convert_to_columns(data, tmp_path / form)
        data = tmp_path / form
    record = ss.select(
        data, n_features_to_select=KEPT, test=tmp_path / "test.csv", output=tmp_path / "run"
    )
    assert record.test_accuracy == accuracy(tmp_path / "run", tmp_path / "test.csv") > 0.8


def test_rows_to_test_on_may_be_a_table_with_the_names_of_a_file_of_columns(
    folder: Path, tmp_path: Path
) -> None:
    workflow.convert_to_columns(folder / TABLES["csv"], tmp_path / "columns.parquet", target=TARGET)
    test = pd.read_csv(folder / TABLES["csv"]).rename(columns={TARGET: "label"})
    test[test.columns[::-1]].to_csv(tmp_path / "test.csv", index=False)
    record = ss.select(
        tmp_path / "columns.parquet",
        "grafting",
        4,
        test=tmp_path / "test.csv",
        output=tmp_path / "run",
    )
    assert record.test_accuracy == accuracy(tmp_path / "run", tmp_path / "test.csv") > 0.6


@pytest.fixture(scope="module")
def skipping(folder: Path) -> tuple[Path, Path]:
    """Return a run that skips missing values, and its table."""
    table = pd.read_csv(folder / TABLES["csv"])
    table.loc[3, "column 21"] = np.nan
    table.to_csv(folder / "gaps.csv", index=False)
    ss.select(
        folder / "gaps.csv", "saola", 3, target=TARGET, missing="skip", output=folder / "skipping"
    )
    return folder / "skipping", folder / "gaps.csv"


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "parquet", "arrow", "npz"])
def test_missing_values_that_a_method_skips_are_written_as_transform_gives_them(
    skipping: tuple[Path, Path], tmp_path: Path, suffix: str
) -> None:
    run, data = skipping
    reduced = tmp_path / f"reduced.{suffix}"
    workflow.apply(run, data, reduced)
    model, rows = ss.load(run), pd.read_csv(data).drop(columns=TARGET).to_numpy()
    blocks = ss.open_source(reduced, target=None if suffix == "npz" else TARGET).row_blocks("keep")
    written = np.concatenate([block.to_dense() for block in blocks])
    expected = model.transform(rows).astype(np.float32)
    assert np.isnan(expected).sum() == 1
    np.testing.assert_array_equal(
        written[:, model.get_support()] if suffix == "npz" else written, expected
    )
    if suffix == "csv":
        assert ",," in f",{reduced.read_text().splitlines()[4]}"


def test_missing_values_are_not_written_to_svmlight_text(
    skipping: tuple[Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(
        ss.DataError,
        match=r"gaps.csv: there are missing values, which svmlight text cannot hold; write",
    ):
        workflow.apply(*skipping, tmp_path / "reduced.svm")
    assert not list(tmp_path.iterdir())


def test_names_are_checked(folder: Path, tmp_path: Path) -> None:
    data = folder / SPARSE["svm"]
    for content, message in (
        (b"a\nb\n", r"there is a feature 30, but .*names has only 2 names; 30 are needed"),
        (b"a\nb\na\n", r"names:3: the name 'a' appears twice, first in line 1"),
        (b"a\n\nb\n", r"names:2: the name is empty"),
        (b"a\n\xff\n", r"names:2: not UTF-8 text"),
        (b"", r"names: there are no names"),
    ):
        (tmp_path / "names").write_bytes(content)
        with pytest.raises(ss.DataError, match=message):
            ss.select(data, names=tmp_path / "names")
    with pytest.raises(ss.UsageError, match="its features have names already; omit names"):
        ss.open_source(folder / TABLES["csv"], target=TARGET, names=["a"])
    assert ss.open_source((csr_array(np.eye(2)), [0, 1]), names=list("abc")).n_features == 3
    with pytest.raises(ss.DataError, match="names has 3 names for 2 columns"):
        ss.open_source((np.eye(2), [0, 1]), names=["a", "b", "c"])


def test_ids_are_shown_as_the_file_writes_them(tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("1 1:1 2:1\n-1 2:1\n1 1:2\n-1 2:3\n" * 5)
    (tmp_path / "zero.svm").write_text("1 0:1 1:1\n-1 1:1\n1 0:2\n-1 1:3\n" * 5)
    for name, zero_based, first in (("rows", False, 1), ("zero", True, 0)):
        run = tmp_path / f"run-{name}"
        record = ss.select(
            tmp_path / f"{name}.svm", n_features_to_select=1, zero_based=zero_based, output=run
        )
        assert record.details["first_id"] == first
        table = pd.read_csv(run / "selection.csv")
        assert table["feature"].tolist() == [index + first for index in record.selection.indices]
        assert table["index"].tolist() == record.selection.indices.tolist()
        assert accuracy(run, tmp_path / f"{name}.svm") == 1.0


def test_a_table_is_converted_to_a_table(folder: Path, tmp_path: Path) -> None:
    for suffix in ("parquet", "arrow", "csv"):
        workflow.convert(folder / TABLES["csv"], tmp_path / f"copy.{suffix}", target=TARGET)
        copy = ss.open_source(tmp_path / f"copy.{suffix}", target=TARGET)
        assert copy.feature_names.tolist() == [f"column {j}" for j in range(FEATURES)]
    workflow.convert(folder / SPARSE["svm"], tmp_path / "rows.csv")
    assert list(pd.read_csv(tmp_path / "rows.csv").columns) == [
        *(f"x{j}" for j in range(FEATURES)),
        "label",
    ]
    assert accuracy(folder / "run-svm", tmp_path / "rows.csv") == accuracy(
        folder / "run-svm", folder / "rows.svm"
    )
    with pytest.raises(
        ss.UsageError, match=r"has 20,000 features, and a table of more than 10,000 columns"
    ):
        workflow.convert("synthetic:x2?rows=3", tmp_path / "wide.csv")
    with pytest.raises(ss.UsageError, match=r"\.txt is not a known suffix; the suffixes are \.svm"):
        workflow.convert(folder / SPARSE["svm"], tmp_path / "rows.txt")
    with pytest.raises(ss.UsageError, match="the name has no suffix"):
        workflow.apply(folder / "run-svm", folder / SPARSE["svm"], tmp_path / "rows")
