"""The experiments of SAOLA's paper (Yu, Wu, Ding, Pei 2016): printed tables, tests, protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata

from reproduction import Folders, Setting
from reproduction.saola import friedman, printed, protocol, stability, tables
from tests.paths import ROOT

SHIPPED = Folders((str(ROOT / "examples" / "data"),))
QUICK = Setting(SHIPPED, quick=True)


def test_tables_that_repeat_a_method_agree() -> None:
    for first, second in (
        ("III", "X"),
        ("IV", "XI"),
        ("V", "XII"),
        ("VIII", "XIII"),
        ("IV", "XVIII KNN"),
    ):
        common = printed.PRINTED[first].keys() & printed.PRINTED[second].keys()
        assert len(common) >= 10
        assert all(
            printed.PRINTED[first][name]["SAOLA"] == printed.PRINTED[second][name]["SAOLA"]
            for name in common
        )


def test_what_failed_in_the_paper_is_left_out() -> None:
    assert printed.PRINTED["III"]["news20"] == {"SAOLA": 0.8276, "OFS": 0.7332}


def test_ranks_and_critical_difference_of_table_3_are_the_printed_ones() -> None:
    test = friedman.TESTS[0]
    scores = np.array([*friedman.scores_of(test).values()])
    assert scores.shape == (3, 10)
    assert np.allclose(rankdata(scores, axis=0).mean(axis=1), [*test.ranks.values()])
    assert [row[1:] for row in friedman.rank_rows(test)] == [
        ["2.35", "2.35"],
        ["2.4", "2.4"],
        ["1.25", "1.25"],
    ]
    p_value = friedmanchisquare(*scores).pvalue
    assert friedman.verdict_row(test)[1:5] == [10, "yes", "yes", f"{p_value:.3f}"]
    assert friedman.verdict_row(test)[6:] == ["1.047", "1.0481"]


def test_other_ranks_than_the_printed_ones_have_a_star() -> None:
    assert [row[2] for row in friedman.rank_rows(friedman.TESTS[1])] == [
        "2.35 *",
        "1.95 *",
        "1.7 *",
    ]
    assert [row[2] for row in friedman.rank_rows(friedman.TESTS[2])] == ["2.1 *", "2.25", "1.65 *"]


def test_draws_have_the_papers_sizes_and_differ() -> None:
    first, second = (protocol.split_of(SHIPPED, "leukemia", run) for run in (0, 1))
    assert first.X.shape == (48, 7129)
    assert first.X_test.shape == (24, 7129)
    assert not np.array_equal(first.y, second.y)


def test_columns_of_groups_are_named_by_their_own_ids() -> None:
    split = protocol.split_of(SHIPPED, "leukemia", 0)
    choice = next(protocol.METHODS["group-SAOLA"](split, 0))
    assert choice.n_groups is not None
    assert 0 < choice.n_groups <= choice.features.size
    means = [
        abs(np.corrcoef(split.X[:, [id]].toarray().ravel(), split.y)[0, 1])
        for id in choice.features
    ]
    assert min(means) > 0.3  # Fisher's Z at 0.01 with 48 rows needs 0.37 or so


def test_tables_share_the_runs_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = protocol.measure(QUICK, ["leukemia"], ["SAOLA"])
    monkeypatch.setattr(protocol, "run_once", None)  # is not called again
    again = protocol.measure(QUICK, ["leukemia"], ["SAOLA"])
    assert again["leukemia", "SAOLA"] is measured["leukemia", "SAOLA"]
    assert measured["leukemia", "SAOLA"].shape == (2, len(protocol.MEASURES))


@pytest.mark.parametrize(
    ("measure", "values", "paper", "near"),
    [
        ("KNN", [0.76], 0.79, True),
        ("KNN", [0.76], 0.80, False),
        ("KNN", [0.90, 1.0], 0.83, True),
        ("KNN", [0.90, 1.0], 0.81, False),
        ("features", [21.0], 25, True),
        ("features", [56.0], 4, False),
    ],
)
def test_stars_are_for_what_is_far_from_the_paper(
    measure: str, values: list[float], paper: float, near: bool
) -> None:
    assert tables.is_near(measure, np.array(values), paper) == near


def test_what_the_paper_says_must_hold_on_every_set() -> None:
    claim = tables.PaperClaim("", "SAOLA", "OFS", "above")
    means = {("a", "SAOLA"): 0.9, ("a", "OFS"): 0.8, ("b", "SAOLA"): 0.7, ("b", "OFS"): 0.72}
    assert not claim.check(means).holds
    assert not claim._replace(relation="like").check(means).holds
    assert claim.check({**means, ("b", "OFS"): 0.6}).measured == "a 0.9 and 0.8; b 0.7 and 0.6"
    assert claim.check({**means, ("b", "OFS"): 0.6}).holds


def test_subsamples_are_four_of_five_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def rows(split: protocol.Split, seed: int) -> Any:
        seen.append(split.X.shape[0])
        yield protocol.Choice(np.array([seed]), None, 0.0)

    monkeypatch.setitem(protocol.METHODS, "SAOLA", rows)
    for number in range(5):
        assert stability.select_features(SHIPPED, "leukemia", "SAOLA", number).tolist() == [number]
    assert sum(72 - count for count in seen) == 72
