"""Slow and simple readers of text, which import nothing of streamsieve."""

from __future__ import annotations

import csv
import io
import re
from typing import NamedTuple

import numpy as np

DECIMAL = rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
LABEL = re.compile(DECIMAL + rb"(?=[ \t\r#]|$)")
ENTRY = re.compile(rb"([0-9]+):(" + DECIMAL + rb")(?=[ \t\r#]|$)")
QUERY = re.compile(rb"qid:[^ \t\r#]*")
MAX_INDEX = 10**17
MAX_DIGITS = 18
BLANKS = b" \t\r"


class BadTextError(ValueError):
    """It is not what a reader takes."""


class Row(NamedTuple):
    label: object
    entries: dict[int, float]  # by id, no zeros
    width: int  # one more than the highest id, zeros included


def as_float32(number: bytes | str) -> float:
    with np.errstate(over="ignore"):
        value = float(np.float32(float(number)))
    if not np.isfinite(value):
        raise BadTextError("beyond float32")
    return value


def svmlight(text: bytes, first_index: int) -> list[Row]:
    """Return all rows; raise BadTextError for a bad line.

    A row is ``[label] [qid:n] index:value ... [# comment]``. Either all rows have a label, or none;
    then rows begin with an entry.
    """
    rows = []
    for line in text.split(b"\n"):
        rest = line.lstrip(BLANKS)
        if not rest or rest.startswith(b"#"):
            continue
        label = LABEL.match(rest)
        if ENTRY.match(rest):
            rows.append(Row(None, *entries_of(rest, first_index)))
        elif not label or not np.isfinite(float(label[0])):
            raise BadTextError("label")
        else:
            rows.append(Row(float(label[0]), *entries_of(rest[label.end() :], first_index)))
    if not rows:
        raise BadTextError("no rows")
    if len({row.label is None for row in rows}) > 1:
        raise BadTextError("some rows have a label")
    return rows


def entries_of(rest: bytes, first_index: int) -> tuple[dict[int, float], int]:
    entries: dict[int, float] = {}
    while (rest := rest.lstrip(BLANKS)) and not rest.startswith(b"#"):
        entry = ENTRY.match(rest)
        match = entry or QUERY.match(rest)
        if not match:
            raise BadTextError("entry")
        if entry:
            index = int(entry[1]) - first_index
            if index < 0 or index > MAX_INDEX or len(entry[1]) > MAX_DIGITS or index in entries:
                raise BadTextError("index")
            entries[index] = as_float32(entry[2])
        rest = rest[match.end() :]
    return {index: value for index, value in sorted(entries.items()) if value}, max(
        entries, default=-1
    ) + 1


def table(text: bytes, delimiter: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and all records that are not empty."""
    records = csv.reader(io.StringIO(text.decode("utf-8-sig"), newline=""), delimiter=delimiter)
    header, *rows = [record for number, record in enumerate(records) if record or not number]
    return header, rows


def name_hash(name: str) -> int:
    """FNV-1a in 64 bits, without the last bit."""
    bits = 0xCBF29CE484222325
    for byte in name.encode("utf-8", "surrogatepass"):
        bits = ((bits ^ byte) * 0x100000001B3) % 2**64
    return min(bits >> 1, 2**63 - 2)
