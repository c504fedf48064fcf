"""Labels in text with columns: numbers if all of them are plain numbers, otherwise text as it is written.

``007``, ``07`` and ``7`` are three labels, and so are two codes of 20 digits that a float could not tell apart. What a
file holds shows in its first labels; a later one that does not fit is an error with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, spell
from .base import DataSource, Source

if TYPE_CHECKING:
    import pyarrow as pa

LabelKind = Literal["numbers", "truth", "text"]

NUMBER = r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity)"
TOO_LONG = r"^[+-]?[0-9]{19,}$"  # an integer that an int64 may not hold
TRUTH = re.compile(r"^(true|True|TRUE|false|False|FALSE)$")
BLANKS, SIGNS, HEX = tuple(b" \t"), tuple(b"+-"), tuple(b"xX")
ZERO, NINE, MINUS = b"09-"
LONG = 19  # digits


def is_plain_number(label: Any) -> bool:
    """Whether a label is a number, or a text that is one as usual: without zeros before it, of no more than 64 bits."""
    word = str(label).strip()
    return bool(re.fullmatch(NUMBER, word)) and not re.match(TOO_LONG, word)


def expect_classes(source: DataSource, classes: Iterable[Any] | None) -> None:
    """Read the labels of rows as text if the classes that were named are neither plain numbers nor true and false."""
    words = [] if classes is None else [str(label).strip() for label in classes]
    if isinstance(source, Source) and not (all(map(is_plain_number, words)) or all(map(TRUTH.match, words))):
        source.labels_as_written()


def kind_of_labels(column: pa.Array) -> LabelKind:
    """What labels are that were read as text."""
    words = column.drop_null()
    if len(words) and numbers_of(words) is not None:
        return "numbers"
    return "truth" if len(words) and truth_of(words) is not None else "text"


def labels_of_kind(column: pa.Array, kind: LabelKind) -> pa.Array:
    """Labels that were read as text as labels of a kind; a ValueError if one is not of it."""
    if kind == "text" or column.null_count:  # for others to refuse
        return column
    found = numbers_of(column) if kind == "numbers" else truth_of(column)
    if found is None:
        raise ValueError("labels of another kind")
    return found


def truth_of(words: pa.Array) -> pa.Array | None:
    """Texts as truth values; None if one of them is something else."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pc.utf8_trim_whitespace(words)
    return words.cast(pa.bool_()) if pc.all(pc.match_substring_regex(words, TRUTH.pattern)).as_py() else None


def numbers_of(words: pa.Array) -> pa.Array | None:
    """Texts as int64 or float64; None if one of them is not a plain number.

    Those of a regression may all be different, and Arrow reads them many times faster than a pattern matches them. What
    it takes for a number and is not a plain one shows in how it begins and how long it is.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not shows_plain(words):
        words = pc.utf8_trim_whitespace(words)
        if not shows_plain(words):
            return None
    text, bounds = letters_of(words)
    inside = text[bounds[0] : bounds[-1]]
    are_integers = bool((((inside >= ZERO) & (inside <= NINE)) | (inside == MINUS)).all())
    try:
        numbers = words.cast(pa.int64() if are_integers else pa.float64())
    except pa.ArrowInvalid:
        return None
    return numbers if are_integers or not pc.any(pc.is_nan(numbers)).as_py() else None


def letters_of(words: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All letters of texts one after the other, and where each text begins and ends among them."""
    _, ends, letters = words.buffers()
    bounds = np.frombuffer(ends, np.int32)[words.offset : words.offset + len(words) + 1]
    return np.frombuffer(letters or b"", np.uint8), bounds.astype(np.int64)


def shows_plain(words: pa.Array) -> bool:
    """Whether no text begins or ends with a blank, has a zero before other digits or is an integer that is too long."""
    import pyarrow.compute as pc

    text, bounds = letters_of(words)
    start, stop = bounds[:-1], bounds[1:]
    if (start == stop).any() or np.isin(text[start], BLANKS).any() or np.isin(text[stop - 1], BLANKS).any():
        return False
    if (stop - start).max(initial=0) >= LONG and pc.any(pc.match_substring_regex(words, TOO_LONG)).as_py():
        return False
    start = start + np.isin(text[start], SIGNS)
    several = start[start + 1 < stop]
    after = text[several + 1]
    return not ((text[several] == ZERO) & (((after >= ZERO) & (after <= NINE)) | np.isin(after, HEX))).any()


def misfit(text: str, kind: LabelKind, where: str) -> DataError | None:
    """What to say of a label that is not of the kind of those before it."""
    fits = {"numbers": is_plain_number(text), "truth": bool(re.match(TRUTH, text.strip())), "text": True}
    if fits[kind]:
        return None
    known = "a plain number" if kind == "numbers" else "true or false"
    return DataError(
        f"{where}: the label {text!r} is not {known}, as those before it are; name all classes to read labels as text, "
        f"{spell('classes', ['A', 'B'])}, or write them alike"
    )
