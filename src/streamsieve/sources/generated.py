"""Data that is made as it is read, on several threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from typing import TypeVar

from ..blocks import DenseRows, RowBlock, dense_block
from ..errors import UsageError
from ..machine import reading_threads
from .base import LARGEST_INDEX, Missing, Source, SourceFacts
from .finding import SYNTHETIC
from .prefetch import ordered_map

BLOCK_NONZEROS = 1 << 18
LARGEST_SEED = 2**63 - 1

Part = TypeVar("Part", RowBlock, DenseRows)


class GeneratedSource(Source):
    """Rows that are made as they are read, on several threads; a shard has those from ``_first_row`` on."""

    _first_row = 0

    def __init__(self, kind: str, rows: int, features: int, least_features: int, seed: int) -> None:
        super().__init__(SourceFacts(f"{SYNTHETIC}{kind}", rows, features, splittable=True))
        if rows < 1:
            raise UsageError(f"{self.name}: {rows} rows; ask for 1 or more")
        if features < least_features:
            raise UsageError(f"{self.name}: {features} features; it takes {least_features} or more")
        if max(rows, features) > LARGEST_INDEX:
            raise UsageError(f"{self.name}: {rows} rows of {features} features; {LARGEST_INDEX:,} are the most of both")
        if not 0 <= seed <= LARGEST_SEED:
            raise UsageError(f"{self.name}: a seed is from 0 to {LARGEST_SEED:,}")
        self.seed = seed

    @abstractmethod
    def _block(self, start: int, stop: int) -> RowBlock:
        """Some rows, by their numbers among all of the set."""

    @property
    @abstractmethod
    def _values_per_row(self) -> int: ...

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        return self._generated(self._block)

    def _generated(self, make: Callable[[int, int], Part]) -> Iterator[Part]:
        """What ``make`` gives for ranges of rows that are all of them."""
        at_once, threads = max(1, BLOCK_NONZEROS // self._values_per_row), reading_threads()
        stop = self._first_row + (self.n_rows or 0)

        def generate(start: int) -> Part:
            return make(start, min(start + at_once, stop))

        return ordered_map(generate, range(self._first_row, stop, at_once), threads, threads + 1)

    def _shards(self, n: int) -> list[Source]:
        n_rows = self.n_rows or 0
        starts = sorted({n_rows * part // n for part in range(n)})
        return [self._part(start, stop) for start, stop in zip(starts, [*starts[1:], n_rows], strict=True)]

    def _part(self, start: int, stop: int) -> Source:
        part = copy(self)
        part._first_row, part.facts = self._first_row + start, replace(self.facts, n_rows=stop - start)
        return part


class DenseGeneratedSource(GeneratedSource):
    """Rows of which every value is made."""

    @abstractmethod
    def _dense(self, start: int, stop: int) -> DenseRows:
        """Some rows, by their numbers among all of the set."""

    @property
    def _values_per_row(self) -> int:
        return self.n_features or 1

    def dense_rows(self, missing: Missing = "error") -> Iterator[DenseRows]:
        return self._generated(self._dense)

    def _block(self, start: int, stop: int) -> RowBlock:
        return dense_block(*self._dense(start, stop), self.name)
