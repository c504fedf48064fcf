"""The synthetic sets: their shape, what the seed determines and what the name determines."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from streamsieve import RowBlock, UsageError, open_source
from streamsieve.kernels.reading.synthetic import generate_rows
from streamsieve.sources.synthetic import SyntheticSource


def rows(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ids, values (a line per row) and labels."""
    blocks: list[RowBlock] = list(open_source(name).row_blocks())
    per_row = int(blocks[0].indptr[1])
    for block in blocks:
        assert (np.diff(block.indptr) == per_row).all()
    ids = np.concatenate([block.indices for block in blocks]).reshape(-1, per_row)
    values = np.concatenate([block.values for block in blocks]).reshape(-1, per_row)
    return ids, values, np.concatenate([block.y for block in blocks])


@pytest.mark.parametrize(
    ("kind", "n_rows", "features", "informative", "noise"),
    [
        ("x1", 100_000, 10_000, 100, 200),
        ("x2", 100_000, 20_000, 200, 400),
        ("x3", 1_000_000, 1_000_000_000, 500, 500),
    ],
)
def test_rows_have_the_shape_of_the_paper(kind, n_rows, features, informative, noise):
    source = open_source(f"synthetic:{kind}")
    assert (source.n_rows, source.n_features, source.rewindable) == (n_rows, features, True)
    ids, values, y = rows(f"synthetic:{kind}?rows=1500")
    assert ids.shape == values.shape == (1500, informative + noise)
    assert y.shape == (1500,)
    assert {
        block.n_features for block in open_source(f"synthetic:{kind}?rows=1500").row_blocks()
    } == {features}


@pytest.mark.parametrize(("kind", "informative"), [("x1", 100), ("x2", 200)])
def test_informative_ids_are_in_every_row_and_noise_is_outside(kind, informative):
    ids, values, _ = rows(f"synthetic:{kind}?rows=1100")
    assert (ids[:, :informative] == np.arange(informative)).all()
    noise = ids[:, informative:]
    assert (np.diff(noise, axis=1) > 0).all()
    assert noise.min() == informative
    assert noise.max() == open_source(f"synthetic:{kind}").n_features - 1
    assert values.all()


def test_values_are_standard_normal_with_six_decimals():
    _, values, _ = rows("synthetic:x1?rows=2000")
    assert abs(values.mean()) < 0.01
    assert abs(values.std() - 1) < 0.01
    assert stats.kstest(values.ravel(), "norm").pvalue > 0.001
    beyond = np.abs(values) > 3.7  # where the generator leaves its table
    assert abs(beyond.sum() - 2 * stats.norm.sf(3.7) * values.size) < 4 * np.sqrt(beyond.sum())
    assert (values > 0).mean() == pytest.approx(0.5, abs=0.003)
    assert (values.astype(np.float64).round(6).astype(np.float32) == values).all()


@pytest.mark.parametrize("seed", [0, 3])
def test_labels_are_the_sign_of_the_hidden_score(seed):
    source = SyntheticSource("x1", rows=2000, seed=seed)
    _, values, y = rows(f"synthetic:x1?rows=2000&seed={seed}")
    score = values[:, :100].astype(np.float64).round(6) @ source.hidden_weights
    assert y.tolist() == np.where(score > 0, 1, -1).tolist()
    assert 0.45 < (y > 0).mean() < 0.55
    assert 0 < source.hidden_weights.min() < source.hidden_weights.max() < 1


def test_another_seed_gives_other_rows_of_the_same_problem():
    ids, values, y = rows("synthetic:x1?rows=100")
    other_ids, other_values, other_y = rows("synthetic:x1?rows=100&seed=1")
    assert (ids != other_ids).any(axis=1).all()
    assert (values != other_values).any(axis=1).all()
    assert (y != other_y).any()
    assert (
        SyntheticSource("x1").hidden_weights == SyntheticSource("x1", seed=1).hidden_weights
    ).all()


def test_each_set_has_hidden_weights_of_its_own():
    assert (
        SyntheticSource("x1").hidden_weights != SyntheticSource("x2").hidden_weights[:100]
    ).all()


def test_blocks_do_not_repeat_each_other():
    _, values, _ = rows("synthetic:x1?rows=2048")
    assert (values[:1024] != values[1024:]).any(axis=1).all()


@pytest.mark.parametrize("few", [1, 1000, 1024, 1025])
def test_fewer_rows_are_the_first_of_more(few):
    for part, whole in zip(
        rows(f"synthetic:x1?rows={few}"), rows("synthetic:x1?rows=5000"), strict=True
    ):
        assert len(part) == few
        assert (part == whole[:few]).all()


def test_reading_again_gives_the_same_rows():
    source = SyntheticSource("x2", rows=1500)
    for first, again in zip(source.row_blocks(), source.row_blocks(), strict=True):
        assert (first.values == again.values).all()
        assert (first.indices == again.indices).all()


def test_features_option_widens_the_noise():
    ids, _, _ = rows("synthetic:x1?rows=50&features=5000000000")
    assert ids.max() > 2**31
    assert open_source("synthetic:x1?features=5000000000").n_features == 5_000_000_000


def test_rows_can_fill_every_feature():
    ids, _, _ = rows("synthetic:x1?rows=2&features=300")
    assert ids.tolist() == [list(range(300))] * 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "synthetic:x9",
            "no synthetic set 'x9'; the sets are x1, x2, x3, spiral, clicks, substitution",
        ),
        ("synthetic:", "no synthetic set ''"),
        ("synthetic:x1?rows=0", "must be 1 or more"),
        ("synthetic:x1?rows=-5", "must be 1 or more"),
        ("synthetic:x1?rows=many", "rows must be an integer, got"),
        ("synthetic:x1?rows=", "rows must be an integer, got"),
        ("synthetic:x1?rows=1.5", "rows must be an integer, got"),
        ("synthetic:x1?features=299", "must be 300 or more"),
        ("synthetic:x1?seed=-1", "the seed must be from 0 to"),
        ("synthetic:x1?seed=9223372036854775808", "the seed must be from 0 to"),
        ("synthetic:x1?colour=red", "no option 'colour'; the options are rows, features, seed"),
    ],
)
def test_bad_option_is_refused(name, message):
    with pytest.raises(UsageError, match=message):
        open_source(name)


def test_target_is_not_for_synthetic_rows():
    with pytest.raises(UsageError, match="target column is for tables"):
        open_source("synthetic:x1", target="y")


def noise_ids(rows: int, count: int, low: int, high: int) -> np.ndarray:
    """Return rows of noise features alone."""
    indices, values = np.empty((rows, count), np.int32), np.empty((rows, count), np.float32)
    generate_rows(8, 0, np.empty(0), low, high, indices, values, np.empty(rows))
    return indices


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_every_subset_is_equally_likely(count):
    drawn = noise_ids(30_000, count, 2, 7)
    subsets = list(combinations(range(2, 7), count))
    distinct, counts = np.unique(drawn, axis=0, return_counts=True)
    assert distinct.tolist() == [list(subset) for subset in subsets]
    expected = 30_000 / len(subsets)
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert chi2 < 27.9  # the 0.999 quantile for 9 degrees of freedom; fewer have a smaller one


def test_noise_is_spread_evenly():
    drawn = noise_ids(200, 500, 500, 1_000_000_000)
    assert stats.kstest((drawn.ravel() - 500) / (1_000_000_000 - 500), "uniform").pvalue > 0.001


def test_drawing_all_integers_gives_all_of_them():
    assert noise_ids(3, 6, 10, 16).tolist() == [list(range(10, 16))] * 3


def spiral(options: str = "") -> tuple[np.ndarray, np.ndarray]:
    blocks = list(open_source(f"synthetic:spiral{options}").row_blocks())
    return np.concatenate([block.to_dense() for block in blocks]), np.concatenate(
        [block.y for block in blocks]
    )


def test_the_spiral_has_the_shape_of_the_paper():
    X, y = spiral("?features=52")
    assert X.shape == (460, 52)
    assert open_source("synthetic:spiral").n_features == 10_002
    assert y.tolist() == [1.0, -1.0] * 230
    assert (X[0::2, :2] == -X[1::2, :2]).all()
    angle = 2 * np.pi * np.arange(1, 231) / 230
    np.testing.assert_allclose(X[0::2, 0], np.sqrt(angle) * np.cos(angle), atol=1e-6)
    np.testing.assert_allclose(X[0::2, 1], np.sqrt(angle) * np.sin(angle), atol=1e-6)
    assert stats.kstest(X[:, 2:].ravel(), "norm").pvalue > 0.001


def test_the_seed_draws_the_irrelevant_features_of_a_spiral():
    X, _ = spiral("?features=5000&rows=200")
    other, _ = spiral("?features=5000&rows=200&seed=1")
    again, _ = spiral("?features=5000&rows=200")
    assert (again == X).all()
    assert (X[:, :2] == other[:, :2]).all()
    assert (X[:, 2:] != other[:, 2:]).mean() > 0.99
    assert X[:, 2:].std(axis=0).min() > 0.7


def test_a_spiral_needs_its_two_features():
    with pytest.raises(UsageError, match="1 features; must be 2 or more"):
        open_source("synthetic:spiral?features=1")


def clicks(options: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Return ids and labels, a line per row."""
    blocks = list(open_source(f"synthetic:clicks{options}").row_blocks())
    assert all((block.values == 1).all() for block in blocks)
    ids = np.concatenate([block.indices.reshape(block.n_rows, -1) for block in blocks])
    return ids, np.concatenate([block.y for block in blocks])


def test_a_click_log_has_few_clicks_and_frequent_features():
    ids, y = clicks("?rows=40000")
    assert ids.shape == (40_000, 25)
    assert (np.diff(ids, axis=1) > 0).all()
    assert 0.026 < (y == 1).mean() < 0.034
    frequency = np.bincount(ids.ravel(), minlength=50_000) / len(ids)
    assert frequency[30] > 0.85  # the most frequent of all
    informative = frequency[:30]
    assert (informative > 0.001).all()
    assert (informative < 0.03).all()


def test_the_informative_features_decide_about_clicks():
    source = open_source("synthetic:clicks")
    ids, y = clicks("?rows=60000&seed=5")
    without = (y[(ids >= 30).all(axis=1)] == 1).mean()
    for feature in range(10):  # the more frequent ones
        rate = (y[(ids == feature).any(axis=1)] == 1).mean()
        assert (rate > without) == (source.log_odds[feature] > 0)


def test_another_seed_gives_other_rows_of_the_same_clicks():
    (ids, y), (other, _) = clicks("?rows=500"), clicks("?rows=500&seed=1")
    assert (ids != other).any(axis=1).mean() > 0.99
    again, labels = clicks("?rows=500")
    assert (again == ids).all()
    assert (labels == y).all()
    assert (
        open_source("synthetic:clicks").log_odds.tolist()
        == open_source("synthetic:clicks?seed=1").log_odds.tolist()
    )
    parts = [
        block
        for shard in open_source("synthetic:clicks?rows=500").shards(3)
        for block in shard.row_blocks()
    ]
    assert (np.concatenate([part.indices for part in parts]).reshape(500, -1) == ids).all()


def test_a_click_log_needs_room_for_its_informative_features():
    with pytest.raises(UsageError, match="999 features; must be 1000 or more"):
        open_source("synthetic:clicks?features=999")
