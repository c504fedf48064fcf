"""Levels of text columns: numbered in order of appearance, whatever the chunks and the threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import streamsieve as ss
from streamsieve.sources import levels as levels_module
from streamsieve.sources.arrow_values import Where, cells_of
from streamsieve.sources.levels import Levels, NewCells

from .reading import small_chunks
from .test_encoding import by_rows

Rows = list[tuple[str | None, ...]]


def number_levels(rows: Rows) -> tuple[list[list[int]], list[tuple[int, str]]]:
    """Return the level of every cell, and all levels: row by row, with a dictionary."""
    known: dict[tuple[int, str], int] = {}
    codes = []
    for row in rows:
        cells = [
            (column, text.strip(" \t\r\n")) for column, text in enumerate(row) if text is not None
        ]
        for cell in cells:
            known.setdefault(cell, len(known))
        numbers = dict(
            zip((column for column, _ in cells), map(known.__getitem__, cells), strict=True)
        )
        codes.append([numbers.get(column, -1) for column in range(len(row))])
    return codes, list(known)


def random_rows(seed: int, count: int) -> Rows:
    random = np.random.default_rng(seed)
    words = ["", " ", "a", "A", "ä", " ä", "aa ", "a" * 300, "\u2028", "=", "#1", "日本"]
    texts = [*words, *(f"v{number}" for number in range(400))]
    rank = np.minimum(random.pareto(0.5, (count, 3)) * 3, len(texts) - 1).astype(int)
    return [tuple(None if at == 5 else texts[at] for at in row) for row in rank.tolist()]


def learn(levels: Levels, rows: Rows, lengths: list[int]) -> list[list[int]]:
    """Return the level of every cell; rows come in chunks, of which new levels are added."""
    start, codes = 0, []
    for length in lengths:
        chunk = rows[start : start + length]
        found, new = [], []
        for column in range(3):
            values = pa.array([row[column] for row in chunk], pa.string())
            kind = values.dictionary_encode() if start % 2 else values
            part, cells = levels.find(column, 0, cells_of(kind, "t", Where("")), Where(""), "t")
            found.append(part)
            new += [] if cells is None else [cells]
        matrix = np.column_stack(found)
        if new:
            cells = NewCells.joined(new)
            matrix[cells.rows, cells.columns] = levels.add(cells)
        codes += matrix.tolist()
        start += length
    return codes


@pytest.mark.parametrize("seed", range(5))
def test_levels_are_those_of_a_dictionary(seed: int) -> None:
    rows = random_rows(seed, 600)
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 60, 60).tolist()
    levels = Levels(["t=", "u=", "v="])
    codes = learn(levels, rows, lengths)
    expected, expected_levels = number_levels(rows[: sum(lengths)])
    assert codes == expected
    texts = levels.texts(range(levels.size))
    assert list(zip(levels.columns.tolist(), texts, strict=True)) == expected_levels
    copied = Levels(["t=", "u=", "v="])
    copied.add_arrays(levels.to_arrays())
    assert copied == levels
    some = np.flatnonzero(levels.columns != 1)
    part = levels.some(some, ["t=", "v="], [0, 2])
    assert part.texts(range(part.size)) == [texts[level] for level in some.tolist()]
    assert part.columns.tolist() == [levels.columns[level] // 2 for level in some.tolist()]


def test_threads_look_up_while_levels_are_added() -> None:
    texts = [f"level {number}" for number in range(20_000)]
    levels = Levels(["t="])

    def look_up(start: int) -> bool:
        cells = cells_of(pa.array(texts[start : start + 500], pa.string()), "t", Where(""))
        codes, _ = levels.find(0, 0, cells, Where(""), "t")
        return bool(((codes < 0) | (codes == np.arange(start, start + 500))).all())

    with ThreadPoolExecutor(3) as pool:
        answers = []
        for start in range(0, len(texts), 500):
            answers += [pool.submit(look_up, at) for at in (0, start // 2 // 500 * 500, start)]
            cells = cells_of(pa.array(texts[start : start + 500], pa.string()), "t", Where(""))
            _, new = levels.find(0, 0, cells, Where(""), "t")
            assert new is not None
            levels.add(new)
        assert all(answer.result() for answer in answers)
    assert levels.texts([0, 19_999]) == ["level 0", "level 19999"]


def test_a_table_of_levels_that_memory_cannot_hold_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from streamsieve import machine

    levels = Levels(["t=", "u=", "v="])
    monkeypatch.setattr(machine, "available_memory", lambda: 1000)
    with pytest.raises(
        ss.DataError,
        match=r"different values of the columns of text take up to .*strings='hash'",
    ):
        learn(levels, random_rows(0, 100), [100])


QUOTED = [
    '"a"',
    '"a ""b"""',
    '"x, y"',
    '"two\nlines"',
    '" a "',
    "a",
    '""',
    '"NA"',
    "NA",
    '"?"',
    'a"b',
]


@pytest.mark.parametrize("chunk_bytes", [40, 1 << 20])
def test_quoted_text_is_read_as_it_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int
) -> None:
    small_chunks(monkeypatch, chunk_bytes)
    fields = QUOTED * 20
    lines = [f"{row % 2},{field}" for row, field in enumerate(fields)]
    (tmp_path / "quotes.csv").write_text("\n".join(["y,t", *lines, ""]))
    source = ss.open_source(tmp_path / "quotes.csv", "y", missing="zero")
    rows = by_rows(source)
    names = ["t=a", 't=a "b"', "t=x, y", "t=two\nlines", 't=a"b']
    assert source.feature_names.tolist() == names
    expected = [0, 1, 2, 3, 0, 0, None, None, None, None, 4] * 20
    assert [row.argmax() if row.any() else None for row in rows] == expected


@pytest.mark.parametrize("text", ["\u00a0x", " x ", "\tx\v", "\u2003", "x\u3000"])
def test_the_first_rows_have_the_levels_of_all_rows(tmp_path: Path, text: str) -> None:
    lines = [f'{row % 2},"{text if row % 3 else "y"}"' for row in range(60)]
    (tmp_path / "blanks.csv").write_text("\n".join(["c,t", *lines, ""]))
    source = ss.open_source(tmp_path / "blanks.csv", "c")
    names = source.feature_names.tolist()
    rows = by_rows(source)
    assert names == ["t=y", "t=" + text.strip(" \t\v")]
    assert source.feature_names.tolist() == names
    assert rows.sum(axis=0).tolist() == [20, 40]


def test_text_that_is_not_utf_8_is_refused_with_its_row(tmp_path: Path) -> None:
    lines = [b"y,t", *(b"%d,a%d" % (row % 2, row % 7) for row in range(70_000)), b"1,\xff\xfe"]
    (tmp_path / "late.csv").write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(ss.DataError, match=r"late.csv:.*UTF-8"):
        by_rows(ss.open_source(tmp_path / "late.csv", "y"))


def test_arrays_grow_without_changing_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels_module, "MIN_SLOTS", 2)
    rows = random_rows(9, 300)
    levels = Levels(["t=", "u=", "v="])
    assert learn(levels, rows, [1] * 300) == number_levels(rows)[0]
