"""Compare what every method learns with recorded digests, which a refactoring must not change.

    python -m tests.goldens                    compare with tests/goldens.json
    python -m tests.goldens --record           record tests/goldens.json anew
    python -m tests.goldens --record --methods NEW   add those of a new method
    python -m tests.goldens --methods sofs pet

Every method with its variants learns ten small sets, each given as a whole, dense, in chunks, saved
and continued, from a file, and by two workers. A digest is kept of the ids, scores, weights,
counters, predictions and the next random draw. Digests hold floating-point numbers to the last bit:
on another kind of processor, record them from an earlier commit first. Those of linear models of
columns also depend on the threads of BLAS and on the cache of compiled kernels: record and compare
with the same ones.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import streamsieve as ss
from streamsieve.estimators import estimator_class
from streamsieve.registry import METHODS, find_method
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.writers import write_rows

from .paths import ROOT

RECORDED = Path(__file__).with_suffix(".json")
ASPECTS = "ids", "scores", "weights", "counters", "predictions", "draw"
SAME = "="  # as the whole
MORE_VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {  # beside those of the shared checks
    "sofs": (
        {"normalize": False, "gamma": 2.0, "n_epochs": 2},
        {
            "criterion": "confidence",
            "update": "uniform",
            "class_weight": None,
            "normalize": "standard",
        },
        {"n_features_to_select": "auto"},
        {"n_features_to_select": 3, "max_cells": 20},
    ),
    "sofs-regressor": (
        {"normalize": False, "gamma": 2.0, "n_epochs": 2},
        {"n_features_to_select": "auto"},
    ),
    "pet": ({"trigger": "mistake", "eta": 0.5, "normalize": False},),
    "fofs": ({"attributes": "random", "random_state": 5}, {"radius": 2.0, "regularization": 0.1}),
    "ofs-partial": ({"epsilon": 0.5, "random_state": 5},),
    "arow": ({"normalize": "l2", "gamma": 0.5},),
    "arow-regressor": ({"normalize": "standard", "gamma": 0.5},),
    "fobos": ({"regularization": 0.1, "n_epochs": 2},),
}


class DataSet(NamedTuple):
    X: Any
    y: NDArray[Any]
    kind: str = "classes"


def shipped(name: str, rows: int, columns: int) -> DataSet:
    """Return the first rows and columns of a set in ``examples/data``."""
    source = ss.open_source(ROOT / "examples" / "data" / f"{name}.svm.xz")
    blocks = list(source.row_blocks())
    width = max(block.n_features for block in blocks)
    X = np.concatenate([block.derived(n_features=width).to_dense() for block in blocks])
    order = np.random.default_rng(1).permutation(len(X))[:rows]
    y = np.concatenate([block.y for block in blocks if block.y is not None])
    return DataSet(csr_array(X[order, :columns]), y[order])


def sparse(rows: int, columns: int, seed: int, *, target: str) -> DataSet:
    """Return sparse rows on a coarse grid, so that there are many ties.

    The classes or numbers depend on some columns.
    """
    random = np.random.default_rng(seed)
    X = random.integers(-4, 5, (rows, columns)) / 4.0
    X[random.random(X.shape) < 0.7] = 0
    hidden = random.standard_normal(columns) * (np.arange(columns) % 3 == 0)
    numbers = X @ hidden + 0.1 * random.standard_normal(rows)
    if target == "numbers":
        return DataSet(csr_array(X), 3.0 + numbers, "numbers")
    if target == "two":
        return DataSet(csr_array(X), np.where(numbers > 0, 1, -1))
    return DataSet(
        csr_array(X),
        np.array(["d", "a", "c", "b"])[(numbers > 0) + 2 * (X[:, 0] + X[:, 1] > 0)],
        "many",
    )


def dense_numbers() -> DataSet:
    """Return heavy-tailed columns on very different scales, some of them copies or constants."""
    random = np.random.default_rng(9)
    X = np.exp(random.standard_normal((150, 40))) * 10.0 ** random.integers(-3, 4, 40)
    X[:, 7], X[:, 8], X[:, 9] = X[:, 3], 5.0, 0.0
    return DataSet(csr_array(X), X[:, 3] / X[:, 3].std() - X[:, 5] / X[:, 5].std(), "numbers")


SETS: dict[str, Callable[[], DataSet]] = {
    "words": lambda: shipped("basehock.train", 150, 300),
    "credit": lambda: shipped("german", 200, 24),
    "genes": lambda: shipped("leukemia", 72, 150),
    "dna": lambda: shipped("splice", 150, 60),
    "thyroid": lambda: shipped("thyroid", 150, 5),
    "ties": lambda: sparse(200, 40, 3, target="two"),
    "four": lambda: sparse(200, 40, 4, target="many"),
    "letters": lambda: sparse(100, 70, 5, target="many"),
    "sparse numbers": lambda: sparse(200, 40, 6, target="numbers"),
    "dense numbers": dense_numbers,
}
data_set = cache(lambda name: SETS[name]())


def digest(value: Any) -> str:
    """Return six hex digits of a value that JSON or an array can hold."""
    data = (
        value.tobytes()
        if isinstance(value, np.ndarray)
        else json.dumps(value, sort_keys=True, default=str).encode()
    )
    return hashlib.sha256(data).hexdigest()[:6]


def digests(selector: Any, X: Any) -> str:
    """Return the digests of all aspects of what was learned."""
    selection = selector.selection()
    weights = predictions = draw = None
    if hasattr(selector, "coef_"):
        coef = csr_array(selector.coef_)
        weights = [
            digest(coef.data),
            digest(coef.indices),
            digest(np.asarray(selector.intercept_, np.float64)),
        ]
    if hasattr(selector, "predict"):
        asked = [
            name
            for name in ("predict", "decision_function", "predict_proba")
            if hasattr(selector, name)
        ]
        predictions = [np.asarray(getattr(selector, name)(X[:40])).tolist() for name in asked]
    random = selector.model().header.get("random")
    if random is not None and "random_state" in selector.get_params():
        generator = np.random.default_rng()
        draw = []
        for state in random:
            generator.bit_generator.state = state
            draw.append(int(generator.integers(1 << 40)))
    result_summary, counted = (
        selector.learner.results.result_summary(),
        selector.learner.results.counters(),
    )
    counters = [
        selector.n_rows_,
        selector.n_nonzero_,
        selector.n_features_in_,
        counted.mistakes,
        counted.updates,
    ]
    counters += [result_summary.curve, result_summary.measures, dict(result_summary.details)]
    values = (
        selection.indices.astype(np.int64),
        selection.scores,
        weights,
        counters,
        predictions,
        draw,
    )
    return " ".join("-" if value is None else digest(value) for value in values)


def learn_in_all_ways(
    method: str, params: dict[str, Any], data: DataSet, folder: Path
) -> Iterator[tuple[str, Any]]:
    """Yield every way of giving the data, with the selector that learned from it."""
    make = estimator_class(method)
    reads, (X, y, kind) = find_method(method).reads, data
    params = dict(params)
    if make.method.supports_groups:
        params["groups"] = None
    groups = {"groups": np.arange(X.shape[1]) // 3} if params.pop("groups", 0) is None else {}
    new = lambda: make(**params)  # noqa: E731
    yield "whole", new().fit(X, y, **groups)
    yield "dense", new().fit(X.toarray(), y, **groups)
    path = folder / ("rows.parquet" if kind == "many" else "rows.svm")
    write_rows(path, ArraySource(X, y).row_blocks(), n_features=X.shape[1])
    yield "file", new().fit_source(ss.open_source(path), **groups)
    if reads == "matrix":
        new().fit(X, y).save(folder / "model")
        yield "continued", ss.load(folder / "model")
        return
    if reads == "rows":
        classes = {} if kind == "numbers" else {"classes": np.unique(y)}
        parts = [(X[at : at + 37], y[at : at + 37]) for at in range(0, X.shape[0], 37)]
        learn = lambda selector, part: selector.partial_fit(*part, **classes)  # noqa: E731
    else:
        columns = X.tocsc()
        parts = [(columns[:, at : at + 7], at) for at in range(0, X.shape[1], 7)]

        def learn(selector: Any, part: Any) -> Any:
            ids = np.arange(part[1], part[1] + part[0].shape[1])
            numbers = {"groups": groups["groups"][ids]} if groups else {}
            return selector.partial_fit_columns(part[0], y, feature_ids=ids, **numbers)

    for way, saved_after in (("chunked", -1), ("continued", len(parts) // 2)):
        selector = new()
        for number, part in enumerate(parts):
            learn(selector, part)
            if number == saved_after:
                selector.save(folder / "model")
                selector = ss.load(folder / "model")
        yield way, selector
    described = find_method(method)
    if (described.merges or described.can_select_again) and "max_cells" not in params:
        if reads == "rows":  # enough of them for several rounds
            many = np.random.default_rng(2).integers(0, X.shape[0], 2500)
            X, y = X[many], y[many]
        ss.select(
            (X, y), method, engine="local", workers=2, output=folder / "run", **groups, **params
        )
        yield "workers", ss.load(folder / "run" / "model")


def run_case(case: tuple[str, str, str]) -> tuple[tuple[str, str, str], dict[str, str]]:
    """Return a case with the digests of every way, or with what was raised instead."""
    method, params, name = case
    data = data_set(name)
    digest_of_way: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for way, selector in learn_in_all_ways(method, json.loads(params), data, Path(folder)):
                made = digests(selector, data.X.toarray() if way == "dense" else data.X)
                digest_of_way[way] = (
                    SAME if way != "whole" and made == digest_of_way["whole"] else made
                )
        except ValueError as error:
            digest_of_way["refused"] = type(error).__name__
    return case, digest_of_way


def cases() -> Iterator[tuple[str, str, str]]:
    """Yield method, parameters as JSON and set, wherever the method can learn the target."""
    for method in METHODS:
        described = find_method(method)
        for params in ({}, *described.check_variants, *MORE_VARIANTS.get(method, ())):
            for name in SETS:
                kind = data_set(name).kind
                task = (
                    {"task": "regression"}
                    if kind == "numbers" and "task" in described.parameter_names
                    else {}
                )
                if ("numbers" if kind == "numbers" else "classes") in described.targets:
                    budget = {"n_features_to_select": 7} if described.reads == "rows" else {}
                    seed = (
                        {"random_state": 1} if "random_state" in described.parameter_names else {}
                    )
                    yield method, json.dumps({**budget, **task, **seed, **params}), name


def differences(recorded: dict[str, str], current: dict[str, str]) -> list[str]:
    """Return the differences, by way of learning and by aspect."""
    said = []
    for way in sorted(recorded.keys() | current.keys()):
        old, new = recorded.get(way, ""), current.get(way, "")
        if old == new:
            continue
        pairs = zip(ASPECTS, old.split(), new.split(), strict=False)
        aspects = (
            [aspect for aspect, before, after in pairs if before != after]
            if len(old) == len(new) > 1
            else []
        )
        said.append(f"{way}: {', '.join(aspects) or f'{old!r}, now {new!r}'}")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--record", action="store_true", help="write the file instead of comparing with it"
    )
    parser.add_argument("--file", type=Path, default=RECORDED)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    options = parser.parse_args()
    before = json.loads(options.file.read_text()) if options.file.exists() else {}
    asked = list(cases()) if options.record else [tuple(key.split(" | ")) for key in before]
    asked = [case for case in asked if case[0] in options.methods]
    start, current, wrong = time.perf_counter(), {}, 0
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for case, made in pool.imap(run_case, asked, chunksize=8):
            key = " | ".join(case)
            if options.record and "whole" not in made:
                continue  # not for such a target
            current[key] = made
            if not options.record and (said := differences(before[key], made)):
                wrong += 1
                print(f"{key}\n    " + "\n    ".join(said))
    if options.record:
        others = {
            key: made for key, made in before.items() if key.split(" | ")[0] not in options.methods
        }
        lines = (
            f" {json.dumps(key)}: {json.dumps(made)}" for key, made in (others | current).items()
        )
        options.file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    ways = sum(len(made) for made in current.values())
    print(
        f"{len(current)} cases, {ways} digests, {wrong} differ, {time.perf_counter() - start:.0f} s"
    )
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
