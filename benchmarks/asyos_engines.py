"""AsyOS on engines: the time to the error of one process, on threads, processes and Ray.

    python benchmarks/asyos_engines.py [--engines threads processes ray] [--workers 1 2] [--short]

Columns of normal numbers, some of which make the target (Yang, Fujimaki, Kusumura, Liu 2016,
section 5.1), in memory before the clock starts. One process is online substitution by the paper's
rule. A model has reached its error when its own is at most 5 % above; both are true errors, ||Z w -
y|| / ||y|| of the columns and weights that there are at a time, before the final fit, computed
after the run. The clock starts when all workers are ready; the start is a column of its own.
Blocks: columns between two exchanges, 0 for as many as the engine takes by itself.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from report import machine, table
from streamsieve.blocks import columns_of
from streamsieve.distributed import asyos
from streamsieve.distributed.driving import open_engine
from streamsieve.distributed.engine import Engine
from streamsieve.distributed.local import ProcessEngine, ThreadEngine
from streamsieve.engine_choice import EngineChoice
from streamsieve.kernels.columns.slots import combine
from streamsieve.selectors.columns.asyos import ASYOS
from streamsieve.selectors.columns.linear import gather_slots
from streamsieve.selectors.columns.substitution import ONLINE_SUBSTITUTION, SteppingState
from streamsieve.sources.arrays import ArraySource

WANTED, TRUE, SCANS = 100, 30, 2
ENOUGH = 1.05  # times the error of one process: columns beside the planted ones differ
SHAPES = {(1_000, 40_000): (64, 128), (20_000, 2_000): (64, 128)}
SNAPSHOT_SECONDS = 0.1  # of work between two looks at the error of one process


class Look(NamedTuple):
    """What there is at a time, all workers together."""

    seconds: float
    states: Sequence[SteppingState]


class Problem(NamedTuple):
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    true: NDArray[np.int64]

    def error(self, look: Look) -> float:
        goal = (self.y - self.y.mean()) / self.y.std()
        scores, part = np.zeros(goal.size), np.empty(goal.size)
        for slots, weights, level in look.states:
            combine(slots, weights, float(level[0]), part)
            scores += part
        return float(np.linalg.norm(scores - goal) / np.linalg.norm(goal))

    def recall(self, look: Look) -> float:
        selected = np.concatenate([state.slots.ids[: state.slots.ends[0]] for state in look.states])
        return float(np.isin(self.true, selected).mean())

    def seconds_to(self, error: float, looks: list[Look]) -> float:
        """Return the time of the first look with an error so small, or infinity."""
        return next((look.seconds for look in looks if self.error(look) <= error), np.inf)


def problem(rows: int, columns: int) -> Problem:
    random = np.random.default_rng(rows)
    X = np.asfortranarray(random.standard_normal((rows, columns)))
    true = random.choice(columns, TRUE, replace=False)
    return Problem(
        X, X[:, true] @ random.choice([-1.0, 1.0], TRUE) + 0.5 * random.standard_normal(rows), true
    )


def in_one_process(given: Problem) -> list[Look]:
    learner = ONLINE_SUBSTITUTION.make(WANTED, solver="paper")
    learner.start(given.X.shape[1], y=given.y)
    looks, seconds, next_look = [], 0.0, 0.0
    for _ in range(SCANS):
        for start in range(0, given.X.shape[1], 128):
            began = time.perf_counter()
            learner.partial_fit_block(columns_of(given.X[:, start : start + 128], start))
            seconds += time.perf_counter() - began
            if seconds >= next_look:
                looks.append(Look(seconds, [copied(learner.memory.state)]))
                next_look = seconds + SNAPSHOT_SECONDS
    return [*looks, Look(seconds, [copied(learner.memory.state)])]


def copied(state: Any) -> SteppingState:
    slots, weights, level = state
    used = slots.ends[0]
    return SteppingState(
        gather_slots([slots], slots.ids[:used]), weights[:used].copy(), level.copy()
    )


def on_engine(given: Problem, engine: Engine) -> tuple[float, list[Look]]:
    """Return how long the workers took to start, and their results since then."""
    began = time.perf_counter()
    source = ArraySource(given.X, given.y)
    learner = ASYOS.make(WANTED, workers=engine.n_workers)
    learner.start(given.X.shape[1], y=given.y)
    pieces = source.column_shards(asyos.SHARDS_PER_WORKER * engine.n_workers)
    run = asyos.AsyOSRun(learner, engine, pieces, SCANS, given.X.shape[1])
    while run.not_ready:
        run.step()
    ready, looks = time.perf_counter(), []
    while run.unfinished:
        run.step()
        looks.append(
            Look(
                time.perf_counter() - ready, [checkpoints.state for checkpoints in run.checkpoints]
            )
        )
    return ready - began, looks


def opened(name: str, workers: int) -> Engine:
    if name == "ray":
        return open_engine(EngineChoice("ray", workers, "local"))
    return ThreadEngine(workers) if name == "threads" else ProcessEngine(workers)


def measure(
    given: Problem, engines: list[str], workers: list[int], blocks: Sequence[int]
) -> list[list[str]]:
    chosen = asyos.block_size
    in_one_process(given._replace(X=given.X[:, :256]))  # compiles what there is to compile
    alone = in_one_process(given)
    goal = ENOUGH * given.error(alone[-1])
    before = given.seconds_to(goal, alone)
    lines = [line("one process", "", "", "", before, before, given, alone)]
    for name in engines:
        for count in workers:
            for block in (0, *blocks):
                asyos.block_size = chosen if not block else lambda *_, size=block: size
                with opened(name, count) as engine:
                    started, looks = on_engine(given, engine)
                size = block or chosen(*given.X.shape, WANTED, count)
                title = f"{size}" if block else f"{size} (own)"
                seconds = given.seconds_to(goal, looks)
                lines.append(
                    line(name, f"{count}", title, f"{started:.1f}", seconds, before, given, looks)
                )
                print(*lines[-1], flush=True)
    asyos.block_size = chosen
    return lines


def line(
    name: str,
    workers: str,
    block: str,
    started: str,
    seconds: float,
    before: float,
    given: Problem,
    looks: list[Look],
) -> list[str]:
    reached = "not reached" if np.isinf(seconds) else f"{seconds:.2f}"
    times = "" if np.isinf(seconds) else f"{before / seconds:.2f}"
    last = looks[-1]
    end = f"{last.seconds:.2f}", f"{given.error(last):.4f}", f"{given.recall(last):.2f}"
    return [f"{given.X.shape[0]:,}", name, workers, block, started, reached, times, *end]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engines", nargs="+", default=["threads", "processes", "ray"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--short", action="store_true", help="a tenth of the columns")
    given = parser.parse_args()
    lines = []
    for (rows, columns), blocks in SHAPES.items():
        lines += measure(
            problem(rows, columns // (10 if given.short else 1)),
            given.engines,
            given.workers,
            blocks,
        )
    head = [
        "rows",
        "engine",
        "workers",
        "block",
        "start, s",
        "to the error, s",
        "times one process",
    ]
    print(machine())
    print(table([*head, "all, s", "error", "recall"], lines))


if __name__ == "__main__":
    main()
