"""Tables in text: the same rows as other tables, and clear messages about what cannot be used."""

from __future__ import annotations

import gzip
import re
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from streamsieve import DataError, open_source
from streamsieve.sources import delimited, tables
from streamsieve.sources.text import MISSING_WORDS, MORE_MISSING_WORDS

from .reading import (
    COMPRESS,
    put,
    read,
    refusal,
    small_chunks,
    write_frame,
)


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".tab", "\t")])
def test_delimited_text_is_read_plain_and_compressed(tmp_path, suffix, delimiter, compression):
    text = "a,y,b\n1,0,2.5\n0,1,-3e2\n.5,1,0\n".replace(",", delimiter)
    source = open_source(
        put(tmp_path, COMPRESS[compression](text.encode()), f"table{suffix}{compression}"),
        target="y",
    )
    assert read(source) == ([[1, 2.5], [0, -300], [0.5, 0]], [0, 1, 1])
    assert source.feature_names.tolist() == ["a", "b"]
    assert source.n_features == 2
    assert source.targets().tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\r\n1,2,3\r\n\r\n4,5,6\r\n",
        "a,b,y\n1,2,3\n\n4,5,6",
        "\ufeffa,b,y\n1,2,3\n4,5,6\n",
        '"a",b,"y"\n1, 2,3\n4,"5",6\n',
    ],
)
def test_dialects_of_csv_are_read(tmp_path, text):
    source = open_source(put(tmp_path, text), target="y")
    assert read(source) == ([[1, 2], [4, 5]], [3, 6])
    assert source.feature_names.tolist() == ["a", "b"]


@pytest.mark.parametrize("word", [*MISSING_WORDS, *MORE_MISSING_WORDS])
def test_words_for_missing_values_are_known_wherever_they_come(tmp_path, monkeypatch, word):
    monkeypatch.setattr(delimited, "HEAD_BYTES", 8)  # the word comes later
    source = open_source(put(tmp_path, f"a,b,y\n1,2,0\n4,{word},1\n"), target="y", missing="skip")
    assert source.encoding.is_plain
    (block,) = source.row_blocks("keep")
    np.testing.assert_array_equal(block.to_dense(np.float32), [[1, 2], [4, np.nan]])


@pytest.mark.parametrize("word", [" NA", "NA ", " ", "??", "Non", "n.a."])
def test_other_words_are_refused(tmp_path, monkeypatch, word):
    monkeypatch.setattr(delimited, "HEAD_BYTES", 8)
    source = open_source(put(tmp_path, f"a,b,y\n1,2,0\n4,{word},1\n"), target="y", missing="skip")
    with pytest.raises(DataError, match=r":3: column 'b' is '.*', not a number"):
        list(source.row_blocks("keep"))


def test_names_and_labels_may_hold_the_delimiter(tmp_path):
    source = open_source(
        put(tmp_path, '"a,b","the ""y"""\n1,"no, never"\n2,yes\n'), target='the "y"'
    )
    assert read(source) == ([[1], [2]], ["no, never", "yes"])
    assert source.feature_names.tolist() == ["a,b"]


def test_labels_may_be_text(tmp_path):
    assert read(open_source(put(tmp_path, "y,a\nspam,1\nham,2\n"), target="y"))[1] == [
        "spam",
        "ham",
    ]


def test_values_are_the_nearest_float32(tmp_path):
    path = put(tmp_path, "a,y\n0.1,0\n1.00000005960464477539,0\n1e-60,0\n")
    assert read(open_source(path, target="y"))[0] == [[float(np.float32(0.1))], [1], [0]]


def test_whole_numbers_may_become_fractions_in_a_later_block(tmp_path, monkeypatch):
    small_chunks(monkeypatch, 256)
    path = put(tmp_path, "a,y\n" + "1,0\n" * 500 + "2.5,1\n" * 500)
    assert len(list(open_source(path, target="y").row_blocks())) > 5
    assert read(open_source(path, target="y")) == (
        [[1]] * 500 + [[2.5]] * 500,
        [0] * 500 + [1] * 500,
    )


@pytest.mark.parametrize("compression", ["", ".gz"])
@pytest.mark.parametrize("block_bytes", [256, 1 << 20])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2", "2 values for 3 columns"),
        ("1,2,3,4", "4 values for 3 columns"),
        ("1,red,3", "column 'b' is 'red', not a number"),
        ("1,true,3", "column 'b' is 'true', not a number"),
        ("1,1_000,3", "column 'b' is '1_000', not a number"),
    ],
)
def test_fault_in_a_line_is_named_with_its_number(
    tmp_path, monkeypatch, compression, block_bytes, line, message
):
    small_chunks(monkeypatch, block_bytes)
    monkeypatch.setattr(delimited, "HEAD_BYTES", 64)  # in which there are numbers alone
    text = "a,b,y\n" + "1,2,3\n\n" * 300 + line + "\n1,2,3\n"
    path = put(tmp_path, COMPRESS[compression](text.encode()), f"table.csv{compression}")
    assert refusal(path).startswith(f":602: {message}")


@pytest.mark.parametrize("block_bytes", [256, 1 << 20])
@pytest.mark.parametrize("nothing", ["", "NA", "nan", "NULL"])
def test_missing_value_is_named_with_row_and_column(tmp_path, monkeypatch, nothing, block_bytes):
    small_chunks(monkeypatch, block_bytes)
    path = put(tmp_path, "a,b,y\n" + "1,2,3\n" * 300 + f"1,{nothing},3\n")
    assert refusal(path).startswith(": row 301: column 'b' has no value")


@pytest.mark.parametrize("compression", ["", ".gz"])
@pytest.mark.parametrize("size", [16, 1 << 20])
@pytest.mark.parametrize("end", ["", "\n"])
def test_quote_that_is_never_closed_is_named_with_its_line(
    tmp_path, monkeypatch, compression, size, end
):
    small_chunks(monkeypatch, size)
    text = "a,y\n" + "1,no\n" * 20 + '2,"yes\n' + "1,no\n" * 20 + "3,no" + end
    path = put(tmp_path, COMPRESS[compression](text.encode()), f"table.csv{compression}")
    assert refusal(path).startswith(":22: a quote that is opened here is never closed")


def test_quoted_line_ends_are_part_of_a_label_in_chunks_of_any_size(tmp_path, monkeypatch):
    path = put(tmp_path, 'a,y\n1,"one\ntwo"\n2,three\n3,"fo""ur\r\n"\n')
    for size in range(1, 40):
        small_chunks(monkeypatch, size)
        assert read(open_source(path, target="y"))[1] == ["one\ntwo", "three", 'fo"ur\r\n']


def test_missing_label_is_named_with_its_row(tmp_path):
    assert refusal(put(tmp_path, "a,y\n1,0\n2,\n")).startswith(
        ": row 2: the target 'y' has no value"
    )
    assert refusal(put(tmp_path, "a,y\n1,no\n2,\n")).startswith(
        ": row 2: the target 'y' has no value"
    )


@pytest.mark.parametrize("value", ["inf", "-inf", "1e39", "1e400"])
def test_value_beyond_float32_is_named_with_row_and_column(tmp_path, value):
    path = put(tmp_path, f"a,b,y\n1,1,0\n1,{value},0\n")
    assert refusal(path).startswith(
        ": row 2: the value of column 'b' is infinite, or too large for float32"
    )


@pytest.mark.parametrize("before", [1, 5000])
def test_line_that_is_not_utf8_is_named(tmp_path, before):
    path = put(tmp_path, b"a,y\n" + b"1,no\n" * before + b"1,\xe9t\xe9\n")
    assert refusal(path).startswith(f":{before + 2}: not text")


@pytest.mark.parametrize("text", ["", "a,y\n", "a,y", "a,y\n\n\n"])
def test_table_without_rows_is_refused(tmp_path, text):
    assert re.match(": (is empty|holds no rows)", refusal(put(tmp_path, text)))


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("keep", [0.3, 0.99])
def test_truncated_table_names_the_archive(tmp_path, compression, keep):
    text = "a,y\n" + "".join(f"{x!r},0\n" for x in np.random.default_rng(1).random(3000).tolist())
    data = COMPRESS[compression](text.encode())
    path = put(tmp_path, data[: int(len(data) * keep)], f"table.csv{compression}")
    assert re.match(": the .* file is damaged or cut short", refusal(path))


@pytest.fixture(params=[".csv", ".parquet", ".arrow"])
def table(request, tmp_path) -> Path:
    path = tmp_path / f"table{request.param}"
    frame = pd.DataFrame({"a": [1, 0], "b": [2.5, 3.0], "y": ["no", "yes"]})
    frame.to_csv(path, index=False) if request.param == ".csv" else write_frame(frame, path)
    return path


def test_target_must_be_named_and_there(table):
    assert re.match(
        ": the target column is not given.*target='NAME'.*the columns are a, b, y",
        refusal(table, None),
    )
    assert refusal(table, "z").startswith(
        ": there is no column 'z' for the target; the columns are a, b, y"
    )


def test_columns_are_read_in_the_order_asked_for(table):
    source = open_source(table, target="y", columns=["b", "a"])
    assert read(source) == ([[2.5, 1], [3, 0]], ["no", "yes"])
    assert source.feature_names.tolist() == ["b", "a"]


@pytest.mark.parametrize("target", [None, "z"])
def test_with_columns_the_target_may_be_missing(table, target):
    source = open_source(table, target=target, columns=["b"])
    assert read(source) == ([[2.5], [3]], [None, None])
    with pytest.raises(DataError, match="the rows have no labels"):
        source.targets()


def test_column_that_is_not_there_is_named(table):
    assert refusal(table, "y", columns=["a", "c"]).startswith(
        ": there is no column 'c'; the columns are a, b, y"
    )


def test_text_column_is_not_a_feature(table):
    assert re.search("column 'y' .*not (a number|numbers)", refusal(table, "a", strings="error"))


def test_long_list_of_columns_is_cut(tmp_path):
    path = put(tmp_path, ",".join(f"c{i}" for i in range(1010)) + "\n")
    assert refusal(path, None).endswith("c6, c7 and 1,002 more")


def test_column_that_stands_twice_is_refused(tmp_path):
    assert "column 'a' appears twice" in refusal(put(tmp_path, "a,b,a,y\n1,2,3,4\n"))


def test_table_of_the_target_alone_is_refused(tmp_path):
    assert "the target 'y' is the only column" in refusal(put(tmp_path, "y\n1\n"))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_abandoned_table_leaves_no_thread(tmp_path, monkeypatch, suffix):
    small_chunks(monkeypatch, 256)
    monkeypatch.setattr(tables, "BATCH_ROWS", 10)
    path = tmp_path / f"table{suffix}"
    frame = pd.DataFrame({"a": np.arange(3000), "y": 1})
    frame.to_csv(path, index=False) if suffix.startswith(".csv") else write_frame(frame, path)
    before = set(threading.enumerate())
    blocks = open_source(path, target="y").row_blocks()
    next(blocks)
    del blocks
    started = {
        thread for thread in threading.enumerate() if thread.name == "streamsieve-read-ahead"
    } - before
    for thread in started:
        thread.join(5)
    assert not any(thread.is_alive() for thread in started)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("quoted", [None, 0, 3])
@pytest.mark.parametrize("classes", [["yes", "no"], ["1", "0"], ["0.5", "2"], ["true", "false"]])
def test_tables_are_the_same_in_chunks_of_any_size(
    tmp_path, monkeypatch, suffix, ends, quoted, classes
):
    fields = np.random.default_rng(1).normal(0, 1, (6, 9)).round(3).astype("U40")
    fields[2, 4:] = ["", "1e-320", "0.12345678901234567890123", "+7", "NA"]
    path, comma = tmp_path / f"wide{suffix}", "\t" if "tsv" in suffix else ","
    lines = [
        [f"c{i}" for i in range(9)] + ["y"],
        *([*row, classes[i % 2]] for i, row in enumerate(fields.tolist())),
    ]
    if quoted is not None:
        lines[1 + quoted][1] = '"1.5"'
    text = ends.join([comma.join(line) for line in lines] + [""])
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    for columns in (None, ["c5", "c0"]):
        tables = []
        for block_bytes in (1 << 20, 150):
            small_chunks(monkeypatch, block_bytes)
            source = open_source(path, "y", columns=columns)
            blocks = list(source.row_blocks("keep"))
            labels = [label for block in blocks for label in block.y.tolist()]
            tables.append((np.concatenate([block.to_dense() for block in blocks]), labels))
        np.testing.assert_array_equal(tables[0][0], tables[1][0])
        assert tables[0][1] == tables[1][1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2", "wide.csv:3: 2 values for 4 columns"),
        ("1,2,3,no,5", "wide.csv:3: 5 values for 4 columns"),
        ("1,b,3,no", "wide.csv:3: column 'b' is 'b', not a number"),
        ("1,,3,no", "row 2: column 'b' has no value"),
        ("1,inf,3,no", "row 2: the value of column 'b' is infinite"),
        ("1,2,3,", "row 2: the target 'y' has no value"),
    ],
)
def test_faults_of_tables_are_named(tmp_path, monkeypatch, line, message):
    monkeypatch.setattr(delimited, "HEAD_BYTES", 10)
    (tmp_path / "wide.csv").write_text(f"a,b,c,y\n1,2,3,yes\n{line}\n")
    with pytest.raises(DataError, match=message):
        list(open_source(tmp_path / "wide.csv", "y").row_blocks())
