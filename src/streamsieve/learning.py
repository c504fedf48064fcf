"""How a run learns: block by block, with a look at the mistakes, checkpoints and progress on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .blocks import RowBlock
from .errors import DataError, UsageError
from .machine import peak_memory
from .runs import CHECKPOINT, RunDirectory
from .selection import RunRecord
from .selectors.matrix.data import matrix_of
from .sources.base import Source
from .sources.columns import by_columns

FIRST_TRACE_ROW = 1000  # the trace notes the mistakes at this row and at every doubling of it


class Progress(NamedTuple):
    """How far a run is; what is not known is None."""

    rows: int
    n_rows: int | None
    bytes: int | None
    n_bytes: int | None
    mistakes: int | None
    unit: str = "rows"  # what ``rows`` and ``n_rows`` count: "features" for methods that go over columns


Watch = Callable[[Progress], None]


def learn(
    request: dict[str, Any],
    selector: Any,
    source: Source,
    folder: RunDirectory | None,
    trace: list[dict[str, int]],
    watch: Watch | None,
) -> RunRecord:
    began = time.perf_counter()
    every = request["checkpoint_every"]
    if not selector.started:
        selector.start(selector.width_for(source), request["classes"], source.feature_names)
    learn = 0.0
    for block in _pieces(source, selector.n_epochs, selector.n_rows_, every):
        start = time.perf_counter()
        selector.partial_fit_block(block)
        learn += time.perf_counter() - start
        rows = selector.n_rows_
        if rows == _next_trace_row(rows - 1):
            trace.append(_trace_point(selector))
        if folder and every and rows % every == 0:
            selector.save(folder / CHECKPOINT, {"trace": trace})
        if watch:
            watch(_progress(selector, source))
    selector.finish(source.name)
    if not trace or trace[-1]["rows"] != selector.n_rows_:
        trace.append(_trace_point(selector))
    total = time.perf_counter() - began
    return RunRecord(
        method=request["method"],
        params=selector.parameters(),
        n_rows=selector.n_rows_,
        n_features=selector.n_features_in_,
        n_nonzero=selector.n_nonzero_,
        selection=selector.selection(),
        mistakes=getattr(selector, "mistakes_", None),
        updates=getattr(selector, "updates_", None),
        seconds={"total": total, "read": total - learn, "learn": learn},
        peak_memory_bytes=peak_memory(),
        curve=_curve_of(selector),
        trace=trace,
        data=request.get("fingerprint", {}),
        open_selector=partial(_estimator, selector),
    )


def learn_columns(request: dict[str, Any], selector: Any, source: Source, watch: Watch | None) -> RunRecord:
    """A run of a method for columns: all of them offered, one block after the other."""
    began = time.perf_counter()
    groups = None if request["groups"] is None else read_groups(Path(request["groups"]))
    columns = by_columns(source)
    if groups is not None and groups.size < (columns.n_features or 0):
        raise DataError(
            f"{request['groups']}: {groups.size:,} groups for {columns.n_features:,} features; give a line for each"
        )
    selector.start(columns.targets(), columns.name)
    learn = 0.0
    for block in columns.column_blocks():
        start = time.perf_counter()
        selector.partial_fit_block(block if groups is None else replace(block, groups=groups[block.ids]))
        learn += time.perf_counter() - start
        if watch:
            watch(Progress(selector.n_features_seen_, columns.n_features, None, None, None, "features"))
    selector.finish(columns.name)
    selector.n_features_in_ = max(selector.n_features_in_, columns.n_features or 0)
    return _record_of_columns(request, selector, time.perf_counter() - began, learn)


def learn_at_once(request: dict[str, Any], selector: Any, source: Source) -> RunRecord:
    """A run of a method that needs the whole matrix."""
    began = time.perf_counter()
    matrix, y = matrix_of(source)
    start = time.perf_counter()
    selector.fit_matrix(matrix, y)
    end = time.perf_counter()
    return _record_of_columns(request, selector, end - began, end - start)


def _record_of_columns(request: dict[str, Any], selector: Any, total: float, learn: float) -> RunRecord:
    """The record of a method that predicts nothing."""
    return RunRecord(
        method=request["method"],
        params=selector.parameters(),
        n_rows=selector.n_rows_,
        n_features=selector.n_features_in_,
        n_nonzero=selector.n_nonzero_,
        selection=selector.selection(),
        mistakes=None,
        updates=None,
        seconds={"total": total, "read": total - learn, "learn": learn},
        peak_memory_bytes=peak_memory(),
        measures=getattr(selector, "measures_", None),
        data=request.get("fingerprint", {}),
        open_selector=partial(_estimator, selector),
    )


def read_groups(path: Path) -> NDArray[np.int64]:
    """The group of every feature, a whole number a line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip().isascii() or not line.strip().isdigit():
            raise DataError(f"{path}:{number}: {line[:40]!r} is no group; groups are whole numbers of 0 or more")
    return np.array(lines, np.int64)


def _curve_of(selector: Any) -> dict[str, list[Any]] | None:
    curve = getattr(selector, "curve_", None)
    return None if curve is None else {name: values.tolist() for name, values in curve.items()}


def _estimator(selector: Any) -> Any:
    from .estimators import as_estimator

    return as_estimator(selector)


def _pieces(source: Source, n_epochs: int, done: int, every: int | None) -> Iterator[RowBlock]:
    """The blocks of all epochs behind the rows already learned, cut where the trace or a checkpoint wants to look."""
    if n_epochs > 1 and not source.rewindable:
        raise UsageError(f"{source.name}: n_epochs > 1 reads the rows again, and these can be read only once")
    rows = 0
    for _ in range(n_epochs):
        for block in source.row_blocks():
            at = min(max(0, done - rows), block.n_rows)
            while at < block.n_rows:
                cuts = [_next_trace_row(rows + at), *([(rows + at) // every * every + every] if every else [])]
                stop = min(block.n_rows, min(cuts) - rows)
                yield block.rows(at, stop)
                at = stop
            rows += block.n_rows
    if rows < done:
        raise DataError(f"{source.name}: has {rows:,} rows, but the checkpoint was written after {done:,}")


def _next_trace_row(rows: int) -> int:
    """The first row behind ``rows`` at which the trace is taken."""
    mark = FIRST_TRACE_ROW
    while mark <= rows:
        mark *= 2
    return mark


def _trace_point(selector: Any) -> dict[str, int]:
    point = {"rows": selector.n_rows_}
    for name in ("mistakes", "updates"):
        if hasattr(selector, f"{name}_"):
            point[name] = getattr(selector, f"{name}_")
    return point


def _progress(selector: Any, source: Source) -> Progress:
    return Progress(
        selector.n_rows_,
        source.n_rows,
        source.bytes_read,
        source.n_bytes,
        getattr(selector, "mistakes_", None),
    )
