"""``progress=True``: a bar in a terminal, another in a notebook."""

from __future__ import annotations

import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import streamsieve as ss
from streamsieve import progress
from streamsieve.blocks import RowBlock
from streamsieve.progress import bar_of
from streamsieve.sources.arrays import ArraySource
from streamsieve.training import Progress

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(0, 1, (400, 5))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Return the stream that a terminal of 100 letters receives."""
    sent = io.StringIO()
    monkeypatch.setattr(
        progress,
        "Console",
        lambda **options: Console(file=sent, force_terminal=True, width=100, color_system=None),
    )
    return sent


@pytest.mark.parametrize(
    "learn",
    [
        lambda: ss.SOFS(2).fit_source(ArraySource(X, Y, name="rows"), progress=True),
        lambda: ss.SOFSRegressor(2).fit_source(ArraySource(X, X[:, 0], name="rows"), progress=True),
        lambda: ss.SAOLA().fit_source(ArraySource(X, Y, name="rows"), progress=True),
        lambda: ss.ReliefF(n_neighbors=2).fit_source(ArraySource(X, Y, name="rows"), progress=True),
        lambda: ss.select((X, Y), "sofs", 2, progress=True),
    ],
    ids=["rows", "numbers", "columns", "matrix", "select"],
)
def test_progress_shows_a_bar(learn: Any, terminal: io.StringIO) -> None:
    learn()
    assert any(unit in terminal.getvalue() for unit in ("400 rows", "5 features"))


def test_without_progress_nothing_is_shown(terminal: io.StringIO) -> None:
    seen: list[Progress] = []
    ss.select((X, Y), "sofs", 2, watch=seen.append)
    ss.SOFS(2).fit_source(
        [RowBlock(np.array([0, 1, 2]), np.array([0, 1]), np.ones(2), np.array([0, 1]), 2)]
    )
    assert terminal.getvalue() == ""
    assert seen[-1].done == 400


def test_watch_is_called_beside_the_bar(terminal: io.StringIO) -> None:
    seen: list[Progress] = []
    ss.select((X, Y), "sofs", 2, watch=seen.append, progress=True)
    assert seen[-1].done == 400


def test_notebooks_have_a_bar_of_their_own(
    monkeypatch: pytest.MonkeyPatch, terminal: io.StringIO
) -> None:
    shown: list[str] = []

    def display(html: str, display_id: bool) -> Any:
        shown.append(html)
        return SimpleNamespace(update=shown.append)

    package, displaying = ModuleType("IPython"), ModuleType("IPython.display")
    vars(package).update(get_ipython=lambda: SimpleNamespace(kernel=None), display=displaying)
    vars(displaying).update(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", displaying)
    ss.SOFS(2).fit_source(ArraySource(X, Y, name="rows"), progress=True)
    assert terminal.getvalue() == ""
    assert shown[0] == "<progress></progress>"
    assert 'value="400" max="400"' in shown[-1]
    assert "400 rows" in shown[-1]
    assert "mistakes" in shown[-1]


def test_a_bar_of_unknown_length_has_no_end() -> None:
    assert bar_of(Progress(7, None, "<rows>"), 1.0) == "<progress></progress> 7 &lt;rows&gt;, 1.0 s"
    assert 'value="10" max="10"' in bar_of(
        Progress(7, None, "rows", bytes=12, n_bytes=10, r2=0.5), 1.0
    )
