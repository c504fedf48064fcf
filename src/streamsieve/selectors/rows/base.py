"""The base of algorithms that learn row by row."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import UsageError
from ...kernels.scaling import scale_rows_to_length_one
from ...kernels.scores import score_rows
from ...sources.base import Source
from ..base import Learner, is_number, is_whole, require
from .addresses import (
    Addresses,
    add,
    direct_addresses,
    direct_fits,
    find,
    refuse_beyond_memory,
    table_addresses,
)
from .labels import Labels

STATE = "state."  # before the names of the state's arrays in a saved model


class RowLearner(Learner):
    """Learns from rows as they come, in one pass, and predicts with the features it keeps.

    An author writes ``_start``, ``_update``, ``_negate`` and ``_kept``, and names the arrays of the state that have one
    entry per feature (``per_feature``: zero must mean "never touched") and those that hold feature positions
    (``feature_positions``). Everything about labels, widths, addresses and files is done here.
    """

    per_feature: ClassVar[tuple[str, ...]] = ()
    feature_positions: ClassVar[tuple[str, ...]] = ()

    n_features_to_select: int | float
    normalize: bool | str
    n_epochs: int

    def check_parameters(self) -> None:
        wanted = self.n_features_to_select
        require(
            is_number(wanted) and (wanted >= 1 if is_whole(wanted) else 0 < wanted < 1),
            "n_features_to_select",
            wanted,
            "a whole number of 1 or more, or a share between 0 and 1",
        )
        require(self.normalize is False or self.normalize == "l2", "normalize", self.normalize, "False or 'l2'")
        require(
            is_whole(self.n_epochs) and self.n_epochs >= 1, "n_epochs", self.n_epochs, "a whole number of 1 or more"
        )

    # ---- what an author writes

    def _start(self, budget: int) -> Any:
        """A fresh state, a NamedTuple of arrays; those of ``per_feature`` empty."""
        raise NotImplementedError

    def _update(self, state: Any, ids: NDArray[np.int64], block: RowBlock, signs: NDArray[np.int8]) -> None:
        """Learn the rows of a block whose ``indices`` are positions; ``ids``, if not empty, maps them to ids."""
        raise NotImplementedError

    def _negate(self, state: Any) -> None:
        """Swap the two classes in what was learned."""
        raise NotImplementedError

    def _kept(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Ids, weights and scores of the kept features, in any order."""
        raise NotImplementedError

    # ---- learning

    def fit_source(self, source: Source | Iterable[RowBlock], classes: Any | None = None) -> Self:
        """Learn from a source, or from any iterable of blocks, from scratch.

        Without ``classes`` the first two labels that turn up are the classes; a third is an error.
        """
        self.start(getattr(source, "n_features", None), classes, getattr(source, "feature_names", None))
        if self.n_epochs > 1 and not getattr(source, "rewindable", False):
            raise UsageError("n_epochs > 1 reads the rows again, and these can be read only once; save them to a file")
        for _ in range(self.n_epochs):
            for block in row_blocks(source):
                self.partial_fit_block(block)
        return self.finish(getattr(source, "name", ""))

    def start(
        self, n_features: int | None = None, classes: Any | None = None, feature_names: Any | None = None
    ) -> Self:
        """Forget everything and be ready for the first row."""
        self.check_parameters()
        self._labels = Labels(classes)
        self._declared_width = n_features or 0
        self._addresses = direct_addresses()
        self._counts = np.zeros(2, np.int64)  # rows, non-zeros
        self._warned = False
        self._state = self._start(self._budget(n_features))
        self.n_features_in_ = n_features or 0
        if feature_names is not None:
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def partial_fit_block(self, block: RowBlock) -> Self:
        """Learn the rows of one block; ``start`` comes before the first."""
        signs, flip = self._labels.encode(block.y, block.origin)
        if flip:
            self._negate(self._state)
        placed = self._placed(self._normalized(block))
        self._update(self._state, self._addresses.ids, placed, signs)
        self._counts += [block.n_rows, block.n_nonzero]
        self._warn_of_order(at_end=False)
        return self

    def _normalized(self, block: RowBlock) -> RowBlock:
        """The block as the algorithm wants its rows."""
        if not self.normalize:
            return block
        scaled = np.empty(block.n_nonzero, np.float32)
        scale_rows_to_length_one(block.indptr, block.values, scaled)
        return replace(block, values=scaled)

    def finish(self, origin: str = "") -> Self:
        """The end of the data: refuse what cannot have taught anything, naming ``origin``."""
        self._labels.refuse_one_class(origin)
        self._warn_of_order(at_end=True)
        return self

    def _warn_of_order(self, at_end: bool) -> None:
        message = None if self._warned else self._labels.order_warning(at_end)
        if message:
            self._warned = True
            warnings.warn(message, UserWarning, stacklevel=4)

    def _budget(self, n_features: int | None) -> int:
        wanted = self.n_features_to_select
        if is_whole(wanted):
            return int(wanted)
        if not n_features:
            raise UsageError(
                f"n_features_to_select={wanted} is a share of a width that is not known yet; give a number"
            )
        return max(1, round(wanted * n_features))

    # ---- addresses

    def _placed(self, block: RowBlock) -> RowBlock:
        """The block with positions for ids, the state grown to hold them."""
        self.n_features_in_ = width = max(self.n_features_in_, block.n_features)
        room = self._room()
        if self._addresses.direct:
            touched = int(self._counts[1]) + block.n_nonzero
            if width > room and not self._direct_fits(width, touched):
                self._move_to_table()
        elif self._direct_fits(width, self._addresses.used):
            self._move_to_direct(width)
        self._addresses, positions = add(self._addresses, block.indices, width)
        if self._addresses.direct:
            needed = width
            roomy = width if width <= self._declared_width else max(width, min(2 * room, width + (width >> 1)))
        else:
            needed, roomy = self._addresses.used, self._addresses.ids.size
        if needed > self._room():
            self._grow(roomy)
        return replace(block, indices=positions)

    def _room(self) -> int:
        return min((getattr(self._state, name).shape[0] for name in self.per_feature), default=0)

    def _bytes_per_feature(self) -> int:
        return sum(getattr(self._state, name)[:0].itemsize for name in self.per_feature)

    def _direct_fits(self, width: int, touched: int) -> bool:
        return direct_fits(width, touched, self._bytes_per_feature(), width <= self._declared_width)

    def _grow(self, room: int) -> None:
        old = {name: getattr(self._state, name) for name in self.per_feature}
        refuse_beyond_memory(room * self._bytes_per_feature() - sum(a.nbytes for a in old.values()), room)
        for name, array in old.items():
            grown = np.zeros(room, array.dtype)
            grown[: array.size] = array
            self._state = self._state._replace(**{name: grown})

    def _move_to_table(self) -> None:
        """From ids as positions to positions through a table; only touched features move."""
        touched = np.flatnonzero(np.logical_or.reduce([getattr(self._state, name) != 0 for name in self.per_feature]))
        addresses = table_addresses(touched.astype(np.int64))
        self._move(addresses, touched, np.arange(touched.size), addresses.ids.size)

    def _move_to_direct(self, width: int) -> None:
        """Back to ids as positions, once a table would take more room."""
        used = self._addresses.used
        self._move(direct_addresses(width), np.arange(used), self._addresses.ids[:used], width)

    def _move(self, addresses: Addresses, old: NDArray[np.int64], new: NDArray[np.int64], room: int) -> None:
        """Take the entries at positions ``old`` to positions ``new`` of arrays of size ``room``."""
        changed = {}
        for name in self.per_feature:
            array = getattr(self._state, name)
            changed[name] = np.zeros(room, array.dtype)
            changed[name][new] = array[old]
        for name in self.feature_positions:
            ids = getattr(self._state, name)
            if not self._addresses.direct:
                ids = self._addresses.ids[ids]
            changed[name] = find(addresses, ids).astype(np.int64)
        self._addresses = addresses
        self._state = self._state._replace(**changed)

    # ---- what was learned

    @property
    def classes_(self) -> NDArray[Any]:
        """The two labels, sorted; ``predict`` gives the second where the score is positive."""
        if not hasattr(self, "_labels"):
            raise AttributeError("classes_")
        return self._labels.classes

    @property
    def n_rows_(self) -> int:
        """Rows learned, over all epochs."""
        return int(self._counts[0])

    @property
    def n_nonzero_(self) -> int:
        """Non-zeros in those rows."""
        return int(self._counts[1])

    @property
    def started(self) -> bool:
        """Whether there is a state to learn into."""
        return hasattr(self, "_state")

    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        ids, _, scores = self._kept(self._state)
        order = np.argsort(ids)
        return ids[order], scores[order]

    def decision_function_block(self, block: RowBlock) -> NDArray[np.float64]:
        """The scores of the rows of a block; features that have no weight count nothing."""
        block = self._normalized(block)
        ids, weights, _ = self._kept(self._state)
        lookup = table_addresses(ids)
        scores = np.zeros(block.n_rows)
        score_rows(lookup.table, lookup.ids, weights, block.indptr, block.indices, block.values, scores)
        return scores

    def classify(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The classes that scores stand for; a score of exactly 0 is the first class."""
        return self.classes_[(scores > 0).astype(np.int64)]

    # ---- saving

    def _header(self) -> dict[str, Any]:
        return {
            "classes_given": self._labels.given,
            "classes_are_objects": self.classes_.dtype == object,
            "declared_width": self._declared_width,
            "used": self._addresses.used,
            "warned": self._warned,
        }

    def _arrays(self) -> dict[str, NDArray[Any]]:
        used = self._addresses.used
        arrays = {STATE + name: array for name, array in self._state._asdict().items()}
        for name in self.per_feature:
            arrays[STATE + name] = arrays[STATE + name][:used]
        classes = self.classes_
        return {
            **arrays,
            "ids": self._addresses.ids[:used],
            "classes": classes.astype(str) if classes.dtype == object else classes,
            "label_order": self._labels.order,
            "counts": self._counts,
        }

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.start(self.n_features_in_, None, self._names())
        self._declared_width = header["declared_width"]
        self._warned = header["warned"]
        classes = arrays["classes"]
        self._labels.given = header["classes_given"]
        self._labels.classes = classes.astype(object) if header["classes_are_objects"] else classes
        self._labels.order = arrays["label_order"]
        self._counts = arrays["counts"]
        ids = arrays["ids"]
        self._addresses = table_addresses(ids) if ids.size else direct_addresses(header["used"])
        self._state = self._state._replace(**{name: arrays[STATE + name] for name in self._state._fields})
        if ids.size:
            self._grow(self._addresses.ids.size)


def row_blocks(source: Source | Iterable[RowBlock]) -> Iterator[RowBlock]:
    """The blocks of a source, or the blocks themselves."""
    return iter(source.row_blocks() if hasattr(source, "row_blocks") else source)
