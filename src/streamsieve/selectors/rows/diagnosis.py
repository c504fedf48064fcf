"""Remarks on results of methods that learn row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import spell
from ...targets import show
from ..diagnosis import DataSample, Finding, Scales
from ..parameters import parameters_of
from .targets import Classes

if TYPE_CHECKING:
    from .results import RowResults

# A deviation of this fraction of the mean is about ten steps of float32.
MAX_COARSE_STEPS = 2.0**-20
EXACT_INTEGERS = 2.0**24  # float32 can represent all integers up to here
WILD = 1000.0  # ratio of the sizes of two columns
ONE_SIDED = 0.8  # share of one class that is too large for equal class weights
ROWS_FOR_NUMBERS = 200  # needed to judge the prediction of a numeric target
MAX_FEW_FEATURES = 20  # with so few features, more may help
STANDARD_ERRORS = 2.0  # of a difference that is clear
# Upper bound of two standard errors, as a share of the largest possible advantage; above it
# there are too few rows to judge.
JUDGED_FROM = 0.15
MIN_ADVANTAGE = 0.01  # as a share of the largest possible advantage


def diagnose_rows(learner: RowResults, sample: DataSample) -> list[Finding]:
    """Return the remarks on a learner that has learned all rows."""
    target = learner.memory.target
    findings = [
        (
            compare_with_majority(learner, target)
            if isinstance(target, Classes)
            else compare_with_mean(learner)
        )
    ]
    if learner.options.chooses_budget:
        findings.append(
            check_grid_edge(
                learner.curve_["n_features"], learner.n_features_selected_, learner.features.width
            )
        )
    if learner.options.normalize in (False, "l2") and learner.memory.kept_table is None:
        findings.append(check_scales(sample.scales(), learner))
    findings.append(check_rounding(learner))
    return [finding for finding in findings if finding is not None]


def compare_with_majority(learner: RowResults, target: Classes) -> Finding | None:
    """Return a remark if always predicting the largest class is as good.

    It is a note if the scores separate the classes.
    """
    labels = target.labels
    total, largest = labels.n_rows, int(np.argmax(labels.counts))
    majority_mistakes = total - int(labels.counts[largest])
    margin = STANDARD_ERRORS * np.sqrt(majority_mistakes * (1.0 - majority_mistakes / total))
    scores_separate = separates(target.separation.hits, target.separation.rows)
    if (
        learner.mistakes_ < majority_mistakes - margin
        or scores_separate is None
        or (scores_separate and weighs_classes(learner))
    ):
        return None
    message = (
        f"{learner.mistakes_:,} of {total:,} rows were predicted wrongly before they were learned,"
        f" not clearly fewer than by predicting {show(labels.classes[largest])} for all of them"
        f" ({majority_mistakes:,})"
    )
    return Finding(
        "majority",
        "note" if scores_separate else "warning",
        message,
        choose_advice(learner, labels.counts),
    )


def compare_with_mean(learner: RowResults) -> Finding | None:
    """Return a remark if always predicting the mean of the target is as good."""
    rows, r2 = learner.n_rows_, learner.r2_
    if r2 is None or rows < ROWS_FOR_NUMBERS or r2 > STANDARD_ERRORS * np.sqrt(2.0 / rows):
        return None
    message = (
        "the target was predicted no better than by its mean before rows were learned (R2"
        f" {r2:.3f})"
    )
    if learner.options.normalize != "auto":
        return Finding("mean", "warning", message, f"try {spell('normalize', 'auto')}")
    if parameters_of(learner.params).get("gamma", "auto") != "auto":
        return Finding("mean", "warning", message, f"try {spell('gamma', 'auto')}")
    if parameters_of(learner.params).get("loss") == "squared":
        return Finding(
            "mean",
            "warning",
            message,
            f"try {spell('loss', 'huber')} if there are outliers, or {spell('n_epochs', 3)} with"
            " few rows",
        )
    return Finding("mean", "warning", message, "try another number of features")


def separates(hits: NDArray[np.int64], rows: NDArray[np.int64]) -> bool | None:
    """Return True if scores separate the classes clearly better than chance.

    ``hits`` and ``rows`` are correct guesses and rows by class. Guesses that are independent of the
    classes, always the largest for instance, are correct in fractions of the classes that add up to
    1, however unequal the classes are. The excess above 1 is the advantage over chance, at most the
    number of classes less 1. Return None if there are too few rows to judge.
    """
    has_rows = rows > 0
    hits, rows = hits[has_rows], rows[has_rows]
    max_advantage = rows.size - 1
    if STANDARD_ERRORS * np.sqrt((0.25 / rows).sum()) > JUDGED_FROM * max_advantage:
        return None
    fractions = (hits + 0.5) / (rows + 1.0)  # classes without hits have an error too
    error = np.sqrt((fractions * (1.0 - fractions) / rows).sum())
    return bool(
        (hits / rows).sum() - 1.0 > max(STANDARD_ERRORS * error, MIN_ADVANTAGE * max_advantage)
    )


def weighs_classes(learner: RowResults) -> bool:
    """Return True if rare classes weigh so much that more mistakes may be accepted."""
    return learner.options.class_weight not in (None, "auto")


def choose_advice(learner: RowResults, counts: NDArray[np.int64]) -> str:
    """Return the advice for the most frequent cause that the parameters leave open."""
    kept, width = learner.memory.budget, learner.features.width
    if counts.max() > ONE_SIDED * counts.sum() and not weighs_classes(learner):
        return f"try {spell('class_weight', 'balanced')}"
    shares_cells = learner.memory.kept_table is not None  # then "auto" is "l2"
    if learner.options.normalize != "auto" and not learner.method.asks and not shares_cells:
        return f"try {spell('normalize', 'auto')}"
    if parameters_of(learner.params).get("gamma", "auto") != "auto":
        return f"try {spell('gamma', 'auto')}"
    if learner.method.name != "sofs":
        return "try the method sofs"
    if kept <= MAX_FEW_FEATURES and kept < width:
        return f"try {spell('n_features_to_select', min(width, 10 * kept))}"
    return (
        f"try the method local-learning with {spell('sigma', 'auto')} on some hundred rows: the"
        " classes may not be linear"
    )


def check_grid_edge(grid: NDArray[np.int64], chosen: int, width: int) -> Finding | None:
    """Return a remark if ``n_features_to_select='auto'`` chose the first or last number."""
    smallest, largest = int(grid[0]), int(grid[-1])
    if chosen == largest < width:
        larger_numbers = sorted({min(width, largest * factor) for factor in (1, 2, 5)})
        message = (
            f"{spell('n_features_to_select', 'auto')} chose {largest:,}, the largest number it"
            " tried; more may be better"
        )
        return Finding("edge of grid", "warning", message, f"try {spell('curve', larger_numbers)}")
    if chosen == smallest > 1:
        message = (
            f"{spell('n_features_to_select', 'auto')} chose {smallest:,}, the smallest number it"
            " tried; fewer may be enough"
        )
        return Finding("edge of grid", "note", message, f"try {spell('curve', True)}")
    return None


def check_scales(scales: Scales, learner: RowResults) -> Finding | None:
    """Return a remark if columns differ widely in size and the normalisation keeps that."""
    if not scales.ids.size:
        return None
    small, large = int(np.argmin(scales.sizes)), int(np.argmax(scales.sizes))
    if scales.sizes[large] < WILD * scales.sizes[small]:
        return None
    title = learner.title
    message = (
        f"the values of {title(int(scales.ids[large]))} are about {scales.sizes[large]:.3g} and"
        f" those of {title(int(scales.ids[small]))} {scales.sizes[small]:.3g}, and"
        f" {spell('normalize', learner.options.normalize)} keeps these scales"
    )
    return Finding("scales", "note", message, f"try {spell('normalize', 'auto')}")


def check_rounding(learner: RowResults) -> Finding | None:
    """Return a remark if centred values were rounded to float32 and hardly vary any more."""
    memory = learner.memory
    scaling, moments = memory.scaling, memory.moments
    if memory.exact or not learner.inputs.centres:
        return None
    if scaling is not None:
        ids, (means, deviations, (seen,)) = scaling.choice.dense, scaling.moments
    else:
        positions = np.arange(moments.first.size if moments.dense[0] == 1 else 0)
        ids = positions if memory.addresses.direct else memory.addresses.ids[positions]
        means, deviations, seen = (
            moments.first[positions],
            moments.second[positions],
            moments.seen[0],
        )
    spread = np.sqrt(deviations / max(1.0, seen))
    is_rounded = (spread < MAX_COARSE_STEPS * np.abs(means)) & (
        (spread > 0.0) | (np.abs(means) >= EXACT_INTEGERS)
    )
    if not is_rounded.any():
        return None
    worst = int(np.argmax(np.where(is_rounded, spread > 0.0, -1.0)))
    title, mean = learner.title(int(ids[worst])), float(means[worst])
    if spread[worst] > 0.0:
        message = (
            f"the values of {title}, about {mean:.8g}, differ by {spread[worst]:.3g}, which float32"
            " can hardly represent"
        )
        return Finding(
            "rounded", "warning", message, "subtract the mean of such columns beforehand"
        )
    message = (
        f"the values of {title} are all {mean:.8g} as float32, which loses differences below 1 in"
        " 10^7"
    )
    return Finding("rounded", "note", message, "if they differ, subtract their mean beforehand")
