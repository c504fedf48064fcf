"""The contents of reports, against hand-computed cases, SciPy and pandas, and their pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy.stats import binomtest

import streamsieve as ss
from streamsieve.report import describe_comparison, describe_run, render, summarize, write_report
from streamsieve.report.markup import (
    MAX_TEXT_BYTES,
    data_block,
    decimals_of,
    number_column,
    tag,
    text_column,
)
from streamsieve.report.redundancy import correlations
from streamsieve.report.run import mistakes_of, stays_of, wilson
from streamsieve.report.wording import seconds, size

from .samples import HOSTILE, make_comparison, make_record


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a real run, of columns, on a table."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(200, 6)).round(4), columns=list("abcdef"))
    frame["e"] = frame["a"] + 0.5 * frame["e"]
    frame["y"] = np.where(frame["a"] + frame["c"] > 0, "yes", "no")
    frame.to_csv(folder / "rows.csv", index=False)
    ss.select(folder / "rows.csv", "saola", target="y", output=folder / "run")
    return folder / "run"


def copy_run(run: Path, folder: Path) -> Path:
    """Return a copy of a run folder that reads a copy of its data."""
    data = folder / "rows.csv"
    data.write_bytes((run.parent / "rows.csv").read_bytes())
    copy = folder / "run"
    copy.mkdir()
    for file in run.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    text = (copy / "run.json").read_text().replace(str(run.parent / "rows.csv"), str(data))
    (copy / "run.json").write_text(text)
    return copy


def test_correlations_are_those_of_numpy_and_over_pairs_of_pandas() -> None:
    values = np.random.default_rng(0).normal(size=(50, 4)) + 1e6
    np.testing.assert_allclose(correlations(values), np.corrcoef(values.T), atol=1e-9)
    values[::7, 1] = np.nan
    values[3:20, 2] = np.nan
    np.testing.assert_allclose(correlations(values), pandas.DataFrame(values).corr(), atol=1e-9)
    values[:, 0] = 3.0
    assert np.isnan(correlations(values)[0]).all()


def test_redundancy_is_that_of_the_data_of_the_run(run: Path) -> None:
    redundancy = describe_run(run)["redundancy"]
    frame = pandas.read_csv(run.parent / "rows.csv")
    assert len(redundancy["names"]) >= 2
    np.testing.assert_allclose(
        redundancy["correlation"], frame[redundancy["names"]].corr(), atol=1e-4
    )
    assert redundancy["n_rows"] == 200


def test_columns_and_rows_of_the_same_data_have_the_same_redundancy(
    run: Path, tmp_path: Path
) -> None:
    from streamsieve.workflow import convert_to_columns

    columns = tmp_path / "columns.parquet"
    convert_to_columns(run.parent / "rows.csv", columns, "y")
    ss.select(columns, "saola", output=tmp_path / "run")
    redundancy, expected = (
        describe_run(tmp_path / "run")["redundancy"],
        describe_run(run)["redundancy"],
    )
    np.testing.assert_allclose(redundancy["correlation"], expected["correlation"], atol=1e-4)


def test_data_that_cannot_be_read_again_is_said_to_be_so(run: Path, tmp_path: Path) -> None:
    assert "asked not to" in describe_run(run, read_data=False)["redundancy"]["missing"]
    assert "not from a run folder" in describe_run(make_record())["redundancy"]["missing"]
    copy = copy_run(run, tmp_path)
    with (tmp_path / "rows.csv").open("a") as file:
        file.write("1,2,3,4,5,6,yes\n")
    assert "has changed" in describe_run(copy)["redundancy"]["missing"]
    (tmp_path / "rows.csv").unlink()
    assert "gone" in describe_run(copy)["redundancy"]["missing"]
    frame = pandas.read_csv(run.parent / "rows.csv")
    ss.select((frame[list("abc")], frame["y"]), "saola", output=tmp_path / "memory")
    assert "in memory" in describe_run(tmp_path / "memory")["redundancy"]["missing"]


def test_intervals_are_those_of_scipy() -> None:
    for successes in (0, 15, 50):
        expected = binomtest(successes, 50).proportion_ci(method="wilson")
        assert wilson(successes / 50, 50) == pytest.approx((expected.low, expected.high))
    assert wilson(None, 50) == (None, None)


def test_mistakes_are_counted_in_windows() -> None:
    trace = [
        {"rows": 100, "mistakes": 40},
        {"rows": 105, "mistakes": 44},
        {"rows": 200, "mistakes": 60},
    ]
    mistakes = mistakes_of([*trace, {"rows": 600, "mistakes": 60}])
    assert mistakes is not None
    assert mistakes["so_far"] == [0.4, 44 / 105, 0.3, 0.1]
    assert mistakes["windows"]["rows"] == [100, 200, 600]  # five rows are too few
    assert mistakes["windows"]["rate"] == [0.4, 0.2, 0.0]
    fewer = mistakes_of(
        [{"rows": 100, "mistakes": 40}, {"rows": 200, "mistakes": 30}]
    )  # of another number of features
    assert fewer is not None
    assert fewer["windows"]["rows"] == [100]
    assert mistakes_of([{"rows": 10, "r2": 0.5}, {"rows": 20, "r2": None}]) == {
        "rows": [10],
        "r2": [0.5],
    }
    assert mistakes_of([]) is None


def test_stays_begin_and_end_where_features_enter_and_leave() -> None:
    history = {"at": [10, 20, 30], "entered": [[1, 2], [3], [1]], "left": [[], [1], [3]]}
    assert stays_of(history, 50) == {1: [[10, 20], [30, 50]], 2: [[10, 50]], 3: [[20, 30]]}


def test_features_that_left_are_in_the_picture_under_their_ids() -> None:
    changes = describe_run(make_record())["changes"]
    names = {feature["name"]: feature["selected"] for feature in changes["features"]}
    assert names == {
        "1": True,
        "2": True,
        "3": True,
        "4": True,
        "5": True,
        "66": False,
    }  # 1-based, as in the file
    assert changes["n_gone"] == 1


def test_a_description_is_what_json_holds_and_says_the_same_as_the_record() -> None:
    record = make_record()
    description = describe_run(record)
    assert json.loads(json.dumps(description, allow_nan=False)) == description
    assert description["quality"]["mistake_rate"] == summarize(record)["mistake_rate"]
    best = record.table(1)[0]
    assert {key: column[0] for key, column in description["selected"].items()} == best
    assert description["curve"]["taken"] == 60
    assert description["curve"]["automatic"]
    assert description["asked"]["params"] == {"n_features_to_select": "auto"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "With 60 of 600 features, 91.0% of the test rows are predicted correctly."),
        (
            {"test_accuracy": None},
            (
                "With 60 of 600 features, 87.0% of the rows were predicted correctly before they"
                " were learned."
            ),
        ),
        (
            {"test_accuracy": None, "test_r2": 0.5},
            "With 60 of 600 features, R² on the test rows is 0.500.",
        ),
        (
            {"test_accuracy": None, "mistakes": None},
            "60 of 600 features were selected from 1,000 rows.",
        ),
    ],
)
def test_the_headline_says_how_good_the_selection_is(
    changes: dict[str, Any], expected: str
) -> None:
    assert describe_run(make_record(**changes))["headline"] == expected


def test_a_comparison_is_described_by_its_own_figures() -> None:
    comparison = make_comparison()
    description = describe_comparison(comparison)
    assert json.loads(json.dumps(description, allow_nan=False)) == description
    assert description["ranks"]["average"]["sofs"] == 1.0
    assert description["n_failed"] == 1
    assert description["headline"].startswith(
        "sofs ranks first on average over 3 data sets (mean rank 1.0)"
    )
    alone = describe_comparison(make_comparison(("news",)))
    assert "two data sets" in alone["ranks"]["missing"]
    assert alone["headline"].startswith("sofs is best on news: ")
    assert "No critical difference" in render(report_of(alone))


def report_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"format": "streamsieve report 1", "version": "0", "written": "today", "items": [item]}


def test_the_folder_of_a_comparison_is_not_taken_for_a_run(run: Path, tmp_path: Path) -> None:
    make_comparison().save(tmp_path / "comparison")
    page = write_report([run, tmp_path / "comparison"], tmp_path / "all.html")
    report = json.loads((tmp_path / "all.json").read_text())
    assert [item["kind"] for item in report["items"]] == ["run", "comparison"]
    assert page.read_text(encoding="utf-8") == render(report, "all.json")
    assert page.read_text(encoding="utf-8").count("all.json") == 2
    assert "report.json" not in page.read_text(encoding="utf-8")


def test_the_folder_of_a_result_is_not_written_to(run: Path, tmp_path: Path) -> None:
    make_comparison().save(tmp_path / "comparison")
    result = copy_run(run, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for folder, what in ((result, "run"), (tmp_path / "comparison", "comparison")):
        for name in ("result.html", "run.html", "request.html", "report.html"):
            with pytest.raises(
                ss.UsageError,
                match=f"is the folder of a {what}; write the report to another folder",
            ):
                write_report(folder, folder / name)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    for name in (
        "run.html",
        "request.html",
        "run.html",
    ):  # one report does not make a folder that of a run
        write_report(result, tmp_path / name)


def test_what_cannot_be_a_report_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ss.UsageError, match=r"end in \.html"):
        write_report(run, tmp_path / "report.json")
    with pytest.raises(ss.UsageError, match="no run in this folder"):
        write_report(tmp_path, tmp_path / "report.html")
    with pytest.raises(ss.UsageError, match="at least one"):
        write_report([], tmp_path / "report.html")
    copy = copy_run(run, tmp_path)
    (copy / "result.json").unlink()
    with pytest.raises(ss.UsageError, match="not finished"):
        write_report(copy, tmp_path / "report.html")
    assert not list(tmp_path.glob("report*"))


def test_no_text_ends_the_data_of_a_page() -> None:
    block = data_block("x", HOSTILE)
    inside = block.partition(">")[2].removesuffix("</script>")
    assert not set(inside) & set("<>&\u2028")
    assert json.loads(inside) == HOSTILE
    assert (
        tag("p", "<b>", tag("i", '"'), title='">')
        == '<p title="&quot;&gt;">&lt;b&gt;<i>&quot;</i></p>'
    )


def test_hostile_names_leave_no_markup_in_the_page() -> None:
    record = make_record(HOSTILE, method="<b>sofs", data={"path": "<script>/x", "n_files": 2})
    page = render(report_of(describe_run(record)))
    for text in ("<script>window", "<img src=x", "<b>sofs", "<script>/x", "\x1b", "\u202e"):
        assert text not in page


def test_columns_are_rounded_to_what_is_shown() -> None:
    assert number_column("x", [1.23456, -20.0, None])["values"] == [1.23, -20, None]
    assert number_column("x", [1e-30, 1.23456])["values"] == [
        1e-30,
        1.235,
    ]  # too different for decimals
    assert decimals_of([0.5, 0.25]) == 4
    column = text_column("x", ["10", "9", "auto", None] * 2)
    assert [column["levels"][code] for code in sorted(set(column["values"]) - {-1})] == [
        "9",
        "10",
        "auto",
    ]
    long = text_column("x", [f"{number} {'long ' * 40}" for number in range(20_000)])
    assert sum(len(text) for text in long["values"]) <= MAX_TEXT_BYTES


def test_times_and_sizes_have_units() -> None:
    assert [seconds(time) for time in (0.0123, 0.5, 12.34, 600.0)] == [
        "12 ms",
        "0.50 s",
        "12.3 s",
        "10.0 min",
    ]
    assert [size(n) for n in (12, 1500, 123_456_789)] == ["12 B", "1.5 kB", "123 MB"]
