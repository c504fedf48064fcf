"""The data of online substitution.

The values are the same by rows, by columns and in any parts, and so are the targets.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from streamsieve import UsageError, open_source, workflow
from streamsieve.sources import synthetic
from streamsieve.sources.base import as_row_source
from streamsieve.sources.columns import as_column_source
from streamsieve.sources.synthetic import SubstitutionSource
from streamsieve.sources.transpose import whole_matrix

SMALL = {"rows": 130, "features": 70, "informative": 10}


def by_row_blocks(source: SubstitutionSource) -> tuple[np.ndarray, np.ndarray]:
    blocks = list(source.row_blocks())
    assert all(block.dense and block.values.all() for block in blocks)
    return np.concatenate([block.to_dense() for block in blocks]), np.concatenate(
        [block.y for block in blocks]
    )


def by_column_blocks(source: SubstitutionSource) -> tuple[np.ndarray, np.ndarray]:
    blocks, at = list(source.column_blocks()), 0
    for block in blocks:
        assert block.ids.tolist() == list(range(at, at + block.n_columns))
        assert (block.indices.reshape(block.n_columns, -1) == np.arange(block.n_rows)).all()
        assert (np.diff(block.indptr) == block.n_rows).all()
        assert block.values.all()
        assert block.names is None
        at += block.n_columns
    values = np.concatenate([block.values for block in blocks])
    return values.reshape(at, source.n_rows).T, source.targets()


@pytest.fixture(params=[1, 100, 777, 1 << 20])
def block_values(request, monkeypatch) -> int:
    """Return the number of values of a block: less than a row or a column, some of them, all."""
    monkeypatch.setattr(synthetic, "BLOCK_NONZEROS", request.param)
    monkeypatch.setattr(synthetic, "BLOCK_VALUES", request.param)
    return request.param


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize(("seed", "problem"), [(0, 0), (3, 0), (2**63 - 1, 2**63 - 1)])
def test_rows_and_columns_are_the_same_in_any_blocks(block_values, task, seed, problem):
    options: dict[str, Any] = {**SMALL, "seed": seed, "problem": problem, "task": task}
    expected, y = np.empty((130, 70), np.float32), SubstitutionSource(**options).targets()
    synthetic.generate_columns(seed, 0, np.arange(70), expected.T)
    source = SubstitutionSource(**options)
    for X, labels in (by_row_blocks(source), by_column_blocks(source)):
        assert (expected == X).all()
        assert (labels == y).all()
    assert (np.concatenate([part.values for part in source.dense_rows()]) == expected).all()
    assert (np.concatenate([part.y for part in source.dense_rows()]) == y).all()
    assert (np.concatenate(list(source.dense_columns()), axis=1) == expected).all()


@pytest.mark.parametrize("n", [1, 2, 7, 200])
def test_shards_are_parts_of_the_rows(block_values, n):
    source = SubstitutionSource(**SMALL, seed=5)
    X, y = by_row_blocks(source)
    shards = [pickle.loads(pickle.dumps(shard)) for shard in source.shards(n)]
    assert sum(shard.n_rows for shard in shards) == 130
    for read in (by_row_blocks, by_column_blocks):
        parts = [read(shard) for shard in shards]
        assert (np.concatenate([part for part, _ in parts]) == X).all()
        assert (np.concatenate([labels for _, labels in parts]) == y).all()
    halves = [half for shard in source.shards(3) for half in shard.shards(2)]
    assert (np.concatenate([by_column_blocks(half)[0] for half in halves]) == X).all()


def test_the_number_of_threads_does_not_matter(monkeypatch, block_values):
    matrices = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("STREAMSIEVE_THREADS", threads)
        matrices.append(by_column_blocks(SubstitutionSource(**SMALL))[0])
    assert (matrices[0] == matrices[1]).all()
    assert (matrices[0] == matrices[2]).all()


def test_columns_can_be_read_again_and_left_at_any_time():
    source = SubstitutionSource(rows=1000, features=3000)
    first = next(source.column_blocks())
    again = next(source.column_blocks())
    assert (first.values == again.values).all()
    assert not first.values.flags.writeable
    assert source.rewindable


def test_fewer_rows_or_features_are_the_first_of_more():
    X, _ = by_column_blocks(SubstitutionSource(rows=300, features=500))
    fewer, _ = by_column_blocks(SubstitutionSource(rows=200, features=110))
    assert (X[:200, :110] == fewer).all()


def test_values_are_standard_normal_with_six_decimals():
    X, _ = by_column_blocks(SubstitutionSource(rows=2000, features=500, seed=11))
    assert abs(X.mean()) < 0.004
    assert abs(X.std() - 1) < 0.003
    assert stats.kstest(X.ravel(), "norm").pvalue > 0.001
    assert abs(stats.skew(X.ravel())) < 0.01
    assert abs(stats.kurtosis(X.ravel())) < 0.02
    assert (X.round(6).astype(np.float32) == X).all()
    lines = [*X, *X.T]  # every row and every column by itself, too
    assert min(stats.kstest(line, "norm").pvalue for line in lines) > 0.05 / len(lines) / 10


def test_rows_and_columns_are_independent():
    X, _ = by_column_blocks(SubstitutionSource(rows=1000, features=1000))
    for values in (X, X.T, X * X - 1):  # squares show what signs would hide
        values = values / values.std()
        for down, right in [
            (0, 1),
            (1, 0),
            (1, 1),
            (0, 2),
            (2, 0),
            (0, 256),
            (256, 0),
            (1, 999),
            (512, 512),
        ]:
            both = values[down:, right:] * values[: 1000 - down, : 1000 - right]
            assert abs(both.mean()) < 4.5 / np.sqrt(both.size), (down, right)
    correlations = np.corrcoef(X.T)[np.triu_indices(1000, 1)]
    assert abs(correlations.std() - 1 / np.sqrt(1000)) < 0.001
    assert abs(correlations).max() < 6 / np.sqrt(1000)


def test_seeds_are_independent():
    (X, _), (other, _) = (by_column_blocks(SubstitutionSource(500, 1000, seed)) for seed in (1, 2))
    for shift in range(3):
        both = X[: 500 - shift] * other[shift:]
        assert abs(both.mean()) < 4.5 / np.sqrt(both.size)


@pytest.mark.parametrize(
    ("seed", "problem", "noise"), [(0, 0, None), (1, 0, 0.0), (1, 4, 0.5), (0, 4, 20.0)]
)
def test_targets_are_the_hidden_sum_and_noise(seed, problem, noise):
    options: dict[str, Any] = {"rows": 3000, "features": 300, "seed": seed, "problem": problem}
    source = SubstitutionSource(**options, noise=noise)
    X, y = by_row_blocks(source)
    signal = X[:, source.informative_ids] @ source.hidden_weights
    rest, expected = y - signal, 3.0 if noise is None else noise
    if not expected:
        np.testing.assert_allclose(y, signal, atol=1e-12)
    else:
        assert stats.kstest(rest / expected, "norm").pvalue > 0.001
        assert abs(np.corrcoef(rest, signal)[0, 1]) < 0.06
        assert np.abs(np.corrcoef(rest[:-1], rest[1:])[0, 1]) < 0.06
        assert np.abs(X.T @ rest).max() / expected / np.sqrt(3000) < 4.5
    classes = SubstitutionSource(**options, noise=noise, task="classification")
    of_sign = y if noise is not None else signal
    assert (classes.targets() == np.where(of_sign > 0, 1, -1)).all()
    assert 0.45 < (classes.targets() > 0).mean() < 0.55


def test_noise_is_a_tenth_of_the_signal_as_in_the_plots_of_the_paper():
    ratios = []
    for problem in range(20):
        signal = SubstitutionSource(noise=0, problem=problem).targets()
        ratios.append(9 / signal.var())
    assert np.mean(ratios) == pytest.approx(0.1, abs=0.02)


def test_informative_features_are_anywhere_with_normal_weights():
    sources = [SubstitutionSource(features=2000, problem=problem) for problem in range(100)]
    for source in sources:
        assert source.informative_ids.size == source.hidden_weights.size == 100
        assert (np.diff(source.informative_ids) > 0).all()
        assert 0 <= source.informative_ids[0] <= source.informative_ids[-1] < 2000
    ids = np.concatenate([source.informative_ids for source in sources])
    weights = np.concatenate([source.hidden_weights for source in sources])
    assert stats.kstest(ids / 2000, "uniform").pvalue > 0.001
    assert stats.kstest(weights, "norm").pvalue > 0.001
    for first, other in pairwise(sources):
        assert np.intersect1d(first.informative_ids, other.informative_ids).size < 20


def test_another_seed_gives_other_rows_of_the_same_problem():
    first, second, third = (
        SubstitutionSource(rows=50, seed=seed, problem=p) for seed, p in [(0, 0), (1, 0), (0, 1)]
    )
    assert (first.informative_ids == second.informative_ids).all()
    assert (first.hidden_weights == second.hidden_weights).all()
    assert (by_row_blocks(first)[0] != by_row_blocks(second)[0]).mean() > 0.99
    assert (by_row_blocks(first)[0] == by_row_blocks(third)[0]).all()
    assert (first.targets() != third.targets()).all()


@pytest.mark.parametrize(
    ("options", "rows", "features"),
    [
        ({}, 1316, 2000),
        ({"features": 6000}, 1506, 6000),
        ({"task": "classification", "features": 1000}, 1196, 1000),
        ({"informative": 64, "features": 8192, "rows": 1000}, 1000, 8192),
        ({"informative": 10}, 132, 2000),
        ({"informative": 1, "features": 1}, 1, 1),
    ],
)
def test_shapes_are_those_of_the_paper(options, rows, features):
    source = SubstitutionSource(**options)
    assert (source.n_rows, source.n_features) == (rows, features)
    query = "&".join(f"{name}={value}" for name, value in options.items())
    named = open_source(f"synthetic:substitution?{query}")
    assert isinstance(named, SubstitutionSource)
    assert (named.n_rows, named.n_features, named.task, named.noise) == (
        rows,
        features,
        source.task,
        source.noise,
    )
    assert (named.targets() == source.targets()).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("rows=0", "0 rows; must be 1 or more"),
        ("features=0", "0 features; must be 1 or more"),
        ("rows=2147483648", "both must be 2,147,483,647 or less"),
        ("features=100000000000000000000000000000", "both must be"),
        ("seed=-1", "the seed must be from 0 to"),
        ("problem=-1", "the problem must be from 0 to"),
        ("problem=9223372036854775808", "the problem must be from 0 to"),
        ("informative=0", "0 informative features among 2000; must be from 1 to 2000"),
        ("informative=-4", "-4 informative features among 2000"),
        ("features=99", "100 informative features among 99; must be from 1 to 99"),
        ("noise=-1", "noise is a standard deviation and must be 0 or more, got -1"),
        ("noise=nan", "noise is a standard deviation and must be 0 or more, got nan"),
        ("noise=inf", "noise is a standard deviation and must be 0 or more, got inf"),
        ("noise=loud", "noise must be a number, got 'loud'"),
        ("informative=1.5", "informative must be an integer, got '1.5'"),
        ("task=ranking", "task must be regression or classification, got 'ranking'"),
        (
            "colour=red",
            "no option 'colour'; the options are rows, features, seed, informative, noise, task,"
            " problem",
        ),
    ],
)
def test_bad_option_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        open_source(f"synthetic:substitution?{options}")


@pytest.mark.parametrize("option", ["task", "informative", "noise", "problem"])
def test_other_sets_do_not_have_these_options(option):
    with pytest.raises(
        UsageError, match=f"no option {option!r}; the options are rows, features, seed$"
    ):
        open_source(f"synthetic:x1?{option}=1")


@pytest.mark.parametrize("name", ["rows.svm", "rows.csv", "rows.parquet", "rows.arrow", "rows.npz"])
def test_every_format_gives_it_back(tmp_path: Path, name: str) -> None:
    source = SubstitutionSource(**SMALL)
    X, y = by_row_blocks(source)
    assert workflow.convert(source, tmp_path / name) == 130
    blocks = list(
        as_row_source(
            open_source(tmp_path / name, target="label" if name.endswith("csv") else None)
        ).row_blocks()
    )
    assert (np.concatenate([block.to_dense() for block in blocks]) == X).all()
    assert (np.concatenate([block.y for block in blocks]) == y).all()


def test_a_file_of_columns_gives_it_back(tmp_path: Path) -> None:
    source = SubstitutionSource(**SMALL)
    assert workflow.convert_to_columns(source, tmp_path / "columns.parquet") == 70
    columns = as_column_source(open_source(tmp_path / "columns.parquet"))
    values = np.concatenate([block.values for block in columns.column_blocks()])
    assert (by_row_blocks(source)[0] == values.reshape(70, 130).T).all()
    assert (columns.targets() == source.targets()).all()


def test_columns_are_taken_as_they_are_and_the_whole_is_dense():
    source = SubstitutionSource(**SMALL)
    assert as_column_source(source) is source
    whole = whole_matrix(source)
    assert whole.values.dtype == np.float32
    assert (whole.values == by_row_blocks(source)[0]).all()
    assert (whole.y == source.targets()).all()
    assert whole.ids is None


READ = """
from streamsieve.machine import peak_memory
from streamsieve.sources.synthetic import SubstitutionSource

next(SubstitutionSource(rows=2000, features=1000).column_blocks())
before = peak_memory()
source = SubstitutionSource(rows=2000, features=100_000)
columns = sum(block.n_columns for block in source.column_blocks())
print(columns, peak_memory() - before)
"""


def test_columns_of_more_than_a_gigabyte_need_the_memory_of_a_few_blocks():
    environment = {**os.environ, "STREAMSIEVE_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", READ], check=True, capture_output=True, text=True, env=environment
    )
    columns, grown = map(int, done.stdout.split())
    assert columns == 100_000
    assert grown < 100e6


@pytest.mark.parametrize(
    ("method", "task"), [("sofs-regressor", "regression"), ("sofs", "classification")]
)
def test_rows_can_be_learned(method, task):
    name = f"synthetic:substitution?rows=3000&features=200&informative=5&task={task}"
    record = workflow.select(name, method, n_features_to_select=5, test=f"{name}&seed=1")
    source = open_source(name)
    assert isinstance(source, SubstitutionSource)
    assert np.isin(source.informative_ids, record.selection.indices).sum() >= 4


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_columns_can_be_learned(task):
    name = f"synthetic:substitution?rows=3000&features=200&informative=5&task={task}"
    record = workflow.select(name, "saola", n_features_to_select=5)
    source = open_source(name)
    assert isinstance(source, SubstitutionSource)
    assert np.isin(source.informative_ids, record.selection.indices).sum() >= 3
