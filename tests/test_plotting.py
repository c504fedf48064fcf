"""The pictures of plot(): those of the report, as SVG and, if given, on Matplotlib axes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import streamsieve as ss
from streamsieve.colours import LIGHT
from streamsieve.report import describe, render

from .report.samples import make_comparison, make_record

HOSTILE = ["$x^{2", "_hidden", "\x1b[31mred\nforged", "<b>", "n" * 500]


def selection(names: list[str] | None = None) -> ss.Selection:
    column = None if names is None else np.array(names, dtype=object)
    return ss.Selection(np.array([2, 3, 5, 7, 11]), np.array([0.5, 9.0, np.nan, 8.0, 4.0]), column)


def record(**more: Any) -> ss.RunRecord:
    details = {
        "weights": [1.0, -2.0, 0.5, -3.0, 2.5],
        "speaks_for": ["a$_{", "b", "a$_{", "b", "a$_{"],
    }
    return ss.RunRecord(
        **{
            "method": "sofs",
            "params": {},
            "n_rows": 4000,
            "n_features": 20,
            "n_nonzero": 100,
            "selection": selection(HOSTILE),
            "mistakes": 600,
            "updates": 1,
            "seconds": {"total": 1.0, "read": 0.5, "learn": 0.5},
            "peak_memory_bytes": 1,
            "details": details | {"majority": {"class": "b", "rate": 0.6}},
            **more,
        }
    )


def axes() -> Axes:
    return Figure().add_subplot()


def drawn(axes: Axes) -> Axes:
    """Draw axes, and check that there is no warning."""
    figure = axes.get_figure()
    assert figure is not None
    figure.canvas.draw()
    return axes


def pictures_of_page(source: Any) -> list[str]:
    """Return the charts on the page of a report."""
    page = render(describe(source, read_data=False))
    return ["<svg" + part.partition("</svg>")[0] + "</svg>" for part in page.split("<svg")[1:]]


@pytest.mark.parametrize("source", [make_record(), make_comparison()], ids=["run", "comparison"])
def test_figures_are_those_of_the_page(source: Any) -> None:
    assert [figure.chart() for figure in source.plot().values()] == pictures_of_page(source)


def test_figures_have_names() -> None:
    assert list(make_record().plot()) == [
        "weights",
        "scores",
        "curve",
        "mistakes",
        "stays",
        "moves",
        "cost",
    ]
    assert list(make_comparison(("one", "two")).plot()) == [
        "k-1",
        "k-2",
        "time-1",
        "time-2",
        "ranks",
    ]
    assert list(selection().plot()) == ["weights"]
    assert repr(selection().plot()) == "{'weights': <Figure: Scores of the best 4 features>}"


def test_figures_are_saved_whole_as_svg(tmp_path: Path) -> None:
    figures = record(
        trace=[{"rows": 1000, "mistakes": 200}, {"rows": 4000, "mistakes": 400}]
    ).plot()
    figures.save(tmp_path / "all.svg")
    figures["mistakes"].save(tmp_path / "mistakes.svg")
    whole, alone = (
        (tmp_path / f"{name}.svg").read_text(encoding="utf-8") for name in ("all", "mistakes")
    )
    assert ElementTree.fromstring(whole).get("aria-label") == "; ".join(
        figure.title for figure in figures.values()
    )
    assert whole.count("<svg") == 1 + len(figures)
    assert alone.count("<svg") == 2
    assert whole == figures._repr_html_()  # what a notebook shows
    assert alone == figures["mistakes"]._repr_html_()
    for text in (whole, alone):
        assert "var(" not in text
        assert "\x1b" not in text
        assert "<b>" not in text
    with pytest.raises(ss.UsageError, match=r"must end in \.svg"):
        figures.save(tmp_path / "all.png")
    assert len(list(tmp_path.iterdir())) == 2


def test_nothing_selected_is_said() -> None:
    nothing = ss.Selection(np.array([], np.int64), np.array([]))
    assert "no values" in nothing.plot()["weights"].chart()
    given = axes()
    nothing.plot(given)
    assert not drawn(given).patches


def test_bars_are_the_best_features_by_score() -> None:
    given = axes()
    selection(HOSTILE).plot(given)
    assert [bar.get_width() for bar in drawn(given).patches] == [
        9.0,
        8.0,
        4.0,
        0.5,
    ]  # not the one without a score
    texts = [label.get_text() for label in given.get_yticklabels()]
    assert texts[:2] == ["_hidden", "<b>"]
    assert texts[2].startswith("nnn")
    assert "…" in texts[2]


def test_a_record_is_drawn_with_weights_by_class() -> None:
    given = axes()
    record().plot(axes=given)
    assert [bar.get_width() for bar in drawn(given).patches] == [-2.0, -3.0, 2.5, 1.0, 0.5]
    b, a = LIGHT["c1"], LIGHT["c2"]
    assert [_hex(bar.get_facecolor()) for bar in given.patches] == [b, b, a, a, a]
    legend = given.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "predicts class b",
        "predicts class a$_{",
    ]


def test_curves_are_drawn_with_their_ranges_and_the_choice() -> None:
    trace = [{"rows": 1000, "mistakes": 200}, {"rows": 4000, "mistakes": 400}]
    curve = {"n_features": [1, 10, 100], "accuracy": [0.5, None, 0.9]}
    figures = record(trace=trace, curve=curve).plot()
    given = axes()
    figures["curve"].draw(given)
    points, choice = drawn(given).lines
    assert points.get_xydata().tolist() == [[1, 0.5], [100, 0.9]]
    assert list(choice.get_xdata()) == [5, 5]
    assert given.texts[0].get_text() == "kept: 5"
    assert given.get_xscale() == "log"
    given = axes()
    figures["mistakes"].draw(given)
    assert drawn(given).lines[1].get_xydata().tolist() == [[1000, 0.2], [4000, 0.1]]
    given = axes()
    figures["cost"].draw(given)
    assert [bar.get_width() for bar in drawn(given).patches] == [0.5, 0.5]


def test_a_comparison_is_drawn_by_method() -> None:
    figures = make_comparison(("one",), ("sofs", "_saola$")).plot()
    for name, n in (("k-1", 2), ("time-1", 2)):
        given = axes()
        figures[name].draw(given)
        legend = drawn(given).get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == ["sofs", "_saola$"]
        assert len(given.lines if name == "k-1" else given.collections) == n


def test_what_only_svg_has_is_refused_on_axes() -> None:
    figures = make_record().plot()
    with pytest.raises(ss.UsageError, match="cannot be drawn on Matplotlib axes; save it as SVG"):
        figures["stays"].draw(axes())
    empty = make_comparison(())
    assert not empty.plot()
    with pytest.raises(ss.UsageError, match="nothing to draw"):
        empty.plot(axes())


def test_matplotlib_is_not_needed_for_figures() -> None:
    code = (
        "import sys, numpy as np, streamsieve as ss\n"
        "ss.Selection(np.array([1]), np.array([1.0])).plot()._repr_html_()\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def _hex(colour: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour[:3])
