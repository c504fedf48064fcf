"""The Friedman tests of Yu, Wu, Ding, Pei (2016), repeated with the tables that it prints.

These are average ranks, tests and critical differences.
"""

from __future__ import annotations

from typing import NamedTuple

from streamsieve.evaluation.ranks import average_ranks, friedman, nemenyi_critical_difference

from ..experiment import Cell, Setting, Table
from .printed import PRINTED

LEVEL = 0.05
SAME = 0.005  # printed ranks have two digits


class Test(NamedTuple):
    """The paper's test of some methods in one of its tables."""

    table: str
    measure: str
    ranks: dict[str, float]  # the higher, the better
    rejected: bool  # True if the hypothesis of equally good methods is rejected
    critical_difference: float | None = None


TESTS = (
    Test("III", "J48", {"SAOLA": 2.35, "Fast-OSFS": 2.40, "alpha-investing": 1.25}, True, 1.047),
    Test("IV", "KNN", {"SAOLA": 2.45, "Fast-OSFS": 1.85, "alpha-investing": 1.705}, False),
    Test("V", "SVM", {"SAOLA": 2.30, "Fast-OSFS": 2.25, "alpha-investing": 1.45}, False),
    Test("III", "J48", {"SAOLA": 1.64, "OFS": 1.36}, False),
    Test("IV", "KNN", {"SAOLA": 1.64, "OFS": 1.36}, False),
    Test("V", "SVM", {"SAOLA": 1.61, "OFS": 1.39}, False),
    Test("VIII", "AUC", {"SAOLA": 2.6, "Fast-OSFS": 2.1, "alpha-investing": 1.3}, True, 1.047),
    Test("X", "J48", {"SAOLA": 2.05, "FCBF": 1.90, "SPSF-LAR": 2.05}, False),
    Test("XI", "KNN", {"SAOLA": 1.90, "FCBF": 2.25, "SPSF-LAR": 1.85}, False),
    Test("XII", "SVM", {"SAOLA": 2.15, "FCBF": 1.65, "SPSF-LAR": 2.20}, False),
    Test("X", "J48", {"SAOLA": 1.32, "GDM": 1.68}, False),
    Test("XI", "KNN", {"SAOLA": 1.39, "GDM": 1.61}, False),
    Test("XII", "SVM", {"SAOLA": 1.25, "GDM": 1.75}, True, 0.5238),
    Test("XIII", "AUC", {"SAOLA": 1.8, "FCBF": 1.95, "SPSF-LAR": 2.15}, False),
    Test("XVIII KNN", "KNN", {"SAOLA": 1.46, "SAOLA-max": 1.54}, False),
    Test("XVIII J48", "J48", {"SAOLA": 1.43, "SAOLA-max": 1.57}, False),
    Test("XVIII SVM", "SVM", {"SAOLA": 1.61, "SAOLA-max": 1.39}, False),
    Test("XXII J48", "J48", {"group-SAOLA": 1.8929, "OGFS": 1.1071}, True, 0.6885),
    Test("XXII KNN", "KNN", {"group-SAOLA": 1.75, "OGFS": 1.25}, False),
    Test("XXII J48", "J48", {"group-SAOLA": 1.5, "SGLasso": 1.5}, False),
    Test("XXII KNN", "KNN", {"group-SAOLA": 1.6, "SGLasso": 1.4}, False),
)


def scores_of(test: Test) -> dict[str, list[float]]:
    """Return the printed figures of the methods, on the sets where all of them have one."""
    lines = [line for line in PRINTED[test.table].values() if line.keys() >= test.ranks.keys()]
    return {method: [line[method] for line in lines] for method in test.ranks}


def friedman_tests(setting: Setting) -> list[Table]:
    """Run the tests: ranks, verdicts and critical differences, printed and recomputed."""
    return [
        Table(
            "Average ranks; a star if the printed figures give another rank than the paper prints",
            ["table, measure, method", "paper's rank", "from its table"],
            [row for test in TESTS for row in rank_rows(test)],
        ),
        Table(
            "Friedman's test at 95 %, and Nemenyi's critical difference if the paper gives one",
            [
                "table, measure, methods",
                "sets",
                "paper: rejected",
                "from its table",
                "p",
                "p, Iman-Davenport",
                "paper's critical difference",
                "from the formula",
            ],
            [verdict_row(test) for test in TESTS],
        ),
    ]


def label(test: Test) -> str:
    """Return the label of a test."""
    return f"{test.table.split()[0]}, {test.measure}"


def rank_rows(test: Test) -> list[list[Cell]]:
    """Return a row with printed and computed rank for every method."""
    # so that the best has the highest rank, as in the paper
    computed = average_ranks(scores_of(test), higher_is_better=False)
    return [
        [
            f"{label(test)}, {method}",
            f"{printed:g}",
            f"{computed[method]:.4g}{'' if abs(computed[method] - printed) <= SAME else ' *'}",
        ]
        for method, printed in test.ranks.items()
    ]


def verdict_row(test: Test) -> list[Cell]:
    """Return a row with the printed and the computed test."""
    scores = scores_of(test)
    result, n_sets = friedman(scores), len(next(iter(scores.values())))
    yes_or_no = ("no", "yes")
    return [
        f"{label(test)}, {' / '.join(test.ranks)}",
        n_sets,
        yes_or_no[test.rejected],
        yes_or_no[result.p_value < LEVEL],
        f"{result.p_value:.3f}",
        f"{result.f_p_value:.3f}",
        test.critical_difference and f"{test.critical_difference:g}",
        test.critical_difference and f"{nemenyi_critical_difference(len(test.ranks), n_sets):.4f}",
    ]
