"""The experiments of online substitution (Yang, Fujimaki, Kusumura, Liu 2016), with small data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reproduction import Folders, Setting
from reproduction.substitution import contest, rivals
from reproduction.substitution.figures import Curve, check_claims
from reproduction.substitution.problems import DESIGNS, Recipe, draw
from tests.paths import ROOT

SMALL = Recipe(60, noise=0.1, n=80, s=4)
SHIPPED = Folders((str(ROOT / "examples" / "data"),))
Select = Callable[..., Any]
SELECTS = (rivals.by_l1_steps, rivals.by_l0_steps, contest.batch_l1)


@pytest.mark.parametrize("design", DESIGNS)
def test_problems_have_the_truth_in_the_units_of_their_columns(design: str) -> None:
    problem = draw(SMALL._replace(design=design, noise=0.0), 1)
    for X, y in ((problem.X, problem.y), (problem.X_test, problem.y_test)):
        assert X.shape == (80, 60)
        assert np.allclose(X[:, problem.true_ids] @ problem.true_weights, y)


def test_the_number_of_rows_is_that_of_the_paper() -> None:
    assert Recipe(2000).rows == 1316
    assert set(draw(SMALL._replace(loss="squared_hinge"), 0).y) == {-1.0, 1.0}


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
@pytest.mark.parametrize("select", SELECTS)
def test_rivals_find_large_weights(select: Select, loss: str) -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 30))
    scores = X[:, [3, 8, 20]] @ np.array([2.0, -2.0, 2.0])
    y = scores if loss == "squared" else np.sign(scores)
    assert select(X, y, 3, loss).tolist() == [3, 8, 20]
    model = rivals.refit(X, y, np.array([3, 8, 20]), loss)
    assert model.get_support(indices=True).tolist() == [0, 1, 2]


def test_the_truth_has_recall_1_and_no_error() -> None:
    problem = draw(SMALL._replace(noise=0.0), 0)
    recall, error = contest.judge(problem, contest.fit_true_columns(problem))
    assert recall == 1.0
    assert error < 0.02  # the fit has a ridge


def test_outcomes_are_by_recipe_contestant_and_seed() -> None:
    names = ["OS pool, 2 scans", "true features"]
    recipes = [SMALL, SMALL._replace(loss="logistic")]
    outcomes = contest.run_contest(Setting(SHIPPED), recipes, names, 3)
    assert outcomes.shape == (2, 2, 3, 2)
    assert np.array_equal(outcomes[1, :, 2], contest.run_contestants(recipes[1], 2, names))
    assert np.all(outcomes[:, 1, :, 0] == 1.0)


def test_claims_of_the_paper_are_judged_by_what_was_measured() -> None:
    names = [*contest.CONTESTANTS]
    curves = {name: Curve(np.array([0.7, 0.6]), np.array([0.2, 0.3])) for name in names}
    curves["ProjGD"] = Curve(np.array([0.75, 0.65]), np.array([0.2, 0.3]))
    assert [claim.holds for claim in check_claims(curves)] == [True, False, True, True, True]
    curves["AsyOS, 20 workers"] = Curve(np.array([0.8, 0.7]), np.array([0.2, 0.3]))
    assert not check_claims(curves)[-1].holds


def test_a_method_that_diverges_finds_nothing() -> None:
    problem = draw(Recipe(400, n=400, design="blocks", s=100), 0)
    shared = np.random.default_rng(0).standard_normal((400, 1))
    model = contest.CONTESTANTS["OS paper, 1 scan"](problem._replace(X=problem.X + 10.0 * shared))
    assert contest.judge(problem, model) == (0.0, 1.0)
