"""The benchmarks of online substitution (Yang, Fujimaki, Kusumura, Liu 2016), at a size that takes no time."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import p2_contest
import p2_figures
import p2_real
import p2_rivals
import p2_speed
from p2_data import DESIGNS, Setting, draw

SMALL = Setting(60, noise=0.1, n=80, s=4)
Select = Callable[..., Any]
SELECTS = (p2_rivals.by_l1_steps, p2_rivals.by_l0_steps, p2_contest.batch_l1)


@pytest.mark.parametrize("design", DESIGNS)
def test_problems_have_the_truth_in_the_units_of_their_columns(design: str) -> None:
    problem = draw(SMALL._replace(design=design, noise=0.0), 1)
    for X, y in ((problem.X, problem.y), (problem.X_test, problem.y_test)):
        assert X.shape == (80, 60)
        assert np.allclose(X[:, problem.true_ids] @ problem.true_weights, y)


def test_the_number_of_rows_is_that_of_the_paper() -> None:
    assert Setting(2000).rows == 1316
    assert set(draw(SMALL._replace(loss="squared_hinge"), 0).y) == {-1.0, 1.0}


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
@pytest.mark.parametrize("select", SELECTS)
def test_rivals_find_large_weights(select: Select, loss: str) -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 30))
    scores = X[:, [3, 8, 20]] @ np.array([2.0, -2.0, 2.0])
    y = scores if loss == "squared" else np.sign(scores)
    assert select(X, y, 3, loss).tolist() == [3, 8, 20]
    model = p2_rivals.refit(X, y, np.array([3, 8, 20]), loss)
    assert model.get_support(indices=True).tolist() == [0, 1, 2]


def test_the_truth_has_recall_1_and_no_error() -> None:
    problem = draw(SMALL._replace(noise=0.0), 0)
    recall, error = p2_contest.judged(problem, p2_contest.truth(problem))
    assert recall == 1.0
    assert error < 0.02  # the fit has a ridge


def test_outcomes_do_not_depend_on_the_number_of_jobs() -> None:
    names = ["OS pool, 2 scans", "true features"]
    settings = [SMALL, SMALL._replace(loss="logistic")]
    alone = p2_contest.contest(settings, names, 2, 1)
    assert alone.shape == (2, 2, 2, 2)
    assert np.array_equal(alone, p2_contest.contest(settings, names, 2, 2))


def test_every_column_of_the_stream_is_where_its_id_says() -> None:
    stream = p2_speed.Stream(4000, 50, 5)
    blocks = list(stream.blocks())
    assert sum(block.n_columns for block in blocks) == 4000
    for block in blocks[::7]:
        assert np.array_equal(block.values[:50], stream.column(int(block.ids[0])))
    columns = np.array([stream.column(feature) for feature in range(4000)])
    assert len(np.unique(columns[:, 0])) == 4000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    X, y = random.standard_normal((40, 30)), np.tile([-1.0, 1.0], 20)
    X[:, 5] += 2.0 * y
    dump_svmlight_file(X, y, str(tmp_path / "plain.svm"), zero_based=False)
    text = (tmp_path / "plain.svm").read_bytes()
    for name in ("colon", "basehock"):
        (tmp_path / f"{name}.svm.xz").write_bytes(lzma.compress(text))
    return tmp_path


def test_every_part_makes_its_table_and_writes_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = folder / "page.md"
    page.write_text(p2_figures.PAGE.read_text())
    monkeypatch.setattr(p2_figures, "PAGE", page)
    monkeypatch.setattr(p2_speed, "apart", lambda function, *args: function(*args))
    monkeypatch.setitem(p2_real.RANDOM_SPLITS, "basehock", 30)
    monkeypatch.setattr(p2_figures, "PARTS", {**p2_figures.PARTS, "speed": lambda asked: p2_speed.tables(asked, 50)})
    asked = ["--repeats", "1", "--true", "3", "--sizes", "40", "--k", "2", "--features", "500", "--data", str(folder)]
    p2_figures.main([*asked, "--sets", "colon", "basehock", "--write"])
    printed = capsys.readouterr().out
    text = page.read_text()
    for line in ("| OS paper, 5 scans", "| 1 % binary, noise 1", "| basehock, k = 2", "| OS paper ", "MB/s of columns"):
        assert line in printed
        assert line in text


def test_a_method_that_diverges_finds_nothing() -> None:
    problem = draw(Setting(400, n=400, design="blocks", s=100), 0)
    shared = np.random.default_rng(0).standard_normal((400, 1))
    found = p2_contest.CONTESTANTS["OS paper, 1 scan"](problem._replace(X=problem.X + 10.0 * shared))
    assert p2_contest.judged(problem, found) == (0.0, 1.0)


def test_the_page_has_a_place_for_every_part() -> None:
    text = p2_figures.PAGE.read_text()
    for part in p2_figures.PARTS:
        assert text.count(f"<!-- {part}: begin -->") == text.count(f"<!-- {part}: end -->") == 1
