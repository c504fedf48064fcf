"""Going on from an earlier run: the same as one run over all rows; other data is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import random_array

import streamsieve as ss
from streamsieve import workflow
from streamsieve.report.run import describe_run
from streamsieve.sources.writers import write_rows

NIGHTS = 3
ROWS = 400


def night(number: int) -> pd.DataFrame:
    """Return rows of a log; every night has sites that no earlier night had."""
    random = np.random.default_rng(number)
    site = random.integers(0, 40 * (number + 1), ROWS)
    price = random.normal(size=ROWS).round(3)
    device = random.choice(["phone", "tablet"], ROWS)
    click = (price + (device == "phone") + 2 * (site == 45) + random.normal(size=ROWS) > 1).astype(
        int
    )
    return pd.DataFrame(
        {"price": price, "site": [f"s{x}" for x in site], "device": device, "click": click}
    )


def tables(folder: Path, suffix: str) -> list[Path]:
    paths = [folder / f"night{number}.{suffix}" for number in range(NIGHTS)]
    for number, path in enumerate(paths):
        if suffix == "parquet":
            night(number).to_parquet(path)
        else:
            night(number).to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    return paths


def sparse_files(folder: Path, suffix: str) -> list[Path]:
    """Return files of sparse rows, each wider than the one before."""
    paths = [folder / f"night{number}.{suffix}" for number in range(NIGHTS)]
    for number, path in enumerate(paths):
        width = 50 + 20 * number
        X = random_array((ROWS, width), density=0.1, rng=number, format="csr")
        y = (X[:, [3]].toarray().ravel() + X[:, [width - 1]].toarray().ravel() > 0).astype(int)
        names = None if suffix == "svm" else np.array([f"w{i}" for i in range(width)], object)
        write_rows(path, ss.open_source((X, y)).row_blocks(), names, width)
    return paths


def state_of(record: ss.RunRecord) -> tuple[Any, ...]:
    model = record.selector.learner.model()
    unknown = "random", "declared_width", "warm_up"  # drawn anew, or known only of the first file
    header = {name: value for name, value in model.header.items() if name not in unknown}
    return header, {name: repr(array.tolist()) for name, array in model.arrays.items()}


def continue_all(paths: list[Path], folder: Path, **params: Any) -> ss.RunRecord:
    record = ss.select(paths[0], output=folder / "run0", **params)
    for number, path in enumerate(paths[1:], 1):
        record = ss.select(
            path, continue_from=folder / f"run{number - 1}", output=folder / f"run{number}"
        )
    return record


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "svm", "arrow"])
@pytest.mark.parametrize("method", ["sofs", "fofs"])
def test_nights_one_by_one_are_one_pass_over_all(tmp_path: Path, suffix: str, method: str) -> None:
    is_table = suffix in ("csv", "tsv", "parquet")
    paths = (tables if is_table else sparse_files)(tmp_path, suffix)
    params: dict[str, Any] = {"method": method, "n_features_to_select": 5, "seed": 0}
    if is_table:
        params["target"] = "click"
    if suffix == "arrow":  # their names differ, so they are not read as one
        blocks = [block for path in paths for block in ss.open_source(path).row_blocks()]
        names, everything = ss.open_source(paths[-1]).feature_names, tmp_path / "all.arrow"
        write_rows(everything, blocks, names, names.size)
        straight = ss.select(everything, **params)
    else:
        straight = ss.select(paths, **params)
    continued = continue_all(paths, tmp_path, **params)
    assert continued.n_rows == NIGHTS * ROWS
    assert continued.n_features == straight.n_features
    assert state_of(continued) == state_of(straight)
    if is_table:
        assert continued.selection.names.tolist() == straight.selection.names.tolist()
        assert workflow.resume(tmp_path / "run2").selection.names.tolist()


def test_a_run_that_goes_on_can_be_interrupted_and_resumed(tmp_path: Path) -> None:
    paths = tables(tmp_path, "csv")
    params: dict[str, Any] = {"n_features_to_select": 5, "target": "click", "seed": 0}
    straight = ss.select(paths[:2], **params)
    ss.select(paths[0], output=tmp_path / "first", **params)

    def stop(now: Any) -> None:
        if now.done >= 250:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"continue_from": tmp_path / "first", "output": tmp_path / "second"}
    with pytest.raises(KeyboardInterrupt):
        ss.select(paths[1], checkpoint_every=100, watch=stop, **options)
    assert state_of(workflow.resume(tmp_path / "second")) == state_of(straight)
    with pytest.raises(KeyboardInterrupt):
        ss.select(
            paths[2],
            checkpoint_every=100,
            watch=stop,
            continue_from=tmp_path / "second",
            output=tmp_path / "third",
        )
    page = describe_run(tmp_path / "second")
    assert page["asked"]["options"]["earlier"] == f"{tmp_path / 'first'}, after {ROWS} rows"
    interrupted = ss.select(paths[2], continue_from=tmp_path / "third", output=tmp_path / "fourth")
    assert interrupted.n_rows == 2 * ROWS + 300 + ROWS, "it goes on from the last checkpoint"


def test_the_model_of_an_estimator_learns_more_of_a_file(tmp_path: Path) -> None:
    paths = tables(tmp_path, "csv")
    straight = ss.SOFS(5).fit_source(ss.open_source(paths, "click"))
    selector = ss.SOFS(5)
    for path in paths:
        selector.partial_fit_source(path, "click")
    assert selector.selection().names.tolist() == straight.selection().names.tolist()
    assert selector.selection().scores.tolist() == straight.selection().scores.tolist()
    loaded = ss.SOFS(5).partial_fit_source(paths[0], "click")
    assert loaded.n_rows_ == ROWS


def test_a_table_that_was_opened_by_itself_is_refused(tmp_path: Path) -> None:
    paths = tables(tmp_path, "csv")
    selector = ss.SOFS(5).fit_source(ss.open_source(paths[0], "click"))
    before = selector.learner.model().to_bytes()
    other = ss.open_source(paths[1], "click")
    for learn in (
        lambda: selector.partial_fit_source(other),
        lambda: [selector.partial_fit_block(block) for block in other.row_blocks()],
    ):
        with pytest.raises(
            ss.DataError, match=r"night1.csv: .* other features .*partial_fit_source"
        ):
            learn()
    assert selector.learner.model().to_bytes() == before
    numbers = ss.SOFS(2).fit_source(ss.open_source(paths[0], "click", only="price"))
    renamed = night(1)[["price", "click"]].rename(columns={"price": "cost"})
    renamed.to_csv(tmp_path / "cost.csv", index=False)
    block = next(iter(ss.open_source(tmp_path / "cost.csv", "click").row_blocks()))
    with pytest.raises(ss.DataError, match=r"cost.csv: .* other features"):
        numbers.partial_fit_block(block)


def test_what_cannot_go_on_is_refused(tmp_path: Path) -> None:
    paths = tables(tmp_path, "csv")
    params: dict[str, Any] = {"n_features_to_select": 5, "target": "click"}
    ss.select(paths[0], output=tmp_path / "run", **params)
    for option in ({"gamma": 2.0}, {"n_features_to_select": 3}, {"target": "click"}, {"seed": 1}):
        with pytest.raises(ss.UsageError, match=f"{next(iter(option))}.*of the earlier run"):
            ss.select(paths[1], continue_from=tmp_path / "run", **option)
    ss.select(paths[0], "saola", target="click", output=tmp_path / "columns")
    with pytest.raises(ss.UsageError, match="saola reads columns and cannot learn more rows"):
        ss.select(paths[1], continue_from=tmp_path / "columns")
    ss.select(paths[0], n_epochs=2, output=tmp_path / "twice", **params)
    with pytest.raises(ss.UsageError, match="several times"):
        ss.select(paths[1], continue_from=tmp_path / "twice")
    night(1).assign(click=2).to_csv(tmp_path / "third.csv", index=False)
    with pytest.raises(ss.DataError, match="label 2"):
        ss.select(tmp_path / "third.csv", continue_from=tmp_path / "run")
    night(1).assign(price="dear").to_csv(tmp_path / "text.csv", index=False)
    with pytest.raises(ss.DataError, match=r"text.csv:2: column 'price' is 'dear', not a number"):
        ss.select(tmp_path / "text.csv", continue_from=tmp_path / "run")
    night(1).drop(columns="site").to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(ss.DataError, match="there is no column 'site'"):
        ss.select(tmp_path / "less.csv", continue_from=tmp_path / "run")
    with pytest.raises(ss.UsageError, match="there is no run in this folder"):
        ss.select(paths[1], continue_from=tmp_path)
