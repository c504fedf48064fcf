"""Parse svmlight text into blocks of rows: what the kernel leaves to Python, and messages."""

from __future__ import annotations

import mmap
import re
import threading
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, canonical_rows
from ..errors import spell
from ..kernels.reading import svmlight as text_kernel
from .base import MAX_INDEX
from .formats import kind_of

OVERFLOW = 2.0**128 - 2.0**103  # the smallest number whose nearest float32 would be infinite

TOKEN = re.compile(rb"[^ \t\r\n#]*")

Bytes = NDArray[np.uint8]
Number = TypeVar("Number", bound=np.generic)


LABELS_DIFFER = {  # by whether the row has no label
    True: "this row has no label before its first 'index:value', but rows before it have; add it",
    False: "this row has a label, but rows before it have none; add or omit all labels",
}


class Fault(NamedTuple):
    """A message on what is wrong with a line."""

    message: str


class Scratch:
    """Memory for text of a given size and for what the kernel parses from it; one for each thread.

    It is mapped, not allocated: only the touched pages take memory, and all of it is freed when the
    thread ends.
    """

    _of_thread = threading.local()

    def __init__(self, size: int) -> None:
        self.size = size
        self.text = mmap.mmap(-1, size)
        self.indptr = mapped(size // 2 + 2, np.int64)
        self.labels = mapped(size // 2 + 1, np.float64)
        self.values = mapped(size // 4 + 1, np.float32)
        self.inexact = mapped(2 * (size // text_kernel.MIN_INEXACT_LENGTH + 1), np.int64).reshape(
            -1, 2
        )
        self.narrow = mapped(size // 4 + 1, np.int32)
        self.wide = mapped(size // 4 + 1, np.int64)

    @classmethod
    def get(cls, size: int) -> Scratch:
        """Return the scratch of this thread, with room for text of ``size`` bytes."""
        scratch: Scratch | None = getattr(cls._of_thread, "scratch", None)
        if scratch is None or scratch.size < size:
            scratch = cls._of_thread.scratch = cls(size)
        return scratch


def mapped(count: int, dtype: type[Number]) -> NDArray[Number]:
    """Return an array of zeros that takes memory page by page as it is touched."""
    return np.frombuffer(mmap.mmap(-1, count * np.dtype(dtype).itemsize), dtype)


def parse_text(text: Bytes, first_index: int, origin: str) -> tuple[RowBlock | Fault, int]:
    """Return a block of the rows in complete lines, or the first fault.

    With it comes the number of lines before the end of the text, or before the fault.
    """
    scratch = Scratch.get(text.size)
    report = np.zeros(text_kernel.REPORT_SIZE, np.int64)
    for indices, largest in ((scratch.narrow, 2**31 - 2), (scratch.wide, MAX_INDEX)):
        text_kernel.parse_rows(
            text,
            first_index,
            largest,
            scratch.indptr,
            indices,
            scratch.values,
            scratch.labels,
            scratch.inexact,
            report,
        )
        if report[text_kernel.FAULT] != text_kernel.WIDE_INDEX:
            break
    lines = int(report[text_kernel.LINES])
    if report[text_kernel.FAULT]:
        where = int(report[text_kernel.WHERE])
        fault = Fault(describe_fault(text, int(report[text_kernel.FAULT]), where))
        text_before = text[: start_of_line(text, where)]
        earlier_result = parse_text(text_before, first_index, origin) if text_before.size else None
        return (
            earlier_result
            if earlier_result and isinstance(earlier_result[0], Fault)
            else (fault, lines)
        )
    n_rows, filled = int(report[text_kernel.ROWS]), int(report[text_kernel.NONZEROS])
    labels, values = scratch.labels[:n_rows].copy(), scratch.values[:filled].copy()
    for where, position in scratch.inexact[: report[text_kernel.INEXACT]].tolist():
        number = float(token_at(text, where))
        if position < 0:
            labels[-1 - position] = number
        elif abs(number) >= OVERFLOW:
            fault = Fault(describe_fault(text, text_kernel.TOO_LARGE, start_of_entry(text, where)))
            return fault, text[:where].tobytes().count(b"\n")
        else:
            values[position] = number
    unlabelled = np.isnan(labels)
    if np.isinf(labels).any():
        row = int(np.flatnonzero(np.isinf(labels))[0])
        return Fault(f"label {labels[row]} is too large for a number"), line_of_row(text, row)
    if unlabelled.any() and not unlabelled.all():
        row = int(np.flatnonzero(unlabelled != unlabelled[0])[0])
        return Fault(LABELS_DIFFER[bool(unlabelled[row])]), line_of_row(text, row)
    arrays = scratch.indptr[: n_rows + 1].copy(), indices[:filled].copy(), values
    if not report[text_kernel.CANONICAL]:
        arrays, repeated = canonical_rows(*arrays, int(report[text_kernel.WIDTH]))
        if repeated:
            row, feature = repeated
            return Fault(repeated_message(feature + first_index)), line_of_row(text, row)
    y = None if n_rows and unlabelled[0] else labels
    return RowBlock.trusted(*arrays, y, int(report[text_kernel.WIDTH]), origin), lines


def line_of_row(text: Bytes, row: int) -> int:
    """Return the number of lines before a row: blank lines and comments are not rows."""
    lines = enumerate(text.tobytes().split(b"\n"))
    return [number for number, line in lines if line.split(b"#")[0].strip()][row]


def token_at(text: Bytes, where: int) -> str:
    """Return the text from ``where`` to the next blank or comment."""
    token: bytes = next(TOKEN.finditer(text.data, where))[0]
    return token.decode("ascii", "backslashreplace")


def start_of_entry(text: Bytes, where: int) -> int:
    """Return the position of the ``index:value`` whose value is at ``where``."""
    return where - len(re.split(rb"[ \t\r\n]", text[max(0, where - 32) : where].tobytes())[-1])


def start_of_line(text: Bytes, where: int) -> int:
    """Return the position at which the line with ``where`` starts."""
    return text[:where].tobytes().rfind(b"\n") + 1


def repeated_message(index: int) -> str:
    """Return the message for a feature that appears twice in a row."""
    return f"feature {index} appears twice in this row; merge or drop one of the entries"


def describe_fault(text: Bytes, fault: int, where: int) -> str:
    """Return the message for a fault of the kernel, with what to do about it."""
    token = token_at(text, where)
    shown = token if len(token) <= 40 else token[:37] + "..."
    if not token.isprintable() or "\\x" in token or b"\0" in text[:4096].tobytes():
        kind = kind_of(text[:16].tobytes())
        return (
            f"this is {kind}"
            if kind
            else "there are bytes that are not text; is this a complete svmlight file?"
        )
    line = text[start_of_line(text, where) :].tobytes().split(b"\n", 1)[0]
    if b"\r" in line.rstrip(b"\r"):
        return (
            "lines end with a carriage return alone, as on old Macs; replace them by newlines: tr"
            " '\\r' '\\n'"
        )
    index, _, value = shown.partition(":")
    return _MESSAGES[fault](shown, index, value)


def _number_fault(what: str, number: str) -> str:
    if number.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return f"{what} is {number}; replace or drop values that are not finite"
    return f"{what} {number!r} is not a number; expected something like 1, -0.5 or 2e-3"


_MESSAGES: dict[int, Callable[[str, str, str], str]] = {
    text_kernel.BAD_LABEL: lambda token, index, value: (
        _number_fault("the label", token) + "; an svmlight line is 'label index:value ...'"
    ),
    text_kernel.BAD_INDEX: lambda token, index, value: (
        f"feature index {index} is negative; indices start at 1, or at 0 with"
        f" {spell('zero_based', True)}"
        if index[1:].isdigit() and index[0] == "-"
        else f"{token!r} does not start with a feature index; expected index:value, such as 7:0.5"
    ),
    text_kernel.NO_COLON: lambda token, index, value: (
        f"{token!r} has no colon after its index; expected index:value, such as 7:0.5"
    ),
    text_kernel.BAD_VALUE: lambda token, index, value: _number_fault(
        f"the value of feature {index}", value
    ),
    text_kernel.TOO_LARGE: lambda token, index, value: (
        f"the value of feature {index}, {value}, is too large for float32 (3.4e38); scale the"
        " column down"
    ),
    text_kernel.ZERO_INDEX: lambda token, index, value: (
        "feature index 0 in a file whose indices start at 1; if they start at 0, say so: "
        + spell("zero_based", True)
    ),
    text_kernel.WIDE_INDEX: lambda token, index, value: (
        f"feature index {index} is too large: the largest is {MAX_INDEX:,}; hash or renumber"
        " the features"
    ),
    text_kernel.REPEATED: lambda token, index, value: repeated_message(int(index)),
}
