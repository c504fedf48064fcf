"""Labels: which there are, and what they are in text with columns.

There they are numbers if all of them are plain numbers, otherwise text as it is written. ``007``,
``07`` and ``7`` are three labels, and so are two codes of 20 digits that a float could not tell
apart. What a file holds shows in its first labels; a later one that does not fit is an error with
its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, prefix, spell
from ..targets import MAX_PLAUSIBLE_CLASSES, NotClassesError, has_fractions, is_text
from .base import DataSource, Source

if TYPE_CHECKING:
    import pyarrow as pa

LabelKind = Literal["numbers", "truth", "text"]

FIRST_ROWS = 1 << 16  # of a short look
NUMBER = (
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity)"
)
TOO_LONG = r"^[+-]?[0-9]{19,}$"  # an integer that an int64 may not hold
TRUTH = re.compile(r"^(true|True|TRUE|false|False|FALSE)$")
BLANKS, SIGNS, HEX = tuple(b" \t"), tuple(b"+-"), tuple(b"xX")
ZERO, NINE, MINUS = b"09-"
LONG = 19  # digits


def classes_with(source: Source, label: Any) -> NDArray[Any] | None:
    """Return the different labels, sorted: of the first rows if ``label`` is among them, otherwise of all rows.

    None if it is not among those either, or if labels are text here and numbers there.
    """
    for most_rows in (FIRST_ROWS, None):
        found = different(source.labels(), most_rows, source.name)
        if (
            found is not None
            and is_text(found) == isinstance(label, str)
            and label in found.tolist()
        ):
            return found
    return None


def different(
    blocks: Iterable[NDArray[Any]], most_rows: int | None, origin: str
) -> NDArray[Any] | None:
    """Return the different ones among labels, those of the first blocks up to a number of rows, or of all.

    None if some are text and others are not; numbers that can hardly be classes are refused.
    """
    known: NDArray[Any] | None = None
    rows = 0
    for labels in blocks:
        if known is not None and is_text(labels) != is_text(known):
            return None
        known = with_new(known, labels)
        rows += labels.size
        if has_fractions(known) and known.size > 2:
            raise NotClassesError(
                f"{prefix(origin)}numbers with fractions are hardly classes, and the first {rows:,}"
                f" rows have {known.size:,} different ones"
            )
        if rows >= FIRST_ROWS:
            refuse_too_many(known.size, rows, origin)
        if most_rows is not None and rows >= most_rows:
            break
    if known is not None:
        refuse_too_many(known.size, rows, origin)
    return known


def with_new(known: NDArray[Any] | None, labels: NDArray[Any]) -> NDArray[Any]:
    """Return the known labels and those that are new; where few are, which is usual, nothing is sorted."""
    if known is not None:
        at = np.minimum(np.searchsorted(known, labels), known.size - 1)
        labels = labels[known[at] != labels]
    found = np.unique(labels)
    return found if known is None else np.union1d(known, found) if found.size else known


def refuse_too_many(n_labels: int, rows: int, origin: str) -> None:
    """Refuse labels of which most occur once: they are numbers, or names of the rows."""
    if n_labels > max(MAX_PLAUSIBLE_CLASSES, rows // 2):
        raise DataError(
            f"{prefix(origin)}{n_labels:,} different labels in {rows:,} rows are hardly classes;"
            " take another column as the target, for numbers a method that learns numbers, such as"
            f" sofs-regressor, or name all classes: {spell('classes', ['A', 'B', 'C'])}"
        )


# ---- labels of text with columns


def is_plain_number(label: Any) -> bool:
    """Return True for a number, and for a text that is one as usual: no zeros before it, no more than 64 bits."""
    word = str(label).strip()
    return bool(re.fullmatch(NUMBER, word)) and not re.match(TOO_LONG, word)


def expect_classes(source: DataSource, classes: Iterable[Any] | None) -> None:
    """Read the labels of rows as text if the classes that were named are neither plain numbers nor true and false."""
    words = [] if classes is None else [str(label).strip() for label in classes]
    if isinstance(source, Source) and not (
        all(map(is_plain_number, words)) or all(map(TRUTH.match, words))
    ):
        source.labels_as_written()


def kind_of_labels(column: pa.Array) -> LabelKind:
    """Return what labels are that were read as text."""
    words = column.drop_null()
    if len(words) and as_numbers(words) is not None:
        return "numbers"
    return "truth" if len(words) and as_truth(words) is not None else "text"


def labels_of_kind(column: pa.Array, kind: LabelKind) -> pa.Array:
    """Return labels that were read as text as labels of a kind; raise ValueError if one is not of it."""
    if kind == "text" or column.null_count:  # for others to refuse
        return column
    labels = as_numbers(column) if kind == "numbers" else as_truth(column)
    if labels is None:
        raise ValueError("labels of another kind")
    return labels


def as_truth(words: pa.Array) -> pa.Array | None:
    """Return texts as truth values; None if one of them is something else."""
    import pyarrow.compute as pc

    words = pc.utf8_trim_whitespace(words)
    return (
        words.cast("bool")
        if pc.all(pc.match_substring_regex(words, TRUTH.pattern)).as_py()
        else None
    )


def as_numbers(words: pa.Array) -> pa.Array | None:
    """Return texts as int64 or float64; None if one of them is not a plain number.

    Those of a regression may all be different, and Arrow reads them many times faster than a
    pattern matches them. What it takes for a number and is not a plain one shows in how it begins
    and how long it is.
    """
    import pyarrow.compute as pc

    if not shows_plain(words):
        words = pc.utf8_trim_whitespace(words)
        if not shows_plain(words):
            return None
    text, bounds = letters_of(words)
    inside = text[bounds[0] : bounds[-1]]
    are_integers = bool((((inside >= ZERO) & (inside <= NINE)) | (inside == MINUS)).all())
    try:
        numbers = words.cast("int64" if are_integers else "float64")
    except ValueError:
        return None
    return numbers if are_integers or not pc.any(pc.is_nan(numbers)).as_py() else None


def letters_of(words: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return all letters of texts one after the other, and where each text begins and ends among them."""
    _, ends, letters = words.buffers()
    bounds = np.frombuffer(ends, np.int32)[words.offset : words.offset + len(words) + 1]
    return np.frombuffer(letters or b"", np.uint8), bounds.astype(np.int64)


def shows_plain(words: pa.Array) -> bool:
    """Return True if no text has blanks around it, a zero before other digits, or more digits than an int64."""
    import pyarrow.compute as pc

    text, bounds = letters_of(words)
    start, stop = bounds[:-1], bounds[1:]
    if (
        (start == stop).any()
        or np.isin(text[start], BLANKS).any()
        or np.isin(text[stop - 1], BLANKS).any()
    ):
        return False
    if (stop - start).max(initial=0) >= LONG and pc.any(
        pc.match_substring_regex(words, TOO_LONG)
    ).as_py():
        return False
    start = start + np.isin(text[start], SIGNS)
    several = start[start + 1 < stop]
    after = text[several + 1]
    return not (
        (text[several] == ZERO) & (((after >= ZERO) & (after <= NINE)) | np.isin(after, HEX))
    ).any()


def misfit(text: str, kind: LabelKind, where: str) -> DataError | None:
    """Return what to say of a label that is not of the kind of those before it."""
    fits = {
        "numbers": is_plain_number(text),
        "truth": bool(re.match(TRUTH, text.strip())),
        "text": True,
    }
    if fits[kind]:
        return None
    known = "a plain number" if kind == "numbers" else "true or false"
    return DataError(
        f"{where}: the label {text!r} is not {known}, as those before it are; name all classes to"
        f" read labels as text, {spell('classes', ['A', 'B'])}, or write them alike"
    )
