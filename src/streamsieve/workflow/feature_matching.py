"""Data like that of a training: its features found again by name, by id, or by their order in a selection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, canonical_rows
from ..errors import DataError, prefix, spell
from ..selectors.base import AnyLearner
from ..sources import open_like
from ..sources.base import AbsentColumnError, DataSource, Source, by_rows
from ..sources.encoding import Encoding
from ..sources.finding import is_names
from ..sources.options import ReadOptions
from ..sources.wrapped import KeptFeatures, WrappedRows
from ..sources.writers import LABEL, is_title_of_id, titles_of_ids
from .row_norms import mark_of

MAX_TABLE_WIDTH = 100_000  # columns that are looked for by the ids of features
ABSENT = -1  # a feature that the training did not have


class Choice(NamedTuple):
    """Some columns of a table."""

    columns: (
        list[str] | None
    )  # None for all but the target, in their order; none at all if nothing was selected
    ids: (
        NDArray[np.int64] | None
    )  # what features of the training they are, if not the first ones in order
    complete: bool  # whether that is all there is of a row
    encoding: Encoding | None = None  # how they become features, if they are not just numbers


class Like(NamedTuple):
    """Rows whose features have the ids of a training."""

    source: Source
    complete: bool | None  # whether all features are there; None if that is not known


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """What is known of the features of a training, and which of them are needed."""

    names: NDArray[Any] | None  # of all
    n_features: int | None = None  # if it is known
    selected: NDArray[np.int64] | None = None  # ascending; None for all
    selected_names: NDArray[Any] | None = None
    renumbered: str | None = (
        None  # the mark of a selection, if the training had rows that it has renumbered
    )
    wants_all: bool = True  # whether all features are of use
    needs_all: bool = True
    encoding: Encoding | None = None  # how the columns of a table became these features
    kept: KeptFeatures | None = None  # those that were read, by id; None for all

    @classmethod
    def of_source(cls, source: DataSource) -> Features:
        """Those of what is going to be learned."""
        facts = source.facts
        return cls(
            source.all_names(),
            source.n_features,
            renumbered=facts.renumbered,
            encoding=None if facts.encoding is None or facts.encoding.is_plain else facts.encoding,
            kept=facts.kept,
        )

    @classmethod
    def of(cls, learner: AnyLearner, renumbered: str | None, predicting: bool) -> Features:
        """Those of a model."""
        results, features = learner.results, learner.features
        selection, needs_all = results.selection(), predicting and results.predicts_with_all
        known = features.names, features.width, selection.indices, selection.names, renumbered
        wants_all = needs_all or results.uses_lengths or not len(selection)
        return cls(
            *known,
            wants_all=wants_all,
            needs_all=needs_all,
            encoding=features.encoding,
            kept=features.kept,
        )

    @property
    def named(self) -> bool:
        return self.names is not None or self.selected_names is not None

    def choices(self) -> Iterator[Choice]:
        """The columns to look for in a table, the best first: all where they are of use, those that were selected.

        As they were in the training first, then as ``apply`` writes them.
        """
        if self.encoding is not None:
            reduced = None
            if self.selected is not None and self.selected.size and not self.needs_all:
                reduced, ids = self.encoding.with_features(self.selected)
            if self.wants_all:
                is_whole = reduced is not None and reduced.n_features == self.encoding.n_features
                encoding = reduced if reduced is not None and is_whole else self.encoding
                yield Choice(encoding.column_names, None, True, encoding)
            if reduced is not None:
                yield Choice(reduced.column_names, ids, False, reduced)
        if self.wants_all and self.names is not None:
            yield Choice(list(map(str, self.names)), None, True)
        if (
            self.wants_all
            and not self.named
            and self.n_features
            and self.n_features <= MAX_TABLE_WIDTH
        ):
            yield Choice(titles_of_ids(range(self.n_features)), None, True)
        if self.selected is not None and self.selected.size and not self.needs_all:
            names = self.selected_names
            titles = (
                titles_of_ids(self.selected.tolist()) if names is None else list(map(str, names))
            )
            yield Choice(titles, self.selected, False)
        if self.selected is not None and not self.selected.size and not self.needs_all:
            yield Choice([], None, False)
        if not self.named:
            yield Choice(None, None, True)

    def first_columns(self, available: list[str]) -> Choice | None:
        """The columns of a table without names that ends before the last features, which are 0 in all of its rows."""
        titles = set(filter(is_title_of_id, available))
        first = titles_of_ids(range(len(titles)))
        selected = [] if self.selected is None else titles_of_ids(self.selected.tolist())
        if self.named or not titles or titles != set(first) or titles == set(selected):
            return None
        return Choice(first, None, True)

    def ids_by_name(self) -> dict[str, int]:
        """The ids of features whose names are known."""
        if self.names is not None:
            return {str(name): feature for feature, name in enumerate(self.names)}
        if self.selected is None or self.selected_names is None:
            return {}
        return dict(zip(map(str, self.selected_names), self.selected.tolist(), strict=True))


def open_like_training(data: Any, features: Features, options: ReadOptions) -> Like:
    """Data like that of a training; a target is for tables alone.

    Columns of a table, and other features that have names, are found by name, in any order; those
    that were selected are enough, and others are ignored. What the training omitted is known by its
    ids, whatever the data calls it.
    """
    rows = under_ids_of_training(data, features, replace(options, names=None, drop=(), only=None))
    return (
        rows
        if features.kept is None
        else rows._replace(source=by_rows(rows.source.keeping(features.kept)))
    )


def open_test_rows(test: Any, source: DataSource, options: ReadOptions) -> Source:
    """Return rows to test on, whose features are those of the rows to learn from; they must have labels."""
    rows = open_like_training(test, Features.of_source(source), options).source
    if not rows.has_labels:
        raise DataError(
            f"{prefix(rows.name)}the rows to test on have no labels, and the accuracy needs them"
        )
    return rows


def under_ids_of_training(data: Any, features: Features, options: ReadOptions) -> Like:
    """Return all features of data, each under the id that it had in a training."""
    source, choice = open_with_columns(data, features, options)
    if is_names(data):
        refuse_other_numbers(source, features)
    if source.facts.takes_target:
        return by_columns(source, choice, features)
    mark = source.facts.renumbered
    if mark is not None and mark != features.renumbered and features.selected is not None:
        return Like(MappedRows(source, features.selected, features), False)
    names = source.all_names() if features.named else None
    return (
        Like(source, None) if names is None else by_names(source, list(map(str, names)), features)
    )


def open_with_columns(data: Any, features: Features, options: ReadOptions) -> tuple[Source, Choice]:
    """The source and, of a table, the columns of it that were found."""
    absent: AbsentColumnError | None = None
    for choice in features.choices():
        try:
            return (
                by_rows(
                    open_like(
                        data, titled(options, choice.columns), choice.columns, choice.encoding
                    )
                ),
                choice,
            )
        except AbsentColumnError as error:
            shorter = features.first_columns(error.available)
            if shorter is not None:
                return (
                    by_rows(open_like(data, titled(options, shorter.columns), shorter.columns)),
                    shorter,
                )
            absent = error if absent is None or features.encoding is None else absent
    if absent is None:  # nothing is known of the columns
        return by_rows(open_like(data, options, None)), Choice(None, None, True)
    all_needed = features.needs_all and features.selected is not None
    raise DataError(
        f"{absent}; this model predicts with all features" if all_needed else str(absent)
    )


def titled(options: ReadOptions, columns: list[str] | None) -> ReadOptions:
    """The same options where labels have the name that our own tables give them, if no other is known."""
    ours = columns is not None and LABEL not in columns
    return replace(options, target=options.target or LABEL) if ours else options


def refuse_other_numbers(source: Source, features: Features) -> None:
    """Refuse rows whose features are numbered in another way than those of the training."""
    mark, selected = source.facts.renumbered, features.selected
    if mark == features.renumbered or (selected is not None and mark == mark_of(selected)):
        return
    if mark is not None:
        raise DataError(
            f"{source.name}: its features are renumbered, and not by the selection of this run;"
            " apply this run to the rows that they come from"
        )
    if not source.facts.takes_target and source.feature_names is None:
        raise DataError(
            f"{source.name}: the run has learned from rows with renumbered features, and these are"
            f" not; apply the same selection to them first, with {spell('renumber', True)}"
        )


def by_columns(source: Source, choice: Choice, features: Features) -> Like:
    """A table, by the columns that were found in it."""
    found, width = source.n_features or 0, features.n_features
    if choice.columns is None and width is not None and found != width:
        raise DataError(
            f"{source.name}: {found:,} columns beside the target, and {width:,} features in the"
            " training, which had no names; call columns x0, x1, ... after the numbers of the"
            " features, from 0"
        )
    if choice.columns == [] and source.has_labels:
        source, found = by_rows(source.with_labels_alone()), 0  # text and dates are not read
    ids = np.full(found, ABSENT) if choice.columns == [] else choice.ids
    return Like(source if ids is None else MappedRows(source, ids, features), choice.complete)


def by_names(source: Source, names: list[str], features: Features) -> Like:
    """Rows whose features have names, as those of the training have; all of the names may be there without values."""
    known = features.ids_by_name()
    ids = np.array([known.get(name, ABSENT) for name in names], np.int64)
    there = set(ids.tolist())
    complete = features.names is not None and there.issuperset(known.values())
    if not complete:
        needed = (
            known.values()
            if features.needs_all or features.selected is None
            else features.selected.tolist()
        )
        absent = next((feature for feature in needed if feature not in there), None)
        if absent is not None:
            name = next(name for name, feature in known.items() if feature == absent)
            raise DataError(f"{source.name}: there is no feature {name!r}, which the training had")
    same = np.array_equal(ids, np.arange(ids.size))
    return Like(source if same else MappedRows(source, ids, features), None if complete else False)


class MappedRows(WrappedRows):
    """Rows under the ids that a training had for their features; what it did not have is omitted."""

    def __init__(self, rows: Source, ids: NDArray[np.int64], features: Features) -> None:
        width = features.n_features or int(ids.max()) + 1
        super().__init__(rows, encoding=None, n_features=width, feature_names=features.names)
        self.ids_there = ids
        self.ascending = bool((np.diff(ids[ids != ABSENT]) > 0).all())

    def _changed(self, block: RowBlock) -> RowBlock:
        begin, end = block.indptr[0], block.indptr[-1]
        found, values, indptr = (
            block.indices[begin:end],
            block.values[begin:end],
            block.indptr - begin,
        )
        if found.size and int(found.max()) >= self.ids_there.size:
            raise DataError(
                f"{self.name}: there are more than the {self.ids_there.size:,} features that were"
                " selected"
            )
        indices = self.ids_there[found]
        kept = indices != ABSENT
        if not kept.all():
            indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
            indices, values = indices[kept], values[kept]
        width = self.n_features or 0
        if not self.ascending:
            (indptr, indices, values), _ = canonical_rows(indptr, indices, values, width)
        return block.derived(indptr=indptr, indices=indices, values=values, n_features=width)
