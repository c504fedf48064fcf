"""Match the features of data to those of a training, by name, by id, or by order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, prefix, spell
from ..selectors.base import AnyLearner
from ..sources import open_like
from ..sources.base import AbsentColumnError, DataSource, Source, as_row_source
from ..sources.encoding import Encoding
from ..sources.finding import is_names
from ..sources.options import ReadOptions
from ..sources.wrapped import NO_ID, KeptFeatures, MappedRows
from ..sources.writers import LABEL, is_title_of_id, titles_of_ids
from .row_norms import mark_of

MAX_UNNAMED_COLUMNS = 100_000  # if more features have no names, x0, x1, ... are not looked for


class ColumnChoice(NamedTuple):
    """Some columns of a table."""

    columns: list[str] | None  # None for all but the target; empty if nothing was selected
    ids: NDArray[np.int64] | None  # of the features in the training; None for 0, 1, 2, ...
    complete: bool  # True if these give all features of the training, not only the selected ones
    encoding: Encoding | None = None  # how columns become features, if they are not just numbers


class MatchedRows(NamedTuple):
    """Rows whose features have the ids of the training."""

    source: Source
    complete: bool | None  # True if all features are present; None if unknown


@dataclass(frozen=True, slots=True, eq=False)
class TrainingFeatures:
    """The features of a training, and which of them are needed."""

    names: NDArray[Any] | None  # of all features
    n_features: int | None = None  # None if unknown
    selected: NDArray[np.int64] | None = None  # ascending; None for all
    selected_names: NDArray[Any] | None = None
    renumbered: str | None = None  # ``mark_of`` the selection that renumbered the training rows
    wants_all: bool = True  # all features are useful, if the data has them
    needs_all: bool = True  # all features must be present
    encoding: Encoding | None = None  # how the columns of a table became these features
    kept: KeptFeatures | None = None  # the features that were read; None for all

    @classmethod
    def of_source(cls, source: DataSource) -> TrainingFeatures:
        """Return the features of data to learn from."""
        facts = source.facts
        return cls(
            source.read_feature_names(),
            source.n_features,
            renumbered=facts.renumbered,
            encoding=None if facts.encoding is None or facts.encoding.is_plain else facts.encoding,
            kept=facts.kept,
        )

    @classmethod
    def of(cls, learner: AnyLearner, renumbered: str | None, predicting: bool) -> TrainingFeatures:
        """Return the features of a model; only for ``predicting`` may it need all of them."""
        results, features = learner.results, learner.features
        selection = results.selection()
        needs_all = predicting and results.uses_all_features
        return cls(
            names=features.names,
            n_features=features.width,
            selected=selection.indices,
            selected_names=selection.names,
            renumbered=renumbered,
            wants_all=needs_all or results.uses_row_lengths or not len(selection),
            needs_all=needs_all,
            encoding=features.encoding,
            kept=features.kept,
        )

    @property
    def named(self) -> bool:
        """Return True if features have names."""
        return self.names is not None or self.selected_names is not None

    def choices(self) -> Iterator[ColumnChoice]:
        """Yield the columns to look for in a table, the best choice first.

        Columns as in the training come before columns as ``apply`` writes them. Within either kind,
        all columns come before the selected ones, and are tried only if all features are useful.
        Last come no columns, if nothing was selected, and columns by position, without names.
        """
        if self.encoding is not None:
            reduced = None
            if self.selected is not None and self.selected.size and not self.needs_all:
                reduced, ids = self.encoding.with_features(self.selected)
            if self.wants_all:
                is_whole = reduced is not None and reduced.n_features == self.encoding.n_features
                # A reduced encoding also reads dates as the day numbers that ``apply`` writes.
                encoding = reduced if reduced is not None and is_whole else self.encoding
                yield ColumnChoice(encoding.column_names, None, True, encoding)
            if reduced is not None:
                yield ColumnChoice(reduced.column_names, ids, False, reduced)
        if self.wants_all and self.names is not None:
            yield ColumnChoice(list(map(str, self.names)), None, True)
        if (
            self.wants_all
            and not self.named
            and self.n_features
            and self.n_features <= MAX_UNNAMED_COLUMNS
        ):
            yield ColumnChoice(titles_of_ids(range(self.n_features)), None, True)
        if self.selected is not None and self.selected.size and not self.needs_all:
            names = self.selected_names
            titles = (
                titles_of_ids(self.selected.tolist()) if names is None else list(map(str, names))
            )
            yield ColumnChoice(titles, self.selected, False)
        if self.selected is not None and not self.selected.size and not self.needs_all:
            yield ColumnChoice([], None, False)
        if not self.named:
            yield ColumnChoice(None, None, True)

    def mapped(self, rows: Source, ids: NDArray[np.int64]) -> MappedRows:
        """Return rows whose features have these ids in the training."""
        return MappedRows(rows, ids, self.n_features or int(ids.max()) + 1, self.names)

    def first_columns(self, available: list[str]) -> ColumnChoice | None:
        """Return the columns x0, x1, ... of a table that lacks the last features; None for others.

        Such a table comes from data without names that had fewer features than the training. The
        features that it lacks are 0 in all of its rows. If the titles are those of the selected
        features, the table is a reduced one instead.
        """
        titles = set(filter(is_title_of_id, available))
        first = titles_of_ids(range(len(titles)))
        selected = [] if self.selected is None else titles_of_ids(self.selected.tolist())
        if self.named or not titles or titles != set(first) or titles == set(selected):
            return None
        return ColumnChoice(first, None, True)

    def ids_by_name(self) -> dict[str, int]:
        """Return the ids of features whose names are known."""
        if self.names is not None:
            return {str(name): feature for feature, name in enumerate(self.names)}
        if self.selected is None or self.selected_names is None:
            return {}
        return dict(zip(map(str, self.selected_names), self.selected.tolist(), strict=True))


def open_like_training(data: Any, features: TrainingFeatures, options: ReadOptions) -> MatchedRows:
    """Open data with the feature ids of a training; ``options.target`` is used for tables only.

    Columns of a table, and other features that have names, are found by name, in any order. The
    selected features suffice, and others are ignored. Features that the training omitted are
    identified by their ids, whatever their names are in the data.
    """
    rows = match_features(data, features, replace(options, names=None, drop=(), only=None))
    return (
        rows
        if features.kept is None
        else rows._replace(source=as_row_source(rows.source.keep_features(features.kept)))
    )


def open_test_rows(test: Any, source: DataSource, options: ReadOptions) -> Source:
    """Return labelled test rows, with the features of the rows to learn from."""
    rows = open_like_training(test, TrainingFeatures.of_source(source), options).source
    if not rows.has_labels:
        raise DataError(
            f"{prefix(rows.name)}the rows to test on must have labels, to compute the accuracy"
        )
    return rows


def match_features(data: Any, features: TrainingFeatures, options: ReadOptions) -> MatchedRows:
    """Return data as rows with the ids that all of its features had in a training."""
    source, choice = open_with_columns(data, features, options)
    if is_names(data):
        refuse_other_numbering(source, features)
    if source.facts.takes_target:
        return match_columns(source, choice, features)
    mark = source.facts.renumbered
    if mark is not None and mark != features.renumbered and features.selected is not None:
        # the rows were renumbered: feature i is the i-th selected one
        return MatchedRows(features.mapped(source, features.selected), False)
    names = source.read_feature_names() if features.named else None
    return (
        MatchedRows(source, None)
        if names is None
        else match_names(source, list(map(str, names)), features)
    )


def open_with_columns(
    data: Any, features: TrainingFeatures, options: ReadOptions
) -> tuple[Source, ColumnChoice]:
    """Open data as a source; return it with the first choice of columns that it has."""
    absent: AbsentColumnError | None = None
    for choice in features.choices():
        try:
            return (
                as_row_source(
                    open_like(
                        data,
                        with_default_target(options, choice.columns),
                        choice.columns,
                        choice.encoding,
                    )
                ),
                choice,
            )
        except AbsentColumnError as error:
            first = features.first_columns(error.available)
            if first is not None:
                return (
                    as_row_source(
                        open_like(data, with_default_target(options, first.columns), first.columns)
                    ),
                    first,
                )
            # with an encoding the first choice is what the training read, so its error says most
            absent = error if absent is None or features.encoding is None else absent
    if absent is None:  # there was no choice: the columns of the training are unknown
        return as_row_source(open_like(data, options, None)), ColumnChoice(None, None, True)
    all_needed = features.needs_all and features.selected is not None
    raise DataError(
        f"{absent}; this model predicts with all features" if all_needed else str(absent)
    )


def with_default_target(options: ReadOptions, columns: list[str] | None) -> ReadOptions:
    """Return the options, with target ``LABEL``, as ``apply`` writes it, if none is given.

    They are unchanged if the columns of features are unknown, or one of them has that name.
    """
    has_default = columns is not None and LABEL not in columns
    return replace(options, target=options.target or LABEL) if has_default else options


def refuse_other_numbering(source: Source, features: TrainingFeatures) -> None:
    """Raise DataError if features are numbered differently than in the training."""
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


def match_columns(source: Source, choice: ColumnChoice, features: TrainingFeatures) -> MatchedRows:
    """Return the rows of a table with the columns that were found in it."""
    count, width = source.n_features or 0, features.n_features
    if choice.columns is None and width is not None and count != width:
        raise DataError(
            f"{source.name}: expected {width:,} columns beside the target, as many as the training"
            f" had features, got {count:,}; name the columns x0, x1, ... after the numbers of the"
            " features, from 0"
        )
    if choice.columns == [] and source.has_labels:
        # columns of text or dates, which are not numbers, must not be read
        source, count = as_row_source(source.with_target_only()), 0
    ids = np.full(count, NO_ID) if choice.columns == [] else choice.ids
    return MatchedRows(source if ids is None else features.mapped(source, ids), choice.complete)


def match_names(source: Source, names: list[str], features: TrainingFeatures) -> MatchedRows:
    """Return rows whose features are matched to those of the training by name.

    If all names are present, ``complete`` is None: reduced rows may have all names but only the
    values of selected features.
    """
    ids_of_names = features.ids_by_name()
    ids = np.array([ids_of_names.get(name, NO_ID) for name in names], np.int64)
    present = set(ids.tolist())
    complete = features.names is not None and present.issuperset(ids_of_names.values())
    if not complete:
        needed = (
            ids_of_names.values()
            if features.needs_all or features.selected is None
            else features.selected.tolist()
        )
        absent = next((feature for feature in needed if feature not in present), None)
        if absent is not None:
            name = next(name for name, feature in ids_of_names.items() if feature == absent)
            raise DataError(f"{source.name}: feature {name!r} of the training is missing")
    same = np.array_equal(ids, np.arange(ids.size))
    return MatchedRows(
        source if same else features.mapped(source, ids), None if complete else False
    )
