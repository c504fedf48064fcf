"""An experiment of a paper: what it needs, how it is run, and the tables that come of it."""

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
    """Figures of a paper and those measured here, side by side in a row."""

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    notes: Sequence[str] = ()  # of this table alone, such as what a star in it means


@dataclass
class Setting:
    """How an experiment is to be run: with which data, how much of it, and by how many processes."""

    data: Folders
    quick: bool = False
    jobs: int = 1
    say: Callable[[str], None] = field(default=lambda text: None)  # one line on how far it is

    def load(self, name: str, n_features: int | None = None) -> tuple[Any, Any]:
        """Sparse rows and labels of -1 and 1 of a data set; they are shared, and not to be changed."""
        return self.data.load(name, n_features)

    def each(
        self,
        work: Callable[..., R],
        arguments: Sequence[tuple[Any, ...]],
        labels: Sequence[str] | None = None,
    ) -> list[R]:
        """``work`` of every tuple of arguments, in order, in ``jobs`` processes; a function of a module, for those.

        Repeats draw from seeds among their arguments, so that the number of processes changes no
        figure. A label of each says how far it is, once where several in a row have the same.
        """
        jobs, done = min(self.jobs, len(arguments)), []
        pool = None if jobs <= 1 else _processes(jobs)
        try:
            waiting: list[Callable[[], R]] = [
                partial(work, *given) if pool is None else pool.submit(work, *given).result
                for given in arguments
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
    """Processes that share the cores."""
    return ProcessPoolExecutor(jobs, get_context("spawn"), _share_cores, (max(1, cores() // jobs),))


def _share_cores(threads: int) -> None:
    """Have a process use its part of the cores."""
    import warnings

    os.environ[THREADS_VARIABLE] = str(threads)
    warnings.simplefilter(
        "ignore"
    )  # small budgets are what is measured: advice on them is for users


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper, run by the paper's protocol."""

    name: str  # "P1.table2"
    title: str
    paper: str
    data: tuple[str, ...]  # the sets that it reads
    minutes: float  # that a full run takes on two cores
    run: Callable[[Setting], list[Table]]
    notes: tuple[str, ...] = ()  # every deviation from the paper, explained
    quick_data: tuple[str, ...] = ()  # the sets that a quick run reads: shipped ones
