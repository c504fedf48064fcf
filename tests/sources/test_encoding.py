"""Columns of text, booleans, dates and missing values: the same features from every form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import streamsieve as ss
from streamsieve import workflow
from streamsieve.sources import delimited
from streamsieve.sources.base import BlockSource
from streamsieve.sources.encoding import MAX_LEVELS, Column, Encoding
from streamsieve.sources.frames import open_frame
from streamsieve.sources.inference import pick_columns
from streamsieve.sources.options import ReadOptions

from .reading import small_chunks

TOWNS = ["Ulm", "Bonn", "Köln"]
FRAME = pd.DataFrame(
    {
        "age": np.arange(30) % 7 + 20.5,
        "town": [TOWNS[row % 3] for row in range(30)],
        "member": [row % 2 == 0 for row in range(30)],
        "since": pd.Timestamp("1970-01-02") + pd.to_timedelta(np.arange(30) * 12, "h"),
        "plan": pd.Categorical([["b", "a"][row % 2] for row in range(30)]),
        "y": np.arange(30) % 2,
    }
)
NAMES = ["age", "member", "since", "town=Ulm", "plan=b", "town=Bonn", "plan=a", "town=Köln"]
EXPECTED = np.column_stack(
    [
        FRAME["age"],
        FRAME["member"],
        1 + np.arange(30) / 2,
        FRAME["town"] == "Ulm",
        FRAME["plan"] == "b",
        FRAME["town"] == "Bonn",
        FRAME["plan"] == "a",
        FRAME["town"] == "Köln",
    ]
).astype(float)
GAPS = FRAME.astype({"age": object, "town": object, "member": object}).copy()
GAPS.loc[3, ["age", "town", "member"]] = None
GAPS.loc[4, "since"] = pd.NaT
FORMS = ["csv", "parquet", "arrow", "pandas", "polars", "table"]


def form_of(frame: pd.DataFrame, form: str, folder: Path) -> Any:
    """Return a table in one of its forms."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if form == "csv":
        frame.to_csv(folder / "table.csv", index=False)
    elif form == "parquet":
        frame.to_parquet(folder / "table.parquet", row_group_size=7)
    elif form == "arrow":
        feather.write_feather(table, folder / "table.arrow", chunksize=11)
    else:
        return {"pandas": frame, "polars": pl.from_arrow(table), "table": table}[form]
    return folder / f"table.{form}"


def by_rows(source: Any, missing: Any = "error") -> np.ndarray:
    return np.concatenate([block.to_dense() for block in source.row_blocks(missing)])


def by_columns(source: Any) -> np.ndarray:
    matrix = np.zeros((source.n_rows, source.n_features))
    for block in source.column_blocks():
        for position, feature in enumerate(block.ids.tolist()):
            column = slice(block.indptr[position], block.indptr[position + 1])
            matrix[block.indices[column], feature] = block.values[column]
    return matrix


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_a_table_have_the_same_features(tmp_path, form):
    source = ss.open_source(form_of(FRAME, form, tmp_path), target="y")
    assert source.feature_names.tolist() == NAMES
    assert source.n_features == len(NAMES)
    assert np.array_equal(by_rows(source), EXPECTED)
    assert source.targets().tolist() == FRAME["y"].tolist()
    if isinstance(source, ss.sources.base.ColumnSource):
        assert np.array_equal(by_columns(source), EXPECTED)
    assert [note.kind for note in source.facts.notes] == ["dates"]


@pytest.mark.parametrize("form", FORMS)
def test_missing_values_are_filled_in_or_named_or_kept(tmp_path, form):
    data = form_of(GAPS, form, tmp_path)
    with pytest.raises(
        ss.DataError,
        match=(
            r"row 4: column '(age|town|member)' has no value; .* missing='zero' or missing='mean'"
        ),
    ):
        by_rows(ss.open_source(data, target="y"))
    zero, mean, skip = (
        by_rows(ss.open_source(data, target="y", missing=how), "keep" if how == "skip" else "error")
        for how in ("zero", "mean", "skip")
    )
    present = np.delete(np.arange(30), 3)
    assert zero[3].tolist() == [0, 0, EXPECTED[3, 2], 0, 0, 0, 1, 0]
    assert zero[4, 2] == 0
    assert mean[3, 0] == pytest.approx(EXPECTED[present, 0].mean())
    assert mean[3, 1] == pytest.approx(EXPECTED[present, 1].mean())
    assert mean[4, 2] == pytest.approx(np.delete(EXPECTED[:, 2], 4).mean())
    assert np.isnan(skip[3, [0, 1]]).all()
    assert not skip[3, [3, 5, 7]].any()
    others = np.delete(np.arange(30), [3, 4])
    for filled in (zero, mean, skip):
        assert np.array_equal(filled[others], EXPECTED[others])


@pytest.mark.parametrize("form", FORMS)
def test_columns_can_be_hashed_or_omitted(tmp_path, form):
    data = form_of(FRAME, form, tmp_path)
    hashed = ss.open_source(data, target="y", strings="hash", only="town,age")
    rows = by_rows(hashed)
    assert rows.shape == (30, 4)
    assert all(re.fullmatch(r"town#\d+", name) for name in hashed.feature_names[1:])
    assert (rows[:, 1:].sum(axis=1) == 1).all()
    one_bucket = ss.open_source(data, target="y", strings="hash", n_buckets=1, only="town,plan")
    assert by_rows(one_bucket).tolist() == [[1, 1]] * 30
    assert one_bucket.feature_names.tolist() == ["town#0", "plan#0"]
    dropped = ss.open_source(data, target="y", strings="drop", drop=["since"])
    assert dropped.feature_names.tolist() == ["age", "member"]
    assert [note.kind for note in dropped.facts.notes] == ["text omitted"]
    with pytest.raises(
        ss.UsageError, match="no column 'twn' to omit or to keep; did you mean town"
    ):
        ss.open_source(data, target="y", drop="twn")
    with pytest.raises(
        ss.DataError, match=r"column 'town' is 'Ulm', not .*drop=\['town', 'plan'\]"
    ):
        ss.open_source(data, target="y", strings="error")


@pytest.mark.parametrize("form", FORMS)
def test_dates_are_hours_and_weekdays_if_that_is_asked_for(tmp_path, form):
    frame = FRAME[["age", "since", "y"]].assign(
        since=pd.Timestamp("2024-02-05") + pd.to_timedelta(np.arange(30) * 7, "h")
    )
    data = form_of(frame, form, tmp_path)
    source = ss.open_source(data, target="y", dates="auto")
    source.complete()
    rows = by_rows(source)
    names = source.feature_names.tolist()
    assert names[:3] == ["age", "since.hour=00", "since.weekday=Mon"]
    times = frame["since"].dt
    for feature, name in enumerate(names[1:], 1):
        kind, value = name.removeprefix("since.").split("=")
        shown = times.strftime("%H") if kind == "hour" else times.strftime("%a")
        assert rows[:, feature].tolist() == (shown == value).tolist(), name
    assert source.encoding.n_levels() == {"since.hour": 24, "since.weekday": 7}
    if isinstance(source, ss.sources.base.ColumnSource):
        assert np.array_equal(by_columns(source), rows)
    assert not source.facts.notes
    (tmp_path / "gaps").mkdir()
    with_gap = form_of(
        frame.assign(since=frame["since"].where(frame.index != 3)), form, tmp_path / "gaps"
    )
    gaps = ss.open_source(with_gap, target="y", dates="auto", missing="zero")
    gaps.complete()
    assert by_rows(gaps)[3, 1:].sum() == 0
    with pytest.raises(ss.DataError, match="row 4: column 'since' has no value"):
        by_rows(ss.open_source(with_gap, target="y", dates="auto"))
    if form not in ("csv", "parquet", "arrow"):
        return
    record = ss.select(
        data, n_features_to_select=3, target="y", dates="auto", output=tmp_path / "r"
    )
    assert len(record.selection) == 3
    workflow.apply(tmp_path / "r", data, tmp_path / "less.parquet", target="y")
    whole, less = (
        [label for part, _ in workflow.predict(tmp_path / "r", rows) for label in part.labels]
        for rows in (data, tmp_path / "less.parquet")
    )
    assert whole == less


def test_text_in_a_column_of_numbers_is_refused_with_its_line(tmp_path, monkeypatch):
    small_chunks(monkeypatch, 64)
    monkeypatch.setattr(delimited, "HEAD_BYTES", 64)
    rows = [f"{row % 3},{'ab'[row % 2]},{row % 2}" for row in range(100)]
    (tmp_path / "late.csv").write_text("\n".join(["code,t,y", *rows, "x1,a,1", ""]))
    with pytest.raises(
        ss.DataError, match=r"late.csv:102: column 'code' is 'x1', not a number; .*drop=\['code'\]"
    ):
        by_rows(ss.open_source(tmp_path / "late.csv", "y"))


def test_markers_of_missing_values_in_text_with_columns(tmp_path):
    (tmp_path / "gaps.csv").write_text("a,t,y\n1, x,0\n?,None,1\nNA,,0\n2,y ,1\n")
    source = ss.open_source(tmp_path / "gaps.csv", "y", missing="zero")
    assert source.feature_names.tolist() == ["a", "t=x", "t=y"]
    assert by_rows(source).tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 0], [2, 0, 1]]


def test_files_that_are_read_as_one_have_one_encoding(tmp_path):
    (tmp_path / "1.csv").write_text("t,n,y\na,1,0\nb,2,1\n")
    (tmp_path / "2.csv").write_text("n,t,y\nx,b,0\n3,c,1\n")
    source = ss.open_source([tmp_path / "1.csv", tmp_path / "2.csv"], "y")
    assert source.feature_names.tolist() == ["t=a", "n=1", "t=b", "n=2"]
    source.complete()
    assert source.feature_names[4:].tolist() == ["n=x", "t=c", "n=3"]
    assert [np.flatnonzero(row).tolist() for row in by_rows(source)] == [
        [0, 1],
        [2, 3],
        [2, 4],
        [5, 6],
    ]
    assert np.array_equal(
        np.concatenate([by_rows(shard) for shard in source.shards(2)]), by_rows(source)
    )


@pytest.mark.parametrize("form", FORMS)
def test_text_that_names_rows_does_not_become_features(tmp_path, form):
    frame = FRAME.assign(
        name=[f"n{row}" for row in range(30)], code=[f"c{row}" for row in range(30)]
    )
    frame["comment"] = [f"the {row}th is a comment" for row in range(30)]
    data = form_of(frame, form, tmp_path)
    source = ss.open_source(data, target="y")
    assert source.feature_names.tolist() == NAMES
    notes = [note for note in source.facts.notes if note.kind == "text omitted"]
    assert "'name', 'code', 'comment'" in notes[0].message
    kept = ss.open_source(data, target="y", only=["age", "code"])
    assert kept.feature_names[:3].tolist() == ["age", "code=c0", "code=c1"]
    with pytest.raises(
        ss.DataError,
        match=r"column 'name' is text with a different value in every row.*drop=\['name', 'code'",
    ):
        ss.open_source(data, target="y", strings="onehot")


@pytest.mark.parametrize("form", FORMS)
def test_only_onehot_limits_the_number_of_levels(tmp_path, form):
    many = pd.DataFrame({"t": [f"t{row // 2}" for row in range(2 * MAX_LEVELS + 2)], "y": 1})
    data = form_of(many, form, tmp_path)
    source = ss.open_source(data, target="y")
    assert source.n_features == MAX_LEVELS + 1
    assert by_rows(source).argmax(axis=1).tolist() == [row // 2 for row in range(len(many))]
    with pytest.raises(
        ss.DataError, match="column 't' is text with more than 1,000 different values"
    ):
        ss.open_source(data, target="y", strings="onehot")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_column_that_numbers_the_rows_is_named(tmp_path, form):
    frame = pd.DataFrame({"id": np.arange(30) * 3, "a": np.arange(30) % 4, "y": np.arange(30) % 2})
    source = ss.open_source(form_of(frame, form, tmp_path), target="y")
    assert source.encoding.is_plain
    assert [str(note.advice) for note in source.facts.notes] == ["omit it: drop=['id']"]


class CountedName(str):
    """A name that counts its comparisons."""

    compared = 0

    def __eq__(self, other):
        CountedName.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_columns_of_frames_are_looked_up_without_going_through_all(monkeypatch):
    names = [f"c{column}" for column in range(500)]
    frame = pd.DataFrame(np.ones((2, 500)), columns=names).assign(y=[0, 1])
    wanted = [CountedName(name) for name in reversed(names)]
    monkeypatch.setattr(CountedName, "compared", 0)
    assert (
        open_frame(frame, None, ReadOptions(target="y"), None, wanted, infer=False).n_features
        == 500
    )
    assert len(pick_columns(names, ReadOptions(drop=tuple(wanted[1:])), "table")) == 1
    assert pick_columns(names, ReadOptions(only=tuple(wanted)), "table") == names
    assert CountedName.compared < 10 * len(names)


def test_sparse_data_keeps_ids_of_what_is_left(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:2 2:1 3:5\n-1 1:1 3:2\n")
    source = ss.open_source(tmp_path / "rows.svm", drop="2")
    assert by_rows(source).tolist() == [[2, 0, 5], [1, 0, 2]]
    assert by_rows(ss.open_source(tmp_path / "rows.svm", only=[2], zero_based=True)).tolist() == [
        [0, 0, 1, 0],
        [0] * 4,
    ]
    dense = ss.open_source((np.ones((2, 3)), [0, 1]), drop="1")
    assert by_rows(dense).tolist() == [[1, 0, 1]] * 2
    with pytest.raises(
        ss.UsageError, match="no feature 'b' to omit or to keep; ids are integers of 1 or more"
    ):
        ss.open_source(tmp_path / "rows.svm", drop="b")


def test_an_open_source_omits_features_as_its_file_does(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:2 2:1 3:5\n-1 1:1 3:2\n")
    rows = ss.open_source(ss.open_source(tmp_path / "rows.svm", drop="1"), drop="2")
    assert by_rows(rows).tolist() == [[0, 0, 5], [0, 0, 2]]
    blocks = list(ss.open_source((np.ones((2, 3)), [0, 1])).row_blocks())
    assert (
        by_rows(ss.open_source(BlockSource(blocks, n_features=3), only="0,2")).tolist()
        == [[1, 0, 1]] * 2
    )
    assert (
        by_rows(ss.open_source(ss.open_source((np.ones((2, 3)), [0, 1])), drop="0")).tolist()
        == [[0, 1, 1]] * 2
    )


@pytest.mark.parametrize("form", FORMS)
def test_an_open_table_omits_columns_by_name(tmp_path, form):
    data = form_of(FRAME, form, tmp_path)
    record = ss.select(
        ss.open_source(data, target="y"), n_features_to_select=3, drop=["town", "member"]
    )
    expected = ss.select(data, target="y", n_features_to_select=3, drop=["town", "member"])
    assert record.selection.names.tolist() == expected.selection.names.tolist()
    np.testing.assert_allclose(record.selection.scores, expected.selection.scores)
    if form in ("csv", "parquet", "arrow"):
        assert record.selection.indices.tolist() == expected.selection.indices.tolist()
        assert (
            record.selector.learner.features.encoding == expected.selector.learner.features.encoding
        )
    with pytest.raises(
        ss.UsageError, match=r"no (column|feature) 'twn' to omit or to keep; did you mean town"
    ):
        ss.open_source(ss.open_source(data, target="y"), drop="twn")


@pytest.mark.parametrize("option", [{"strings": "drop"}, {"missing": "mean"}])
def test_an_open_source_refuses_to_be_read_in_another_way(tmp_path, option):
    data = form_of(FRAME, "csv", tmp_path)
    name, value = next(iter(option.items()))
    with pytest.raises(
        ss.UsageError, match=rf"{name}='{value}': cannot .* open_source\(\.\.\., {name}='{value}'\)"
    ):
        ss.select(ss.open_source(data, target="y"), **option)


def test_an_open_source_may_be_asked_to_fill_in_as_it_does(tmp_path):
    source = ss.open_source(form_of(FRAME, "csv", tmp_path), target="y", missing="mean")
    assert ss.open_source(source, missing="mean") is source


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_an_open_table_of_numbers_omits_columns_by_name(tmp_path, form):
    data = form_of(FRAME[["age", "y"]].assign(more=1.5, last=np.arange(30)), form, tmp_path)
    source = ss.open_source(ss.open_source(data, target="y"), only="last,age")
    assert source.feature_names.tolist() == ["age", "last"]
    assert by_rows(source).tolist() == np.column_stack([FRAME["age"], np.arange(30)]).tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("separator", [",", "\t"])
def test_truth_values_are_read_from_text_whatever_they_were_learned_from(tmp_path, form, separator):
    frame, later = (
        FRAME[["age", "member", "y"]],
        tmp_path / ("later.csv" if separator == "," else "later.tsv"),
    )
    ss.select(form_of(frame, form, tmp_path), "saola", target="y", output=tmp_path / "run")
    frame.to_csv(later, sep=separator, index=False)
    workflow.apply(tmp_path / "run", later, tmp_path / "less.csv")
    assert pd.read_csv(tmp_path / "less.csv")["member"].tolist() == frame["member"].tolist()


def test_columns_of_text_are_groups(tmp_path):
    path = form_of(FRAME, "parquet", tmp_path)
    record = ss.select(path, "group-saola", target="y", only="town,member")
    assert record.selection.names.tolist() == ["member"]
    assert record.selection.groups.tolist() == ["member"]


BAD: list[Any] = [
    *(
        None,
        [],
        {},
        {"missing": "error", "columns": []},
        {"missing": "x", "columns": [{"name": "a", "kind": "number"}]},
    ),
    {"missing": "error", "columns": [{"name": 1, "kind": "number"}]},
    {"missing": "error", "columns": [{"name": "a", "kind": "other"}]},
    {"missing": "error", "columns": [{"name": "a", "kind": "number"}] * 2},
    {"missing": "error", "columns": [{"name": "a", "kind": "number", "fill": float("inf")}]},
    {"missing": "error", "columns": [{"name": "a", "kind": "number", "fill": True}]},
    {"missing": "error", "columns": [{"name": "a", "kind": "number", "levels": ["b"]}]},
    {"missing": "error", "columns": [{"name": "a", "kind": "number"}], "n_buckets": 0},
    {"missing": "error", "columns": [{"name": "a", "kind": "number", "more": 1}]},
]


@pytest.mark.parametrize("content", BAD, ids=range(len(BAD)))
def test_encoding_of_a_stranger_is_refused(content):
    with pytest.raises(ValueError, match="its encoding"):
        Encoding.from_model(content, {})


def test_encoding_survives_json_and_a_model(tmp_path):
    encoding = Encoding(
        [Column("a", "number", fill=2.5), Column("t", "text"), Column("h", "hash")],
        "mean",
        n_buckets=5,
    )
    assert Encoding.from_model(encoding.to_dict(), encoding.to_arrays()) == encoding
    model = ss.SOFS(3).fit_source(
        ss.open_source(form_of(FRAME, "csv", tmp_path), "y"), classes=[0, 1]
    )
    model.save(tmp_path / "model")
    loaded = ss.load(tmp_path / "model").learner.features.encoding
    assert loaded == model.learner.features.encoding
    assert loaded.feature_names.tolist() == NAMES
    changed = model.model()
    changed.header["encoding"]["columns"].pop(0)
    with pytest.raises(ss.DataError, match="its encoding has 7 of 8 features"):
        ss.SOFS.method.load(changed)
