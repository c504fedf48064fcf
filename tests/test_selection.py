"""The selection in Python: in order, as a data frame, in a line, in a notebook."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import streamsieve as ss

HOSTILE = [
    "<script>alert(1)</script>",
    "\x1b[31mred\nforged",
    "right\u202eleft",
    "a & b",
    "n" * 500,
]


def selection(names: list[str] | None = None, groups: list[int] | None = None) -> ss.Selection:
    return ss.Selection(
        np.array([2, 3, 5, 7, 11]),
        np.array([0.5, 9.0, 1.25, 9.0, 4.0]),
        None if names is None else np.array(names, dtype=object),
        None if groups is None else np.array(groups),
    )


@pytest.fixture(scope="module")
def record() -> ss.RunRecord:
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (300, 8))
    return ss.select((X, np.argmax(X[:, :3], axis=1)), "sofs", 4, classes=[0, 1, 2])


def test_features_come_best_first_and_of_equal_scores_the_lower_id() -> None:
    features = list(selection(list("abcde"), [0, 0, 1, 1, 2]))
    assert [feature.index for feature in features] == [3, 7, 11, 5, 2]
    assert features[0] == ss.Feature(index=3, score=9.0, name="b", group=0)
    assert next(iter(selection())) == ss.Feature(3, 9.0)
    assert selection().top(2).indices.tolist() == [3, 7]
    assert list(selection().top(0)) == []


def test_frame_has_what_is_known() -> None:
    frame = selection(list("abcde"), [0, 0, 1, 1, 2]).to_frame()
    assert list(frame.columns) == ["index", "name", "score", "group"]
    assert frame["index"].tolist() == [3, 7, 11, 5, 2]
    assert frame["name"].tolist() == ["b", "d", "e", "c", "a"]
    assert list(selection().to_frame().columns) == ["index", "score"]
    assert selection().top(0).to_frame().shape == (0, 2)


def test_frame_of_a_record_has_weights_and_classes(record: ss.RunRecord) -> None:
    frame = record.to_frame()
    assert list(frame.columns) == ["index", "score", "weight", "class"]
    ranked = record.ranked()
    assert frame["index"].tolist() == [line["feature"] for line in ranked]
    assert frame["weight"].tolist() == [line["weight"] for line in ranked]
    assert frame["class"].tolist() == [line["class"] for line in ranked]


def test_without_pandas_the_frame_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        selection().to_frame()


def test_reprs_are_short_whatever_is_selected(record: ss.RunRecord) -> None:
    assert (
        repr(selection()) == "<Selection: 5 features; best 3 (9), 7 (9), 11 (4), 5 (1.25), 2 (0.5)>"
    )
    assert repr(selection().top(0)) == "<Selection: 0 features>"
    large = ss.Selection(np.arange(10**6), np.arange(10**6) / 7)
    assert len(repr(large)) < 200
    assert repr(large).endswith(", ...>")
    lines = repr(record).splitlines()
    assert lines[0].startswith("<RunRecord: sofs selected 4 of 8 features from 300 rows in ")
    assert lines[1].startswith(" online mistakes ")
    assert lines[2].startswith(" best ")
    assert len(lines) == 3


def test_hostile_names_are_shown_as_text() -> None:
    shown = repr(selection(HOSTILE))
    assert "\n" not in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert len(shown) < 300
    html = selection(HOSTILE)._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "a &amp; b" in html
    assert "\x1b" not in html


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_notebooks_get_a_small_table_that_brings_no_colours(record: ss.RunRecord) -> None:
    large = ss.Selection(
        np.arange(100), np.arange(100.0), np.array([f"<b>{k}" for k in range(100)], dtype=object)
    )
    for html, rows in (
        (large._repr_html_(), 10),
        (record._repr_html_(), 4),
        (large.top(0)._repr_html_(), -1),
    ):
        page = Tags()
        page.feed(html)
        assert set(page.tags) <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
        assert not page.attributes
        assert page.tags.count("tr") == rows + 1
    assert "and 90 more" in large._repr_html_()


def test_the_folder_of_a_run_is_loaded_as_its_model(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (80, 5))
    y = (X[:, 1] > 0).astype(int)
    record = ss.select((X, y), "sofs", 2, output=tmp_path / "run")
    selector = ss.load(tmp_path / "run")
    assert selector.selection().indices.tolist() == record.selection.indices.tolist()
    assert selector.partial_fit(X, y).n_rows_ == 160
