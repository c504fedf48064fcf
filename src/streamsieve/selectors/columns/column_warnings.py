"""Columns that a user should know of when a run ends: how many, and what the first of them are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import spell
from ..diagnosis import MOST_NAMED, Remark
from ..parameters import count_of, ensure

COARSE, COLLAPSED, COPIES = "coarse", "collapsed", "copies"  # kinds
KINDS = (COARSE, COLLAPSED, COPIES)
IN_64_BITS = "subtract a number near its values first, or give 64-bit numbers: an array of float64, a table in Parquet"


@dataclass(slots=True)
class Noted:
    """Some columns, all of one kind."""

    count: int = 0
    first: list[str] = field(default_factory=list)  # what is said of each, of a few

    def add(self, texts: Sequence[str], count: int | None = None) -> None:
        """Take note of some more, of which ``texts`` are the first or all."""
        self.count += len(texts) if count is None else count
        self.first = [*self.first, *texts][:MOST_NAMED]

    def __str__(self) -> str:
        return ", ".join([*self.first, *(["..."] if self.count > len(self.first) else [])])


def as_header(noted: Mapping[str, Noted]) -> dict[str, Any]:
    """As JSON can hold it."""
    return {kind: {"count": found.count, "first": list(found.first)} for kind, found in noted.items()}


def noted_in(header: Any) -> dict[str, Noted]:
    """What ``as_header`` gave; a ValueError if it is not that."""
    ensure(isinstance(header, dict) and set(header) <= set(KINDS), "what it has noted is not known")
    noted = {kind: Noted(count_of(known, "count"), list(known["first"])) for kind, known in header.items()}
    texts = [text for known in noted.values() for text in known.first[: MOST_NAMED + 1]]
    few = all(len(known.first) <= MOST_NAMED for known in noted.values())
    ensure(few and all(isinstance(text, str) for text in texts), "what it has noted are not names")
    return noted


def remarks_of(noted: Mapping[str, Noted]) -> list[Remark]:
    """What is to be said of the columns that were noted."""
    remarks = []
    if COARSE in noted:
        text = f"32-bit numbers hold few of the values, far from 0, of {noted[COARSE]}"
        remarks.append(Remark("coarse values", "warning", text, IN_64_BITS))
    if COLLAPSED in noted:
        text = f"no variation, or more than 32-bit numbers can hold so far from 0, in {noted[COLLAPSED]}"
        remarks.append(Remark("collapsed values", "note", text, f"if they vary, {IN_64_BITS}"))
    if COPIES in noted:
        text = f"{noted[COPIES].count:,} exact copies of kept features were dropped: {noted[COPIES]}"
        advice = f"{spell('duplicates', 'keep')} decides about copies by the rule alone"
        remarks.append(Remark("copies dropped", "note", text, advice))
    return remarks
