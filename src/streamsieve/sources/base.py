"""What a source owes: rows in blocks, once or as often as asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError

LARGEST_INDEX = 10**17  # 18 digits, so that no sum in a kernel overflows


@runtime_checkable
class Source(Protocol):
    """Rows from somewhere. What is not known before reading is None."""

    name: str
    n_rows: int | None
    n_features: int | None
    feature_names: NDArray[Any] | None
    rewindable: bool

    def row_blocks(self) -> Iterator[RowBlock]:
        """The rows in order, from the first, in blocks of a size the source prefers."""
        ...

    def targets(self) -> NDArray[Any]:
        """The labels alone."""
        ...


class BaseSource:
    """What most sources share. ``bytes_read`` of ``n_bytes`` tells how far ``row_blocks`` has come."""

    n_rows: int | None = None
    n_features: int | None = None
    feature_names: NDArray[Any] | None = None
    rewindable = True
    n_bytes: int | None = None
    allow_nan = False  # whether a missing value comes as NaN instead of being refused
    bytes_read = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def row_blocks(self) -> Iterator[RowBlock]:
        raise NotImplementedError

    def targets(self) -> NDArray[Any]:
        labels = [block.y for block in self.row_blocks()]
        if any(part is None for part in labels):
            raise DataError(f"{self.name}: the rows have no labels")
        return np.concatenate([part for part in labels if part is not None])


def file_size(path: Path) -> int:
    """The size of a regular file; a plain message for what is none."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder; name a file in it")
    return path.stat().st_size
