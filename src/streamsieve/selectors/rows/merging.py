"""Merge models that learned different rows, for learners with a precision for every weight.

Problem  All parts continued from one ``base`` and learned different rows. With P the precision and
         mu the weight of a feature or of the intercept, in the base (0) and in part k, per class:
             P  = P0 + sum_k (P_k - P0)
             mu = (P0 mu0 + sum_k (P_k mu_k - P0 mu0)) / P
         then keep the best features, as many as the budget, by the learner's own key, ties to the
         lower id. A weight is a Gaussian, P and P mu are its natural parameters, and those of
         independent rows add up. A feature that a model has never seen has P = 1 and mu = 0.
Steps    P is diagonal: where features are correlated, each part soon corrects the error of all of
         them, and the sum of the corrections of K parts goes up to K times too far. Repeated
         merging makes that diverge. A part may therefore count every row c times (``start_shard``),
         from 1 to K, and both sums are divided by c: with K, weights become means of parts that
         stepped as far as one learner of all rows would, which is always safe (Ma, Smith, Jaggi,
         Jordan, Richtarik, Takac 2015). P is the same. Where precision decays, so does P0: in the
         difference of part k over the rows of k, before the sum over the rows of all parts.
         Otherwise a feature that no part has met would lose its precision once per part.
Given    The models of base and parts, of one method, with the same parameters, and with the same
         given classes, or whatever else their targets must have in common (``check_mergeable``).
Back     A model whose features are in a table (``addresses``): those touched, however wide the
         ids; but arrays as wide as the ids where all models have them and many ids are touched.
Cost     O(parts x classes) time per touched feature, and one pass over the entries of arrays that
         are as wide as the ids; memory for the touched features, in models and result.

Counts add up by the same rule, base + sum_k (part k - base), and so do the sums of sparse features;
means and squared deviations of dense ones are combined by the formula of Chan, Golub, LeVeque 1983.
"""

from __future__ import annotations

import json
import math
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
from .addresses import direct_addresses, look_up, table_addresses
from .calibration import merge_calibrations
from .curves import SmallBudget, SmallBudgets, rank_slots, start_curve
from .estimates import (
    Estimates,
    MergeRule,
    Positions,
    ReadEstimates,
    combine_moments,
    sum_increments,
)
from .inputs import Moments
from .memory import RowMemory
from .rules import MergingRule, S
from .targets import Classes, RowTarget, classes_of_largest, match_class_type
from .warm_up import AutoScaling, ColumnMoments

if TYPE_CHECKING:
    from .learner import RowLearner

CANNOT_MERGE = "models of {} cannot be merged; learn all rows in one pass"
SHARED_CELLS = (
    "models with max_cells cannot be merged: a feature that one model keeps is not in its cells;"
    " learn all rows in one pass, or merge models without max_cells"
)

CHUNK = 1 << 16  # features merged, or checked, at a time
# All entries of arrays as wide as the ids are merged if at most this many belong to each used one.
MAX_EMPTY_SHARE = 8


def merge_models(
    method: Method, base: Model, parts: Sequence[Model], divisor: float | None = None
) -> Model:
    """Return one model of several parts that learned different rows, starting from ``base``.

    For methods that merge. What the parts add is divided by the multiplier of their rows
    (``start_shard``), or by another number. A single part whose rows counted once is returned as it
    is, sharing its arrays.
    """
    if not method.merges:
        raise UsageError(CANNOT_MERGE.format(method.name))
    if len(parts) > 1 and base.params.get("max_cells") is not None:
        raise UsageError(SHARED_CELLS)
    learners = load_learners(method, base, parts)
    if len(parts) == learners[1].memory.row_multiplier == 1 and divisor is None:
        # Its kept features stay: a learner compares the features of a row, not all of them.
        return learners[1].model()
    first = learners[0]
    memories = [learner.memory for learner in learners]
    check_same_choices(memories, first.warm_rows)
    rule, merge_rule = cast("MergingRule[Any]", first.rule), make_merge_rule(learners, divisor)
    ids, direct = ids_of_all(memories)
    target = first.memory.target.merge([member.target for member in memories[1:]])
    memory = first.make_memory(target, first.memory.declared_width, first.memory.budget)

    def read_estimates(features: I64) -> list[Estimates]:
        return [estimates_of(learner, features) for learner in learners]

    memory.state = merge_states(
        rule,
        memory.state,
        [member.state for member in memories],
        read_estimates,
        ids,
        merge_rule,
    )
    memory.moments = merge_moments(memories, ids, merge_rule)
    memory.scaling = merge_scaling(memories)
    memory.warm_up = None
    memory.addresses = direct_addresses(ids.size) if direct else table_addresses(ids)
    memory.counts = sum_increments([member.counts for member in memories])
    memory.width = max(member.width for member in memories)
    memory.random, memory.attribute_random = first.memory.random, first.memory.attribute_random
    memory.warned = any(member.warned for member in memories)
    memory.exact = all(member.exact for member in memories)
    if memory.curve is not None:
        memory.curve = merge_curves(rule, memory, memories, merge_rule)
    first._memory = memory
    first.features.start(memory.width, names_of(learners) or None)
    return method.load(first.model()).model()


def make_merge_rule(learners: Sequence[RowLearner], divisor: float | None) -> MergeRule:
    """Return the rule for base and parts; ``divisor`` replaces the multiplier of rows."""
    base, *parts = learners
    half_life = math.inf if base.options.forget is None else base.options.forget
    retained = tuple(2.0 ** (-(part.n_learned - base.n_learned) / half_life) for part in parts)
    return MergeRule(
        retained, 1.0 / (parts[0].memory.row_multiplier if divisor is None else divisor)
    )


def merge_states(
    rule: MergingRule[S],
    state: S,
    states: Sequence[S],
    read_estimates: ReadEstimates,
    ids: I64,
    merge_rule: MergeRule,
) -> S:
    """Return a new state that merges those of base and parts, for some features.

    ``read_estimates`` returns the estimates of each for some ids.
    """

    def cells_and_keys(features: I64) -> tuple[NDArray[Any], ...]:
        estimates = merge_rule.merge(read_estimates(features))
        if rule.keeps_all:
            return (rule.cells(estimates),)
        learned = (estimates.precision_gain != 0.0).any(axis=1) | (estimates.weight != 0.0).any(
            axis=1
        )
        return rule.cells(estimates), np.where(learned, rule.keys(estimates), -np.inf)

    cells, *keys = apply_in_chunks(cells_and_keys, ids)
    state = changed(state, cells=cells)
    bias = merge_rule.merge(
        [Estimates(part.bias[:, 1] * rule.scale(part), part.bias[:, 0]) for part in states]
    )
    state.bias[:] = np.stack([bias.weight, bias.precision_gain], axis=1)
    state.counts[MISTAKES:] = sum_increments([part.counts for part in states])[MISTAKES:]
    rule.merge_sums(state, states, merge_rule)
    if keys:
        best = find_best(keys[0], state._asdict()["member"].size)
        rule.fill_slots(state, best, ids[best], merge_rule.merge(read_estimates(ids[best])))
    return state


# ---- which models can be merged


def load_learners(method: Method, base: Model, parts: Sequence[Model]) -> list[RowLearner]:
    """Return the learners of base and parts, after checking that they belong together."""
    if not parts:
        raise UsageError("nothing to merge: give the models of one or more parts")
    models = {"the base": base} | {f"part {number}": part for number, part in enumerate(parts, 1)}
    for name, model in models.items():
        if model.method != method.name:
            raise UsageError(
                f"{name} is a model of {model.method}; {method.name} merges only its own models"
            )
        for parameter, value in base.params.items():
            value_of_part = model.params.get(parameter)
            if json.dumps(value_of_part, default=to_builtin) != json.dumps(
                value, default=to_builtin
            ):
                raise UsageError(
                    f"{name} has {parameter}={value_of_part!r} and the base {parameter}={value!r}"
                )
    learners = [cast("RowLearner", method.load(model, name)) for name, model in models.items()]
    check_mergeable(
        {name: learner.memory.target for name, learner in zip(models, learners, strict=True)}
    )
    feature_names = names_of(learners)
    first, expected = learners[0].memory, learners[1].memory.row_multiplier
    for name, learner in zip(models, learners, strict=True):
        memory = learner.memory
        names = names_of([learner])
        faults = {
            f"{name} has feature names that differ from those of another part": (
                names != feature_names[: len(names)] or bool(names) != bool(feature_names)
            ),
            f"{name} encodes the columns of tables differently from the base": (
                learner.features.encoding != learners[0].features.encoding
            ),
            f"the rows of {name} count {memory.row_multiplier:,} times, and those of part 1"
            f" {expected:,} times": (
                learner is not learners[0] and memory.row_multiplier != expected
            ),
            f"{name} has a budget of {memory.budget:,} and the base one of {first.budget:,}": (
                memory.budget != first.budget
            ),
            f"{name} has learned less than the base; every part must continue from the base": (
                (memory.counts < first.counts).any()
                or (rows_of(memory.target) < rows_of(first.target)).any()
            ),
        }
        for fault, is_present in faults.items():
            if is_present:
                raise UsageError(fault)
    return learners


def check_mergeable(targets: Mapping[str, RowTarget]) -> None:
    """Raise UsageError if models by name, the base among them, have different targets.

    Numeric targets must have one centre, which is chosen from the first rows.
    """
    of_classes = {name: target for name, target in targets.items() if isinstance(target, Classes)}
    for name, target in of_classes.items():
        classes = classes_of_largest(list(of_classes.values()))
        classes_of_part = match_class_type(target.labels.classes, classes).tolist()
        if not target.labels.given:
            raise UsageError(
                f"{name} took its classes from the rows; models to merge must start with"
                " classes=[...]"
            )
        if classes_of_part != classes.tolist():
            raise UsageError(f"{name} has the classes {classes_of_part}, not {classes.tolist()}")


def rows_of(target: RowTarget) -> NDArray[Any]:
    """Return a count that never falls as rows are learned."""
    return target.labels.counts if isinstance(target, Classes) else target.totals[[WEIGHT]]


def names_of(learners: Sequence[RowLearner]) -> list[Any]:
    """Return the names given to the features of the widest model; empty if there are none."""
    names = max(
        (learner.features for learner in learners), key=lambda features: features.width
    ).given_names
    return [] if names is None else names.tolist()


def check_same_choices(memories: Sequence[RowMemory[S]], rows: int) -> None:
    """Raise UsageError if models chose differently from their first rows, or may do so.

    A base without rows has not chosen: parts may have chosen the same on their own. ``rows`` is the
    number of first rows.
    """
    base, *parts = memories
    early = any(part.warm_up is not None for part in parts)
    if base.warm_up is not None:
        early = early or base.warm_up.n_rows > 0
        memories = parts
    if early or not all(
        memory.has_chosen(parts[0].scaling, parts[0].target) for memory in memories
    ):
        raise UsageError(
            f"the scales of columns ({spell('normalize', 'auto')}) and the centre of a numeric"
            " target are chosen from the first rows, and the parts did not start with the same"
            f" choice; let the base learn {rows:,} rows before it is divided"
        )


# ---- estimates of models


def touched_ids(memory: RowMemory[Any]) -> I64:
    """Return the ids of the features that a model has learned something about."""
    if not memory.addresses.direct:
        return memory.addresses.ids[: memory.addresses.used]
    columns = [
        column for _, _, array in memory.per_feature_arrays() for column in np.atleast_2d(array.T)
    ]
    touched = [
        at + np.flatnonzero(reduce(np.logical_or, (column[at : at + CHUNK] for column in columns)))
        for at in range(0, memory.room(), CHUNK)
    ]
    return np.concatenate([np.empty(0, np.int64), *touched])


def ids_of_all(memories: Sequence[RowMemory[Any]]) -> tuple[I64, bool]:
    """Return the ids that any of the models has touched, and False.

    If those are many, return all ids up to the largest, and True: then the merged model can have
    arrays as wide as the ids, too, and nothing has to be looked up.
    """
    width = max(memory.room() for memory in memories)
    if (
        all(memory.addresses.direct for memory in memories)
        and MAX_EMPTY_SHARE * touched_ids(memories[0]).size >= width
    ):
        return np.arange(width), True
    return reduce(unite, map(touched_ids, memories)), False


def unite(a: I64, b: I64) -> I64:
    """Return the ids in a or b, ascending.

    A stable sort is linear where both ascend, as they nearly do.
    """
    ids = np.sort(np.concatenate([a, b]), kind="stable")
    return ids[np.diff(ids, prepend=-1) > 0]


def positions_of(memory: RowMemory[Any], ids: I64) -> tuple[Bool, Positions]:
    """Return which ids a model has room for, and their positions.

    Positions are a slice where they are contiguous.
    """
    if memory.addresses.direct and ids.size and (np.diff(ids) == 1).all():
        start, stop = int(ids[0]), min(int(ids[-1]) + 1, memory.room())
        return ids < stop, slice(start, max(start, stop))
    positions = look_up(memory.addresses, ids)
    is_known = (positions >= 0) & (positions < memory.room())
    return is_known, positions[is_known]


def estimates_of(learner: RowLearner, ids: I64) -> Estimates:
    """Return the estimates of a model for some features, which may be unknown to it."""
    return estimates_in(
        cast("MergingRule[Any]", learner.rule),
        learner.memory.state,
        *positions_of(learner.memory, ids),
    )


def estimates_in(rule: MergingRule[S], state: S, is_known: Bool, positions: Positions) -> Estimates:
    """Return the estimates of a state; known features are at ``positions``."""
    stored, scale = rule.stored(state, positions), rule.scale(state)
    if len(stored.precision_gain) == is_known.size:
        return Estimates(stored.precision_gain * scale, stored.weight)
    estimates = Estimates(
        *(np.zeros((is_known.size, state.bias.shape[0])) for _ in Estimates._fields)
    )
    estimates.precision_gain[is_known] = stored.precision_gain * scale
    estimates.weight[is_known] = stored.weight
    return estimates


def apply_in_chunks(
    work: Callable[[I64], tuple[NDArray[Any], ...]], ids: I64
) -> list[NDArray[Any]]:
    """Return the arrays that ``work`` returns for all ids, calling it on chunks of them."""
    parts = [work(ids[at : at + CHUNK]) for at in range(0, max(1, ids.size), CHUNK)]
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


def find_best(keys: F64, budget: int) -> I64:
    """Return the positions of the largest keys; ties go to the first.

    Keys of minus infinity are never returned.
    """
    outside = keys.size - budget
    cut = np.partition(keys, outside)[outside] if outside > 0 else -np.inf
    above = np.flatnonzero(keys > cut)
    equal = np.flatnonzero(keys == cut) if cut > -np.inf else above[:0]
    return np.concatenate([above, equal[: budget - above.size]])


# ---- counts and moments


def merge_moments(memories: Sequence[RowMemory[S]], ids: I64, merge_rule: MergeRule) -> Moments:
    """Return the moments of all rows, for the features of a merged model."""
    moments = [memory.moments for memory in memories]
    kinds = {int(part.dense[0]) for part in moments} - {-1}
    if len(kinds) > 1:
        raise UsageError(
            "some parts learned dense rows and some sparse ones; use one kind to standardise"
        )
    seen = [part.seen for part in moments]
    dense = np.array([max(kinds, default=-1)])

    def per_feature(features: I64) -> tuple[F64, F64]:
        sums = []
        for memory in memories:
            is_known, positions = positions_of(memory, features)
            sums_of_part = np.zeros((2, features.size))
            sums_of_part[:, is_known] = (
                memory.moments.first[positions],
                memory.moments.second[positions],
            )
            sums.append(sums_of_part)
        return tuple(
            combine_moments([float(part[0]) for part in seen], sums)
            if dense[0] == 1
            else sum_increments(sums)
        )

    first, second = (
        apply_in_chunks(per_feature, ids)
        if memories[0].standardizes
        else (np.zeros(0), np.zeros(0))
    )
    totals = sum_increments([part.totals for part in moments])
    totals[SQUARES:] = merge_rule.merge_sums([part.totals[SQUARES:] for part in moments])
    return Moments(first, second, sum_increments(seen), dense, totals)


def merge_scaling(memories: Sequence[RowMemory[S]]) -> AutoScaling | None:
    """Return the scales of columns, equal in all parts, with the moments of all rows."""
    base, *parts = (memory.scaling for memory in memories)
    if base is None:
        return None
    scalings = [part for part in parts if part is not None]
    choice = scalings[0].choice
    if memories[0].warm_up is not None:  # it has no rows
        base = AutoScaling(choice)
    moments = [column_moments.moments for column_moments in (base, *scalings)]
    means, deviations = combine_moments(
        [float(column_moments.seen[0]) for column_moments in moments],
        [np.stack([column_moments.means, column_moments.deviations]) for column_moments in moments],
    )
    return AutoScaling(
        choice,
        ColumnMoments(
            means, deviations, sum_increments([column_moments.seen for column_moments in moments])
        ),
    )


# ---- curves and small budgets


def merge_curves(
    rule: MergingRule[S],
    merged: RowMemory[S],
    memories: Sequence[RowMemory[S]],
    merge_rule: MergeRule,
) -> Curve:
    """Return the curve of a merged memory, which has its state, and fill its small budgets.

    Candidates are chosen again, from what the merged model keeps.
    """
    curve = add_curves([memory.curve for memory in memories if memory.curve is not None])
    kept, _, scores = rule.kept(merged.state, merged.addresses)
    best = kept[rank_slots(curve, scores, kept)]
    if merged.small_budgets is not None:
        merge_small_budgets(
            rule,
            merged.small_budgets,
            [memory.small_budgets for memory in memories if memory.small_budgets is not None],
            merge_rule,
        )
        merged.small_budgets.rank(
            lambda state: rule.kept(state, merged.addresses), best, int(merged.counts[0])
        )
    return curve


def merge_small_budgets(
    rule: MergingRule[S],
    merged: SmallBudgets[S],
    parts: Sequence[SmallBudgets[S]],
    merge_rule: MergeRule,
) -> None:
    """Fill small budgets with those of base and parts, for every feature that any of them sees."""
    ids = np.unique(np.concatenate([part.addresses.ids[: part.addresses.used] for part in parts]))
    merged.addresses = table_addresses(ids)
    matching = zip(merged.members, *(part.members for part in parts), strict=True)
    merged.members = [
        merge_small_budget(rule, small, counterparts, parts, ids, merge_rule)
        for small, *counterparts in matching
    ]


def merge_small_budget(
    rule: MergingRule[S],
    merged: SmallBudget[S],
    counterparts: Sequence[SmallBudget[S]],
    parts: Sequence[SmallBudgets[S]],
    ids: I64,
    merge_rule: MergeRule,
) -> SmallBudget[S]:
    """Return a small budget filled with its counterparts in base and parts."""

    def read_estimates(features: I64) -> list[Estimates]:
        estimates = []
        for small, part in zip(counterparts, parts, strict=True):
            positions = look_up(part.addresses, features)
            estimates.append(
                estimates_in(rule, small.state, positions >= 0, positions[positions >= 0])
            )
        return ignore_forgotten(estimates, merge_rule)

    return SmallBudget(
        merge_states(
            rule,
            merged.state,
            [small.state for small in counterparts],
            read_estimates,
            ids,
            merge_rule,
        ),
        add_curves([small.curve for small in counterparts]),
        np.ones(ids.size, np.bool_),
        merge_calibrations([small.calibration for small in counterparts]),
    )


def ignore_forgotten(estimates: Sequence[Estimates], merge_rule: MergeRule) -> list[Estimates]:
    """Return estimates without those that a part has forgotten.

    A part that has forgotten what the base knew gets the base's estimates, and so adds nothing.
    """
    base, *parts = estimates
    completed = [base]
    for part, retained in zip(parts, merge_rule.retained, strict=True):
        retained_gain = base.precision_gain * retained
        is_forgotten = (part.precision_gain < retained_gain).any(axis=1, keepdims=True)
        completed.append(
            Estimates(
                np.where(is_forgotten, retained_gain, part.precision_gain),
                np.where(is_forgotten, base.weight, part.weight),
            )
        )
    return completed


def add_curves(curves: Sequence[Curve]) -> Curve:
    """Return a curve with the counts of base and parts; its slots are not ranked yet."""
    first = curves[0]
    curve = start_curve(first.grid, first.sums.shape[1])
    curve.mistakes[:] = sum_increments([part.mistakes for part in curves])
    curve.errors[:] = sum_increments([part.errors for part in curves])
    return curve
