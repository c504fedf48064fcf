"""Levels that come after the first rows: features at the end, the same from every form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import streamsieve as ss
from streamsieve import workflow
from streamsieve.sources import delimited, encoding, frames, inference, tables
from streamsieve.sources.delimited_text import DelimitedText
from streamsieve.sources.encoding import Encoding

from .reading import small_chunks
from .test_encoding import FORMS, by_columns, by_rows, form_of

ROWS = 60
HEAD = 8


def late_table() -> pd.DataFrame:
    """Return rows of which most levels come late, one of them telling the class."""
    rows = np.arange(ROWS)
    y = rows % 2
    place = np.where(rows < 20, "a", np.where(y == 1, "late", np.where(rows < 40, "c", "b")))
    return pd.DataFrame(
        {
            "x": rows % 5 + 0.5,
            "place": place,
            "kind": np.where(rows < 30, "u", "v"),
            "z": rows % 3,
            "y": y,
        }
    )


FIRST = ["x", "z", "place=a", "kind=u"]
LATE = ["place=c", "place=late", "kind=v", "place=b"]  # in the order in which they come


@pytest.fixture(autouse=True)
def short_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "HEAD_ROWS", HEAD)
    monkeypatch.setattr(delimited, "HEAD_ROWS", HEAD)
    monkeypatch.setattr(tables, "BATCH_ROWS", 7)
    monkeypatch.setattr(frames, "BATCH_ROWS", 11)


def expected() -> np.ndarray:
    table = late_table()
    columns = [table["x"], table["z"], table["place"] == "a", table["kind"] == "u"]
    columns += [
        table["place"] == "c",
        table["place"] == "late",
        table["kind"] == "v",
        table["place"] == "b",
    ]
    return np.column_stack(columns).astype(float)


def read_all(source: Any) -> np.ndarray:
    """Return all rows, as wide as the last of them."""
    blocks = list(source.row_blocks())
    return np.concatenate(
        [block.derived(n_features=source.n_features).to_dense() for block in blocks]
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("chunk_bytes", [40, 1 << 20])
def test_late_levels_are_features_at_the_end(
    tmp_path: Path, monkeypatch: Any, form: str, chunk_bytes: int
) -> None:
    small_chunks(monkeypatch, chunk_bytes)
    source = ss.open_source(form_of(late_table(), form, tmp_path), target="y")
    if form in ("csv", "parquet", "arrow"):
        assert source.feature_names.tolist() == FIRST
    rows = read_all(source)
    assert source.feature_names.tolist() == [*FIRST, *LATE]
    np.testing.assert_array_equal(rows, expected())
    np.testing.assert_array_equal(read_all(source), expected())  # once more, with nothing new
    assert source.encoding.groups == ["x", "z", "place", "kind", "place", "place", "kind", "place"]
    assert source.encoding.n_levels() == {"place": 4, "kind": 2}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_columns_have_the_ids_of_rows(tmp_path: Path, form: str) -> None:
    source = ss.open_source(form_of(late_table(), form, tmp_path), target="y")
    source.complete()
    np.testing.assert_array_equal(by_columns(source), expected())
    parts = source.column_shards(4)
    blocks = [block for part in parts for block in part.column_blocks()]
    assert all(isinstance(block.names, np.ndarray) for block in blocks)
    names = [name for block in blocks for name in block.names.tolist()]
    assert names == source.feature_names.tolist()
    assert [feature for block in blocks for feature in block.ids.tolist()] == list(range(8))


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_shards_know_all_levels(tmp_path: Path, form: str) -> None:
    source = ss.open_source(form_of(late_table(), form, tmp_path), target="y")
    np.testing.assert_array_equal(
        np.concatenate([by_rows(shard) for shard in source.shards(3)]), expected()
    )


def test_levels_of_several_files_come_in_the_order_of_the_files(tmp_path: Path) -> None:
    table = late_table()
    for number, start in enumerate(range(0, ROWS, 20)):
        table[start : start + 20].to_csv(tmp_path / f"{number}.csv", index=False)
    source = ss.open_source(tmp_path, target="y")
    np.testing.assert_array_equal(read_all(source), expected())


@pytest.mark.parametrize("form", FORMS)
def test_a_late_level_is_learned_and_predicted_with(tmp_path: Path, form: str) -> None:
    data = form_of(late_table(), form, tmp_path)
    record = ss.select(data, "sofs", 2, target="y", output=tmp_path / "run")
    assert "place=late" in record.selection.names.tolist()
    assert record.n_features == 8
    late_table().to_csv(tmp_path / "later.csv", index=False)
    predicted = [
        label
        for part, _ in workflow.predict(tmp_path / "run", tmp_path / "later.csv")
        for label in part.labels
    ]
    assert np.mean(np.array(predicted)[20:] == late_table()["y"][20:]) > 0.9
    (
        workflow.apply(tmp_path / "run", data, tmp_path / "less.csv", target="y")
        if form
        in (
            "csv",
            "parquet",
        )
        else None
    )


@pytest.mark.parametrize("method", ["saola", "group-saola", "relieff"])
@pytest.mark.parametrize("form", FORMS)
def test_methods_of_all_kinds_select_late_levels(tmp_path: Path, form: str, method: str) -> None:
    params = {"n_features_to_select": 3} if method == "relieff" else {}
    record = ss.select(form_of(late_table(), form, tmp_path), method, target="y", **params)
    assert "place=late" in record.selection.names.tolist()


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("method", ["saola", "sofs"])
def test_workers_select_late_levels(tmp_path: Path, form: str, method: str) -> None:
    data = form_of(late_table(), form, tmp_path)
    record = ss.select(data, method, target="y", engine="local", workers=2)
    assert "place=late" in record.selection.names.tolist()


def test_a_run_that_goes_on_gives_late_levels_the_same_ids(tmp_path: Path) -> None:
    path = form_of(late_table(), "csv", tmp_path)
    whole = ss.select(path, "sofs", 3, target="y")

    def stop(now: Any) -> None:
        if now.done >= 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ss.select(
            path, "sofs", 3, target="y", output=tmp_path / "run", checkpoint_every=10, watch=stop
        )
    record = workflow.resume(tmp_path / "run")
    assert record.selection.names.tolist() == whole.selection.names.tolist()
    assert record.selection.scores.tolist() == whole.selection.scores.tolist()


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    chunks = DelimitedText.chunks
    monkeypatch.setattr(DelimitedText, "chunks", lambda *args: passes.append(1) or chunks(*args))
    ss.select(form_of(late_table(), "csv", tmp_path), "sofs", 2, target="y")
    assert len(passes) == 1


def test_too_many_late_levels_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MAX_LEVELS", 3)
    data = form_of(late_table(), "csv", tmp_path)
    source = ss.open_source(data, target="y", strings="onehot")
    with pytest.raises(
        ss.DataError,
        match=r"column 'place' is text with more than 3 different values; .*drop=\['place'\]",
    ):
        list(source.row_blocks())


def encoding_with(levels: list[tuple[int, str]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an encoding as a model has it, with some levels of the columns t and u."""
    kinds = {"a": "number", "t": "text", "b": "number", "u": "text"}
    columns = [{"name": name, "kind": kind} for name, kind in kinds.items()]
    texts = [text.encode() for _, text in levels]
    arrays = {
        "levels.columns": np.array([column for column, _ in levels], np.int32),
        "levels.offsets": np.cumsum([0, *map(len, texts)], dtype=np.int64),
        "levels.text": np.frombuffer(b"".join(texts), np.uint8),
    }
    return {"missing": "error", "columns": columns}, arrays


def test_parts_of_an_encoding_keep_levels_and_their_order() -> None:
    levels = [(0, "x"), (1, "x"), (0, ""), (1, "y"), (0, "ü")]
    encoding = Encoding.from_model(*encoding_with(levels))
    names = ["a", "b", "t=x", "u=x", "t=", "u=y", "t=ü"]
    assert encoding.feature_names.tolist() == names
    assert encoding.features_of(1) == [2, 4, 6]
    smaller, ids = encoding.with_features(np.array([1, 5]))
    assert (smaller.column_names, ids.tolist()) == (["b", "u"], [1, 3, 5])
    assert smaller.feature_names.tolist() == ["b", "u=x", "u=y"]


@pytest.mark.parametrize(
    "change",
    [
        {"levels.columns": np.array([0, 2], np.int32)},
        {"levels.columns": np.array([0, -1], np.int32)},
        {"levels.columns": np.array([0, 1])},
        {"levels.columns": np.zeros((2, 1), np.int32)},
        {"levels.offsets": np.array([0, 2, 1])},
        {"levels.offsets": np.array([0, 1, 3])},
        {"levels.offsets": np.array([0, 2])},
        {"levels.text": np.frombuffer(b"\xff\xfe", np.uint8)},
        {"levels.text": np.frombuffer(b"xx", np.uint8)},
        {"levels.text": np.frombuffer(b"xx", np.int8)},
    ],
)
def test_levels_of_a_stranger_are_refused(change: dict[str, Any]) -> None:
    content, arrays = encoding_with([(0, "x"), (0, "y")])
    with pytest.raises(ValueError, match=r"its levels|it has a? ?levels?|'utf-8' codec"):
        Encoding.from_model(content, arrays | change)


def test_levels_without_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="its levels are invalid"):
        Encoding.from_model(encoding_with([])[0], {})
