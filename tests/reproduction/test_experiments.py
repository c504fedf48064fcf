"""The papers' tables and figures: each is run small, once.

The page of results and messages about missing data are tested, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reproduction import EXPERIMENTS, MISSING, Experiment, Folders, Setting, Table, find_folders
from reproduction.beside import Figure, cells_with_paper, measured_text
from reproduction.data import SETS, VARIABLE, standardized
from reproduction.page import INTRODUCTION, SECTION, duration, section_text, write_section
from reproduction.tables import aligned, cell_text, markdown
from streamsieve import DataError
from streamsieve.errors import UsageError
from tests.paths import ROOT

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

SHIPPED = Folders((str(ROOT / "examples" / "data"),))


@lru_cache
def quick(name: str) -> list[Table]:
    return EXPERIMENTS[name].run(Setting(SHIPPED, quick=True))


def quick_runs() -> Iterator[ParameterSet]:
    """Yield the experiments; repeated runs of one function are marked as slow."""
    runners: set[Any] = set()
    for name, make_experiment in EXPERIMENTS.items():
        runner = getattr(make_experiment.run, "func", make_experiment.run)
        yield pytest.param(name, marks=pytest.mark.slow if runner in runners else ())
        runners.add(runner)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(quick_runs()))
def test_a_quick_run_gives_tables(name: str) -> None:
    tables = quick(name)
    assert tables
    for table in tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
        text = markdown(table)
        assert not re.search(r"\b(nan|inf)\b", text)
        assert text.count("\n|") == len(table.rows) + 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["P4.table2", "P4.table3"])
def test_shipped_sets_give_the_figures_of_the_paper(name: str) -> None:
    """Expect figures within two deviations; OFS_P on splice is better, as is an oracle."""
    table = quick(name)[0]
    cells = [(row[0], *pair) for row in table.rows for pair in zip(table.columns, row, strict=True)]
    far = [(name_of_set, column) for name_of_set, column, cell in cells if "*" in str(cell)]
    assert far == ([("splice", "OFS_P")] if name == "P4.table3" else [])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["SOFS", "SOFS, defaults"])
def test_a_method_is_tested_on_rows_of_the_scale_it_learned(method: str) -> None:
    """Expect the accuracy of the table in the figure, with the same rows and number of features."""
    table, figure = quick("P1.table2")[0], quick("P1.fig1")[0]
    expected = next(
        row[table.columns.index("accuracy, %")] for row in table.rows if row[0] == f"x1, {method}"
    )
    accuracy = next(row[figure.columns.index(method)] for row in figure.rows if row[0] == "x1, 100")
    assert accuracy == expected


@pytest.mark.filterwarnings("ignore")
def test_the_spiral_is_found_and_so_it_is_said() -> None:
    weights, claims = quick("P5.fig4")
    assert all(float(str(row[2])) > 0.9 and row[4] == 0 for row in weights.rows)
    assert [row[-1] for row in claims.rows[:2]] == ["yes", "yes"]


def test_every_experiment_names_its_data_and_its_paper() -> None:
    for name, make_experiment in EXPERIMENTS.items():
        assert re.fullmatch(r"P[1-5]\.\w+", name)
        assert set(make_experiment.data) | set(make_experiment.quick_data) <= set(SETS)
        assert not SHIPPED.missing(make_experiment.quick_data)
        assert re.search(r"\((19|20)\d\d\)", make_experiment.paper)
        assert make_experiment.minutes > 0
    assert not set(EXPERIMENTS) & set(MISSING)


def test_processes_change_nothing() -> None:
    arguments = [(7, 2), (9, 4), (8, 3)]
    printed: list[str] = []
    alone = Setting(SHIPPED, say=printed.append).map(divmod, arguments, ["a", "a", "b"])
    assert alone == Setting(SHIPPED, jobs=2).map(divmod, arguments) == [(3, 1), (2, 1), (2, 2)]
    assert printed == ["a", "b"]


def test_rows_are_standardised_as_dense_ones_would_be() -> None:
    X, _ = SHIPPED.load("german")
    dense = (X.toarray() - X.toarray().mean(axis=0)) / X.toarray().std(axis=0)
    expected = dense / np.linalg.norm(dense, axis=1, keepdims=True)
    np.testing.assert_allclose(standardized(X), expected, rtol=1e-4, atol=1e-6)


def test_folders_are_looked_through_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert find_folders().paths == (str(tmp_path), *SHIPPED.paths)
    assert find_folders(ROOT / "docs").paths == (str(ROOT / "docs"), *SHIPPED.paths)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match="no such folder"):
        find_folders()
    with pytest.raises(DataError, match=r"a8a\.svm\.xz \(LIBSVM's a8a.*--data"):
        SHIPPED.load("a8a")
    monkeypatch.delenv(VARIABLE)
    assert find_folders().paths[-1] == SHIPPED.paths[0]


def test_a_set_is_read_as_it_is() -> None:
    X, y = SHIPPED.load("thyroid", 7)
    assert X.shape == (215, 7)
    assert np.unique(y, return_counts=True)[1].tolist() == [150, 65]


def test_figures_stand_beside_the_papers() -> None:
    paper = Figure(400.9, 66.8)
    assert cells_with_paper([500, 534], paper) == ["517 ± 17", "401 ± 67"]
    assert cells_with_paper([534.6], paper, 1) == ["534.6*", "400.9 ± 66.8"]
    assert measured_text([1234.5, 1235.5], 0) == "1,235 ± 0"


def test_cells_are_text_for_people() -> None:
    assert [cell_text(cell) for cell in (None, 12345, 0.123456, "a")] == [
        "-",
        "12,345",
        "0.1235",
        "a",
    ]
    assert (
        aligned(["", "seconds"], [["one", "1.5"], ["twelve", "12.25"]])
        == "|        | seconds |\n| ------ | ------: |\n| one    |     1.5 |\n| twelve |   12.25 |"
    )
    assert [duration(seconds) for seconds in (0.1, 89, 200)] == ["1 s", "89 s", "3 min"]


def make_experiment(name: str) -> Experiment:
    return Experiment(
        name, "a title", "Somebody (2001)", (), 1.0, lambda setting: [], ("a deviation",)
    )


KNOWN = {name: make_experiment(name) for name in ("P1.a", "P1.b", "P2.a")}


def test_a_section_is_replaced_and_the_others_stay_in_order(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for name, text in (("P2.a", "last"), ("P1.a", "old"), ("P1.a", "new")):
        write_section(page, name, text, KNOWN, {"P1.c": "more data"})
    text = page.read_text()
    assert text.startswith(INTRODUCTION)
    assert [(match["name"], match["text"]) for match in SECTION.finditer(text)] == [
        ("P1.a", "new"),
        ("P2.a", "last"),
    ]
    assert "Not run in full yet: P1.b." in text
    assert "| P1.c " in text
    write_section(page, "P1.b", "middle", KNOWN, {})
    assert [match["text"] for match in SECTION.finditer(page.read_text())] == [
        "new",
        "middle",
        "last",
    ]
    assert "Not run" not in page.read_text()


def test_a_section_has_its_command_its_time_and_every_deviation() -> None:
    text = section_text(
        KNOWN["P1.a"], [Table("figures", ["x", "paper"], [[1, 2.5]], ["a remark"])], False, 61.0
    )
    assert text.startswith(
        "## P1.a: a title\n\nSomebody (2001). `python -m reproduction P1.a`: 61 s, on "
    )
    assert "| 1   |   2.5 |" in text
    assert "\na remark\n" in text
    assert text.endswith("- a deviation")
    assert "quick run" in section_text(KNOWN["P1.a"], [], True, 1.0)


def test_the_page_has_sections_of_experiments_in_their_order() -> None:
    text = (ROOT / "docs" / "explanation" / "reproduction.md").read_text()
    names = [match["name"] for match in SECTION.finditer(text)]
    assert names == [name for name in EXPERIMENTS if name in names]
    assert text.startswith(INTRODUCTION)
    assert str(ROOT) not in text


def test_the_page_has_the_titles_and_the_deviations_of_its_experiments() -> None:
    text = (ROOT / "docs" / "explanation" / "reproduction.md").read_text()
    for match in SECTION.finditer(text):
        experiment = EXPERIMENTS[match["name"]]
        assert match["text"].startswith(f"## {experiment.name}: {experiment.title}\n")
        notes = match["text"].rpartition("\n\n")[2].splitlines()
        assert notes == [f"- {note}" for note in experiment.notes], experiment.name
