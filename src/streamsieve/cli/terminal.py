"""The one way to the terminal: what is printed stays on its line and is only text.

Names of features, labels and files come from data, and data comes from anywhere. An escape sequence in a name would
colour, overwrite or forge what the terminal shows, a newline a whole line of output.
"""

from __future__ import annotations

import re
import sys

import click

LONGEST_LINE = 2000  # letters; what a message quotes may be as long as a file
LONGEST_CELL = 60  # of a name or a label in a table
ELLIPSIS = "…"
# Control characters, what begins another line, surrogates without a partner, what changes the direction of writing and
# what nobody sees. Joiners and marks of direction, which some scripts need, stay.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff\U000e0000-\U000e007f]"
)
SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: object, longest: int | None = None) -> str:
    """A text as one line that can be shown: what is not plain text as an escape, the middle cut if it is too long."""
    shown = UNSAFE.sub(_escaped, str(text))
    if longest is not None and len(shown) > longest:
        end = longest // 4
        shown = shown[: longest - end - 1] + ELLIPSIS + shown[-end:]
    return shown


def _escaped(found: re.Match[str]) -> str:
    letter = found[0]
    code = ord(letter)
    if letter in SHORT:
        return SHORT[letter]
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def say(text: object, err: bool = False) -> None:
    """Print one line on standard output or standard error; letters that the terminal has not are escaped, too."""
    line = printable(text, LONGEST_LINE)
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), err=err)
