"""Define an experiment of a paper: its data, how it is run, and its tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeVar

from streamsieve.machine import THREADS_VARIABLE, cores

from .data import Folders

R = TypeVar("R")
Cell = str | float | int | None


class Table(NamedTuple):
    """A table with figures of a paper and those measured here, side by side in a row."""

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    notes: Sequence[str] = ()  # for this table only, such as the meaning of a star


@dataclass
class Setting:
    """The setting of an experiment: its data, how much of it, and the number of processes."""

    data: Folders
    quick: bool = False
    jobs: int = 1
    say: Callable[[str], None] = field(default=lambda text: None)  # prints a line of progress

    def load(self, name: str, n_features: int | None = None) -> tuple[Any, Any]:
        """Return the sparse rows and labels of -1 and 1 of a data set.

        They are shared, and must not be changed.
        """
        return self.data.load(name, n_features)

    def map(
        self,
        work: Callable[..., R],
        arguments: Sequence[tuple[Any, ...]],
        labels: Sequence[str] | None = None,
    ) -> list[R]:
        """Return the results of ``work`` for every tuple of arguments, in order.

        It runs in ``jobs`` processes, so ``work`` must be a function of a module. Repeats use seeds
        among their arguments, so that the number of processes changes no figure. The labels report
        progress; a label that appears several times is printed once.
        """
        jobs, done = min(self.jobs, len(arguments)), []
        pool = None if jobs <= 1 else _processes(jobs)
        try:
            waiting: list[Callable[[], R]] = [
                partial(work, *values) if pool is None else pool.submit(work, *values).result
                for values in arguments
            ]
            for number, result in enumerate(waiting):
                if labels is not None and labels[number] not in labels[:number]:
                    self.say(labels[number])
                done.append(result())
        finally:
            if pool is not None:
                pool.shutdown(cancel_futures=True)
        return done


def _processes(jobs: int) -> ProcessPoolExecutor:
    """Return a pool of processes that share the cores."""
    return ProcessPoolExecutor(jobs, get_context("spawn"), _share_cores, (max(1, cores() // jobs),))


def _share_cores(threads: int) -> None:
    """Let this process use its part of the cores."""
    import warnings

    os.environ[THREADS_VARIABLE] = str(threads)
    # Small budgets are measured on purpose: advice on them is for users.
    warnings.simplefilter("ignore")


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper, run by the paper's protocol."""

    name: str  # "P1.table2"
    title: str
    paper: str
    data: tuple[str, ...]  # the sets that it reads
    minutes: float  # that a full run takes on two cores
    run: Callable[[Setting], list[Table]]
    notes: tuple[str, ...] = ()  # explanations of every deviation from the paper
    quick_data: tuple[str, ...] = ()  # the shipped sets that a quick run reads
