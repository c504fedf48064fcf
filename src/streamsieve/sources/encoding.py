"""How the columns of a table become features, found once and then the same for training and whatever follows it.

A number, a truth value or a date is one feature. A column of text is one feature per level, named ``column=level``, or
a fixed number of them, named ``column#bucket``, by a hash of the text. So every column has at most one value in a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, columns_of
from ..errors import DataError, prefix
from .arrow_values import Where, codes_of, days_of, numbers_of, truth_of
from .options import CHOICES

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["number", "boolean", "date", "onehot", "hash"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TEXT = "onehot", "hash"

MOST_LEVELS = 1000  # of a column
BUCKETS = 256  # of a column whose text is hashed
MOST_COLUMNS, LONGEST_TEXT = 1 << 22, 1 << 20  # of what a model may say
LARGEST_FILL = 3e38  # a float32


class Column(NamedTuple):
    """How one column is read. ``fill`` is what stands for a missing number, if it is not 0."""

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    fill: float = 0.0

    @property
    def is_text(self) -> bool:
        return self.kind in TEXT

    @property
    def width(self) -> int:
        """How many features it is."""
        return len(self.levels) if self.kind == "onehot" else BUCKETS if self.kind == "hash" else 1

    def features(self) -> list[str]:
        """What its features are called."""
        if self.kind == "onehot":
            return [f"{self.name}={level}" for level in self.levels]
        return [f"{self.name}#{bucket}" for bucket in range(BUCKETS)] if self.kind == "hash" else [self.name]


class Encoding:
    """How the columns of a table become features: those of the first column come first.

    A table that may be ``reduced`` to selected features has dates as they are, or as the days that stand for them.
    """

    def __init__(self, columns: Sequence[Column], missing: str = "error", reduced: bool = False) -> None:
        self.columns, self.missing, self.reduced = tuple(columns), missing, reduced

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.columns)

    # ---- what there is

    @property
    def n_features(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first feature of every column, and the number of features."""
        return np.cumsum([0, *(column.width for column in self.columns)], dtype=np.int64)

    @cached_property
    def feature_names(self) -> NDArray[Any]:
        return np.array([name for column in self.columns for name in column.features()], dtype=object)

    @property
    def column_names(self) -> list[str]:
        """The columns of a table that are read."""
        return [column.name for column in self.columns]

    @property
    def has_groups(self) -> bool:
        """Whether some features belong together."""
        return any(column.is_text for column in self.columns)

    @property
    def groups(self) -> list[str]:
        """The column that every feature is of."""
        return [column.name for column in self.columns for _ in range(column.width)]

    def with_features(self, features: NDArray[np.int64]) -> tuple[Encoding, NDArray[np.int64]]:
        """The columns alone that these features are of, and what all features of those are numbered here."""
        used = np.unique(np.searchsorted(self.starts, features, side="right") - 1).tolist()
        ids = [np.arange(self.starts[column], self.starts[column + 1]) for column in used]
        return Encoding([self.columns[column] for column in used], self.missing, reduced=True), np.concatenate(ids)

    # ---- as JSON

    def refuse_more(self, n_features: int, origin: str) -> None:
        """Refuse data with features that the table did not have: a model could not say how to read them."""
        if n_features > self.n_features:
            raise DataError(
                f"{prefix(origin)}feature {n_features - 1:,} is not of the table that was learned, which gives "
                f"{self.n_features:,} features (0 to {self.n_features - 1:,}); give one table with all columns, or "
                "begin anew"
            )

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        columns = []
        for column in self.columns:
            told: dict[str, Any] = {"name": column.name, "kind": column.kind}
            if column.kind == "onehot":
                told["levels"] = list(column.levels)
            if column.fill:
                told["fill"] = column.fill
            columns.append(told)
        return {"missing": self.missing, "columns": columns}

    @classmethod
    def from_dict(cls, content: Any) -> Encoding:
        """What ``to_dict`` gave; a ValueError if it may come from a stranger and cannot be that."""
        if (
            not isinstance(content, dict)
            or set(content) != {"missing", "columns"}
            or content["missing"] not in CHOICES["missing"]
        ):
            raise ValueError("its encoding of columns is not one")
        columns = content["columns"]
        if not isinstance(columns, list) or not 0 < len(columns) <= MOST_COLUMNS:
            raise ValueError("its encoding has no columns")
        found = [_column_of(column) for column in columns]
        if len({column.name for column in found}) < len(found):
            raise ValueError("its encoding names a column twice")
        return cls(found, content["missing"])

    # ---- tables through it

    def row_block(self, batch: pa.RecordBatch, y: NDArray[Any] | None, where: Where, keep: bool) -> RowBlock:
        """The rows of a batch; ``keep`` gives NaN for numbers that are missing and not filled in."""
        shape = batch.num_rows, len(self.columns)
        ids, values = np.empty(shape, np.int32), np.empty(shape, np.float32)
        with np.errstate(over="ignore"):
            for position, (column, start) in enumerate(zip(self.columns, self.starts.tolist(), strict=False)):
                found = self.read(column, batch.column(column.name), where, keep)
                if column.is_text:
                    ids[:, position], values[:, position] = start + found, found >= 0
                else:
                    ids[:, position], values[:, position] = start, found
                    where.refuse_infinite(values[:, position], column.name)
        present = values != 0
        indptr = np.zeros(batch.num_rows + 1, np.int64)
        np.cumsum(present.sum(axis=1), out=indptr[1:])
        dense = not self.has_groups  # as the same rows are that come from memory
        return RowBlock(indptr, ids[present], values[present], y, self.n_features, where.origin, dense)

    def column_blocks(self, table: pa.Table, columns: Sequence[int], where: Where) -> Iterator[ColumnBlock]:
        """The features of some columns, which are in the table; NaN is a number that is missing."""
        for position in columns:
            column, start = self.columns[position], int(self.starts[position])
            names = np.array(column.features(), dtype=object)
            found = self.read(column, table.column(column.name).combine_chunks(), where, True)
            if not column.is_text:
                yield columns_of(found[:, None], start, names=names, origin=where.origin)
                continue
            order = np.argsort(found, kind="stable")[np.count_nonzero(found < 0) :]
            indptr = np.zeros(column.width + 1, np.int64)
            np.cumsum(np.bincount(found[order], minlength=column.width), out=indptr[1:])
            ids = np.arange(start, start + column.width)
            yield ColumnBlock(
                indptr, order.astype(np.int32), np.ones(order.size), ids, found.size, names, origin=where.origin
            )

    def matrix(self, batches: Sequence[pa.RecordBatch], where: Where, keep: bool) -> Any:
        """All rows of a table in double precision: an array, or CSR if there are columns of text."""
        parts = []
        for batch in batches:
            found = [self.read(column, batch.column(column.name), where, keep) for column in self.columns]
            parts.append(self._sparse(found) if self.has_groups else np.column_stack(found))
            where = where.after(batch.num_rows)
        if not self.has_groups:
            return np.concatenate(parts) if parts else np.empty((0, self.n_features))
        from scipy.sparse import csr_array, vstack

        return vstack(parts, format="csr") if parts else csr_array((0, self.n_features))

    def _sparse(self, found: list[NDArray[Any]]) -> Any:
        """Rows, by what was found of each column, as CSR."""
        from scipy.sparse import csr_array

        texts = [column.is_text for column in self.columns]
        starts = zip(found, self.starts.tolist(), texts, strict=False)
        ids = np.column_stack(
            [start + (part if text else np.zeros(part.size, np.int64)) for part, start, text in starts]
        )
        values = np.column_stack([part >= 0 if text else part for part, text in zip(found, texts, strict=True)])
        present = values != 0
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return csr_array((values[present].astype(np.float64), ids[present], indptr), (len(values), self.n_features))

    def read(self, column: Column, values: pa.Array, where: Where, keep: bool) -> NDArray[Any]:
        """A column as numbers; one of text as the number of the level or the bucket in every row, -1 for none."""
        if values.null_count and self.missing == "error" and not keep:
            raise where.missing(values, column.name)
        if column.kind == "onehot":
            known = {level: number for number, level in enumerate(column.levels)}
            return codes_of(values, column.name, where, lambda level: known.get(level, -1))
        if column.kind == "hash":
            return codes_of(values, column.name, where, lambda level: bucket_of(column.name, level))
        if column.kind == "date":
            numbers = days_of(values, column.name, where, may_be_days=self.reduced)
        else:
            numbers = (truth_of if column.kind == "boolean" else numbers_of)(values, column.name, where)
        gone = np.isnan(numbers)
        if not gone.any():
            return numbers
        if self.missing in ("zero", "mean"):
            return np.where(gone, column.fill, numbers)
        if not keep:
            raise where.missing(values, column.name, int(np.argmax(gone)))
        return numbers


def bucket_of(column: str, level: str) -> int:
    """The bucket of a text: the same everywhere, another one for another column."""
    digest = blake2b(level.encode("utf-8", "surrogatepass"), digest_size=8, person=_person(column)).digest()
    return int.from_bytes(digest, "little") % BUCKETS


def _person(column: str) -> bytes:
    return blake2b(column.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _column_of(content: Any) -> Column:
    """A column as a model has it, checked."""
    known = {"name", "kind", "levels", "fill"}
    if not isinstance(content, dict) or not {"name", "kind"} <= set(content) <= known:
        raise ValueError("its encoding has a column that is none")
    name, kind, fill, levels = content["name"], content["kind"], content.get("fill", 0.0), content.get("levels", [])
    if not isinstance(name, str) or len(name) > LONGEST_TEXT or kind not in KINDS:
        raise ValueError("its encoding has a column of an unknown kind")
    if isinstance(fill, bool) or not isinstance(fill, int | float) or not isfinite(fill) or abs(fill) > LARGEST_FILL:
        raise ValueError(f"its encoding fills {name[:40]!r} in with {str(fill)[:40]!r}")
    if not isinstance(levels, list) or len(levels) > MOST_LEVELS or (levels and kind != "onehot"):
        raise ValueError(f"its encoding has too many levels of {name[:40]!r}")
    if not all(isinstance(level, str) and len(level) <= LONGEST_TEXT for level in levels):
        raise ValueError(f"its encoding has a level of {name[:40]!r} that is not text")
    if any(a >= b for a, b in pairwise(levels)):
        raise ValueError(f"its encoding has levels of {name[:40]!r} that do not ascend")
    return Column(name, kind, tuple(levels), float(fill))
