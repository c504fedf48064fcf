"""Scales and ticks of charts against hand-computed cases, and sparklines."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamsieve.report import charts
from streamsieve.report.charts.axes import (
    Scale,
    drawable_value,
    extent,
    linear_ticks,
    number_text,
    set_width,
    tick_texts,
)
from streamsieve.report.charts.plots import spread_apart


@pytest.mark.parametrize(
    ("low", "high", "ticks", "texts"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.83, 0.97, [0.85, 0.9, 0.95], ["0.85", "0.90", "0.95"]),
        (-3, 12, [0, 5, 10], ["0", "5", "10"]),
        (-40, 40, [-40, -20, 0, 20, 40], ["-40", "-20", "0", "20", "40"]),
        (
            0,
            24_000,
            [0, 5000, 10_000, 15_000, 20_000],
            ["0", "5,000", "10,000", "15,000", "20,000"],
        ),
        (0, 1.5e6, [0, 500_000, 1e6, 1.5e6], ["0", "0.5M", "1.0M", "1.5M"]),
        (0, 4e-6, [0, 1e-6, 2e-6, 3e-6, 4e-6], ["0", "1e-6", "2e-6", "3e-6", "4e-6"]),
    ],
)
def test_ticks_are_round_numbers(
    low: float, high: float, ticks: list[float], texts: list[str]
) -> None:
    assert linear_ticks(low, high) == ticks
    assert [text.replace("\N{MINUS SIGN}", "-") for text in tick_texts(ticks)] == texts


def test_percentages_and_decades() -> None:
    assert tick_texts([0.9, 0.925, 0.95], percent=True) == ["90.0%", "92.5%", "95.0%"]
    assert tick_texts([0.01, 0.1, 1], log=True) == ["0.01", "0.1", "1"]


def test_scales() -> None:
    assert Scale(1, 100, 0, 200, log=True)(10) == 100
    assert Scale(-1, 1, 10, 30)(0.5) == 25
    assert set_width(0.83, 0.97, 5) == pytest.approx((0.8, 1.0))
    assert extent([5, 5]) == (4.5, 5.5)
    assert extent([0]) == (-1, 1)
    assert extent([8], log=True) == (4, 16)
    assert [drawable_value(value) for value in (None, math.nan, math.inf, 10**400, 5e-324, 2)] == [
        None,
        None,
        None,
        None,
        0,
        2,
    ]
    assert [number_text(value) for value in (1234567, 0.123456, 1234.56, 1e-7, -2)] == [
        "1,234,567",
        "0.1235",
        "1,234.6",
        "1e-7",
        "-2",
    ]
    assert number_text(0.98765, percent=True) == "98.77%"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 100), max_size=12).map(sorted))
def test_labels_at_the_ends_of_curves_keep_apart(wanted: list[float]) -> None:
    heights = spread_apart(wanted, 5, 0, 100)
    assert len(heights) == len(wanted)
    assert all(b - a >= 5 - 1e-6 for a, b in pairwise(heights))
    assert all(-1e-6 <= height <= 100 + 1e-6 for height in heights)
    if all(b - a >= 5 for a, b in pairwise(wanted)):
        assert heights == pytest.approx(wanted)


def test_a_sparkline_is_one_line_of_blocks() -> None:
    assert charts.sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert charts.sparkline([3, 3]) == "▄▄"
    assert charts.sparkline([1, None, math.nan, 2]) == "▁  █"
    assert charts.sparkline([]) == ""
    assert charts.sparkline([-1e300, 1e300]) == "▁█"
    assert len(charts.sparkline(range(1000))) == 40
    assert charts.sparkline(range(80), width=8) == "▁▂▃▄▅▆▇█"
