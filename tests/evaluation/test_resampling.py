"""Selection frequencies over subsamples, for every method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import parquet
from scipy.sparse import csr_array

import streamsieve as ss
from streamsieve.evaluation import nogueira, resampling, stability_selection
from streamsieve.evaluation.resampling import StabilitySelection, subsample
from streamsieve.registry import METHODS, find_method
from streamsieve.sources.base import BlockSource
from streamsieve.workflow import convert_to_columns
from tests.paths import TRAIN

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(80, 8)).round(2)
NUMBERS = X[:, 1] - 2 * X[:, 5] + 0.1 * RANDOM.normal(size=80)
LABELS = (NUMBERS > 0).astype(int)
TARGETS = {"classes": LABELS, "numbers": NUMBERS}
CASES = [(method, kind) for method in METHODS for kind in sorted(find_method(method).targets)]


def same(first: StabilitySelection, second: StabilitySelection) -> bool:
    return all(map(np.array_equal, first.selections, second.selections)) and np.array_equal(
        first.frequency, second.frequency
    )


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_every_method_has_frequencies(method: str, kind: Any) -> None:
    described = find_method(method)
    params: dict[str, Any] = (
        {"groups": [0, 0, 1, 1, 2, 2, 3, 3]} if described.supports_groups else {}
    )
    if "n_features_to_select" in described.parameter_names:
        params["n_features_to_select"] = 4  # one for each worker of asyos
    result = stability_selection((X, TARGETS[kind]), method, n_resamples=2, seed=3, **params)
    together = np.concatenate(result.selections)
    assert result.indices.tolist() == sorted(set(together.tolist()))
    assert result.frequency.tolist() == [
        np.count_nonzero(together == feature) / 2 for feature in result.indices
    ]
    assert result.stability == nogueira(result.selections, 8)
    assert (
        method in ("random-selection", "ofs-partial") or 5 in result.indices or 1 in result.indices
    )


@pytest.mark.parametrize("method", ["sofs", "random-selection", "saola"])
def test_the_number_of_jobs_does_not_matter_and_the_seed_does(method: str) -> None:
    single, parallel = (
        stability_selection((X, LABELS), method, 3, 6, 0.3, seed=1, jobs=jobs) for jobs in (1, 3)
    )
    assert same(single, parallel)
    assert not same(single, stability_selection((X, LABELS), method, 3, 6, 0.3, seed=2))


def test_a_subsample_of_all_rows_selects_what_a_run_selects() -> None:
    record = ss.select((X, LABELS), "sofs", 3)
    result = stability_selection((X, LABELS), "sofs", 3, n_resamples=2, fraction=1.0)
    assert result.selections[0].tolist() == record.selection.indices.tolist()
    assert result.stability == (1.0, 1.0, 1.0)
    assert result.frequency_of([*record.selection.indices, 0, 99]).tolist()[:3] == [1.0] * 3
    assert result.frequency_of([99]).tolist() == [0.0]


def test_subsamples_have_the_classes_in_their_fractions_and_rows_in_their_order() -> None:
    codes = np.repeat([0, 1, 2], [60, 30, 1])
    for seed in range(5):
        rows = subsample(np.random.default_rng(seed), codes, 0.5)
        assert (np.diff(rows) > 0).all()
        assert np.bincount(codes[rows]).tolist() == [30, 15, 1]


@pytest.mark.parametrize("method", ["sofs", "saola"])
def test_files_tables_and_sparse_rows_give_what_arrays_give(method: str, tmp_path: Path) -> None:
    expected = stability_selection((X.astype(np.float32), LABELS), method, 3, 4)
    path, columns = tmp_path / "rows.svm", tmp_path / "columns.parquet"
    path.write_text(
        "".join(
            f"{label} {' '.join(f'{j + 1}:{value}' for j, value in enumerate(row) if value)}\n"
            for row, label in zip(X, LABELS, strict=True)
        )
    )
    convert_to_columns(path, columns)
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    blocks = BlockSource(iter(list(ss.open_source(path).row_blocks())))
    for data in (path, columns, (csr_array(X), LABELS), (frame, LABELS), blocks):
        assert same(expected, stability_selection(data, method, 3, 4))
    named = stability_selection((frame, LABELS), method, 3, 4)
    assert named.names.tolist() == ["abcdefgh"[feature] for feature in named.indices]
    assert named.ranked(1)[0]["name"] == named.names[np.argmax(named.frequency)]


def test_ids_out_of_proportion_need_no_memory() -> None:
    far = np.array([3, 10**9, 2 * 10**9, 3 * 10**9])
    indices, indptr = np.tile(far, 80), np.arange(0, 321, 4)
    wide = csr_array((X[:, 4:].ravel(), indices, indptr), shape=(80, 4 * 10**9))
    source = BlockSource(list(ss.open_source((wide, LABELS)).row_blocks()))
    for method in ("sofs", "saola"):
        expected = stability_selection((X[:, 4:].astype(np.float32), LABELS), method, 1, 3)
        assert np.array_equal(
            stability_selection(source, method, 1, 3).indices, far[expected.indices]
        )


def test_columns_come_with_their_names_and_groups(tmp_path: Path) -> None:
    path = tmp_path / "columns.parquet"
    convert_to_columns((X, LABELS), path)
    table = parquet.read_table(path).take([0, 1, 3, 4, 5, 6, 7])  # there is no feature 2
    names, groups = (
        [f"n{feature}" for feature in table["feature"].to_pylist()],
        [0, 0, 0, 4, 4, 4, 4],
    )
    table = table.append_column("name", pyarrow.array(names)).append_column(
        "group", pyarrow.array(groups)
    )
    parquet.write_table(table, path)
    for method in ("group-saola", "saola"):
        record = ss.select(path, method, 3)
        result = stability_selection(path, method, 3, n_resamples=2, fraction=1.0)
        assert result.indices.tolist() == record.selection.indices.tolist()
        assert result.names.tolist() == record.selection.names.tolist()


def test_groups_are_given_or_those_of_a_table() -> None:
    groups = ["left"] * 4 + ["right"] * 4
    by_name = stability_selection((X, LABELS), "group-saola", 2, 3, groups=groups)
    frame = pandas.DataFrame(
        {"number": X[:, 0], "word": np.array(["u", "v", "w"])[np.arange(80) % 3], "key": X[:, 5]}
    )
    # the levels of a word are a group
    result = stability_selection((frame, LABELS), "group-saola", 2, 3)
    assert set(result.names) <= {"number", "word=u", "word=v", "word=w", "key"}
    assert 5 in by_name.indices
    with pytest.raises(ss.UsageError, match="saola does not support groups"):
        stability_selection((X, LABELS), "saola", groups=groups)


def test_real_words_are_found_again_and_again() -> None:
    result = stability_selection(TRAIN, "sofs", 10, n_resamples=5, seed=0)
    assert result.frequency.max() == 1.0
    assert 0.2 < result.stability.low < result.stability.value < result.stability.high <= 1.0
    best = result.at_least(1.0)
    assert set(best) <= set(result.indices[result.frequency == 1.0])
    assert "features in 5 subsamples, stability 0." in repr(result)


def test_what_does_not_fit_or_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = X, LABELS
    for options, message in (
        ({"n_resamples": 1}, "n_resamples: must be an integer of 2 or more, got 1"),
        ({"fraction": 0.0}, "fraction: must be above 0, and 1 at most"),
        ({"jobs": 0}, "jobs: must be an integer of 1 or more"),
        ({"seed": -1}, "seed: must be an integer of 0 or more"),
        ({"gama": 1.0}, "sofs has no parameter 'gama'"),
        ({"gamma": -1.0}, "gamma=-1.0: must be"),
    ):
        with pytest.raises(ss.UsageError, match=message):
            stability_selection(data, "sofs", 3, **options)
    with pytest.raises(ss.DataError, match="use a method that learns numbers: sofs-regressor"):
        stability_selection((X, NUMBERS), "sofs", 3)
    with pytest.raises(ss.UsageError, match="the rows have no labels"):
        stability_selection((X, None), "sofs", 3)

    def refuse(needed: int, what: str, advice: str) -> None:
        assert needed > X.nbytes
        raise ss.DataError(f"{what} take too much memory; {advice}")

    monkeypatch.setattr(resampling, "refuse_beyond_memory", refuse)
    with pytest.raises(ss.DataError, match="take a smaller fraction or fewer jobs"):
        stability_selection(data, "sofs", 3, n_resamples=4, jobs=4)
