"""Figures of selections, records and comparisons: what is in them, and that names cannot break them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import streamsieve as ss
from streamsieve.colours import LIGHT
from streamsieve.plotting import plot_comparison

HOSTILE = ["$x^{2", "_hidden", "\x1b[31mred\nforged", "<b>", "n" * 500]


def selection(names: list[str] | None = None) -> ss.Selection:
    column = None if names is None else np.array(names, dtype=object)
    return ss.Selection(np.array([2, 3, 5, 7, 11]), np.array([0.5, 9.0, np.nan, 8.0, 4.0]), column)


def record(**more: Any) -> ss.RunRecord:
    known = {"weights": [1.0, -2.0, 0.5, -3.0, 2.5], "speaks_for": ["a$_{", "b", "a$_{", "b", "a$_{"]}
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
            "seconds": {"total": 1.0},
            "peak_memory_bytes": 1,
            "details": known | {"majority": {"class": "b", "rate": 0.6}},
            **more,
        }
    )


class Compared:
    """What a comparison of two methods on some data sets says."""

    def __init__(self, sets: list[str], measure: str = "accuracy") -> None:
        self.sets, self.measure = sets, measure

    def summary(self) -> list[dict[str, Any]]:
        return [
            {
                **{"data": name, "method": method, "k": k, "model": model, "n_selected": k or 7, "seconds": seconds},
                **{self.measure: value, f"{self.measure}_sd": 0.01},
            }
            for name in self.sets
            for model in ("linear", "knn")
            for method, k, seconds, value in [
                ("_sofs$", 10, 0.1, 0.8),
                ("_sofs$", 100, 0.2, 0.9),
                ("chi2", None, 5.0, 0.7),
                ("chi2", 20, None, None),
            ]
        ]


def drawn(figure: Figure) -> Figure:
    """A figure that can be drawn, without a warning."""
    figure.canvas.draw()
    return figure


def test_bars_are_the_best_features_by_score() -> None:
    (axes,) = drawn(selection(HOSTILE).plot()).axes
    assert [bar.get_width() for bar in axes.patches] == [9.0, 8.0, 4.0, 0.5]  # not the one without a score
    texts = [label.get_text() for label in axes.get_yticklabels()]
    assert texts[:2] == ["_hidden", "<b>"]
    assert texts[2].startswith("nnn")
    assert "…" in texts[2]
    (axes,) = selection().plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["3", "7", "11", "2"]
    many = ss.Selection(np.arange(100), np.arange(100.0))
    assert len(many.plot().axes[0].patches) == 20
    assert many.plot().axes[0].get_xlabel() == "score of the best 20 of 100"


def test_nothing_selected_is_said() -> None:
    (axes,) = drawn(ss.Selection(np.array([], np.int64), np.array([])).plot()).axes
    assert axes.texts[0].get_text() == "no features were selected"


def test_a_record_has_weights_by_class_mistakes_and_the_curve() -> None:
    trace = [{"rows": 1000, "mistakes": 200}, {"rows": 4000, "mistakes": 400}]
    curve = {"n_features": [1, 10, 100], "accuracy": [0.5, None, 0.9]}
    bars, mistakes, against_k = drawn(record(trace=trace, curve=curve).plot()).axes
    assert [bar.get_width() for bar in bars.patches] == [-2.0, -3.0, 2.5, 1.0, 0.5]
    b, a = LIGHT["c1"], LIGHT["c2"]
    assert [_hex(bar.get_facecolor()) for bar in bars.patches] == [b, b, a, a, a]
    assert [text.get_text() for text in bars.get_legend().get_texts()] == ["b", "a$_{"]
    assert mistakes.lines[0].get_xydata().tolist() == [[1000, 0.2], [4000, 0.1]]
    assert mistakes.lines[1].get_ydata() == [0.4, 0.4]  # of always saying b
    assert against_k.lines[0].get_xydata().tolist() == [[1, 0.5], [100, 0.9]]
    assert against_k.lines[1].get_xdata() == [5, 5]
    assert "selected: 5" in against_k.texts[0].get_text()


def test_a_record_of_numbers_and_one_without_a_stream() -> None:
    trace = [{"rows": 10, "r2": None}, {"rows": 20, "r2": 0.5}, {"rows": 30, "r2": 0.6}]
    _, r2 = drawn(record(trace=trace, details={}, mistakes=None).plot()).axes
    assert r2.lines[0].get_xydata().tolist() == [[20, 0.5], [30, 0.6]]
    assert r2.get_ylabel() == "R2 so far"
    (bars,) = drawn(record(details={}).plot()).axes
    assert bars.get_xlabel() == "score"
    drawn(record(curve={"n_features": [0, 5], "r2": [0.1, None]}).plot())


@pytest.mark.parametrize("measure", ["accuracy", "r2"])
def test_a_comparison_has_a_row_of_plots_per_data_set(measure: str) -> None:
    figure = drawn(plot_comparison(Compared(["one", "two$"], measure)))
    assert len(figure.axes) == 4
    against_k, against_time = figure.axes[2:]
    assert against_k.get_title(loc="left") == "two$"
    assert [line.lines[0].get_xydata().tolist() for line in against_k.containers] == [
        [[10, 0.8], [100, 0.9]],
        [[7, 0.7]],
    ]
    assert [line.lines[0].get_xydata().tolist() for line in against_time.containers] == [
        [[0.1, 0.8], [0.2, 0.9]],
        [[5, 0.7]],
    ]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["_sofs$", "chi2"]
    assert len(plot_comparison(Compared([str(i) for i in range(20)])).axes) == 16


def test_a_comparison_without_results_says_so() -> None:
    (axes,) = drawn(plot_comparison(Compared([]))).axes
    assert "no cell" in axes.texts[0].get_text()


def test_notebooks_show_figures_and_nothing_global_is_touched() -> None:
    assert selection().plot()._repr_png_().startswith(b"\x89PNG")
    code = (
        "import sys, numpy as np, streamsieve as ss\n"
        "chosen = ss.Selection(np.array([1]), np.array([1.0]))\n"
        "assert 'matplotlib' not in sys.modules\n"
        "chosen.plot()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_without_matplotlib_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "streamsieve.plotting")
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(ImportError, match=r"pip install 'streamsieve\[report\]'"):
        selection().plot()


def _hex(colour: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour[:3])
