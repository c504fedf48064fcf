"""JSON: never a bare NaN or Infinity in output, and clear messages about unreadable input."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamsieve as ss
from streamsieve import model
from streamsieve.json_text import from_json, to_json
from streamsieve.model import Model
from streamsieve.registry import METHODS, find_method
from streamsieve.runs import RunDirectory, RunRecord
from streamsieve.workflow import resume
from tests.cli.console import run_transcript

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner)
)
DEEP = "[" * 100_000
NUMBERS = np.random.default_rng(0).normal(0, 1, (60, 4))
FLAGS = (NUMBERS[:, 1] > 0).astype(int)


def strict(text: str) -> Any:
    def refuse(constant: str) -> Any:
        raise AssertionError(f"a bare {constant}")

    return json.loads(text, parse_constant=refuse)


@given(VALUES)
def test_what_is_written_is_json_for_everybody(value: Any) -> None:
    assert strict(to_json(value)) == from_json(to_json(value))


def test_numbers_that_are_not_finite_become_null() -> None:
    assert (
        to_json({"a": [math.nan, math.inf, -math.inf, 1.5], "b": np.float64("nan")})
        == '{"a": [null, null, null, 1.5], "b": null}'
    )
    assert from_json('[NaN, Infinity, -Infinity, 1e999, 2.5, "NaN"]') == [
        None,
        None,
        None,
        None,
        2.5,
        "NaN",
    ]


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 100_000, "9" * 100_000, "{", "", "\ud800"])
def test_what_cannot_be_read_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        from_json(text)


@pytest.mark.parametrize("method", METHODS)
def test_headers_of_models_lose_nothing_to_null(tmp_path: Path, method: str) -> None:
    learner = find_method(method)
    y = NUMBERS[:, 1] if "classes" not in learner.targets else FLAGS
    record = ss.select((NUMBERS, y), method, output=tmp_path / "run")
    header = Model.load(tmp_path / "run" / "model").header
    selector = record.selector
    assert selector is not None
    assert from_json(json.dumps(selector.model().header)) == header
    for name in ("run.json", "result.json"):
        strict((tmp_path / "run" / name).read_text())


def test_record_with_numbers_that_are_not_finite_is_written_and_read(tmp_path: Path) -> None:
    record = ss.select((NUMBERS, FLAGS), "sofs", 2)
    record.test_r2, record.details["online_r2"], record.selection.scores[0] = (
        math.nan,
        math.inf,
        math.nan,
    )
    folder = RunDirectory(tmp_path)
    learner = record.selector
    assert learner is not None
    folder.finish(record, learner)
    strict((tmp_path / "result.json").read_text())
    again = folder.result()
    assert again is not None
    assert again.test_r2 is None
    assert np.isnan(again.selection.scores[0])


def finished(folder: Path) -> Path:
    rows = folder / "rows.svm"
    rows.write_text("1 1:1\n-1 2:1\n" * 20)
    ss.select(rows, "sofs", 2, output=folder / "run")
    return folder / "run"


@pytest.mark.parametrize("name", ["run.json", "result.json"])
@pytest.mark.parametrize("text", [DEEP, "9" * 100_000, "[]", "{", "\x00", '{"a": 1}', "null"])
def test_run_folder_of_a_stranger_is_refused_in_one_message(
    tmp_path: Path, name: str, text: str
) -> None:
    folder = finished(tmp_path)
    (folder / name).write_text(text)
    with pytest.raises(ss.DataError, match=f"{name}: damaged"):
        resume(folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("n_rows", value) for value in (10**30, -1, "x", 1.5, None)),
        *(("selected", value) for value in ([10**30, 1], [-1, 0], ["a", "b"], 5, [0])),
        *(("scores", value) for value in (["a", "b"], [1.0], 3)),
        *(("seconds", value) for value in ({}, [], {"total": "x"}, 5)),
        *(
            ("details", value)
            for value in ([], {"diagnosis": [{"kind": "x"}]}, {"groups": [10**30, 1]})
        ),
        *(("mistakes", value) for value in ("x", [])),
        ("names", [1]),
        ("peak_memory_bytes", "x"),
    ],
)
def test_result_that_cannot_be_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    folder = finished(tmp_path)
    content = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps(content | {field: value}))
    with pytest.raises(ss.DataError, match=r"result\.json: damaged, or of another version"):
        resume(folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", -1),
        ("checkpoint_every", 0),
        ("engine", {"name": "local", "workers": 0, "address": None}),
        ("engine", {"name": "spark", "workers": 2, "address": None}),
        ("read", {"target": "y"}),
        ("data", [1, 2]),
        ("data", []),
        ("test", [None]),
        ("classes", [[1]]),
        ("fingerprint", {"files": 5}),
        ("fingerprint", {"files": [{"path": 5}]}),
        ("fingerprint", {"path": 5}),
        ("fingerprint", {"path": "x", "bytes": "many"}),
        ("params", []),
    ],
)
def test_request_that_cannot_be_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    folder = finished(tmp_path)
    (folder / "result.json").unlink()
    content = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(content | {field: value}))
    with pytest.raises(ss.DataError, match=rf"run\.json: damaged \('{field}' is "):
        resume(folder)


def test_what_cannot_be_shown_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = finished(tmp_path)
    content = json.loads((folder / "result.json").read_text())
    for details in ({"majority": 5}, {"engine": {"workers": "x"}}, {"online_r2": "x"}):
        (folder / "result.json").write_text(
            json.dumps(content | {"details": content["details"] | details})
        )
        run_transcript(
            "$ streamsieve select --resume run > out.txt  # exits with 1\nstreamsieve: error:"
            " run/result.json: damaged, or of another version ('details' is ...); remove it to"
            " finish the run again\n",
            tmp_path,
        )


@pytest.mark.parametrize(
    "header", [DEEP, "9" * 100_000, '{"streamsieve_format": NaN}', '{"streamsieve_format": 1e999}']
)
def test_model_with_a_header_that_cannot_be_is_refused(tmp_path: Path, header: str) -> None:
    with zipfile.ZipFile(tmp_path / "model", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(model.HEADER, header)
    with pytest.raises(ss.DataError, match=r"not a streamsieve model|model format"):
        ss.load(tmp_path / "model")


def test_folder_of_a_run_stands_for_its_model(tmp_path: Path) -> None:
    folder = finished(tmp_path)
    assert ss.load(folder).classes_.tolist() == [-1.0, 1.0]
    (folder / "model").unlink()
    with pytest.raises(ss.UsageError, match="does not contain the model of a finished run"):
        ss.load(folder)


@pytest.mark.parametrize(
    "count", ["1" + "0" * 30, "-1", "many", str(2**63), "9" * 10_000, "1.5", "", "NaN", "٣"]
)
@pytest.mark.parametrize("by", ["rows", "columns"])
@pytest.mark.parametrize("key", ["n_features", "n_rows"])
def test_counts_in_metadata_that_cannot_be_are_refused(
    tmp_path: Path, count: str, by: str, key: str
) -> None:
    lists = {"indices": [[0], [1]], "values": [[1.0], [2.0]]}
    metadata = {"n_rows": "2", "n_features": "2", "target": "[0, 1]"} | {key: count}
    if by == "rows":
        if key == "n_rows":
            return
        table = pa.table({"label": [0, 1], **lists}).replace_schema_metadata({"n_features": count})
    else:
        table = pa.table({"feature": [0, 1], **lists}).replace_schema_metadata(metadata)
    pq.write_table(table, tmp_path / "file.parquet")
    with pytest.raises(
        ss.DataError, match=rf"file\.parquet: its metadata cannot be read \({key} must be "
    ):
        ss.open_source(tmp_path / "file.parquet")


@pytest.mark.parametrize("names", [DEEP, '{"a": 1}', "[1, 2]", "[null, null]", "5"])
def test_names_in_metadata_that_cannot_be_are_refused(tmp_path: Path, names: str) -> None:
    table = pa.table({"label": [0, 1], "indices": [[0], [1]], "values": [[1.0], [2.0]]})
    pq.write_table(
        table.replace_schema_metadata({"feature_names": names}), tmp_path / "file.parquet"
    )
    with pytest.raises(ss.DataError, match=r"file\.parquet: its metadata cannot be read"):
        ss.open_source(tmp_path / "file.parquet")


@pytest.mark.parametrize(
    "target", [DEEP, '{"a": 1}', "[null, 1]", "[[1], [2]]", "[NaN, 1]", "[1, [2]]", "[1]"]
)
def test_targets_in_metadata_that_cannot_be_are_refused(tmp_path: Path, target: str) -> None:
    table = pa.table({"feature": [0, 1], "indices": [[0], [1]], "values": [[1.0], [2.0]]})
    metadata = {"n_rows": "2", "n_features": "2", "target": target}
    pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "file.parquet")
    with pytest.raises(ss.DataError, match=r"file\.parquet: its metadata"):
        ss.open_source(tmp_path / "file.parquet")


def test_records_are_read_back(tmp_path: Path) -> None:
    record = ss.select((NUMBERS, FLAGS), "sofs", 2)
    assert RunRecord.from_dict(from_json(to_json(record.to_dict()))).to_dict() == from_json(
        to_json(record.to_dict())
    )
