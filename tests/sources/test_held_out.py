"""Rows that are held out: drawn by number and seed, never learned, the same in every reading."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import streamsieve as ss
from streamsieve import DataError, UsageError, open_source, workflow
from streamsieve.kernels.chance import draw_by_number
from streamsieve.runs import RunDirectory
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.base import BlockSource
from streamsieve.sources.wrapped import hold_out
from streamsieve.workflow import convert_to_columns

from .reading import put, read

MASK = (1 << 64) - 1


def draws(rows: range, seed: int) -> list[float]:
    """Return what SplitMix64 gives for rows, number by number."""

    def mixed(state: int) -> int:
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & MASK
        return state ^ (state >> 31)

    golden = 0x9E3779B97F4A7C15
    start = mixed(seed * golden & MASK)
    return [(mixed(start + (row + 1) * golden & MASK) >> 11) / 2**53 for row in rows]


def numbered(n: int, block_rows: int | None = None) -> ArraySource:
    """Return rows that have their number, from 1, as a value."""
    y = np.arange(n) % 2
    return ArraySource(np.arange(1, n + 1, dtype=float).reshape(-1, 1), y, block_rows=block_rows)


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_rows_draw_by_their_numbers(seed):
    assert draw_by_number(0, 50, seed).tolist() == draws(range(50), seed)
    assert draw_by_number(20, 30, seed).tolist() == draws(range(20, 50), seed)


@pytest.mark.parametrize("block_rows", [None, 7])
def test_every_row_is_on_one_side(block_rows):
    learned, held_out = hold_out(numbered(1000, block_rows), 0.2, seed=3)
    left, others = (np.ravel(read(part)[0]).astype(int).tolist() for part in (learned, held_out))
    assert sorted(left + others) == list(range(1, 1001))
    assert others == [row + 1 for row, drawn in enumerate(draws(range(1000), 3)) if drawn < 0.2]
    assert 160 < len(others) < 240
    for part, rows in ((learned, left), (held_out, others)):
        assert part.targets().tolist() == [(row - 1) % 2 for row in rows]
        assert read(part)[1] == part.targets().tolist()
    assert np.ravel(read(held_out)[0]).astype(int).tolist() == others  # once more


def test_seeds_draw_different_rows_and_little_is_shared():
    parts = [read(hold_out(numbered(2000), 0.5, seed)[1])[1] for seed in range(3)]
    rows = [
        {int(row[0]) for row in read(hold_out(numbered(2000), 0.5, seed)[1])[0]}
        for seed in range(3)
    ]
    assert len({tuple(part) for part in parts}) == 3
    assert 400 < len(rows[0] & rows[1]) < 600


def test_a_run_learns_what_is_not_held_out(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 5)).astype(np.float32).astype(float)
    y = (X[:, 2] > 0).astype(int)
    held_out = np.array(draws(range(600), 7)) < 0.25
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,y", comments="")
    record = ss.select(path, "sofs", 2, target="y", test=0.25, seed=7, output=tmp_path / "run")
    expected = ss.select((X[~held_out], y[~held_out]), "sofs", 2, test=(X[held_out], y[held_out]))
    assert record.n_rows == np.count_nonzero(~held_out)
    assert record.selection.scores.tolist() == expected.selection.scores.tolist()
    assert record.test_accuracy == expected.test_accuracy
    assert record.details["test_auc"] == expected.details["test_auc"]
    assert RunDirectory(tmp_path / "run").request().test == 0.25


def test_an_interrupted_run_holds_out_the_same_rows(tmp_path):
    path = put(
        tmp_path, "a,b,y\n" + "".join(f"{row % 7},{row % 3},{row % 2}\n" for row in range(900))
    )
    whole = ss.select(path, "sofs", 1, target="y", test=0.2, seed=1)

    def stop(now):
        if now.done >= 300:
            raise KeyboardInterrupt

    options = {
        "target": "y",
        "test": 0.2,
        "seed": 1,
        "output": tmp_path / "run",
        "checkpoint_every": 100,
    }
    with pytest.raises(KeyboardInterrupt):
        ss.select(path, "sofs", 1, watch=stop, **options)
    record = workflow.resume(tmp_path / "run")
    assert (record.n_rows, record.mistakes) == (whole.n_rows, whole.mistakes)
    assert record.test_accuracy == whole.test_accuracy


def test_methods_that_learn_columns_hold_out_rows_too():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 6))
    y = X[:, 1] * 2 + random.normal(size=400) * 0.1
    record = ss.select((X, y), "online-substitution", 2, test=0.3)
    assert record.n_rows == sum(drawn >= 0.3 for drawn in draws(range(400), 0))
    assert record.test_r2 > 0.9


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.2, 5, float("nan")])
def test_no_fraction_is_refused(fraction):
    with pytest.raises(UsageError, match=f"must be above 0 and below 1, got {fraction:g}"):
        ss.select((np.eye(4), [0, 1, 0, 1]), "sofs", 1, test=fraction)


def test_what_cannot_be_held_out_is_refused():
    rows = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(UsageError, match="selects features and does not predict"):
        ss.select(rows, "saola", test=0.2)
    with pytest.raises(UsageError, match="rows cannot be held out with engine"):
        ss.select(rows, "sofs", 1, test=0.2, engine="local")
    once = BlockSource(iter(list(numbered(10).row_blocks())))
    with pytest.raises(UsageError, match="blocks: can be read only once"):
        ss.select(once, "sofs", 1, test=0.2)
    with pytest.raises(UsageError, match="cannot be split into parts"):
        hold_out(numbered(10), 0.2, 0)[0].shards(2)


def test_too_few_rows_are_refused():
    learned, held_out = hold_out(numbered(3), 1e-9, seed=0)
    with pytest.raises(
        DataError, match="array: none of its 3 rows is held out; hold out another fraction"
    ):
        read(held_out)
    assert len(read(learned)[0]) == 3
    with pytest.raises(DataError, match="none of its 3 rows is left to learn from"):
        read(hold_out(numbered(3), 1 - 1e-9, seed=0)[0])


def test_a_source_of_rows_that_is_opened_already_can_be_held_out(tmp_path):
    path = put(
        tmp_path, "a,b,y\n" + "".join(f"{row % 7},{row % 3},{row % 2}\n" for row in range(200))
    )
    record = ss.select(open_source(path, "y"), "sofs", 1, test=0.5)
    assert 60 < record.n_rows < 140


def test_names_in_a_file_of_columns_are_kept(tmp_path: Path):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": (X[:, 1] > 0).astype(int)})
    table, columns = tmp_path / "rows.csv", tmp_path / "columns.parquet"
    frame.to_csv(table, index=False)
    convert_to_columns(table, columns, target="y")
    ss.select(columns, "online-substitution", 1, test=0.3, output=tmp_path / "run")
    blocks = list(workflow.predict(tmp_path / "run", table, "y"))
    assert sum((predicted.labels == y).sum() for predicted, y in blocks) > 180
