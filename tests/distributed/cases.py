"""Shared helpers of the tests of training in parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamsieve.distributed.engine import Answer
from streamsieve.distributed.local import ThreadEngine


def assert_same(first: Any, second: Any) -> None:
    """Assert that two learners are the same, bit for bit."""
    a, b = first.model(), second.model()
    for model in (a, b):
        for part in (model.header, model.header.get("warm_up") or {}):
            part.pop("random", None)  # the state of methods that draw nothing
    assert a.header == b.header
    assert a.arrays.keys() == b.arrays.keys()
    for name, array in a.arrays.items():
        np.testing.assert_array_equal(array, b.arrays[name], err_msg=name)
    assert first.results.result_summary() == second.results.result_summary()
    x, y = first.results.selection(), second.results.selection()
    np.testing.assert_array_equal(x.indices, y.indices)
    np.testing.assert_array_equal(x.scores, y.scores)


class Losing(ThreadEngine):
    """An engine that pretends now and then that a worker is lost."""

    every = 4

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self.count = 0

    def next(self) -> Answer:
        answer = super().next()
        self.count += 1
        return Answer(answer.worker, lost=True) if self.count % self.every == 0 else answer


class LosingOften(Losing):
    every = 3


class LosingAll(Losing):
    every = 1


class LosingOnce(Losing):
    """An engine that loses the first answer only."""

    every = 1

    def next(self) -> Answer:
        answer = super().next()
        self.every = 2**62
        return answer


class LosingAfterAnAnswer(Losing):
    """An engine that loses every second answer.

    A worker that is alone answers once and is then lost, again and again.
    """

    every = 2

    def next(self) -> Answer:
        assert self.count < 50, "the run goes on although its worker never gets further"
        return super().next()
