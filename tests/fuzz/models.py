"""Thousands of mutated models of all methods: none may crash, hang, use much memory or err.

    python -m tests.fuzz.models --mutations 10000 [--seed 0] [--methods sofs,pet] [--only 1234]

Mutation n of a seed is always the same. They are tried in processes that may die: what one did is
then known.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import select
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from streamsieve.registry import METHODS

HANGS_AFTER = 20.0  # seconds
START_SECONDS = 900.0  # where kernels are compiled for the first time
ADDRESS_SPACE = 8 << 30
MAX_MEMORY = 512 << 20  # that the use of one small model may add
ROOT = Path(__file__).parents[2]


class Finding(NamedTuple):
    number: int
    what: str  # the mutation
    fault: str  # crash, hang, memory, error or nonsense
    detail: str


def worker(seed: int, methods: Sequence[str], few: bool) -> None:
    """Try the mutations whose numbers are read from standard input.

    A line is printed before and after each.
    """
    from .bases import FEW, all_bases
    from .mutations import mutated
    from .use import NonsenseError, use

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    bases = all_bases(methods, FEW if few else None)
    for model in bases.values():  # compiles what there is to compile
        use(model.to_bytes())
    say("ready", len(bases))
    for line in sys.stdin:
        number = int(line)
        what, model = mutated(bases, seed, number)
        say("begin", what)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            outcome = use(model.to_bytes())
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
            say("memory", f"{more >> 20} MB") if more > MAX_MEMORY else say(outcome, "")
        except NonsenseError as error:
            say("nonsense", str(error))
        except Exception:
            say("error", traceback.format_exc(limit=-4))


def say(*words: object) -> None:
    print(json.dumps(words), flush=True)


class Worker:
    """A process that tries mutations, with a deadline for each."""

    def __init__(self, seed: int, methods: Sequence[str], few: bool) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.fuzz.models",
            "--worker",
            str(seed),
            "--methods",
            ",".join(methods),
        ]
        command += ["--few"] if few else []
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        self.pending = b""
        ready = self.line(START_SECONDS)
        if ready is None or ready[0] != "ready":
            raise RuntimeError(f"the worker did not start: {ready} {self.last_words()}")

    def line(self, seconds: float) -> list[str] | None:
        """Return the next line of the worker, or None if it is dead or too slow."""
        assert self.process.stdout is not None
        descriptor, deadline = self.process.stdout.fileno(), time.monotonic() + seconds
        while b"\n" not in self.pending:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(descriptor, 1 << 16) if ready else b""
            if not data:
                return None
            self.pending += data
        text, _, self.pending = self.pending.partition(b"\n")
        words: list[str] = json.loads(text)
        return words

    def try_one(self, number: int) -> tuple[str, str, str]:
        """Return a mutation, its outcome, and details of the outcome."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{number}\n".encode())
        self.process.stdin.flush()
        begun = self.line(HANGS_AFTER)
        done = self.line(HANGS_AFTER) if begun else None
        if begun and done is None and self.process.poll() is None and self.line(START_SECONDS):
            return self.try_one(number)  # it was compiling, which it does once
        what = begun[1] if begun else "unknown"
        if done:
            return what, done[0], done[1]
        try:
            died = self.process.wait(0.5)  # the pipe may end before the process does
        except subprocess.TimeoutExpired:
            return what, "hang", ""
        return what, "crash", f"status {died}: {self.last_words()}"

    def last_words(self) -> str:
        assert self.process.stderr is not None
        self.process.kill()
        return self.process.stderr.read()[-2000:].decode(errors="replace")

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def environment() -> dict[str, str]:
    """Ours, with the package where this process has it, and a report of crashes."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONFAULTHANDLER": "1",
    }


def campaign(
    numbers: Sequence[int],
    seed: int = 0,
    methods: Sequence[str] = tuple(METHODS),
    few: bool = False,
) -> Iterator[tuple[str, Finding | None]]:
    """Try some mutations; of each how it came out, and the finding if it is one."""
    process: Worker | None = None
    try:
        for number in numbers:
            process = process or Worker(seed, methods, few)
            what, outcome, detail = process.try_one(number)
            if outcome in ("crash", "hang", "memory"):
                process.close()
                process = None
            fine = outcome == "refused" or outcome.startswith("used")
            yield outcome, None if fine else Finding(number, what, outcome, detail)
    finally:
        if process:
            process.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--few", action="store_true", help="a model of every method only")
    parser.add_argument("--only", type=int, help="the number of one mutation")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    methods = options.methods.split(",")
    if options.worker is not None:
        worker(options.worker, methods, options.few)
        return
    numbers = (
        range(options.first, options.first + options.mutations)
        if options.only is None
        else [options.only]
    )
    outcomes: Counter[str] = Counter()
    began = time.monotonic()
    for outcome, finding in campaign(numbers, options.seed, methods, options.few):
        outcomes[outcome] += 1
        if finding:
            print(
                f"{finding.number}: {finding.fault}: {finding.what}\n    {finding.detail}",
                flush=True,
            )
    print(
        f"{sum(outcomes.values())} mutations in {time.monotonic() - began:.0f} s: {dict(outcomes)}"
    )
    bad = sum(
        count
        for outcome, count in outcomes.items()
        if outcome != "refused" and not outcome.startswith("used")
    )
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
