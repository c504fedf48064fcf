"""Labels of text tables: numbers if all are plain numbers, otherwise text as it is written."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamsieve as ss
from streamsieve.sources import delimited_text
from streamsieve.sources.labels import is_plain_number
from streamsieve.workflow import predict
from tests.cli.console import run_transcript


def put(path: Path, labels: list[str]) -> Path:
    """Write a table whose first column determines the label of a row; the second is noise."""
    distinct, random = sorted(set(labels)), np.random.default_rng(0)
    lines = [f"{distinct.index(label) + 1},{random.integers(1, 9)},{label}\n" for label in labels]
    text = "a,b,y\n" + "".join(lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def labels_in(path: Path) -> list[Any]:
    return ss.open_source(path, target="y").targets().tolist()


@pytest.fixture
def table(tmp_path) -> Path:
    return tmp_path / "table.csv"


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (["7", "8"], [7, 8]),
        (["-1", "0"], [-1, 0]),
        (["+1", "-1"], [1.0, -1.0]),
        (["0.5", "1"], [0.5, 1.0]),
        (["1.50", "12.00"], [1.5, 12.0]),
        (["1e3", ".5"], [1000.0, 0.5]),
        ([" 7", "8 "], [7, 8]),
        (["true", "False"], [True, False]),
        (["007", "07", "7"], ["007", "07", "7"]),
        (["00", "0"], ["00", "0"]),
        (["-01", "-1"], ["-01", "-1"]),
        (["0x1F", "31"], ["0x1F", "31"]),
        (["2020-01-01", "2020-01-02"], ["2020-01-01", "2020-01-02"]),
        (["12:30", "13:30"], ["12:30", "13:30"]),
        (["true", "7"], ["true", "7"]),
        (
            ["1" + "0" * 28 + "1", "1" + "0" * 28 + "2"],
            ["1" + "0" * 28 + "1", "1" + "0" * 28 + "2"],
        ),
        (
            ["9223372036854775807", "9223372036854775806"],
            ["9223372036854775807", "9223372036854775806"],
        ),
        (["999999999999999999", "999999999999999998"], [999999999999999999, 999999999999999998]),
    ],
)
def test_labels_are_numbers_only_if_all_are_plain(
    table: Path, words: list[str], labels: list[Any]
) -> None:
    assert labels_in(put(table, words * 3)) == labels * 3


def test_different_codes_are_different_classes(tmp_path: Path) -> None:
    path = put(tmp_path / "codes.csv", ["007", "07", "7"] * 60)
    record = ss.select(
        path, "sofs", 1, target="y", classes=["007", "07", "7"], output=tmp_path / "run"
    )
    selector = record.selector
    assert selector is not None
    assert selector.classes_.tolist() == ["007", "07", "7"]
    predicted = [
        label for rows, _ in predict(tmp_path / "run", path) for label in rows.labels.tolist()
    ]
    assert set(predicted) <= {"007", "07", "7"}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("late", ["007", "maybe", "1" * 20])
def test_label_of_another_kind_far_down_is_named_with_its_line(
    tmp_path, monkeypatch, suffix, late
) -> None:
    monkeypatch.setattr(delimited_text, "FIRST_BYTES", 256)
    monkeypatch.setattr(delimited_text, "CHUNK_BYTES", 256)
    path = put(tmp_path / f"late{suffix}", ["7", "8"] * 300 + [late, "7"])
    with pytest.raises(
        ss.DataError, match=f":602: the label '{late}' is not a plain number.*name all classes"
    ):
        labels_in(path)
    source = ss.open_source(path, target="y")
    model = ss.SOFS(1).fit_source(source, classes=["7", "8", late])
    assert model.classes_.tolist() == sorted(["7", "8", late])
    assert source.targets().tolist()[-2:] == [late, "7"]


def test_truth_values_that_become_text_are_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(delimited_text, "FIRST_BYTES", 256)
    monkeypatch.setattr(delimited_text, "CHUNK_BYTES", 256)
    path = put(tmp_path / "late.csv", ["true", "false"] * 300 + ["maybe"])
    with pytest.raises(ss.DataError, match=":602: the label 'maybe' is not true or false"):
        labels_in(path)


def test_integers_may_become_fractions_far_down(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(delimited_text, "FIRST_BYTES", 256)
    monkeypatch.setattr(delimited_text, "CHUNK_BYTES", 256)
    path = put(tmp_path / "late.csv", ["7", "8"] * 300 + ["0.5"])
    assert labels_in(path) == [7.0, 8.0] * 300 + [0.5]


def test_parts_of_a_file_read_labels_as_its_first_rows_say(tmp_path: Path) -> None:
    path = put(tmp_path / "codes.csv", ["007"] * 40 + ["7"] * 40)
    parts = ss.open_source(path, target="y").shards(2)
    assert [label for part in parts for label in part.targets().tolist()] == ["007"] * 40 + [
        "7"
    ] * 40


def test_files_that_are_read_as_one_have_labels_of_one_kind(tmp_path: Path) -> None:
    (
        put(tmp_path / "1.csv", ["007", "7"]),
        put(tmp_path / "2.csv", ["7", "8"]),
        put(tmp_path / "3.csv", ["07", "7"]),
    )
    assert ss.open_source(
        [tmp_path / "1.csv", tmp_path / "2.csv"], target="y"
    ).targets().tolist() == [*("007", "7", "7", "8")]
    source = ss.open_source([tmp_path / "2.csv", tmp_path / "3.csv"], target="y")
    with pytest.raises(
        ss.DataError,
        match=r"3\.csv: its labels are text, but numbers in .*2\.csv; .*name all classes",
    ):
        source.targets()
    source.read_labels_as_text()
    assert source.targets().tolist() == ["7", "8", "07", "7"]


def test_rows_to_test_on_have_labels_like_those_of_the_training(tmp_path: Path) -> None:
    train = put(tmp_path / "train.csv", ["007", "7"] * 60)
    test = tmp_path / "test.csv"
    test.write_text(train.read_text().replace("007", "7"))  # on its own, a file of numbers
    record = ss.select(train, "sofs", 1, target="y", test=test)
    assert record.test_accuracy == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("train", "test"), [(["7", "8"], ["07", "8"]), (["yes", "no"], ["1", "0"])]
)
def test_labels_that_cannot_be_compared_are_refused(
    tmp_path: Path, train: list[str], test: list[str]
) -> None:
    learned, other = put(tmp_path / "train.csv", train * 30), put(tmp_path / "test.csv", test * 30)
    if test == ["1", "0"]:  # numbers by their format
        from streamsieve.workflow import convert

        convert(other, tmp_path / "test.parquet", target="y")
        other = tmp_path / "test.parquet"
    with pytest.raises(
        ss.DataError,
        match=r"test\.\w+: the labels are (text|numbers), such as .*; write them in one form",
    ):
        ss.select(learned, "sofs", 1, target="y", test=other)


def test_numbers_are_not_compared_with_text(tmp_path: Path) -> None:
    train, test = (
        put(tmp_path / "train.csv", ["1.5", "2.5", "4"] * 30),
        put(tmp_path / "test.csv", ["low", "high"] * 9),
    )
    with pytest.raises(
        ss.DataError, match=r"test\.csv: the model predicts numbers, but the target here is 'low'"
    ):
        ss.select(train, "sofs-regressor", 1, target="y", test=test)


def test_a_regression_gets_numbers(tmp_path: Path) -> None:
    path = put(tmp_path / "prices.csv", ["12.50", "0.10", "7", "100"] * 30)
    assert ss.select(path, "sofs-regressor", 1, target="y").selection.indices.tolist() == [0]
    assert ss.select(path, "saola", target="y").details["task"] == "regression"


def test_predictions_are_written_as_the_training_has_the_labels(tmp_path: Path) -> None:
    put(tmp_path / "codes.csv", ["007", "7"] * 60)
    run_transcript(
        "$ streamsieve select codes.csv --target y -k 1 -o run > /dev/null\n$ streamsieve predict"
        " run codes.csv 2> /dev/null | sort -u\n007\n7\n$ streamsieve predict run codes.csv"
        " --scores 2> /dev/null | cut -d, -f1 | sort -u\n007\n7\nprediction\n$ streamsieve apply"
        " run codes.csv -o less.csv && cut -d, -f2 less.csv | sort -u\n120 rows written to"
        ' less.csv\n"007"\n"7"\n"y"\n$ streamsieve select codes.csv --target y -k 1 --classes 007,8'
        "  # exits with 1\nstreamsieve: error: codes.csv: row 2: label '7' is not one of the"
        " classes given; ...\n",
        tmp_path,
    )


@given(st.integers(-(10**17), 10**17) | st.floats(allow_nan=False))
def test_what_python_writes_for_a_number_is_plain(number: float) -> None:
    assert is_plain_number(str(number))
    assert is_plain_number(number)


@pytest.mark.parametrize(
    "text", ["007", "0x1", "1_000", "", "1e", ".", "--1", "1,5", "nan", "1 2", "٣", "1" * 19]
)
def test_what_is_not_a_plain_number(text: str) -> None:
    assert not is_plain_number(text)
