"""Text shown to users: a line for a terminal, a list for a console, a table for a notebook.

Names of features, labels and files come from data, and data may come from anywhere. An escape
sequence in a name would colour, overwrite or forge what a terminal shows, a newline a whole line of
output, a tag a part of a notebook.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

MAX_CELL_LENGTH = 60  # of a name or a label in a table
MAX_NAME_LENGTH_IN_LIST = 30
MAX_IN_LIST = 5  # features
MAX_IN_TABLE = 10
ELLIPSIS = "…"
# Control characters, line separators, unpaired surrogates, characters that change the direction of
# writing, invisible characters and those that XML cannot hold. Joiners and direction marks, which
# some scripts need, are allowed.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069\u200b\u2060"
    "\ufeff\ufffe\uffff\U000e0000-\U000e007f]"
)
FORMATS = {"score": "{:.6g}", "weight": "{:+.6g}"}


def printable(text: object, longest: int | None = None) -> str:
    """Return a text as one printable line.

    Unsafe characters are escaped; the middle is cut out if the line is longer than ``longest``.
    """
    shown = UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))
    if longest is not None and len(shown) > longest:
        end = longest // 4
        shown = shown[: longest - end - 1] + ELLIPSIS + shown[-end:]
    return shown


def listed(lines: Sequence[dict[str, Any]], n_features: int) -> str:
    """Return the first features by name, or id, with their scores, for a message.

    ``n_features`` is the number of all features, which may be larger than that of the lines.
    """
    shown = [
        f"{printable(line.get('name', line['feature']), MAX_NAME_LENGTH_IN_LIST)}"
        f" ({line['score']:.4g})"
        for line in lines
    ]
    return ", ".join([*shown[:MAX_IN_LIST], *(["..."] if n_features > MAX_IN_LIST else [])])


def html_table(title: str, lines: Sequence[dict[str, Any]], n_features: int) -> str:
    """Return features as a small HTML table, in the colours of the page around it."""
    titles = list(lines[0]) if lines else []
    head = "".join(f"<th>{'index' if name == 'feature' else name}</th>" for name in titles)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_html_cell(name, line[name])}</td>' for name in titles)}</tr>\n"
        for line in lines[:MAX_IN_TABLE]
    )
    table = (
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
        if lines
        else ""
    )
    remainder = (
        f"<p>and {n_features - MAX_IN_TABLE:,} more</p>\n" if n_features > MAX_IN_TABLE else ""
    )
    return f"<div>\n<p>{escape(title)}</p>\n{table}{remainder}</div>"


def _html_cell(name: str, value: Any) -> str:
    text = "-" if value is None else FORMATS.get(name, "{}").format(value)
    return escape(printable(text, MAX_CELL_LENGTH))
