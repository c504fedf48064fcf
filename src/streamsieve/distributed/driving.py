"""Train a learner on the workers of an engine, in the way that its method supports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..class_search import train_with_all_classes
from ..engine_choice import EngineChoice
from ..errors import UsageError, spell
from ..recording import Trace
from ..selectors.base import AnyLearner
from ..selectors.columns.learner import ColumnLearner
from ..sources.base import ColumnSource, DataSource, as_row_source
from ..training import Checkpoint, Training, Watch, findings_on
from .asyos import train_asyos
from .columns import check_selects_again, train_column_shards
from .engine import Engine
from .rows import EMPTY_NOTE, check_mergeable, train_row_shards


def open_engine(choice: EngineChoice, in_memory: bool = False) -> Engine:
    """Return the engine that was chosen.

    The workers of the local engine are threads if the data is in memory, otherwise processes.
    """
    if choice.name == "ray":
        try:
            from .ray_engine import RayEngine
        except ModuleNotFoundError as error:
            if error.name != "ray":
                raise
            raise UsageError("the ray engine needs Ray: pip install 'streamsieve[ray]'") from error
        return RayEngine(choice.workers, choice.address)
    from .local import ProcessEngine, ThreadEngine

    return ThreadEngine(choice.workers) if in_memory else ProcessEngine(choice.workers)


def check_engine_support(learner: AnyLearner, choice: EngineChoice, checkpoints: bool) -> None:
    """Raise UsageError if a learner cannot be trained on workers, before data is read."""
    if learner.reads == "matrix":
        raise UsageError(
            f"{learner.method.name} needs the whole matrix at once and cannot be trained on several"
            f" workers; omit {spell('engine')}"
        )
    if learner.reads == "rows":
        check_mergeable(learner, choice.workers)
        return
    if not learner.method.is_asynchronous:
        check_selects_again(learner, choice.workers)
    if checkpoints:
        raise UsageError(
            f"{learner.method.name} learns from columns, and checkpoints on an engine are supported"
            " only by methods that learn from rows; omit"
            f" {spell('checkpoint_every')} or {spell('engine')}"
        )


def train_on(
    choice: EngineChoice,
    learner: AnyLearner,
    source: DataSource,
    *,
    classes: Any | None = None,
    groups: Any | None = None,
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
    trace: Trace | None = None,
    note: Mapping[str, Any] = EMPTY_NOTE,
) -> Training:
    """Learn from a source on workers, as ``training.train`` does in one process."""
    check_engine_support(learner, choice, checkpoint is not None)
    by_row = learner.reads == "rows"
    in_memory = source.matrix is not None or not (by_row or isinstance(source, ColumnSource))

    def attempt(classes: Any | None, again: bool) -> Training:
        with open_engine(choice, in_memory) as engine:
            if by_row:
                return train_row_shards(
                    learner,
                    as_row_source(source),
                    engine,
                    classes=classes,
                    watch=watch,
                    checkpoint=checkpoint,
                    trace=None if again else trace,
                    note=note,
                )
            if learner.method.is_asynchronous:
                return train_asyos(cast(ColumnLearner, learner), source, engine, watch=watch)
            return train_column_shards(learner, source, engine, groups=groups, watch=watch)

    training = train_with_all_classes(learner, source, classes, attempt)
    training.findings += findings_on(source)
    training.details = {"name": choice.name, **training.details}
    return training
