"""An endless drifting stream: memory, speed and selection must stay good; exits with 1 if not.

    python benchmarks/soak.py [--minutes 60] [--every 60] [--method pet]...

Features come and go, and the balance of the classes swings between 1 and 3 in 4. Learners of rows
take blocks in turn: SOFS (Wu, Hoi, Mei, Yu 2017) with a forgetting factor and scales of columns
that it chooses, over a fixed range of ids ("sofs") and in fixed memory, max_cells, where new ids
appear without end ("sofs-cells"), and what --method adds, over a fixed range. Every minute it
prints the memory of the process and, of each, rows per second of processor time and how many of the
informative features are kept; each is saved, loaded and goes on from there.

Sound: exactly k features are kept, all of them met before; what is loaded selects the same; of the
features that have been informative for long enough, at least RECALL are kept on average. Flat:
after the first fifth, memory stays within MEMORY_SLACK and grows by less than half of it; the last
third is at most SPEED_SLACK slower than the first.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamsieve.blocks import RowBlock
from streamsieve.machine import resident_memory
from streamsieve.registry import find_method, load_learner
from streamsieve.selectors.base import AnyLearner

KEPT, INFORMATIVE, FORGET = 40, 20, 50_000
BLOCK_ROWS, NOISE_PER_ROW, TEMPLATES = 2_000, 30, 32
WINDOW, NEW_IDS = (
    200_000,
    500,
)  # ids that noise is drawn from at a time, and by how many it moves on with every block
FIRST_NOISE = 1_000_000
CHANGE_EVERY, CHANGED = 100, 2  # blocks, and how many informative features then become others
LONG_ENOUGH = 75  # blocks after which an informative feature should be kept
RECALL, MEMORY_SLACK, SPEED_SLACK = 0.9, 30e6, 0.2


class Template(NamedTuple):
    """Rows of which only ids and labels change.

    Making new values would take longer than learning them.
    """

    indptr: NDArray[np.int64]
    entries: NDArray[
        np.int64
    ]  # number of an informative feature, in order of id; INFORMATIVE and more are noise
    informative: NDArray[np.int64]  # which entries are of informative features
    values: NDArray[np.float32]
    signal: NDArray[np.float32]  # rows x informative features

    @classmethod
    def draw(cls, random: np.random.Generator) -> Template:
        noise = np.sort(
            (WINDOW * random.random((BLOCK_ROWS, NOISE_PER_ROW)) ** 2).astype(np.int64), axis=1
        )
        present = np.ones((BLOCK_ROWS, INFORMATIVE + NOISE_PER_ROW), bool)
        present[:, :INFORMATIVE] = random.random((BLOCK_ROWS, INFORMATIVE)) < 0.33
        present[:, INFORMATIVE + 1 :] = noise[:, 1:] != noise[:, :-1]
        values = random.standard_normal(present.shape).astype(np.float32)
        positions = np.broadcast_to(np.arange(INFORMATIVE), (BLOCK_ROWS, INFORMATIVE))
        entries = np.concatenate([positions, INFORMATIVE + noise], axis=1)[present]
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        signal = (values * present)[:, :INFORMATIVE]
        return cls(indptr, entries, np.flatnonzero(entries < INFORMATIVE), values[present], signal)


class Stream:
    """Endless blocks of rows.

    ``truth`` has, by informative feature, its weight and the block since which it is informative.

    Noise has ids from FIRST_NOISE on, in a window that moves on if they are ``endless``; the others
    are below.
    """

    def __init__(self, endless: bool, seed: int = 0) -> None:
        self.endless = endless
        self.random = np.random.default_rng(seed)
        self.templates = [Template.draw(self.random) for _ in range(TEMPLATES)]
        self.blocks = 0
        self.truth: dict[int, tuple[float, int]] = {}
        self._change(INFORMATIVE)

    @property
    def width(self) -> int:
        """Return one more than the largest id so far."""
        return FIRST_NOISE + WINDOW + (NEW_IDS * self.blocks if self.endless else 0)

    def _change(self, count: int) -> None:
        """Let the oldest informative features become noise, and others informative."""
        for feature in list(self.truth)[: len(self.truth) + count - INFORMATIVE]:
            del self.truth[feature]
        while len(self.truth) < INFORMATIVE:
            feature = int(self.random.integers(FIRST_NOISE))
            weight = float(self.random.choice([-1.0, 1.0]) * self.random.uniform(0.7, 1.3))
            self.truth.setdefault(feature, (weight, self.blocks))

    def settled(self) -> set[int]:
        """Return the features that have been informative for long enough."""
        return {
            feature
            for feature, (_, since) in self.truth.items()
            if self.blocks - since >= LONG_ENOUGH
        }

    def next(self) -> RowBlock:
        """Return the next rows."""
        if self.blocks and self.blocks % CHANGE_EVERY == 0:
            self._change(CHANGED)
        rows = self.templates[int(self.random.integers(TEMPLATES))]
        informative_ids = np.array(sorted(self.truth))
        ids = rows.entries + (self.width - WINDOW - INFORMATIVE)
        ids[rows.informative] = informative_ids[rows.entries[rows.informative]]
        score = rows.signal @ np.array(
            [self.truth[feature][0] for feature in informative_ids.tolist()]
        )
        threshold = np.quantile(score, 0.5 + 0.25 * np.sin(self.blocks / 200))
        y = np.where(score + 0.1 * self.random.standard_normal(BLOCK_ROWS) > threshold, 1, -1)
        block = RowBlock(rows.indptr, ids, rows.values, y, self.width)
        self.blocks += 1
        return block


@dataclass
class Runner:
    """A learner on the stream, and what was seen of it."""

    name: str
    learner: AnyLearner
    stream: Stream
    seconds: float = 0.0
    rows: int = 0
    speeds: list[float] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def learn(self) -> None:
        """Learn one more block."""
        block = self.stream.next()
        began = time.process_time()
        self.learner.partial_fit_block(block)
        self.seconds += time.process_time() - began
        self.rows += block.n_rows

    def look(self, folder: Path) -> str:
        """Check what is selected, save and load; a line on it."""
        kept, wanted = self.learner.results.selection().indices, self.stream.settled()
        if kept.size != KEPT or np.unique(kept).size != KEPT:
            self.faults.append(f"{self.name} keeps {kept.size} features, not {KEPT}")
        if kept.min() < 0 or kept.max() >= self.stream.width:
            self.faults.append(f"{self.name} keeps a feature that was never met")
        if wanted:
            self.recalls.append(len(wanted & set(kept.tolist())) / len(wanted))
        self.learner.save(folder / "model")
        self.learner, _ = load_learner(folder / "model")
        if self.learner.results.selection().indices.tolist() != kept.tolist():
            self.faults.append(f"{self.name} selects other features once it was saved and loaded")
        self.speeds.append(self.rows / self.seconds)
        self.seconds, self.rows = 0.0, 0
        recall = f"{self.recalls[-1]:.0%}" if self.recalls else "-"
        return f"{self.name} {self.speeds[-1]:,.0f} rows/s, recall {recall}"


def runners(extra: list[str]) -> list[Runner]:
    """Return SOFS in two forms, and other methods."""
    sofs = find_method("sofs").make
    runner_list = [
        Runner("sofs", sofs(KEPT, forget=FORGET, normalize="auto"), Stream(False)),
        Runner(
            "sofs-cells",
            sofs(KEPT, forget=FORGET, normalize="auto", max_cells=1 << 20),
            Stream(True),
        ),
    ]
    for method in extra:
        runner_list.append(Runner(method, find_method(method).make(KEPT), Stream(False)))
    for runner in runner_list:
        runner.learner.start(None if runner.stream.endless else runner.stream.width, [-1, 1])
        runner.learn()  # and compile: the clock starts after it
        runner.seconds, runner.rows = 0.0, 0
    return runner_list


def judged(
    runner_list: list[Runner], memory: NDArray[np.float64], times: NDArray[np.float64]
) -> list[str]:
    """Return what is wrong in the results."""
    faults = [fault for runner in runner_list for fault in runner.faults]
    warm = memory.size // 5
    held, minutes = memory[warm:], times[warm:]
    grown = (
        float(np.polyfit(minutes, held, 1)[0]) * float(np.ptp(minutes)) if held.size > 2 else 0.0
    )
    spread = float(np.ptp(held))
    print(
        f"memory after the first fifth: within {spread / 1e6:.1f} MB, grown by"
        f" {grown / 1e6:+.1f} MB"
    )
    if spread > MEMORY_SLACK or grown > MEMORY_SLACK / 2:
        faults.append("memory grows")
    for runner in runner_list:
        third = max(1, len(runner.speeds) // 3)
        first, last = (
            float(np.median(part)) for part in (runner.speeds[:third], runner.speeds[-third:])
        )
        recall = (
            float(np.mean(runner.recalls[len(runner.recalls) // 5 :])) if runner.recalls else 0.0
        )
        print(
            f"{runner.name}: {first:,.0f} rows/s at first, {last:,.0f} at last; recall {recall:.1%}"
        )
        if last < (1 - SPEED_SLACK) * first:
            faults.append(f"{runner.name} gets slower")
        if recall < RECALL and runner.name.startswith("sofs"):
            faults.append(f"{runner.name} keeps {recall:.1%} of the informative features")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=60, help="seconds between two looks")
    parser.add_argument(
        "--method", action="append", default=[], help="another method of rows; repeatable"
    )
    options = parser.parse_args()
    running = runners(options.method)
    memory: list[float] = []
    times: list[float] = []
    began = time.monotonic()
    due = began + options.every
    with tempfile.TemporaryDirectory() as folder:
        while not times or times[-1] < options.minutes:
            for runner in running:
                runner.learn()
            now = time.monotonic()
            if now < due:
                continue
            due = now + options.every
            lines = [runner.look(Path(folder)) for runner in running]
            memory.append(float(resident_memory()))
            times.append((now - began) / 60)
            print(
                f"{times[-1]:6.1f} min  {BLOCK_ROWS * running[0].stream.blocks:>13,} rows each  "
                f"{memory[-1] / 1e6:,.0f} MB  " + "; ".join(lines),
                flush=True,
            )
    faults = judged(running, np.array(memory), np.array(times))
    print("\n".join(faults) or "sound")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
