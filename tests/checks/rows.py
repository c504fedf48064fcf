"""Checks of every method on rows."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamsieve.blocks import RowBlock
from streamsieve.estimators import load
from streamsieve.sources import open_source
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.writers import write_rows
from streamsieve.state import arrays_of
from streamsieve.targets import Kind
from tests.checks import maker
from tests.checks.data import BUDGET, FEATURES, ROWS, sparse_stream
from tests.checks.maker import assert_refused_without_trace
from tests.checks.other_process import run_in_other_process

# the state of a target that depends on the names of labels, or on blocks
OF_LABELS = ("classes", "label_order")


class Maker(maker.Maker):
    """A maker of estimators of a method, with a budget small enough to matter."""

    def __init__(self, method: str, params: dict[str, Any], kind: Kind = "classes") -> None:
        super().__init__(method, params, kind)
        seed = (
            {"random_state": 5} if "random_state" in self.estimator.method.parameter_names else {}
        )
        self.params = {"n_features_to_select": BUDGET, **seed, **params}

    @property
    def classes(self) -> dict[str, Any]:
        """Return the classes of the stream, for methods that learn classes."""
        return {"classes": [-1, 1]} if self.kind == "classes" else {}

    @property
    def scales_features(self) -> bool:
        """Return True if dense rows are centred and sparse ones are not, so that they differ."""
        return str(self.params.get("normalize")).startswith("standard")

    @property
    def shares_cells(self) -> bool:
        """Return True if features share cells by a hash of their ids.

        Other ids then give another answer.
        """
        return self.params.get("max_cells") is not None


def learned(selector: Any) -> dict[str, Any]:
    """Return all results of learning that a user can see."""
    selection = selector.selection()
    learner = selector.learner
    memory, results = learner.memory, learner.results
    small_budgets = [] if memory.small_budgets is None else memory.small_budgets.members
    arrays = arrays_of(memory.target.state()).items()
    target = {
        name: np.nan_to_num(array).tolist() for name, array in arrays if name not in OF_LABELS
    }  # nan != nan
    return {
        "indices": selection.indices.tolist(),
        "scores": selection.scores.tolist(),
        "weights": weights_of(selector, memory.state),
        "small_budgets": [weights_of(selector, small.state) for small in small_budgets],
        "curve": results.result_summary().curve,
        "bias": learner.rule.bias(memory.state).tolist(),
        "counters": list(results.counters()),
        "rows": selector.n_rows_,
        "target": target,
    }


def weights_of(selector: Any, state: Any) -> list[Any]:
    """Return the weights of kept features in ascending order of their ids."""
    ids, weights, _ = selector.learner.kept_by_state(state)
    sorted_weights: list[Any] = weights[np.argsort(ids)].tolist()
    return sorted_weights


def assert_same(actual: Any, expected: Any, what: str) -> None:
    """Assert that two estimators learned the same, to the last bit."""
    assert learned(actual) == learned(expected), f"{what}: {learned(actual)} != {learned(expected)}"


def check_many_classes(make: Maker) -> None:
    if make.kind == "numbers" or make.estimator.method.two_classes_only:
        return
    X, y = sparse_stream(make.kind)
    labels = np.array(["a", "b", "c", "d"])[(y > 0) + 2 * (X.toarray()[:, 0] > 0)]
    whole = make().fit(X, labels)
    assert whole.decision_function(X).shape == (ROWS, 4)
    assert whole.classes_.tolist() == ["a", "b", "c", "d"]
    for size in (1, 64):
        blocks = ArraySource(X, labels, block_rows=size)
        assert_same(
            make().fit_source(blocks, classes=list("abcd")),
            whole,
            f"four classes in blocks of {size} rows",
        )
    with tempfile.TemporaryDirectory() as folder:
        whole.save(Path(folder) / "model")
        assert_same(load(Path(folder) / "model"), whole, "four classes, loaded")


def check_rows_without_weight_are_as_good_as_absent(make: Maker) -> None:
    X, y = sparse_stream(make.kind)
    weights = np.tile([1.0, 0.0, 2.0], ROWS // 3)
    counted = weights > 0
    weighted = make().fit(X, y, sample_weight=weights)
    assert_same(
        weighted, make().fit(X[counted], y[counted], sample_weight=weights[counted]), "weights of 0"
    )


def check_block_size_does_not_matter(make: Maker) -> None:
    X, y = sparse_stream(make.kind)
    whole = make().fit_source(ArraySource(X, y, block_rows=ROWS))
    for size in (1, 7, 64):
        assert_same(
            make().fit_source(ArraySource(X, y, block_rows=size)), whole, f"blocks of {size} rows"
        )


def check_chunks_equal_one_fit(make: Maker) -> None:
    X, y = sparse_stream(make.kind)
    chunked = make()
    for start in range(0, ROWS, 37):
        chunked.partial_fit(X[start : start + 37], y[start : start + 37], **make.classes)
    assert_same(chunked, make().fit(X, y), "partial_fit in chunks")


def check_dense_sparse_and_file_agree(make: Maker) -> None:
    X, y = sparse_stream(make.kind)
    expected = make().fit(X, y)
    if not make.scales_features:
        assert_same(make().fit(X.toarray(), y), expected, "dense")
    assert_same(make().fit(X.tocsc(), y), expected, "CSC")
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".svm", ".svm.gz", ".parquet", ".arrow", ".npz"):
            path = Path(folder) / f"rows{suffix}"
            write_rows(path, ArraySource(X, y).row_blocks(), n_features=FEATURES)
            assert_same(make().fit_source(open_source(path)), expected, suffix)


def check_saved_model_goes_on_as_if_never_interrupted(make: Maker) -> None:
    X, y = sparse_stream(make.kind)
    half = ROWS // 2
    expected = make().partial_fit(X, y, **make.classes)
    with tempfile.TemporaryDirectory() as folder:
        path, rows = Path(folder) / "model", Path(folder) / "rest.npz"
        make().partial_fit(X[:half], y[:half], **make.classes).save(path)
        write_rows(rows, ArraySource(X[half:], y[half:]).row_blocks(), n_features=FEATURES)
        continued = learn_elsewhere(
            "import streamsieve as ss; from streamsieve.sources import open_source\n"
            "selector = ss.load(sys.argv[1])\n"
            "for block in open_source(sys.argv[2]).row_blocks():\n"
            "    selector.partial_fit_block(block)\n",
            [str(path), str(rows)],
        )
        loaded = load(path)
        assert_same(load(path), make().partial_fit(X[:half], y[:half], **make.classes), "loaded")
    assert continued == learned(expected), "learned half, saved, loaded elsewhere, learned the rest"
    assert loaded.get_params() == expected.get_params()


def check_kernels_agree_with_plain_python(make: Maker) -> None:
    X, y = sparse_stream(make.kind, rows=60)
    compiled = learned(make().fit(X, y))
    interpreted = learn_elsewhere(
        "from tests.checks.data import sparse_stream\nimport json; from tests.checks.rows import"
        " Maker\nselector = Maker(sys.argv[1],"
        " json.loads(sys.argv[2]))().fit(*sparse_stream(sys.argv[3], rows=60))\n",
        [make.method, json.dumps(make.params), make.kind],
        NUMBA_DISABLE_JIT="1",
    )
    assert interpreted["indices"] == compiled["indices"]
    assert interpreted["counters"][:2] == compiled["counters"][:2]
    for actual, expected in zip(
        [interpreted["weights"], *interpreted["small_budgets"]],
        [compiled["weights"], *compiled["small_budgets"]],
        strict=True,
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-6)
    np.testing.assert_allclose(interpreted["scores"], compiled["scores"], rtol=1e-6)


def check_budget_is_never_exceeded(make: Maker) -> None:
    X, y = sparse_stream(make.kind)
    for budget in (1, 3, FEATURES - 1, FEATURES + 10):
        selector = make(n_features_to_select=budget).start(FEATURES, **make.classes)
        for block in ArraySource(X, y, block_rows=5).row_blocks():
            selector.partial_fit_block(block)
            assert len(selector.selection()) <= min(budget, FEATURES)
        assert (
            len(selector.selection())
            == selector.transform(X).shape[1]
            == selector.get_support().sum()
        )
        assert len(selector.selection()) > min(budget, FEATURES) / 2


def check_same_seed_same_answer(make: Maker) -> None:
    X, y = sparse_stream(make.kind)
    assert_same(make().fit(X, y), make().fit(X, y), "the same seed twice")


def check_huge_ids_change_nothing(make: Maker) -> None:
    """Check that ids in the billions, in the same order, give the same answer.

    They go through the table of ids.
    """
    if make.shares_cells:
        return
    X, y = sparse_stream(make.kind)
    expected = learned(make().fit_source(ArraySource(X, y), **make.classes))
    spread = 5_000_000_000
    selector = make().start(**make.classes)
    for block in ArraySource(X, y, block_rows=50).row_blocks():
        selector.partial_fit_block(spread_out(block, spread))
    results = learned(selector)
    assert [index // spread for index in results["indices"]] == expected["indices"]
    assert {**results, "indices": None} == {**expected, "indices": None}


def check_plans_change_in_the_middle_of_a_run(make: Maker) -> None:
    """Check that a huge id has no effect on the answer.

    It makes a learner change from ids as positions to a table of ids.
    """
    if make.shares_cells:
        return
    X, y = sparse_stream(make.kind)
    blocks = list(ArraySource(X, y, block_rows=50).row_blocks())
    stray = RowBlock(
        np.array([0, 1]),
        np.array([10**12]),
        np.array([0.25], np.float32),
        np.array([1.0]),
        10**12 + 1,
    )
    expected, moved = make().start(**make.classes), make().start(**make.classes)
    for number, block in enumerate(blocks):
        if number == 3:
            expected.partial_fit_block(
                RowBlock(stray.indptr, np.array([FEATURES]), stray.values, stray.y, FEATURES + 1)
            )
            moved.partial_fit_block(stray)
        expected.partial_fit_block(block)
        moved.partial_fit_block(block)
    results = learned(moved)
    results["indices"] = [min(index, FEATURES) for index in results["indices"]]
    assert results == learned(expected)


def check_labels_can_be_anything(make: Maker) -> None:
    if make.kind == "numbers":
        return
    X, y = sparse_stream(make.kind)
    expected = make().fit(X, y)
    for negative, positive in (("ham", "spam"), (0, 1), (3.5, 7.25), (False, True)):
        labels: NDArray[Any] = np.where(y > 0, positive, negative)
        selector = make().fit(X, labels)
        assert_same(selector, expected, f"labels {negative!r} and {positive!r}")
        assert (selector.predict(X) == np.where(expected.predict(X) > 0, positive, negative)).all()
    objects = make().fit(X, np.where(y > 0, "spam", "ham").astype(object))
    assert_same(objects, expected, "labels that are objects")


def check_classes_met_on_the_way_equal_classes_given(make: Maker) -> None:
    """Check that without classes the first label alone does not decide which class is positive."""
    if make.kind == "numbers":
        return
    X, y = sparse_stream(make.kind)
    for first in (1.0, -1.0):
        order = np.argsort(y != first, kind="stable")[:20].tolist()
        order += [row for row in range(ROWS) if row not in order]
        with_classes = make().start(FEATURES, classes=[-1, 1])
        without_classes = make().start(FEATURES)
        for block in ArraySource(X[order], y[order], block_rows=10).row_blocks():
            with_classes.partial_fit_block(block)
            without_classes.partial_fit_block(block)
        assert_same(without_classes, with_classes, f"label {first} first")
        assert without_classes.classes_.tolist() == [-1, 1]


def check_rows_may_grow_wider(make: Maker) -> None:
    X, y = sparse_stream(make.kind)
    half = ROWS // 2
    left = X.tocsc()[:, : FEATURES // 2].tocsr()
    grown = (
        make().partial_fit(left[:half], y[:half], **make.classes).partial_fit(X[half:], y[half:])
    )
    full = make().start(FEATURES, **make.classes)
    for part, labels in ((left[:half], y[:half]), (X[half:], y[half:])):
        for block in ArraySource(part, labels).row_blocks():
            full.partial_fit_block(block)
    assert_same(grown, full, "columns that appear later")
    assert grown.n_features_in_ == FEATURES


def spread_out(block: RowBlock, spread: int) -> RowBlock:
    """Return the same rows with every id multiplied."""
    ids = block.indices.astype(np.int64) * spread
    return RowBlock(block.indptr, ids, block.values, block.y, block.n_features * spread)


def learn_elsewhere(script: str, arguments: list[str], **environment: str) -> dict[str, Any]:
    """Run a script that makes ``selector`` in another process; return what it learned."""
    report = "from tests.checks.rows import learned; found = learned(selector)"
    results: dict[str, Any] = run_in_other_process(
        f"import sys\n{script}{report}", arguments, **environment
    )
    return results


def check_refused_rows_leave_no_trace(make: Maker) -> None:
    """Check that rows that are refused change nothing, and learning continues.

    Refused are the first rows and later ones.
    """
    X, y = sparse_stream(make.kind)
    first, last = (
        ArraySource(X[part], y[part]) for part in (slice(ROWS // 2), slice(ROWS // 2, ROWS))
    )
    learner = make().start(FEATURES, **make.classes)
    good = next(iter(first.row_blocks()))
    labels, weights = np.array(good.y), np.ones(good.n_rows)
    labels[-1], weights[-1] = (np.inf if make.kind == "numbers" else 7), -1.0
    beyond = good.indices.copy()
    beyond[-1] = FEATURES
    for _ in range(2):
        assert_refused_without_trace(
            learner,
            good.with_target(labels, None),
            "target" if make.kind == "numbers" else "label 7",
        )
        assert_refused_without_trace(
            learner, good.with_target(np.array(good.y), weights), "sample_weight"
        )
        assert_refused_without_trace(
            learner, good.derived(indices=beyond), "must be at least 0 and below its width"
        )
        learner.partial_fit_block(good)
    expected = (
        make().start(FEATURES, **make.classes).partial_fit_block(good).partial_fit_block(good)
    )
    assert_same(
        learner.partial_fit_block(next(iter(last.row_blocks()))),
        expected.partial_fit_block(next(iter(last.row_blocks()))),
        "after rows that were refused",
    )


CHECKS = [
    check_many_classes,
    check_rows_without_weight_are_as_good_as_absent,
    check_block_size_does_not_matter,
    check_chunks_equal_one_fit,
    check_dense_sparse_and_file_agree,
    check_saved_model_goes_on_as_if_never_interrupted,
    check_kernels_agree_with_plain_python,
    check_budget_is_never_exceeded,
    check_same_seed_same_answer,
    check_huge_ids_change_nothing,
    check_plans_change_in_the_middle_of_a_run,
    check_labels_can_be_anything,
    check_classes_met_on_the_way_equal_classes_given,
    check_rows_may_grow_wider,
    check_refused_rows_leave_no_trace,
]
