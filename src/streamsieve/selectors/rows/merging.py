"""One model of several that learned different rows, for learners that have a precision for every weight.

Problem  all parts went on from one ``base`` and learned rows of their own. With P the precision and mu the weight of a
         feature or of the intercept, in the base (0) and in part k, per class:
             P  = P0 + sum_k (P_k - P0)
             mu = (P0 mu0 + sum_k (P_k mu_k - P0 mu0)) / P
         then keep the best features, as many as the budget, by the learner's own key, ties to the
         lower id. A weight is a Gaussian, P and P mu are its natural parameters, and those of
         independent rows add up. A feature that a model has never seen has P = 1 and mu = 0.
Steps    P is diagonal: where features go together, a part alone soon corrects what is wrong with all of them, and the
         sum of what K parts corrected goes up to K times too far. Merged again and again, that
         explodes. A part may therefore count every row c times (``as_part``), from 1 to K, and both
         sums are divided by c: with K, weights become means of what parts found that stepped as far
         as one learner of all rows would, which is always safe (Ma, Smith, Jaggi, Jordan,
         Richtarik, Takac 2015). P is the same. Where precision decays, so does P0: in the
         difference of part k over the rows of k, before the sum over the rows of all parts.
         Otherwise a feature that no part has met would lose its precision once per part.
Given    the models of base and parts, of one method, with the same parameters; and the same given classes, or what else
         their targets must have in common (``check_mergeable``).
Back     a model whose features are in a table (``addresses``): those touched, however wide the ids; but in arrays as
         wide as the ids where all models have such, and many of them are touched.
Cost     O(parts x classes) time per touched feature, and a look at every entry of arrays that are as wide as the ids;
         memory for the touched features, in models and result.

Counts add up by the same rule, base + sum_k (part k - base), and so do the sums of sparse features;
means and squared deviations of dense ones are joined by the formula of Chan, Golub, LeVeque 1983.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError, spell
from ...kernels.rows.curve import Curve
from ...kernels.rows.members import MISTAKES
from ...kernels.rows.scaling import SQUARES
from ...kernels.rows.scores import WEIGHT
from ...kernels.types import F64, I64, Bool
from ...model import Model
from ...state import changed
from ..base import Method
from ..parameters import to_builtin
from .addresses import direct_addresses, find, table_addresses
from .calibration import merged_calibration
from .curves import Rung, Rungs, rank_slots, start_curve
from .estimates import Estimates, Known, MergeRule, Positions, added, joined
from .inputs import Moments
from .memory import RowMemory
from .rules import MergingRule, S
from .targets import Classes, RowTarget, classes_like, most_met
from .warm_up import AutoScaling, ColumnMoments

if TYPE_CHECKING:
    from .learner import RowLearner

CANNOT_MERGE = "models of {} cannot be merged; learn all rows in one pass"
SHARED_CELLS = (
    "models with max_cells cannot be merged: a feature that is kept in one has left its cell there;"
    " learn all rows in one pass, or merge models without max_cells"
)

CHUNK = 1 << 16  # features merged, or looked at, in one go
MAX_EMPTY_SHARE = (
    8  # entries of arrays as wide as the ids for one that is used, to merge all of them
)


def merge_models(
    method: Method, base: Model, parts: Sequence[Model], divisor: float | None = None
) -> Model:
    """Return one model of what several learned, each from rows of its own, all going on from the same ``base``.

    For methods that merge. What the parts add is divided by how often their rows have counted
    (``as_part``), or by another number. A single part whose rows counted once is given back as it
    is, its arrays shared.
    """
    if not method.merges:
        raise UsageError(CANNOT_MERGE.format(method.name))
    if len(parts) > 1 and base.params.get("max_cells") is not None:
        raise UsageError(SHARED_CELLS)
    learners = continued(method, base, parts)
    if len(parts) == learners[1].memory.times == 1 and divisor is None:
        return learners[
            1
        ].model()  # it keeps what it keeps: a learner compares the features of a row, not all
    first = learners[0]
    memories = [learner.memory for learner in learners]
    refuse_other_choices(memories, first.warm_rows)
    rule, how = cast("MergingRule[Any]", first.rule), MergeRule.of(learners, divisor)
    ids, direct = ids_of_all(memories)
    target = first.memory.target.merged([one.target for one in memories[1:]])
    memory = first.fresh_memory(target, first.memory.declared_width, first.memory.budget)

    def known(some: I64) -> list[Estimates]:
        return [estimates_of(learner, some) for learner in learners]

    memory.state = merged_state(
        rule, memory.state, [one.state for one in memories], known, ids, how
    )
    memory.moments = merged_moments(memories, ids, how)
    memory.scaling = merged_scaling(memories)
    memory.warm_up = None
    memory.addresses = direct_addresses(ids.size) if direct else table_addresses(ids)
    memory.counts = added([one.counts for one in memories])
    memory.width = max(one.width for one in memories)
    memory.random, memory.attribute_random = first.memory.random, first.memory.attribute_random
    memory.warned = any(one.warned for one in memories)
    memory.exact = all(one.exact for one in memories)
    if memory.curve is not None:
        memory.curve = merged_curve(rule, memory, memories, how)
    first._memory = memory
    first.features.start(memory.width, names_of(learners) or None)
    return method.load(first.model()).model()


def merged_state(
    rule: MergingRule[S], state: S, states: Sequence[S], known: Known, ids: I64, how: MergeRule
) -> S:
    """Return a fresh state with what those of base and parts have of some features; ``known`` says what each has."""

    def cells_and_keys(some: I64) -> tuple[NDArray[Any], ...]:
        estimates = how.merged(known(some))
        if rule.keeps_all:
            return (rule.cells(estimates),)
        learned = (estimates.excess != 0.0).any(axis=1) | (estimates.weight != 0.0).any(axis=1)
        return rule.cells(estimates), np.where(learned, rule.keys(estimates), -np.inf)

    cells, *keys = in_chunks(cells_and_keys, ids)
    state = changed(state, cells=cells)
    bias = how.merged(
        [Estimates(one.bias[:, 1] * rule.scale(one), one.bias[:, 0]) for one in states]
    )
    state.bias[:] = np.stack([bias.weight, bias.excess], axis=1)
    state.counts[MISTAKES:] = added([one.counts for one in states])[MISTAKES:]
    rule.merge_sums(state, states, how)
    if keys:
        best = best_positions(keys[0], state._asdict()["member"].size)
        rule.fill_slots(state, best, ids[best], how.merged(known(ids[best])))
    return state


# ---- what goes together


def continued(method: Method, base: Model, parts: Sequence[Model]) -> list[RowLearner]:
    """Return the learners of base and parts, once it is clear that the parts can have gone on from the base."""
    if not parts:
        raise UsageError("there is nothing to merge: give the model of one part or more")
    models = {"the base": base} | {f"part {number}": part for number, part in enumerate(parts, 1)}
    for name, model in models.items():
        if model.method != method.name:
            raise UsageError(
                f"{name} is a model of {model.method}; {method.name} merges its own alone"
            )
        for parameter, value in base.params.items():
            own = model.params.get(parameter)
            if json.dumps(own, default=to_builtin) != json.dumps(value, default=to_builtin):
                raise UsageError(
                    f"{name} has {parameter}={own!r} and the base {parameter}={value!r}"
                )
    learners = [cast("RowLearner", method.load(model, name)) for name, model in models.items()]
    check_mergeable(
        {name: learner.memory.target for name, learner in zip(models, learners, strict=True)}
    )
    feature_names = names_of(learners)
    first, expected = learners[0].memory, learners[1].memory.times
    for name, learner in zip(models, learners, strict=True):
        memory = learner.memory
        own_names = names_of([learner])
        if own_names != feature_names[: len(own_names)] or bool(own_names) != bool(feature_names):
            raise UsageError(f"{name} has other names for its features than another part")
        if learner.features.encoding != learners[0].features.encoding:
            raise UsageError(f"{name} reads the columns of tables in another way than the base")
        if learner is not learners[0] and memory.times != expected:
            raise UsageError(
                f"the rows of {name} count {memory.times:,} times, and those of part 1 {expected:,}"
                " times"
            )
        if memory.budget != first.budget:
            raise UsageError(
                f"{name} has a budget of {memory.budget:,} and the base one of {first.budget:,}"
            )
        if (memory.counts < first.counts).any() or (
            rows_of(memory.target) < rows_of(first.target)
        ).any():
            raise UsageError(
                f"{name} has learned less than the base; every part goes on from the base"
            )
    return learners


def check_mergeable(targets: Mapping[str, RowTarget]) -> None:
    """Raise UsageError if models by name, the base among them, cannot be about one target.

    Numbers are about one target if they have one centre, which is chosen from the first rows.
    """
    of_classes = {name: target for name, target in targets.items() if isinstance(target, Classes)}
    for name, target in of_classes.items():
        classes = most_met(list(of_classes.values()))
        own = classes_like(target.labels.classes, classes).tolist()
        if not target.labels.given:
            raise UsageError(
                f"{name} found its classes in the rows; models to merge start with classes=[...]"
            )
        if own != classes.tolist():
            raise UsageError(f"{name} has the classes {own}, not {classes.tolist()}")


def rows_of(target: RowTarget) -> NDArray[Any]:
    """Return what never falls as rows are learned."""
    return target.labels.counts if isinstance(target, Classes) else target.totals[[WEIGHT]]


def names_of(learners: Sequence[RowLearner]) -> list[Any]:
    """Return the names of the features in the widest model; empty if they have none."""
    names = max(
        (learner.features for learner in learners), key=lambda features: features.width
    ).names
    return [] if names is None else names.tolist()


def refuse_other_choices(memories: Sequence[RowMemory[S]], rows: int) -> None:
    """Refuse models that chose different things from their first rows, so many of them, or may choose again.

    A base without rows has not chosen: parts may have chosen the same by themselves.
    """
    base, *parts = memories
    early = any(part.warm_up is not None for part in parts)
    if base.warm_up is not None:
        early = early or base.warm_up.n_rows > 0
        memories = parts
    if early or not all(one.has_chosen(parts[0].scaling, parts[0].target) for one in memories):
        raise UsageError(
            f"the scales of columns ({spell('normalize', 'auto')}) and the centre of a numeric"
            " target are chosen from the first rows, and the parts did not start with the same"
            f" choice; let the base learn {rows:,} rows before it is divided"
        )


# ---- what the models have


def touched_ids(memory: RowMemory[Any]) -> I64:
    """Return the ids of the features that a model knows something of."""
    if not memory.addresses.direct:
        return memory.addresses.ids[: memory.addresses.used]
    columns = [
        column for _, _, array in memory.per_feature_arrays() for column in np.atleast_2d(array.T)
    ]
    touched = [np.empty(0, np.int64)]
    for at in range(0, memory.room(), CHUNK):
        touched.append(
            at
            + np.flatnonzero(reduce(np.logical_or, (column[at : at + CHUNK] for column in columns)))
        )
    return np.concatenate(touched)


def ids_of_all(memories: Sequence[RowMemory[Any]]) -> tuple[I64, bool]:
    """Return the ids that one of some models knows something of; or, if those are many of them, all up to the largest.

    Then the merged model can have arrays as wide as the ids, too, and nothing has to be looked up.
    """
    width = max(memory.room() for memory in memories)
    if (
        all(memory.addresses.direct for memory in memories)
        and MAX_EMPTY_SHARE * touched_ids(memories[0]).size >= width
    ):
        return np.arange(width), True
    return reduce(union, map(touched_ids, memories)), False


def union(a: I64, b: I64) -> I64:
    """Return the ids in a or b, ascending; a stable sort is linear where both ascend, as they nearly do."""
    ids = np.sort(np.concatenate([a, b]), kind="stable")
    return ids[np.diff(ids, prepend=-1) > 0]


def taken(memory: RowMemory[Any], ids: I64) -> tuple[Bool, Positions]:
    """Return which of some ids a model has room for, and their positions: a slice where they are side by side."""
    if memory.addresses.direct and ids.size and (np.diff(ids) == 1).all():
        start, stop = int(ids[0]), min(int(ids[-1]) + 1, memory.room())
        return ids < stop, slice(start, max(start, stop))
    positions = find(memory.addresses, ids)
    known = (positions >= 0) & (positions < memory.room())
    return known, positions[known]


def estimates_of(learner: RowLearner, ids: I64) -> Estimates:
    """Return what a model knows of the weights of some features, which may be nothing."""
    return estimates_in(
        cast("MergingRule[Any]", learner.rule), learner.memory.state, *taken(learner.memory, ids)
    )


def estimates_in(rule: MergingRule[S], state: S, known: Bool, positions: Positions) -> Estimates:
    """Return what a state has of some features, of which those that are known are at ``positions``."""
    stored, scale = rule.stored(state, positions), rule.scale(state)
    if len(stored.excess) == known.size:
        return Estimates(stored.excess * scale, stored.weight)
    estimates = Estimates(*(np.zeros((known.size, state.bias.shape[0])) for _ in Estimates._fields))
    estimates.excess[known] = stored.excess * scale
    estimates.weight[known] = stored.weight
    return estimates


def in_chunks(work: Callable[[I64], tuple[NDArray[Any], ...]], ids: I64) -> list[NDArray[Any]]:
    """Return the arrays that ``work`` gives for all ids, which it gets a part at a time."""
    parts = [work(ids[at : at + CHUNK]) for at in range(0, max(1, ids.size), CHUNK)]
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


def best_positions(keys: F64, budget: int) -> I64:
    """Return where the largest keys are, of equal ones the first; never one of minus infinity."""
    outside = keys.size - budget
    cut = np.partition(keys, outside)[outside] if outside > 0 else -np.inf
    above = np.flatnonzero(keys > cut)
    equal = np.flatnonzero(keys == cut) if cut > -np.inf else above[:0]
    return np.concatenate([above, equal[: budget - above.size]])


# ---- counts and moments


def merged_moments(memories: Sequence[RowMemory[S]], ids: I64, how: MergeRule) -> Moments:
    """Return the moments of all rows, for the features of a merged model."""
    moments = [memory.moments for memory in memories]
    kinds = {int(one.dense[0]) for one in moments} - {-1}
    if len(kinds) > 1:
        raise UsageError(
            "some parts learned dense rows and some sparse ones; keep to one kind to standardise"
        )
    seen = [one.seen for one in moments]
    dense = np.array([max(kinds, default=-1)])

    def per_feature(some: I64) -> tuple[F64, F64]:
        sums = []
        for memory in memories:
            known, positions = taken(memory, some)
            both = np.zeros((2, some.size))
            both[:, known] = memory.moments.first[positions], memory.moments.second[positions]
            sums.append(both)
        return tuple(
            joined([float(one[0]) for one in seen], sums) if dense[0] == 1 else added(sums)
        )

    first, second = (
        in_chunks(per_feature, ids) if memories[0].standardizes else (np.zeros(0), np.zeros(0))
    )
    totals = added([one.totals for one in moments])
    totals[SQUARES:] = how.sums([one.totals[SQUARES:] for one in moments])
    return Moments(first, second, added(seen), dense, totals)


def merged_scaling(memories: Sequence[RowMemory[S]]) -> AutoScaling | None:
    """Return the scales of columns, which all parts have chosen alike, with the moments of all rows."""
    base, *parts = (memory.scaling for memory in memories)
    if base is None:
        return None
    scalings = [part for part in parts if part is not None]
    choice = scalings[0].choice
    if memories[0].warm_up is not None:  # it has no rows
        base = AutoScaling(choice)
    moments = [one.moments for one in (base, *scalings)]
    rows = [float(one.seen[0]) for one in moments]
    means, deviations = joined(rows, [np.stack([one.means, one.deviations]) for one in moments])
    return AutoScaling(
        choice, ColumnMoments(means, deviations, added([one.seen for one in moments]))
    )


# ---- curves and small budgets


def merged_curve(
    rule: MergingRule[S], merged: RowMemory[S], memories: Sequence[RowMemory[S]], how: MergeRule
) -> Curve:
    """Return the curve of a merged memory, which has its state and fresh rungs, and fill the rungs.

    Candidates are chosen anew, by what the merged model keeps.
    """
    curve = added_curve([one.curve for one in memories if one.curve is not None])
    kept, _, scores = rule.kept(merged.state, merged.addresses)
    best = kept[rank_slots(curve, scores, kept)]
    if merged.rungs is not None:
        merge_rungs(
            rule, merged.rungs, [one.rungs for one in memories if one.rungs is not None], how
        )
        merged.rungs.rank(
            lambda state: rule.kept(state, merged.addresses), best, int(merged.counts[0])
        )
    return curve


def merge_rungs(
    rule: MergingRule[S], fresh: Rungs[S], rungs: Sequence[Rungs[S]], how: MergeRule
) -> None:
    """Fill fresh rungs with what those of base and parts know, of every feature that one of them sees."""
    ids = np.unique(np.concatenate([one.addresses.ids[: one.addresses.used] for one in rungs]))
    fresh.addresses = table_addresses(ids)
    matching = zip(fresh.rungs, *(one.rungs for one in rungs), strict=True)
    fresh.rungs = [merged_rung(rule, rung, same, rungs, ids, how) for rung, *same in matching]


def merged_rung(
    rule: MergingRule[S],
    fresh: Rung[S],
    same: Sequence[Rung[S]],
    rungs: Sequence[Rungs[S]],
    ids: I64,
    how: MergeRule,
) -> Rung[S]:
    """Return a fresh rung filled with what the same ones of base and parts know of some features."""

    def known(some: I64) -> list[Estimates]:
        estimates = []
        for rung, one in zip(same, rungs, strict=True):
            positions = find(one.addresses, some)
            estimates.append(
                estimates_in(rule, rung.state, positions >= 0, positions[positions >= 0])
            )
        return without_forgotten(estimates, how)

    return Rung(
        merged_state(rule, fresh.state, [rung.state for rung in same], known, ids, how),
        added_curve([rung.curve for rung in same]),
        np.ones(ids.size, np.bool_),
        merged_calibration([rung.calibration for rung in same]),
    )


def without_forgotten(estimates: Sequence[Estimates], how: MergeRule) -> list[Estimates]:
    """Return estimates where a part that has forgotten what the base knew is given that, and so adds nothing."""
    base, *parts = estimates
    whole = [base]
    for part, left in zip(parts, how.left, strict=True):
        before = base.excess * left
        forgotten = (part.excess < before).any(axis=1, keepdims=True)
        whole.append(
            Estimates(
                np.where(forgotten, before, part.excess),
                np.where(forgotten, base.weight, part.weight),
            )
        )
    return whole


def added_curve(curves: Sequence[Curve]) -> Curve:
    """Return a curve with the counts of those of base and parts, of which no slot is ranked yet."""
    first = curves[0]
    curve = start_curve(first.grid, first.sums.shape[1])
    curve.mistakes[:] = added([one.mistakes for one in curves])
    curve.errors[:] = added([one.errors for one in curves])
    return curve
