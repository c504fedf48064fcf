"""Open data from which a model learns more, with the features that it knows and new ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .errors import DataError, prefix
from .selectors.base import FeatureInfo
from .sources import open_to_grow, open_with_options
from .sources.base import Source, as_row_source
from .sources.encoding import Column, Encoding
from .sources.options import ReadOptions
from .sources.wrapped import MappedRows


def open_to_continue(
    data: Any, features: FeatureInfo, options: ReadOptions, renumbered: str | None = None
) -> Source:
    """Open rows with the feature ids that a model knows; raise DataError for rows of another form.

    New values of text, names and ids become features after all others. ``renumbered`` is the mark
    of the selection that renumbered the features that were learned.
    """
    encoding, names = features.encoding, features.names
    if encoding is None and names is not None and options.target is not None:
        columns = [Column(str(name), "number") for name in names]
        encoding = Encoding(columns, options.missing)
    if encoding is not None:
        return as_row_source(open_to_grow(data, options, encoding))
    rows = as_row_source(open_with_options(data, replace(options, drop=(), only=None)))
    if rows.facts.renumbered != renumbered:
        raise DataError(
            f"{rows.name}: its features are numbered differently from those that were learned;"
            " apply the same selection to both"
        )
    given = rows.read_feature_names()
    if (names is None) != (given is None):
        raise DataError(
            f"{prefix(rows.name)}its features have {'no ' if given is None else ''}names, unlike"
            " those that were learned; give data of the same form"
        )
    if names is not None and given is not None and given.tolist() != names.tolist():
        all_names = list(dict.fromkeys([*names.tolist(), *given.tolist()]))
        ids = {name: feature for feature, name in enumerate(all_names)}
        features.given_names = np.array(all_names, object)
        new_ids = np.array([ids[name] for name in given.tolist()], np.int64)
        rows = MappedRows(rows, new_ids, len(all_names), features.given_names)
    return rows if features.kept is None else as_row_source(rows.keep_features(features.kept))
