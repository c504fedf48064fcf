"""Tables that stay quick at any length: columns as compact JSON, of which the page's script shows the visible rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..showing import printable
from .markup import Html, data_block, joined, tag

LONGEST_TEXTS = 200, 80, 40, 20  # letters of a text in a table: the first with which a column is not too large
MOST_TEXT_BYTES = 2_500_000  # of a column
DIGITS = 4  # that are shown of a number
MOST_LEVELS = 200  # different texts of a column that are written once each

Column = dict[str, Any]


def text_column(title: str, values: Sequence[object | None], **more: Any) -> Column:
    """Texts from data; few different ones are written once each."""
    texts = [None if value is None else str(value) for value in values]
    different = set(texts) - {None}
    if len(different) <= MOST_LEVELS and len(different) * 2 < len(texts):
        levels = sorted((text for text in different if text is not None), key=natural)
        codes = {text: code for code, text in enumerate(levels)} | {None: -1}
        return {
            "title": title,
            "kind": "level",
            "levels": [printable(text, LONGEST_TEXTS[0]) for text in levels],
            "values": [codes[text] for text in texts],
            **more,
        }
    for longest in LONGEST_TEXTS:
        shown = [None if text is None else printable(text, longest) for text in texts]
        if sum(len(text.encode()) for text in shown if text is not None) <= MOST_TEXT_BYTES:
            break
    return {"title": title, "kind": "text", "values": shown, **more}


def natural(text: str) -> tuple[bool, float, str]:
    """The order of texts: numbers by their size, before all others."""
    try:
        number = float(text)
    except ValueError:
        return True, 0.0, text
    return math.isnan(number), number if math.isfinite(number) else 0.0, text


def integer_column(title: str, values: Sequence[int | None], **more: Any) -> Column:
    return {"title": title, "kind": "integer", "values": list(values), **more}


def number_column(title: str, values: Sequence[float | None], kind: str = "number", **more: Any) -> Column:
    """Numbers, rounded to what is shown of them: to a number of decimals where that leaves all of them apart from 0.

    The ``kind`` may be "weight" for signed numbers with a bar, "fraction" for those between 0 and 1 with a bar, and
    "percent".
    """
    known = [abs(value) for value in values if value is not None and math.isfinite(value) and value]
    decimals = DIGITS if kind in ("fraction", "percent") else decimals_of(known)
    rounded = [None if value is None or not math.isfinite(value) else _rounded(value, decimals) for value in values]
    return {"title": title, "kind": kind, "decimals": decimals, "values": rounded, **more}


def decimals_of(sizes: Sequence[float]) -> int | None:
    """With how many decimals some sizes can be shown; None where they differ too much for that."""
    if not sizes:
        return 0
    largest = math.floor(math.log10(max(sizes)))
    decimals = min(max(DIGITS - 1 - largest, 0), 10)
    return decimals if min(sizes) >= 0.5 * 10.0**-decimals and largest < 9 else None


def _rounded(value: float, decimals: int | None) -> float | int:
    rounded = float(f"{value:.{DIGITS}g}") if decimals is None else round(float(value), decimals)
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def table(identity: str, caption: str, columns: list[Column], unit: str = "rows", note: str = "") -> Html:
    """The place of a table in the page, and its data."""
    n = len(columns[0]["values"]) if columns else 0
    place = tag("div", class_="table", id=f"table-{identity}", data_table=f"data-{identity}")
    more = tag("p", note, class_="note") if note else None
    return joined(
        place, more, data_block(f"data-{identity}", {"n": n, "caption": caption, "unit": unit, "columns": columns})
    )
