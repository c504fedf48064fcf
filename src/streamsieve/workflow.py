"""The verbs that the command line and a notebook share: select, resume, apply, predict, describe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from .blocks import RowBlock
from .errors import DataError, UsageError
from .files import LONGEST_STEM, clear_partial
from .kernels.rows.scores import keep_selected
from .learning import Progress, Watch, learn, learn_at_once, learn_columns
from .machine import available_memory, peak_memory
from .persistence import read_model
from .registry import learner_class, load_learner
from .runs import REQUEST, RunDirectory, fingerprint, refuse_changed
from .selection import RunRecord
from .selectors.base import plain
from .selectors.columns.base import ColumnLearner
from .selectors.matrix.base import MatrixLearner
from .selectors.rows.addresses import table_addresses
from .selectors.rows.base import RowLearner
from .sources import open_like, open_source, refuse_target
from .sources.base import ColumnSource, Source, by_rows
from .sources.buckets import transposed
from .sources.column_lists import FEATURES_WRITTEN, ColumnListSource
from .sources.writers import needs_width, refuse_other_than_columns, write_columns, write_rows

ASKED = {  # what run.json tells
    *("method", "params", "data", "test", "classes", "target", "zero_based", "groups", "seed", "checkpoint_every"),
    "fingerprint",
}


def select(
    data: Any,
    method: str = "sofs",
    n_features_to_select: int | float | None = None,
    *,
    test: Any = None,
    classes: Any = None,
    target: str | None = None,
    zero_based: bool = False,
    groups: str | Path | None = None,
    seed: int | None = None,
    output: str | Path | None = None,
    checkpoint_every: int | None = None,
    watch: Watch | None = None,
    **params: Any,
) -> RunRecord:
    """Select features from data in one go.

    Parameters
    ----------
    data : path, source or pair (X, y)
        What to learn from; see ``open_source`` for the files that can be read.
    method : str
        A name that ``streamsieve methods`` lists.
    n_features_to_select : int or float, optional
        The budget; the method's own default if it is not given.
    test : path, source or pair (X, y), optional
        Rows to measure the accuracy on afterwards.
    classes, target, zero_based
        As in ``fit_source`` and ``open_source``.
    groups : path, optional
        A text file with the group of every feature, a whole number a line, for methods that know groups.
    seed : int, optional
        ``random_state`` for methods that draw.
    output : path, optional
        A new or empty folder for the model, the selection and the record.
    checkpoint_every : int, optional
        Keep what was learned in ``output`` every so many rows, for ``resume``.
    watch : callable, optional
        Told how far the run is, after every block.
    **params
        Parameters of the method.
    """
    if n_features_to_select is not None:
        params["n_features_to_select"] = n_features_to_select
    request = {
        "method": method,
        "params": {name: plain(value) for name, value in params.items()},
        "data": _place(data),
        "test": _place(test),
        "classes": None if classes is None else np.asarray(classes).tolist(),
        "target": target,
        "zero_based": zero_based,
        "groups": None if groups is None else str(Path(groups).absolute()),
        "seed": plain(seed),
        "checkpoint_every": plain(checkpoint_every),
    }
    if checkpoint_every is not None and (output is None or checkpoint_every < 1):
        raise UsageError("checkpoints need a folder (-o RUN_DIR) and a number of rows of 1 or more")
    if checkpoint_every is not None and request["data"] is None:
        raise UsageError("checkpoints are for rows that can be read again: of a file, not of memory or a pipe")
    selector = _selector(request)
    if not isinstance(selector, RowLearner):
        refuse_options_of_rows(request, test)
    if groups is not None and not getattr(selector, "knows_groups", False):
        raise UsageError(f"{method} knows no groups of features; group-saola and ogfs do")
    source = open_source(data, target, zero_based)
    test_source = _open_test(test, request, source)
    request["fingerprint"] = _fingerprint(data)
    folder = None if output is None else RunDirectory(output)
    if folder is None:
        return _run(request, selector, source, test_source, None, [], watch)
    folder.begin(request)
    try:
        return _run(request, selector, source, test_source, folder, [], watch)
    finally:
        folder.release()


def resume(run_dir: str | Path, watch: Watch | None = None) -> RunRecord:
    """Go on with a run from its last checkpoint, or from the first row; a finished one gives its record again."""
    folder = RunDirectory(run_dir)
    request = folder.request()
    record = folder.result()
    if record:
        return record
    missing = ASKED - set(request)
    if missing:
        raise DataError(f"{folder / REQUEST}: damaged, or of another version (no {min(missing)!r}); start a new run")
    if request["data"] is None:
        raise UsageError(f"{run_dir}: the run read its rows from memory or a pipe and cannot be resumed")
    refuse_changed(request["fingerprint"])
    folder.lock()
    try:
        selector, trace = _checkpoint(folder.checkpoint) if folder.checkpoint else (_selector(request), [])
        source = open_source(request["data"], request["target"], request["zero_based"])
        test_source = _open_test(request["test"], request, source)
        return _run(request, selector, source, test_source, folder, trace, watch)
    finally:
        folder.release()


def _checkpoint(path: Path) -> tuple[Any, list[dict[str, int]]]:
    """What had been learned, and the trace up to there."""
    try:
        return load_learner(path), read_model(path)[0]["note"]["trace"]
    except DataError as error:
        raise DataError(f"{error}; remove it to go on from the first row") from error


def apply(
    run_dir: str | Path, data: Any, output: str | Path, target: str | None = None, zero_based: bool = False
) -> int:
    """Write ``data`` with the selected columns only, numbered in ascending order of id; the number of rows."""
    selector, source = _trained(run_dir, data, target, zero_based)
    selection = selector.selection()
    lookup = table_addresses(selection.indices)
    blocks = (_reduced(block, lookup.table, lookup.ids, len(selection)) for block in source.row_blocks())
    names = np.array([f"x{feature}" for feature in selection.indices]) if selection.names is None else selection.names
    table_target = source.target
    return write_rows(
        Path(output), blocks, names, n_features=len(selection), zero_based=zero_based, target=table_target
    )


def predict(
    run_dir: str | Path, data: Any, target: str | None = None, zero_based: bool = False
) -> Iterator[tuple[NDArray[Any], NDArray[Any] | None]]:
    """The predicted labels of ``data`` and its own, block by block."""
    selector, source = _trained(run_dir, data, target, zero_based)
    if not isinstance(selector, RowLearner):
        raise UsageError(f"{run_dir}: {selector.method} selects features and predicts nothing; apply the selection")
    return ((selector.classify(selector.decision_function_block(block)), block.y) for block in source.row_blocks())


def accuracy(predictions: Iterable[tuple[NDArray[Any], NDArray[Any] | None]]) -> float | None:
    """The share of right labels, after all predictions were taken; None for rows without labels."""
    right = rows = 0
    for predicted, y in predictions:
        if y is not None:
            right += int(np.count_nonzero(predicted == y))
            rows += len(y)
    return right / rows if rows else None


def convert(data: Any, output: str | Path, target: str | None = None, zero_based: bool = False) -> int:
    """Write ``data`` in the format that the suffix of ``output`` names; the number of rows.

    Rows that do not tell how wide they are may be read once before, to find out: ids then take half the room.
    """
    source, path = open_source(data, target, zero_based), Path(output)
    width = source.n_features
    if width is None and source.rewindable and needs_width(path):
        width = max(block.n_features for block in source.row_blocks())
    return write_rows(path, source.row_blocks(), source.feature_names, width, zero_based)


def convert_to_columns(
    data: Any,
    output: str | Path,
    target: str | None = None,
    zero_based: bool = False,
    memory: int | str | None = None,
    watch: Watch | None = None,
) -> int:
    """Write ``data`` to a Parquet or Arrow file column by column; the number of features.

    Rows are turned around within ``memory`` bytes, "2GB" or the like, half of what is available if it is not given:
    through a folder beside the output if they do not fit. What was interrupted goes on there when asked for again.
    """
    path = Path(output)
    refuse_other_than_columns(path)
    budget = available_memory() // 2 if memory is None else min(read_size(memory), available_memory())
    source = open_source(data, target, zero_based)

    def report(unit: str, done: int, total: int | None) -> None:
        if watch and unit == FEATURES_WRITTEN:
            watch(Progress(done, total, None, None, None, unit))
        elif watch:
            watch(Progress(done, total, source.bytes_read, source.n_bytes, None, unit))

    if isinstance(source, ColumnSource):
        return write_columns(path, source, report)
    stamp = {"data": _fingerprint(data), "target": target, "zero_based": zero_based, "memory": memory}
    if _place(data) is None:
        stamp["data"] = uuid4().hex  # what is in memory or a pipe is never the same again
    with transposed(source, budget, work_folder(path), stamp, report) as columns:
        if work_folder(path).exists():  # and locked
            clear_partial(path)
        return write_columns(path, columns, report)


def work_folder(output: Path) -> Path:
    """Where rows are turned around on their way to a file of columns."""
    return output.with_name(f".{output.name[:LONGEST_STEM]}.columns")


def read_size(size: int | str) -> int:
    """A number of bytes, or a text such as 2GB, 500 MB or 1.5GiB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)b?\s*", str(size), re.IGNORECASE)
    if not found or float(found[1]) == 0:
        raise UsageError(f"memory {size!r}: expected a size such as 2GB or 500MB")
    power = " kmgt".index(found[2].lower() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


def describe(source: Source) -> dict[str, Any]:
    """What is in a source, from one pass over it."""
    rows = nonzeros = width = changes = 0
    lowest, highest = np.inf, -np.inf
    labels: dict[Any, int] = {}
    last: Any = None
    for n_rows, n_features, values, y in _parts(source):
        rows, nonzeros, width = rows + n_rows, nonzeros + values.size, max(width, n_features)
        there = values[~np.isnan(values)]
        if there.size:
            lowest, highest = min(lowest, float(there.min())), max(highest, float(there.max()))
        if y is not None and len(y):
            known, counts = np.unique(y, return_counts=True)
            for label, count in zip(known.tolist(), counts.tolist(), strict=True):
                labels[label] = labels.get(label, 0) + count
            changes += int(np.count_nonzero(y[1:] != y[:-1])) + int(rows > n_rows and y[0] != last)
            last = y[-1]
    return {
        "rows": rows,
        "features": width,
        "nonzeros": nonzeros,
        "nonzeros_per_row": nonzeros / rows,
        "density": nonzeros / (rows * width) if width else 0.0,
        "smallest_value": lowest if lowest <= highest else None,
        "largest_value": highest if lowest <= highest else None,
        "labels": {_label_key(label): count for label, count in sorted(labels.items())},
        "label_changes": changes,
        "named": source.has_names,
    }


def _parts(source: Source) -> Iterator[tuple[int, int, NDArray[Any], NDArray[Any] | None]]:
    """Rows, width, values and labels of all of a source, a part at a time; of a file of columns, column by column."""
    if isinstance(source, ColumnListSource):
        yield source.y.size, source.n_features or 0, np.empty(0), source.y
        for columns in source.column_blocks():
            yield 0, 0, columns.values, None
        return
    for block in source.row_blocks():
        yield block.n_rows, block.n_features, block.values[block.indptr[0] : block.indptr[-1]], block.y


def _label_key(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _place(data: Any) -> str | None:
    """Where data can be found again: an absolute path or a synthetic name; None for what is in memory or a pipe."""
    if not isinstance(data, str | Path) or str(data) == "-":
        return None
    return str(data) if str(data).startswith("synthetic:") else str(Path(data).absolute())


def _fingerprint(data: Any) -> dict[str, Any]:
    place = _place(data)
    if place is None or place.startswith("synthetic:"):
        return {"name": place}
    return fingerprint(Path(data))


def _selector(request: dict[str, Any]) -> Any:
    """The selector a request names, its parameters checked before anything is read."""
    known = learner_class(request["method"])
    names = known.parameter_names()
    params = dict(request["params"])
    refuse_unknown_parameters(request["method"], params)
    if request["seed"] is not None and "random_state" in names:
        params.setdefault("random_state", request["seed"])
    selector = known(**params)
    try:
        selector.check_parameters()
    except ValueError as error:
        raise UsageError(str(error)) from None
    return selector


def refuse_options_of_rows(request: dict[str, Any], test: Any) -> None:
    """A method that takes columns or the whole matrix predicts nothing, and sees all rows at once."""
    method = request["method"]
    if test is not None:
        raise UsageError(
            f"{method} selects features and predicts nothing, so there is no accuracy to test; apply the selection and "
            "train a model on what it leaves"
        )
    if request["checkpoint_every"] is not None:
        raise UsageError(f"checkpoints are for methods that learn row by row; {method} sees all rows at once")
    if request["classes"] is not None:
        raise UsageError(f"{method} takes the classes from the target; leave --classes away")


def refuse_unknown_parameters(method: str, params: Iterable[str]) -> None:
    names = learner_class(method).parameter_names()
    for name in params:
        if name not in names:
            raise UsageError(f"{method} has no parameter {name!r}; it has {', '.join(names)}")


def _open_like(data: Any, names: NDArray[Any] | None, target: str | None, zero_based: bool) -> Source:
    """Data like that of a training; the columns of a table are found by name, in whatever order they stand.

    Other data that names its features must name them in the same order. The ``target`` is for tables alone.
    """
    columns = None if names is None else [str(name) for name in names]
    source = by_rows(open_like(data, target, zero_based, columns))
    if columns is not None and source.feature_names is not None:
        for position, (known, found) in enumerate(zip(columns, source.feature_names, strict=False)):
            if known != found:
                raise DataError(
                    f"{source.name}: feature {position} is {str(found)!r}, but {known!r} in the training; bring the "
                    "columns into that order"
                )
    return source


def _open_test(test: Any, request: dict[str, Any], source: Source) -> Source | None:
    """The rows to test on, opened before the training so that a wrong name costs no time."""
    if test is None:
        return None
    rows = _open_like(test, source.feature_names, request["target"], request["zero_based"])
    if not rows.has_labels:
        raise DataError(f"{rows.name}: the rows to test on have no labels, and the accuracy needs them")
    return rows


def _trained(run_dir: str | Path, data: Any, target: str | None, zero_based: bool) -> tuple[Any, Source]:
    """The model of a run and a source for data like that it learned from."""
    folder = RunDirectory(run_dir)
    selector = load_learner(folder.model())
    names = getattr(selector, "feature_names_in_", None)
    source = _open_like(data, names, target or folder.request().get("target"), zero_based)
    if target is not None:
        refuse_target(source)
    return selector, source


def _reduced(block: RowBlock, table: NDArray[np.int32], ids: NDArray[np.int64], width: int) -> RowBlock:
    indptr = np.zeros(block.n_rows + 1, np.int64)
    indices = np.empty(block.n_nonzero, np.int32)
    values = np.empty(block.n_nonzero, np.float32)
    kept = keep_selected(table, ids, block.indptr, block.indices, block.values, indptr, indices, values)
    return RowBlock(indptr, indices[:kept], values[:kept], block.y, width, block.origin)


def _run(
    request: dict[str, Any],
    selector: Any,
    source: Source,
    test: Source | None,
    folder: RunDirectory | None,
    trace: list[dict[str, int]],
    watch: Watch | None,
) -> RunRecord:
    try:
        if isinstance(selector, ColumnLearner):
            record = learn_columns(request, selector, source, watch)
        elif isinstance(selector, MatrixLearner):
            record = learn_at_once(request, selector, source)
        else:
            record = learn(request, selector, source, folder, trace, watch)
        if test is not None:
            record.test_accuracy = accuracy(
                (selector.classify(selector.decision_function_block(block)), block.y) for block in test.row_blocks()
            )
        record.peak_memory_bytes = peak_memory()
        if folder:
            folder.finish(record, selector)
    except BaseException as error:
        if folder:
            folder.discard(hopeless=isinstance(error, DataError))
        raise
    return record
