"""Texts at the end of readable memory: kernels must not read a byte beyond them.

    python -m tests.fuzz.guard SEED COUNT

Bounds checks of Numba cannot see reads by address. Here a text lies between two pages that cannot
be read, first up against the one after it, then right after the one before it; a byte too far is a
segmentation fault. What is being parsed is written to standard output beforehand, so that the last
line names the text that did it.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamsieve.errors import DataError
from streamsieve.kernels.reading.decimals import scan_decimal
from streamsieve.kernels.reading.delimited import (
    COPIED,
    FIRST_TEXT,
    OMITTED,
    end_of_records,
    parse_table,
)
from streamsieve.kernels.reading.entries import hash_names
from streamsieve.sources.arrow_values import Where
from streamsieve.sources.delimited import MISSING_LETTERS
from streamsieve.sources.levels import Levels, TextCells
from streamsieve.sources.svmlight_parsing import parse_text

PROT_NONE = 0
PAGE = mmap.PAGESIZE
CORPUS = Path(__file__).parent / "corpus"
PLAIN = (
    b"1 1:0.5 2:3 17:-4.25 123456:7\n-1 3:1e-3 4:.5 qid:3 5:1 # more\n+1"
    b" 1234567890123456:0.1234567890123456\n"
)

Bytes = NDArray[np.uint8]
Parser = Callable[[Bytes], object]


class Guarded:
    """Some pages between two that cannot be read."""

    def __init__(self, pages: int) -> None:
        self.size = pages * PAGE
        self.memory = mmap.mmap(-1, self.size + 2 * PAGE)
        self.all = np.frombuffer(self.memory, np.uint8)
        address = self.all.ctypes.data
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        for guard in (address, address + PAGE + self.size):
            if protect(ctypes.c_void_p(guard), ctypes.c_size_t(PAGE), ctypes.c_int(PROT_NONE)):
                raise OSError(ctypes.get_errno(), "mprotect")

    def at_end(self, text: bytes) -> Bytes:
        """Return the text, placed right before the page that cannot be read."""
        return self._filled(PAGE + self.size - len(text), text)

    def at_start(self, text: bytes) -> Bytes:
        """Return the text, placed right after the page that cannot be read."""
        return self._filled(PAGE, text)

    def _filled(self, start: int, text: bytes) -> Bytes:
        place = self.all[start : start + len(text)]
        place[:] = np.frombuffer(text, np.uint8)
        return place


def parse_svmlight(text: Bytes) -> object:
    return parse_text(text, 1, "")


def parse_delimited(text: Bytes) -> object:
    end_of_records(text, ord(","), False)
    end_of_records(text, ord(","), True)
    fields = text.tobytes().partition(b"\n")[0].count(b",") + 1
    columns = np.arange(-1, fields - 1)
    columns[0] = COPIED
    columns[fields // 2] = OMITTED if fields > 2 else columns[fields // 2]
    columns[-1] = FIRST_TEXT if fields > 1 else COPIED
    lines = text.tobytes().count(b"\n") + text.tobytes().count(b"\r")
    out, copy = np.empty((lines, fields), np.float32), np.empty(text.size + 3 * lines, np.uint8)
    starts, ends, inexact = (
        np.empty(shape, np.int64) for shape in ((1, lines), (1, lines), (text.size, 4))
    )
    parsed = parse_table(text, ord(","), columns, MISSING_LETTERS, out, starts, ends, copy, inexact)
    levels = Levels(["t="])
    n_rows = max(0, parsed[0]) if fields > 1 and parsed[1] >= 0 else 0
    cells = TextCells(text, starts[0, :n_rows], ends[0, :n_rows])
    with suppress(DataError):  # text that is not in UTF-8
        for n_buckets in (0, 3):
            new = levels.find(0, n_buckets, cells, Where(""), "t")[1]
            if new is not None:
                levels.add(new)
    return parsed


def parse_decimal(text: Bytes) -> object:
    return scan_decimal(text, 0)


def parse_names(text: Bytes) -> object:
    offsets = np.linspace(0, text.size, 5).astype(np.int64)
    ids = np.empty(4, np.int64)
    hash_names(text, offsets, ids)
    return ids


PARSERS: dict[str, Parser] = {
    "svmlight": parse_svmlight,
    "delimited": parse_delimited,
    "decimal": parse_decimal,
    "names": parse_names,
}


def texts(seed: int, count: int) -> Iterator[bytes]:
    """Yield texts of complete lines: the corpus, then random pieces and mixtures of it."""
    corpus = [PLAIN, *(path.read_bytes()[1:] for path in sorted(CORPUS.glob("[sd]*/*")))]
    yield from corpus
    random = np.random.default_rng(seed)
    for _ in range(count):
        text = bytearray(corpus[random.integers(len(corpus))] or PLAIN)
        begin = int(random.integers(len(text)))
        text = text[begin : begin + int(random.integers(1, 200))]
        for _ in range(int(random.integers(0, 4))):
            text[random.integers(len(text))] = int(
                random.choice(np.frombuffer(b'0123456789:.-e \t#\n,\r"q\x00\xff', "u1"))
            )
        yield bytes(text)


def main(seed: int, count: int) -> None:
    guarded = Guarded(64)
    for text in texts(seed, count):
        line = (text[: guarded.size - 1] or b"1").removesuffix(
            b"\n"
        ) + b"\n"  # kernels are given complete lines
        for name, parse in PARSERS.items():
            print(name, line.hex(), flush=True)
            for place_text in (guarded.at_end, guarded.at_start):
                parse(place_text(line))
    print("done", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
