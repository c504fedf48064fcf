"""Which way a learner is trained on the workers of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..class_search import with_all_classes
from ..engine_choice import EngineChoice
from ..errors import UsageError, spell
from ..recording import Trace
from ..selectors.base import AnyLearner
from ..selectors.columns.learner import ColumnLearner
from ..sources.base import ColumnSource, DataSource, by_rows
from ..training import Checkpoint, Training, Watch, remarks_on
from .asyos import train_asyos
from .columns import refuse_not_selected_again, train_column_shards
from .opening import open_engine
from .rows import NOTHING, refuse_not_merged, train_row_shards


def refuse_on_engine(learner: AnyLearner, choice: EngineChoice, checkpoints: bool) -> None:
    """Refuse what cannot be trained on workers, before anything is read."""
    if learner.reads == "matrix":
        raise UsageError(
            f"{learner.method.name} needs the whole matrix at once and cannot be divided; omit"
            f" {spell('engine')}"
        )
    if learner.reads == "rows":
        refuse_not_merged(learner, choice.workers)
        return
    if not learner.method.is_asynchronous:
        refuse_not_selected_again(learner, choice.workers)
    if checkpoints:
        raise UsageError(
            f"checkpoints on an engine are for methods that take rows, and {learner.method.name}"
            f" takes columns; omit {spell('checkpoint_every')} or {spell('engine')}"
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
    note: Mapping[str, Any] = NOTHING,
) -> Training:
    """Learn from a source on workers, as ``training.train`` does in one process."""
    refuse_on_engine(learner, choice, checkpoint is not None)
    by_row = learner.reads == "rows"
    in_memory = source.matrix is not None or not (by_row or isinstance(source, ColumnSource))

    def attempt(classes: Any | None, again: bool) -> Training:
        with open_engine(choice, in_memory) as engine:
            if by_row:
                return train_row_shards(
                    learner,
                    by_rows(source),
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

    training = with_all_classes(learner, source, classes, attempt)
    training.remarks += remarks_on(source)
    training.details = {"name": choice.name, **training.details}
    return training
