"""Test AsyOS: the simulation against its oracle, and the parts that an engine drives."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.blocks import columns_of
from streamsieve.estimators import as_estimator
from streamsieve.selectors.columns.asyos import ASYOS, BlockWorker, Centre, Worker, split_budget
from streamsieve.selectors.fitting import LOSSES
from tests.oracles import asyos as oracle

SAFE = 1e-7


def make_problem(seed, n_rows, n_columns, density, loss):
    """Return columns with a mean, some equal or constant, and a target made of a few of them."""
    random = np.random.default_rng(seed)
    X = random.normal(0.5, 1, (n_rows, n_columns)) * (random.random((n_rows, n_columns)) < density)
    for column in range(7, n_columns, 9):
        X[:, column] = -3 * X[:, column - 5] if density == 1 else 2.5
    y = X[:, :4] @ random.normal(0, 1, 4) + random.normal(0, 0.5, n_rows)
    return X, y if loss == "squared" else np.where(y > np.quantile(y, 0.4), 1, -1)


def standardize_target(y, loss):
    return (y - y.mean()) / y.std() if loss == "squared" else y.astype(float)


@pytest.mark.parametrize("staleness", ["0", "1", "q", "2q", "50"])
@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.filterwarnings("ignore:the steps led away")
@settings(deadline=None, max_examples=8)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(12, 60),
    st.integers(4, 60),
    st.sampled_from([1.0, 0.7, 0.3]),
    st.integers(0, 6),
    st.sampled_from([(0.5, 1.0), (0.2, 3.0)]),
    st.integers(1, 2),
)
def test_agrees_with_the_oracle(
    loss, workers, staleness, seed, n_rows, n_columns, density, extra, steps, scans
):
    X, y = make_problem(seed, n_rows, n_columns, density, loss)
    (step, m), wanted = steps, workers + extra
    delay = {"q": workers, "2q": 2 * workers}.get(staleness) or int(staleness)
    solved = standardize_target(y, loss)
    kept, levels, pushes, closest = oracle.asyos(
        X, solved, wanted, loss, workers, delay, step, m, scans
    )
    assume(
        closest > SAFE and all(abs(weight) < 1e3 for weights in kept for weight in weights.values())
    )
    expected = oracle.merged(X, kept)
    params = {"loss": loss, "n_scans": scans, "step": step, "m": m, "refit": False}
    for data in (X, csc_array(X)):
        selector = ss.AsyOS(wanted, workers=workers, staleness=delay, **params).fit(data, y)
        selection, state = selector.selection(), selector.learner.memory.state
        assert selection.indices.tolist() == sorted(expected)
        close = {"rtol": 1e-7, "atol": 1e-9}
        np.testing.assert_allclose(
            selection.scores, [abs(expected[j]) for j in sorted(expected)], **close
        )
        np.testing.assert_allclose([worker.level[0] for worker in state.workers], levels, **close)
        np.testing.assert_allclose(
            state.parts.sum(axis=0), sum(change for _, change in pushes), **close
        )


def make_planted(n_rows=400, n_columns=600, n_true=10, noise=0.5, correlation=0.0):
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (n_rows, n_columns))
    if correlation:
        X = np.sqrt(correlation) * random.normal(0, 1, (n_rows, 1)) + np.sqrt(1 - correlation) * X
    weights = np.zeros(n_columns)
    weights[random.choice(n_columns, n_true, replace=False)] = random.choice([-1, 1], n_true) * 1.5
    return X, X @ weights + random.normal(0, noise, n_rows), np.flatnonzero(weights)


@pytest.mark.parametrize("staleness", [None, 0, 3])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_one_worker_is_online_substitution(loss, refit, staleness):
    X, y, _ = make_planted()
    y = y if loss == "squared" else np.where(y > 1, 1, 0)
    substitution = ss.OnlineSubstitution(20, loss=loss, solver="paper", refit=refit).fit(X, y)
    single = ss.AsyOS(20, workers=1, staleness=staleness, loss=loss, refit=refit).fit(X, y)
    assert single.selection().indices.tolist() == substitution.selection().indices.tolist()
    np.testing.assert_allclose(single.coef_, substitution.coef_, rtol=0, atol=1e-10)
    assert single.intercept_ == pytest.approx(substitution.intercept_, rel=0, abs=1e-10)


@pytest.mark.parametrize("workers", [2, 5, 10])
def test_workers_find_planted_columns_together(workers):
    X, y, planted_columns = make_planted()
    selector = ss.AsyOS(20, workers=workers).fit(X, y)
    assert set(planted_columns) <= set(selector.selection().indices)
    assert selector.score(X, y) > 0.95


@pytest.mark.parametrize("workers", [1, 3, 7])
def test_the_centre_has_the_scores_of_the_model(workers):
    """The error that follows from the u of the centre is that of the model: ||Z w - y||."""
    X, y, _ = make_planted()
    selector = ss.AsyOS(20, workers=workers, refit=False).fit(X, y)
    u = Centre(selector.learner.memory.state.parts).scores()
    np.testing.assert_allclose(selector.predict(X), y.mean() + y.std() * u, rtol=0, atol=1e-9)
    assert np.linalg.norm(selector.predict(X) - y) == pytest.approx(
        np.linalg.norm(y.mean() + y.std() * u - y)
    )


def test_the_level_is_found_by_all_workers():
    random = np.random.default_rng(3)
    X = random.normal(0, 1, (500, 200))
    y = np.where(X[:, 0] + X[:, 1] + random.logistic(0, 0.5, 500) > 1.5, "rare", "usual")
    for workers in (1, 4):
        selector = ss.AsyOS(4, workers=workers, refit=False).fit(X, y)
        assert selector.predict_proba(X)[:, 0].mean() == pytest.approx(
            (y == "rare").mean(), abs=0.02
        )


@pytest.mark.parametrize("staleness", [0, 3, 40])
def test_a_scan_is_resumed_where_it_was(staleness, tmp_path):
    """Saving and loading every few columns, in blocks of any size, changes no bit of the state."""
    X, y, _ = make_planted(n_columns=90)
    expected = ss.AsyOS(8, workers=3, staleness=staleness).fit(csc_array(X), y)
    model = ss.AsyOS(8, workers=3, staleness=staleness).start(y=y)
    for scan, size in ((0, 7), (1, 11)):
        model.learner.begin_pass(scan)
        for start in range(0, X.shape[1], size):
            model.partial_fit_block(columns_of(X[:, start : start + size], start))
            model.save(tmp_path / "model")
            model = ss.load(tmp_path / "model")
    assert model.coef_.tolist() == expected.coef_.tolist()
    np.testing.assert_array_equal(
        model.learner.memory.state.parts, expected.learner.memory.state.parts
    )
    np.testing.assert_array_equal(
        model.learner.memory.state.pushes, expected.learner.memory.state.pushes
    )


# ---- the parts, driven as an engine does


def make_parts(X, y, wanted=12, workers=3):
    """Return a learner, its rule, workers without columns, and blocks of columns for each."""
    learner = ASYOS.make(wanted, workers=workers, staleness=0, refit=False).start(X.shape[1], y=y)
    rule = learner.rule
    blocks = [columns_of(X[:, start : start + 16], start) for start in range(0, X.shape[1], 16)]
    return (
        learner,
        rule,
        rule.make_workers(rule.start().workers),
        [blocks[worker::workers] for worker in range(workers)],
    )


def run_rounds(centre, workers, blocks, rounds, lost=None):
    """Let workers learn blocks in turn, each reading u when it pushes, except a lost one."""
    for number in rounds:
        for worker, blocks_of_worker in zip(workers, blocks, strict=True):
            position = workers.index(worker)
            if position != lost and number < len(blocks_of_worker):
                change = worker.offer(blocks_of_worker[number], centre.scores())
                centre.register(position, centre.parts[position] + change)


def test_an_engine_drives_the_pieces_by_blocks():
    X, y, planted_columns = make_planted()
    learner, rule, workers, blocks = make_parts(X, y)
    centre = Centre(np.zeros((3, y.size)))
    run_rounds(centre, workers, blocks, range(len(blocks[0])))
    learner.memory.state = rule.gather([worker.state for worker in workers])
    assert set(planted_columns) <= set(learner.results.selection().indices)
    u = y.mean() + y.std() * centre.scores()
    np.testing.assert_allclose(as_estimator(learner).predict(X), u, rtol=0, atol=1e-9)
    np.testing.assert_allclose(centre.parts, learner.memory.state.parts, rtol=0, atol=1e-12)


def test_one_worker_with_blocks_is_online_substitution():
    """Between two columns of a block a worker sees its own change."""
    X, y, _ = make_planted()
    alone = ss.OnlineSubstitution(12, solver="paper", n_scans=1, refit=False).fit(X, y)
    _, _, workers, blocks = make_parts(X, y, workers=1)
    centre = Centre(np.zeros((1, y.size)))
    run_rounds(centre, workers, blocks, range(len(blocks[0])))
    assert sorted(workers[0].ids.tolist()) == alone.selection().indices.tolist()
    np.testing.assert_allclose(
        y.mean() + y.std() * centre.scores(), alone.predict(X), rtol=0, atol=1e-9
    )


def learn_in_step(X, y, wanted, workers, size, **params):
    """Let workers learn blocks at once, without changes of the others; return final scores."""
    learner = ASYOS.make(wanted, workers=workers, **params)
    learner.start(y=y)
    parallel = [BlockWorker(rule, workers) for rule in learner.rule.rules]
    centre = Centre(np.zeros((workers, y.size)))
    parts = [worker.part() for worker in parallel]
    for scan in (range(X.shape[1]),) * 2:
        for start in scan[:: workers * size]:
            u = centre.scores()
            for number, worker in enumerate(parallel):
                ids = np.arange(start + number, min(start + workers * size, X.shape[1]), workers)
                parts[number] = worker.take(columns_of(X[:, ids], ids=ids), u, parts[number])
            for number, part in enumerate(parts):
                centre.register(number, part)
    return centre.scores(), parallel


@pytest.mark.parametrize("size", [8, 64])
@pytest.mark.parametrize("workers", [2, 4, 8])
def test_workers_that_take_blocks_do_not_overshoot_together(workers, size):
    """With correlated columns the weights would diverge if each worker made the full step."""
    X, y, _ = make_planted(n_columns=4000, correlation=0.3)
    u, parallel = learn_in_step(X, y, 40, workers, size, m=16.0)
    goal = standardized_target(y)
    assert np.linalg.norm(u - goal) < 0.8 * np.linalg.norm(goal)
    np.testing.assert_allclose(u, sum(worker.part() for worker in parallel), rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [8, 64])
def test_workers_that_take_blocks_find_the_level_together(size):
    X, y, _ = make_planted()
    rare = np.where(y > np.quantile(y, 0.9), 1, 0)
    u, _ = learn_in_step(X, rare, 8, 4, size)
    assert (1 / (1 + np.exp(-u))).mean() == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("size", [1, 7, 300])
def test_one_worker_that_takes_blocks_is_online_substitution_to_the_bit(size):
    X, y, _ = make_planted()
    alone = ss.OnlineSubstitution(12, solver="paper", refit=False).fit(X, y)
    _, (worker,) = learn_in_step(X, y, 12, 1, size)
    used = worker.ids.size
    assert worker.ids.tolist() == alone.learner.memory.state.slots.ids[:used].tolist()
    assert (
        worker.state.weights[:used].tolist() == alone.learner.memory.state.weights[:used].tolist()
    )


def test_a_lost_worker_leaves_the_parts_of_the_others():
    X, y, _ = make_planted()
    _, _, workers, blocks = make_parts(X, y)
    centre = Centre(np.zeros((3, y.size)))
    run_rounds(centre, workers, blocks, range(5))
    u = centre.forget(1)
    np.testing.assert_array_equal(u, centre.parts[[0, 2]].sum(axis=0))
    np.testing.assert_allclose(u, workers[0].part() + workers[2].part(), rtol=0, atol=1e-12)
    run_rounds(centre, workers, blocks, range(5, 8), lost=1)
    np.testing.assert_allclose(
        centre.scores(), workers[0].part() + workers[2].part(), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("from_start", [True, False])
def test_a_lost_worker_starts_again(from_start):
    """From its last push or without columns: finally u is the sum of the parts of the workers."""
    X, y, _ = make_planted()
    _, rule, workers, blocks = make_parts(X, y)
    centre = Centre(np.zeros((3, y.size)))
    run_rounds(centre, workers, blocks, range(5))
    saved = rule.gather([worker.state for worker in workers]).workers[1]
    centre.forget(1)
    workers[1] = Worker(rule.rules[1], 3, None if from_start else saved)
    before = centre.scores()
    u = centre.register(1, None if from_start else workers[1].part())
    np.testing.assert_allclose(u, before + workers[1].part(), rtol=0, atol=1e-12)
    run_rounds(centre, workers, blocks, range(5, len(blocks[0])))
    sum_of_parts = sum(worker.part() for worker in workers)
    np.testing.assert_allclose(centre.scores(), sum_of_parts, rtol=0, atol=1e-12)
    assert np.linalg.norm(sum_of_parts - standardized_target(y)) < 0.5 * np.linalg.norm(
        standardized_target(y)
    )


def standardized_target(y):
    return (y - y.mean()) / y.std()


def test_shares_add_up():
    for wanted, workers in ((7, 3), (6, 3), (5, 5), (1, 1), (100, 7)):
        parts = split_budget(wanted, workers)
        assert sum(parts) == wanted
        assert len(parts) == workers
        assert sorted(parts, reverse=True) == parts
        assert parts[0] - parts[-1] <= 1


def test_a_worker_keeps_no_more_than_its_share():
    X, y, _ = make_planted()
    selector = ss.AsyOS(11, workers=4).fit(X, y)
    assert [
        worker.ids.size
        for worker in selector.learner.rule.make_workers(selector.learner.memory.state.workers)
    ] == [
        3,
        3,
        3,
        2,
    ]


# ---- edges


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"workers": 0}, "workers=0: must be an integer from 1 to n_features_to_select=5"),
        (
            {"workers": 6},
            "workers=6: must be an integer from 1 to n_features_to_select=5, as every worker keeps",
        ),
        ({"workers": 2.0}, r"workers=2\.0: must be"),
        ({"workers": True}, "workers=True: must be"),
        ({"workers": None}, "workers=None: must be"),
        ({"staleness": -1}, "staleness=-1: must be None or an integer of 0 or more"),
        ({"staleness": 1.5}, r"staleness=1\.5: must be"),
        ({"staleness": True}, "staleness=True: must be"),
        ({"staleness": "auto"}, "staleness='auto': must be"),
        ({"step": 0}, "step=0: must be"),
        ({"m": 0.5}, r"m=0\.5: must be"),
    ],
)
def test_parameters_without_meaning_are_refused(params, message):
    X, y, _ = make_planted(n_columns=20)
    with pytest.raises(ValueError, match=message):
        ss.AsyOS(5, **{"workers": 2, **params}).fit(X, y)


def test_as_many_workers_as_features():
    X, y, planted_columns = make_planted()
    selector = ss.AsyOS(20, workers=20, m=2.0).fit(X, y)
    assert len(selector.selection()) == 20
    assert len(set(planted_columns) & set(selector.selection().indices)) >= 8


def test_fewer_features_than_wanted():
    X, y, _ = make_planted(n_columns=7, n_true=3)
    X[:, 3] = 4.0
    assert ss.AsyOS(50, workers=9).fit(X, y).selection().indices.tolist() == [0, 1, 2, 4, 5, 6]


def test_of_columns_that_are_the_same_at_two_workers_one_is_selected():
    X, y, planted_columns = make_planted()
    twice = np.repeat(X, 2, axis=1)
    twice[:, 1::2] *= -3.0
    selector = ss.AsyOS(20, workers=2, refit=False).fit(twice, y)
    chosen = selector.selection().indices
    assert np.unique(chosen // 2).size == chosen.size
    assert set(2 * planted_columns) <= set(chosen)
    u = y.mean() + y.std() * Centre(selector.learner.memory.state.parts).scores()
    np.testing.assert_allclose(selector.predict(twice), u, rtol=0, atol=1e-9)


def test_weights_that_diverge_are_an_error():
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (100, 1)) + 0.1 * random.normal(0, 1, (100, 300))
    selector = ss.AsyOS(20, n_scans=10)
    with pytest.raises(
        ss.DataError, match=r"the weights diverge.* or use online-substitution with solver='pool'"
    ):
        selector.fit(X, X[:, 0])
    assert len(selector.selection()) == 20  # the result before the error can be read
    with pytest.warns(UserWarning, match="the steps led away from the target"):
        ss.AsyOS(20, n_scans=1).fit(X, X[:, 0])


@pytest.mark.parametrize("make", [ss.AsyOS, partial(ss.OnlineSubstitution, solver="paper")])
def test_a_block_whose_weights_diverge_leaves_the_learner_as_it_was(make):
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (100, 1)) + 0.1 * random.normal(0, 1, (100, 3000))
    learner = make(20, step=40.0)
    learner.start(y=X[:, 0])
    learner.partial_fit_block(columns_of(random.normal(0, 1, (100, 3))))
    before = learner.model().to_bytes()
    with pytest.raises(ss.DataError, match="the weights diverge"):
        learner.partial_fit_block(columns_of(X, ids=np.arange(3, 3003)))
    assert learner.model().to_bytes() == before


def test_a_staleness_beyond_the_data_reads_nothing_of_others():
    """Then every worker learns as if it were alone, with its part of the level."""
    X, y, _ = make_planted(n_columns=60)
    params = {"n_scans": 1, "refit": False}
    selector = ss.AsyOS(6, workers=2, staleness=10**6, **params).fit(X, y)
    alone = [ss.AsyOS(3, workers=1, **params).fit(X[:, start::2], y) for start in (0, 1)]
    ids = [2 * single.selection().indices + start for start, single in enumerate(alone)]
    assert selector.selection().indices.tolist() == sorted(np.concatenate(ids).tolist())
    assert len(selector.learner.memory.state.pushes) < 200
