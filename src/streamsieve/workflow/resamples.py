"""How often the selected features are selected again, from other rows of the same data."""

from __future__ import annotations

import logging

from ..errors import UsageError, spell
from ..json_text import finite
from ..machine import cores
from ..runs import RunRecord, RunRequest
from ..sources.base import DataSource

FRACTION = 0.5  # of the rows, in every subsample (Meinshausen, Bühlmann 2010)

notes = logging.getLogger("streamsieve")


def refuse_read_once(source: DataSource, resamples: int | None) -> None:
    """Refuse subsamples of data that is gone once it is read, before it is."""
    if resamples is not None and not source.rewindable:
        raise UsageError(
            f"{source.name}: can be read only once, and {spell('resamples')} learns from its rows again; save it to a "
            f"file, or omit {spell('resamples')}"
        )


def add_frequency(record: RunRecord, request: RunRequest, source: DataSource, n_resamples: int) -> None:
    """Select from subsamples as the run did, and count how often each of its features comes out."""
    from ..evaluation.resampling import stability_selection  # which nobody else has to wait for

    notes.info("selecting from %s subsamples of %s", f"{n_resamples:,}", source.name)
    found = stability_selection(
        source,
        request.method,
        n_resamples=n_resamples,
        fraction=FRACTION,
        seed=request.seed or 0,
        jobs=min(cores(), n_resamples),
        groups=request.groups,
        **request.params,
    )
    record.details["frequency"] = found.frequency_of(record.selection.indices).tolist()
    stability = finite(found.stability._asdict())
    record.details["stability"] = {**stability, "resamples": n_resamples, "fraction": FRACTION}
