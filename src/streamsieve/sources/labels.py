"""Labels: the different ones, and their kind in text with columns.

In text with columns, labels are numbers if all of them are plain numbers, otherwise text as it is
written. ``007``, ``07`` and ``7`` are three labels, and so are two codes of 20 digits that a float
could not tell apart. The first labels of a file determine the kind; a later label that does not
fit is an error with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, prefix, spell
from ..targets import (
    FOR_NUMBERS,
    MAX_PLAUSIBLE_CLASSES,
    NotClassesError,
    has_fractions,
    is_text,
)
from .base import DataSource, Source

if TYPE_CHECKING:
    import pyarrow as pa

LabelKind = Literal["numbers", "truth", "text"]

FIRST_ROWS = 1 << 16  # that are searched for labels before all rows are
NUMBER = (
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity)"
)
TOO_LONG = r"^[+-]?[0-9]{19,}$"  # an integer that an int64 may not hold
TRUTH = re.compile(r"^(true|True|TRUE|false|False|FALSE)$")
BLANKS, SIGNS, HEX = tuple(b" \t"), tuple(b"+-"), tuple(b"xX")
ZERO, NINE, MINUS = b"09-"
LONG = 19  # digits


def classes_with(source: Source, label: Any) -> NDArray[Any] | None:
    """Return the different labels, sorted, if ``label`` is among them.

    The first rows are searched; if ``label`` is not there, all rows are. Return None if it is in
    none of them, or if some labels are text and others are numbers.
    """
    for most_rows in (FIRST_ROWS, None):
        labels = distinct_labels(source.labels(), most_rows, source.name)
        if (
            labels is not None
            and is_text(labels) == isinstance(label, str)
            and label in labels.tolist()
        ):
            return labels
    return None


def distinct_labels(
    blocks: Iterable[NDArray[Any]], most_rows: int | None, origin: str
) -> NDArray[Any] | None:
    """Return the distinct labels of the first blocks, up to a number of rows, or of all blocks.

    Return None if some are text and others are not. Raise an error for numbers that can hardly be
    classes.
    """
    distinct: NDArray[Any] | None = None
    rows = 0
    for labels in blocks:
        if distinct is not None and is_text(labels) != is_text(distinct):
            return None
        distinct = add_labels(distinct, labels)
        rows += labels.size
        if has_fractions(distinct) and distinct.size > 2:
            raise NotClassesError(
                f"{prefix(origin)}numbers with fractions are hardly classes, and the first {rows:,}"
                f" rows have {distinct.size:,} different ones; {FOR_NUMBERS}"
            )
        if rows >= FIRST_ROWS:
            refuse_too_many(distinct.size, rows, origin)
        if most_rows is not None and rows >= most_rows:
            break
    if distinct is not None:
        refuse_too_many(distinct.size, rows, origin)
    return distinct


def add_labels(before: NDArray[Any] | None, labels: NDArray[Any]) -> NDArray[Any]:
    """Return the union of the known labels and some others, sorted.

    Only new labels are sorted; in most cases there are few of them.
    """
    if before is not None:
        positions = np.minimum(np.searchsorted(before, labels), before.size - 1)
        labels = labels[before[positions] != labels]
    new = np.unique(labels)
    return new if before is None else np.union1d(before, new) if new.size else before


def refuse_too_many(n_labels: int, rows: int, origin: str) -> None:
    """Raise DataError if most labels occur once: they are numbers, or names of the rows."""
    if n_labels > max(MAX_PLAUSIBLE_CLASSES, rows // 2):
        raise DataError(
            f"{prefix(origin)}{n_labels:,} different labels in {rows:,} rows are hardly classes;"
            " take another column as the target, for numbers a method that learns numbers, such as"
            f" sofs-regressor, or name all classes: {spell('classes', ['A', 'B', 'C'])}"
        )


# ---- labels of text with columns


def is_plain_number(label: Any) -> bool:
    """Return True for a number, or for text that is a number in its usual form.

    A leading zero, or more than 64 bits, is not usual.
    """
    word = str(label).strip()
    return bool(re.fullmatch(NUMBER, word)) and not re.match(TOO_LONG, word)


def expect_classes(source: DataSource, classes: Iterable[Any] | None) -> None:
    """Read the labels of rows as text if the given classes require it.

    That is the case if they are neither all plain numbers nor all true and false.
    """
    words = [] if classes is None else [str(label).strip() for label in classes]
    if isinstance(source, Source) and not (
        all(map(is_plain_number, words)) or all(map(TRUTH.match, words))
    ):
        source.read_labels_as_text()


def kind_of_labels(column: pa.Array) -> LabelKind:
    """Return the kind of labels that were read as text."""
    words = column.drop_null()
    if len(words) and as_numbers(words) is not None:
        return "numbers"
    return "truth" if len(words) and as_truth(words) is not None else "text"


def convert_labels(column: pa.Array, kind: LabelKind) -> pa.Array:
    """Return labels that were read as text as labels of a kind; raise ValueError if one is not."""
    if kind == "text" or column.null_count:  # the caller rejects missing labels
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

    The labels of a regression may all be different, and Arrow reads them many times faster than a
    pattern matches them. Texts that Arrow accepts although they are not plain numbers are
    recognized by their first characters and their length.
    """
    import pyarrow.compute as pc

    if not are_plain(words):
        words = pc.utf8_trim_whitespace(words)
        if not are_plain(words):
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
    """Return the letters of all texts, concatenated, and the bounds of the texts in them."""
    _, ends, letters = words.buffers()
    bounds = np.frombuffer(ends, np.int32)[words.offset : words.offset + len(words) + 1]
    return np.frombuffer(letters or b"", np.uint8), bounds.astype(np.int64)


def are_plain(words: pa.Array) -> bool:
    """Return True if no text has blanks around it, a leading zero or too many digits for int64."""
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


def label_error(text: str, kind: LabelKind, where: str) -> DataError | None:
    """Return the error for a label of another kind than those before it; None if it fits."""
    fits = {
        "numbers": is_plain_number(text),
        "truth": bool(re.match(TRUTH, text.strip())),
        "text": True,
    }
    if fits[kind]:
        return None
    expected = "a plain number" if kind == "numbers" else "true or false"
    return DataError(
        f"{where}: the label {text!r} is not {expected}, as those before it are; name all classes"
        f" to read labels as text, {spell('classes', ['A', 'B'])}, or write all labels in one form"
    )
