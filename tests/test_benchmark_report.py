"""What the benchmarks share: the sections of a document, tables, the penalty that a peer is given, stored figures."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import batch
import report
from contestants import Problem, ScikitLearn, cut, tune
from streamsieve import workflow

from .paths import ROOT


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "performance.md"
    path.write_text(
        "before\n<!-- a: begin -->\nold\n<!-- a: end -->\nbetween\n<!-- b: begin -->\n<!-- b: end -->\nafter\n"
    )
    return path


def test_a_section_is_replaced_and_the_rest_left_alone(document: Path) -> None:
    report.write_section("b", "\nfirst\n", document)
    report.write_section("a", "new", document)
    report.write_section("b", "second", document)
    assert document.read_text() == (
        "before\n<!-- a: begin -->\n\nnew\n\n<!-- a: end -->\nbetween\n"
        "<!-- b: begin -->\n\nsecond\n\n<!-- b: end -->\nafter\n"
    )


@pytest.mark.parametrize("text", ["", "<!-- c: begin -->", "<!-- c: end --><!-- c: begin -->", "<!-- c: begin -->" * 2])
def test_a_document_without_the_markers_is_refused_and_kept(document: Path, text: str) -> None:
    document.write_text(text)
    with pytest.raises(ValueError, match="c: begin"):
        report.write_section("c", "new", document)
    assert document.read_text() == text


def test_the_document_has_a_place_for_every_section() -> None:
    text = report.DOCUMENT.read_text()
    for name in ("peers", "scaling", "stages", "clicks"):
        assert text.count(f"<!-- {name}: begin -->") == text.count(f"<!-- {name}: end -->") == 1
    assert str(ROOT) not in text


def test_a_table_is_aligned_markdown() -> None:
    assert report.table(["", "seconds"], [["one", "1.5"], ["twelve", "12.25"]]) == (
        "|        | seconds |\n| ------ | ------: |\n| one    |     1.5 |\n| twelve |   12.25 |"
    )


def test_the_machine_is_described_without_its_paths_and_name() -> None:
    text = report.machine("scikit-learn", "not-installed-anywhere")
    assert "numpy" in text
    assert "scikit-learn" in text
    assert "not-installed" not in text
    assert str(Path.home()) not in text


def test_a_process_apart_is_another_process() -> None:
    assert report.apart(os.getpid) != os.getpid()


def test_a_peer_is_tuned_to_no_fewer_features_than_asked_for(tmp_path: Path) -> None:
    train, test = tmp_path / "train.svm", tmp_path / "test.svm"
    workflow.convert("synthetic:x1?rows=2000&features=1000", train)
    workflow.convert("synthetic:x1?rows=500&features=1000&seed=1", test)
    problem = Problem("x1", train, test, train, 1000, 50, 100)
    peer = ScikitLearn("one pass", max_iter=1, tol=None)
    penalty, accuracy = tune(peer, problem)
    model = cut(*peer.weights(peer.fit(peer.read(train), penalty)), problem)
    assert 50 <= model.nonzero <= 60
    assert np.count_nonzero(model.weights) == 50
    assert accuracy > 0.8


def test_the_table_beside_batch_methods_has_the_columns_and_cells_of_its_script() -> None:
    section = batch.PAGE.read_text().partition("<!-- batch: begin -->")[2].partition("<!-- batch: end -->")[0]
    header, _, *lines = [
        tuple(cell.strip() for cell in line.strip("|").split("|")) for line in section.splitlines() if line[:1] == "|"
    ]
    assert header == batch.HEADER
    cells = [(name, str(k)) for name, budgets in batch.SETS.items() for k in budgets]
    assert [line[:2] for line in lines] == [*cells, ("mean", "")]


def test_batch_figures_are_stored_for_every_cell() -> None:
    lines = batch.stored()
    for name, budgets in batch.SETS.items():
        stored = [(int(line["k"]), line["method"]) for line in lines[name]]
        assert stored == [(k, method) for k in budgets for method in batch.PEERS]
