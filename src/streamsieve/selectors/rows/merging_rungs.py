"""The curves and the rungs of models that learned different rows, as one (see ``merging``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ...kernels.rows.curve import Curve
from ...kernels.types import I64
from .addresses import find, table_addresses
from .calibration import merged_calibration
from .curves import rank_slots, start_curve
from .estimates import Estimates, Rule, added
from .rungs import Rung, Rungs

if TYPE_CHECKING:
    from .memory import RowMemory, RowState
    from .merging import MergingLearner

S = TypeVar("S", bound="RowState")


def merged_curves(
    learner: MergingLearner[S], merged: RowMemory[S], memories: Sequence[RowMemory[S]], rule: Rule
) -> tuple[Curve, Rungs[S] | None]:
    """What a merged memory, which has its state and fresh rungs, has of curve and rungs.

    Candidates are chosen anew, by what the merged model keeps.
    """
    curve = added_curve([one.curve for one in memories if one.curve is not None])
    kept, _, scores = learner._kept(merged.state)
    best = kept[rank_slots(curve, scores, kept)]
    rungs = [one.rungs for one in memories if one.rungs is not None]
    if merged.rungs is None:
        return curve, None
    merge_rungs(learner, merged.rungs, rungs, rule)
    merged.rungs.rank(learner._kept, best, int(merged.counts[0]))
    return curve, merged.rungs


def merge_rungs(learner: MergingLearner[S], fresh: Rungs[S], rungs: Sequence[Rungs[S]], rule: Rule) -> None:
    """Fill fresh rungs with what those of base and parts know, of every feature that one of them sees."""
    ids = np.unique(np.concatenate([one.addresses.ids[: one.addresses.used] for one in rungs]))
    fresh.addresses = table_addresses(ids)
    for rung, *same in zip(fresh.rungs, *(one.rungs for one in rungs), strict=True):
        merge_rung(learner, rung, same, rungs, ids, rule)


def merge_rung(
    learner: MergingLearner[S], fresh: Rung[S], same: Sequence[Rung[S]], rungs: Sequence[Rungs[S]], ids: I64, rule: Rule
) -> None:
    """Fill one fresh rung with what the same ones of base and parts know of some features."""

    def known(some: I64) -> list[Estimates]:
        estimates = []
        for rung, one in zip(same, rungs, strict=True):
            positions = find(one.addresses, some)
            estimates.append(learner._estimates(rung.state, positions >= 0, positions[positions >= 0]))
        return without_forgotten(estimates, rule)

    fresh.state = learner._merged(fresh.state, [rung.state for rung in same], known, ids, rule)
    fresh.curve = added_curve([rung.curve for rung in same])
    fresh.calibration = merged_calibration([rung.calibration for rung in same])
    fresh.allowed = np.ones(ids.size, np.bool_)


def without_forgotten(estimates: Sequence[Estimates], rule: Rule) -> list[Estimates]:
    """Estimates of base and parts; a part that has forgotten what the base knew is given that, and so adds nothing."""
    base, *parts = estimates
    whole = [base]
    for part, left in zip(parts, rule.left, strict=True):
        before = base.excess * left
        forgotten = (part.excess < before).any(axis=1, keepdims=True)
        whole.append(Estimates(np.where(forgotten, before, part.excess), np.where(forgotten, base.weight, part.weight)))
    return whole


def added_curve(curves: Sequence[Curve]) -> Curve:
    """A curve with the counts of those of base and parts, of which no slot is ranked yet."""
    first = curves[0]
    curve = start_curve(first.grid, first.sums.shape[1])
    curve.mistakes[:] = added([one.mistakes for one in curves])
    curve.errors[:] = added([one.errors for one in curves])
    return curve
