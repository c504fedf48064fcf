"""Records of a run while it learns: looks, the history of the selection, facts, frequencies."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streamsieve as ss
from streamsieve import recording, workflow
from streamsieve.recording import History, Recording, next_look
from streamsieve.registry import METHODS, find_method
from streamsieve.report.run import WINDOWS, windowed_mistakes
from streamsieve.runs import RunDirectory
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.base import BlockSource
from streamsieve.sources.writers import write_rows
from streamsieve.training import Progress, train

STREAMING = [name for name in METHODS if find_method(name).reads != "matrix"]


class StopHereError(Exception):
    """Raised to interrupt a run."""


def some_data(n_rows: int = 150, n_features: int = 90) -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    X = random.integers(-2, 3, (n_rows, n_features)).astype(float)
    return X, np.where(X[:, 5] + X[:, 70 % n_features] + random.normal(0, 0.5, n_rows) > 0, 1, -1)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.arrow"
    write_rows(path, ArraySource(*some_data()).row_blocks(), n_features=90)
    return path


def replayed(history: dict[str, Any]) -> list[list[int]]:
    """Return the selection after every change.

    Check that nothing enters twice, and that only selected features leave.
    """
    now: set[int] = set()
    states = []
    for entered, left in zip(history["entered"], history["left"], strict=True):
        assert now.isdisjoint(entered)
        assert now.issuperset(left)
        assert entered or left
        now = (now - set(left)) | set(entered)
        states.append(sorted(now))
    return states


def looks_up_to(count: int) -> list[int]:
    looks, at = [], 0
    while (at := next_look(at)) <= count:
        looks.append(at)
    return looks


def test_looks_are_eight_per_doubling_from_32_on() -> None:
    assert looks_up_to(140) == [
        32,
        36,
        40,
        44,
        48,
        52,
        56,
        60,
        64,
        72,
        80,
        88,
        96,
        104,
        112,
        120,
        128,
    ]
    assert len(looks_up_to(1000)) == 40
    assert len(looks_up_to(10**9)) == 199
    assert [next_look(count) for count in (0, 31, 32, 63, 64, 10**9)] == [
        32,
        32,
        36,
        64,
        72,
        1006632960,
    ]


@pytest.mark.parametrize("method", STREAMING)
def test_what_entered_and_left_is_the_selection(rows: Path, method: str) -> None:
    limited = "n_features_to_select" in find_method(method).parameter_names
    record = workflow.select(rows, method, 5 if limited else None)
    history = record.details["history"]
    by_rows = find_method(method).reads == "rows"
    assert history["unit"] == ("rows" if by_rows else "features")
    assert history["complete"] is True
    assert (replayed(history) or [[]])[-1] == record.selection.indices.tolist()
    end = record.trace[-1]["rows"] if by_rows else 180  # two scans at most
    assert all(
        0 < before < after <= end
        for before, after in zip([0.5, *history["at"]], history["at"], strict=False)
    )


@pytest.mark.parametrize("params", [{}, {"n_features_to_select": "auto"}], ids=["fixed", "auto"])
def test_every_look_shows_the_selection_of_the_rows_so_far(params: dict[str, Any]) -> None:
    X, y = some_data()
    history = ss.select((X, y), **{"n_features_to_select": 5, **params}).details["history"]
    shown = dict(zip(history["at"], replayed(history), strict=True))
    now: list[int] = []
    for count in [*looks_up_to(150), 150]:
        learner = ss.SOFS(**{"n_features_to_select": 5, **params})
        learner.partial_fit(X[:count], y[:count], classes=[-1, 1])
        now = shown.get(count, now)
        assert now == learner.selection().indices.tolist(), f"after {count} rows"
    assert len(shown) > 3


def test_methods_that_choose_at_the_end_change_at_the_end(rows: Path) -> None:
    history = workflow.select(rows, "mrmr", 4).details["history"]
    assert history["at"] == [90]
    assert len(history["entered"][0]) == 4


def test_the_whole_matrix_has_no_history(rows: Path) -> None:
    assert "history" not in workflow.select(rows, "relieff", 5).details


@pytest.mark.parametrize(
    ("method", "params"), [("sofs", {"n_epochs": 2}), ("saola", {}), ("online-substitution", {})]
)
def test_a_resumed_run_has_the_same_history(
    rows: Path, tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    expected = workflow.select(rows, method, 5, **params)

    def watch(now: Progress) -> None:
        if now.unit in ("rows", "features") and now.done >= 70:
            raise StopHereError

    with pytest.raises(StopHereError):
        workflow.select(
            rows, method, 5, output=tmp_path / "run", checkpoint_every=35, watch=watch, **params
        )
    assert (tmp_path / "run" / "checkpoint").exists()
    record = workflow.resume(tmp_path / "run")
    assert record.details["history"] == expected.details["history"]
    assert record.trace == expected.trace
    stored = RunDirectory(tmp_path / "run").result()
    assert stored is not None
    assert stored.details["history"] == expected.details["history"]
    assert stored.data == expected.data


def test_a_checkpoint_of_an_earlier_version_goes_on(rows: Path, tmp_path: Path) -> None:
    """It has a trace at other rows and no history: the history begins where the run resumes."""
    whole = workflow.select(rows, "sofs", 5)
    workflow.select(rows, "sofs", 5, output=tmp_path / "run", checkpoint_every=70)
    (tmp_path / "run" / "result.json").unlink()
    learner = find_method("sofs").make(5)
    train(learner, ArraySource(*(part[:70] for part in some_data())))
    learner.save(tmp_path / "run" / "checkpoint", {"trace": [{"rows": 70, "mistakes": 7}]})
    record = workflow.resume(tmp_path / "run")
    assert record.trace[0] == {"rows": 70, "mistakes": 7}
    assert record.trace[1:] == [point for point in whole.trace if point["rows"] > 70]
    history = record.details["history"]
    assert history["at"][0] == 72
    assert replayed(history)[-1] == whole.selection.indices.tolist()


@pytest.mark.parametrize(
    "history",
    [7, {"unit": "rows"}, {"unit": "rows", "at": [2, 1], "entered": [[], []], "left": [[], []]}],
)
def test_a_damaged_history_is_refused(rows: Path, tmp_path: Path, history: Any) -> None:
    workflow.select(rows, "sofs", 5, output=tmp_path / "run", checkpoint_every=70)
    (tmp_path / "run" / "result.json").unlink()
    learner = find_method("sofs").make(5)
    train(learner, ArraySource(*some_data()))
    learner.save(tmp_path / "run" / "checkpoint", {"trace": [], "history": history})
    with pytest.raises(
        ss.DataError, match="its history is damaged; remove it to go on from the start"
    ):
        workflow.resume(tmp_path / "run")


@pytest.mark.parametrize("method", ["sofs", "saola"])
def test_recording_changes_nothing_that_is_learned(method: str) -> None:
    source = ArraySource(*some_data(), block_rows=47)
    learners = [find_method(method).make(n_features_to_select=5) for _ in range(2)]
    seen: list[Progress] = []
    train(learners[0], source)
    train(learners[1], source, recording=Recording(), watch=seen.append)
    plain, other = (learner.model().arrays for learner in learners)
    assert sorted(plain) == sorted(other)
    for name, array in plain.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)
    assert len(seen) == (4 if method == "sofs" else 1), (
        "watched after every block, not after every look"
    )


# ---- bounds


def noted(
    sizes: list[int], universe: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[History, list[list[int]]]:
    """Return a history of random selections, with small bounds, and the selections, best first."""
    for name, value in (("MAX_IDS", 200), ("MAX_FOLLOWED_WHOLE", 40), ("MAX_FOLLOWED", 10)):
        monkeypatch.setattr(recording, name, value)
    random = np.random.default_rng(0)
    history, selections = History("rows"), []
    for count, size in enumerate(sizes):
        ids = random.choice(universe, size, replace=False)
        scores = random.integers(0, 5, size).astype(float)
        history.note(32 + count, ids, scores)
        assert history.n_ids <= 200
        selections.append(ids[np.lexsort((ids, -scores))].tolist())
    return history, selections


def test_a_long_history_becomes_coarser_but_stays_true(monkeypatch: pytest.MonkeyPatch) -> None:
    history, selections = noted([20] * 50, 60, monkeypatch)
    states = replayed(history.to_dict())
    assert history.complete
    for at, state in zip(history.changes, states, strict=True):
        assert state == sorted(selections[at - 32])
    assert list(history.changes)[-1] == 81
    assert len(history.changes) < 20


def test_of_a_very_large_selection_the_best_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    history, selections = noted([5, 30, 45, 80, 8, 60], 300, monkeypatch)
    assert not history.complete
    assert list(history.changes) == [34, 35, 36, 37]
    for at, state in zip(history.changes, replayed(history.to_dict()), strict=True):
        assert state == sorted(selections[at - 32][:10])


def test_a_history_goes_on_from_its_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = noted([20] * 30, 60, monkeypatch)
    part, _ = noted([20] * 11, 60, monkeypatch)
    again = History.from_dict(json.loads(json.dumps(part.to_dict())))
    np.testing.assert_array_equal(again.now, part.now)
    assert (
        whole.to_dict().keys()
        == again.to_dict().keys()
        == {"unit", "at", "entered", "left", "complete"}
    )


def test_changes_at_one_count_become_one() -> None:
    history = History("features")
    history.note(40, np.array([1, 2]), np.ones(2))
    history.note(48, np.array([1, 3]), np.ones(2))
    history.note(48, np.array([1, 2]), np.ones(2))
    assert history.changes == {40: ([1, 2], [])}
    history.note(48, np.array([4, 1]), np.ones(2))
    assert history.changes == {40: ([1, 2], []), 48: ([4], [2])}


def test_what_is_costly_to_read_is_looked_at_late(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamsieve.selectors.rows import results

    monkeypatch.setattr(results, "QUICKLY_READ", 10)
    monkeypatch.setattr(results, "WORTH_READING", 60)
    X, y = some_data()
    for method in ("ogd", "sofs"):
        record = ss.select((X, y), method, 60)
        entries = 90 if method == "ogd" else 60
        first = record.details["history"]["at"][0]
        assert (
            np.count_nonzero(X[:first])
            >= 60 * entries
            > np.count_nonzero(X[: looks_up_to(first)[-2]])
        )
        assert replayed(record.details["history"])[-1] == record.selection.indices.tolist()


# ---- mistakes over the rows


def test_windows_of_mistakes_are_those_of_equal_parts() -> None:
    """Half of the first 800 rows are mistakes, then none: windows of 100 rows show just that."""
    trace = [
        {"rows": rows, "mistakes": min(rows, 800) // 2}
        for rows in [*looks_up_to(1600), 1600]
        if rows % 2 == 0
    ]
    assert windowed_mistakes(trace) == pytest.approx([0.5] * 8 + [0.0] * 8, abs=0.17)
    assert len(windowed_mistakes(trace)) == WINDOWS
    assert windowed_mistakes(trace[:20]) == [], "too few rows"
    assert windowed_mistakes([{"rows": 4000, "mistakes": 5}]) == [], "too few looks"
    assert windowed_mistakes([{"rows": point["rows"], "r2": 0.5} for point in trace]) == []


# ---- facts on the data


def test_facts_on_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1 4:2\n-1 2:1\n1 1:3\n" * 20)
    facts = ss.select(path, n_features_to_select=2, n_epochs=2).data
    assert facts["n_bytes"] == facts["bytes"] == path.stat().st_size
    assert facts["density"] == pytest.approx(4 / 12)
    assert facts["classes"] == [{"label": -1.0, "rows": 20}, {"label": 1.0, "rows": 40}]
    copy, other = tmp_path / "copy.svm", tmp_path / "other.svm"
    shutil.copy(path, copy)
    other.write_text(path.read_text()[:-2] + "4\n")
    prints = [
        ss.select(file, n_features_to_select=2).data["fingerprint"] for file in (path, copy, other)
    ]
    assert prints[0] == prints[1] == facts["fingerprint"] != prints[2]


def test_facts_on_several_files_change_with_each(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.svm").write_text("1 1:1\n-1 2:1\n" * 20)
    before = ss.select(tmp_path, n_features_to_select=1).data
    (tmp_path / "2.svm").write_text("1 1:1\n-1 2:2\n" * 20)
    after = ss.select(tmp_path, n_features_to_select=1).data
    assert before["n_bytes"] == after["n_bytes"] == before["bytes"]
    assert before["fingerprint"] != after["fingerprint"]


@pytest.mark.parametrize("method", ["sofs", "saola", "relieff"])
def test_facts_on_arrays(method: str) -> None:
    from scipy.sparse import csr_array

    X, y = some_data(60, 12)
    words = np.where(y > 0, "yes", "no")
    facts = ss.select((X, words), method).data
    counts = [
        {"label": "no", "rows": int((y < 0).sum())},
        {"label": "yes", "rows": int((y > 0).sum())},
    ]
    assert facts["classes"] == counts
    assert facts["density"] == pytest.approx(np.count_nonzero(X) / X.size)
    assert facts["n_bytes"] == X.nbytes
    fingerprint = facts["fingerprint"]
    assert ss.select((X.copy(), words.copy()), method).data["fingerprint"] == fingerprint
    assert ss.select((X, y), method).data["fingerprint"] != fingerprint
    assert ss.select((csr_array(X), words), method).data["fingerprint"] != fingerprint
    X[7, 3] += 1.0
    assert ss.select((X, words), method).data["fingerprint"] != fingerprint


def test_facts_that_are_not_known_are_omitted() -> None:
    X, _ = some_data(60, 12)
    facts = ss.select(
        BlockSource(ArraySource(X, X[:, 0] + 0.5).row_blocks()), "sofs-regressor", 2
    ).data
    assert {"fingerprint", "n_bytes", "classes"}.isdisjoint(facts)
    assert ss.select("synthetic:x1?rows=50&features=300", "sofs", 2).data["fingerprint"]


# ---- frequencies


def test_frequencies_are_in_every_form_of_the_result(rows: Path, tmp_path: Path) -> None:
    from streamsieve.evaluation.resampling import stability_selection

    record = ss.select(rows, "sofs", 5, resamples=6, seed=4, output=tmp_path / "run")
    expected = stability_selection(rows, "sofs", 5, n_resamples=6, seed=4)
    assert record.details["frequency"] == expected.frequency_of(record.selection.indices).tolist()
    stability = record.details["stability"]
    assert {name: stability[name] for name in ("value", "low", "high")} == pytest.approx(
        expected.stability._asdict()
    )
    assert (stability["resamples"], stability["fraction"]) == (6, 0.5)
    by_id = dict(zip(record.selection.indices.tolist(), record.details["frequency"], strict=True))
    assert by_id[5] == by_id[70] == 1.0
    assert {line["feature"]: line["frequency"] for line in record.ranked()} == by_id
    frame = record.to_frame()
    assert dict(zip(frame["index"], frame["frequency"], strict=True)) == by_id
    with (tmp_path / "run" / "selection.csv").open() as file:
        assert {
            int(line["index"]): float(line["frequency"]) for line in csv.DictReader(file)
        } == by_id
    stored = RunDirectory(tmp_path / "run").result()
    assert stored is not None
    assert stored.ranked() == record.ranked()
    assert RunDirectory(tmp_path / "run").request().resamples == 6


def test_methods_without_weights_have_frequencies(rows: Path) -> None:
    ranked = ss.select(rows, "saola", resamples=3).ranked()
    assert ranked
    assert all("frequency" in line for line in ranked)


@pytest.mark.filterwarnings("ignore:no feature was selected")
def test_the_stability_of_nothing_is_null(tmp_path: Path) -> None:
    X, y = np.random.default_rng(1).standard_normal((60, 3)), np.arange(60) % 2
    record = ss.select((X, y), "saola", alpha=1e-6, resamples=3, output=tmp_path / "run")
    assert [record.details["stability"][name] for name in ("value", "low", "high")] == [
        None,
        None,
        None,
    ]
    stored = RunDirectory(tmp_path / "run").result()
    assert stored is not None
    assert stored.details["stability"] == record.details["stability"]


def test_an_interrupted_run_counts_when_it_goes_on(rows: Path, tmp_path: Path) -> None:
    expected = ss.select(rows, "sofs", 5, resamples=3).details["frequency"]

    def watch(now: Progress) -> None:
        raise StopHereError

    with pytest.raises(StopHereError):
        ss.select(
            rows, "sofs", 5, resamples=3, output=tmp_path / "run", checkpoint_every=70, watch=watch
        )
    assert workflow.resume(tmp_path / "run").details["frequency"] == expected


def test_what_cannot_be_read_again_has_no_resamples() -> None:
    with pytest.raises(
        ss.UsageError, match="can be read only once, and resamples learns from its rows again"
    ):
        ss.select(BlockSource(ArraySource(*some_data()).row_blocks()), "sofs", 5, resamples=3)
    for wrong in (1, 2.5, "3"):
        with pytest.raises(ss.UsageError, match=r"resamples: must be an integer of 2 or more, got"):
            ss.select(some_data(), "sofs", 5, resamples=wrong)
