"""SOFS: second-order online feature selection (Wu, Hoi, Mei, Yu 2017), for classes and for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...kernels.rows.batch import MAX_SCORE, UNIFORM
from ...targets import ONLY_NUMBERS, Kind
from ..base import ClassWeight
from ..requirements import require, require_one_of
from .inputs import AUTO
from .learner import RowLearner
from .limits import GAMMAS, require_between
from .rules.base import RowRule
from .rules.second_order import ConfidenceRule, ManyClassesRule, SignalRule

CRITERIA = ("snr", "confidence")
UPDATES = {"max_score": MAX_SCORE, "uniform": UNIFORM}
LOSSES = ("squared", "huber")


@dataclass(eq=False, repr=False, kw_only=True)
class SOFSLearner(RowLearner[Any]):
    """Second-order online feature selection (Wu et al. 2017, algorithms 4 and 6; many classes: section 3.6).

    A linear classifier with a confidence for every weight (diagonal AROW), which keeps ``n_features_to_select``
    features and predicts with those alone. Which ones is the ``criterion``: "confidence", the paper's, keeps the most
    precise weights, those of features that took part often; "snr" keeps the weights that are largest against their
    own uncertainty, ``|mu| / sqrt(S)``, and lets features that are not kept go on learning in the shadow, each as if
    it were added to the kept ones. One pass, O(non-zeros) time per row; per feature seen 4 bytes ("confidence") or 8
    ("snr"); with more than two classes that times their number, and 4 more.

    The defaults need no tuning. The paper's own form is ``criterion="confidence", gamma=1.0, normalize=False,
    fit_intercept=False, class_weight=None``.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default=100
        The budget: how many features to keep. A float is a fraction of the width, where that is known beforehand.
        "auto" learns with the largest number of the curve's grid and takes the smallest that is within one standard
        error of the best, with the features and weights of a learner of about that budget.
    gamma : "auto" or float, default="auto"
        AROW's regularisation: larger learns more slowly. It is a squared length; "auto" goes by the mean squared length
        of the rows so far.
    criterion : {"snr", "confidence"}, default="snr"
        The selection rule.
    update : {"max_score", "uniform"}, default="max_score"
        With more than two classes: which rivals of the true class step back, the best (eq. 10) or all that score
        no less than it (eq. 11).
    normalize : {"auto", False, "l2", "standard", "standard+l2"}, default="auto"
        "auto" chooses the scale of every column from the first rows, then divides every row by its length. "l2" divides
        every row by its Euclidean norm. "standard" divides features by their standard deviation so far, and centres
        them if the rows are dense. False takes rows as they are.
    fit_intercept : bool, default=True
        One more weight, outside the budget, with a constant input. False is the paper's form.
    class_weight : "auto", None, "balanced" or dict, default="auto"
        Weights of the classes, by label. "balanced" makes rare ones count as much as others, by the class counts so
        far; "auto" helps rare ones, by the root of half of that, and leaves others alone.
    forget : float, default=None
        A half-life in rows: precision decays, so that the selection can move when the data does.
    curve : bool or list of int, default=False
        Also measure the online accuracy with fewer features, on a grid of numbers: ``curve_``. Small learners beside
        the main one answer for small numbers, as well as runs of their own would.
    max_cells : int, default=None
        Fixed memory for any number of different features: kept ones are exact, all others share this many cells of 8
        bytes, times the number of classes if there are more than two. Ids may then be any below 2**63, and rows may
        come as dictionaries of values by name. For ``criterion="snr"``; ``normalize="auto"`` is "l2" then. 2**14 cells
        are enough for most data. None is exact, and remembers every feature.
    n_epochs : int, default=1
        How often to go over the rows.

    Attributes
    ----------
    classes_ : array
    coef_, intercept_ : sparse array, array
        The weights of the kept features and of the intercept, for rows as ``normalize`` makes them; a row, or a row per
        class if there are more than two.
    support_, scores_ : array
        A mask over all features; the scores of the selected ones, aligned with ``get_support(indices=True)``.
    n_features_in_ : int
        The width of the widest row seen.
    mistakes_, updates_ : int
        Rows predicted wrongly before they were learned (a score of 0 counts as wrong); rows learned from.
    n_rows_, n_nonzero_ : int
        Rows and non-zeros seen.
    curve_ : dict
        ``n_features`` and ``accuracy``, where a curve was asked for.
    n_features_selected_ : int
        The budget, or what "auto" took.
    """

    method: ClassVar[str] = "sofs"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"criterion": "confidence", "fit_intercept": False},
        {"criterion": "confidence", "forget": 20.0, "curve": True},
        {"normalize": "l2", "class_weight": "balanced", "curve": [2, 5]},
        {"normalize": "standard+l2", "forget": 20.0},
        {"max_cells": 64, "forget": 20.0, "curve": [2, 5]},
    )
    merges: ClassVar[bool] = True

    n_features_to_select: int | float | str = field(default=100, kw_only=False)
    gamma: float | str = "auto"
    criterion: str = "snr"
    update: str = "max_score"
    normalize: bool | str = "auto"
    fit_intercept: bool = True
    class_weight: ClassWeight = "auto"
    forget: float | None = None
    curve: bool | Sequence[int] = False
    max_cells: int | None = None
    n_epochs: int = 1

    def check_parameters(self) -> None:
        super().check_parameters()
        require_gamma(self.gamma)
        require_one_of("criterion", self.criterion, CRITERIA)
        require_one_of("update", self.update, UPDATES)
        expected = "'snr' with max_cells: without shadow weights there is nothing to share a cell"
        require(self.criterion == "snr" or self.max_cells is None, "criterion", self.criterion, expected)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        common = self.gamma, decay_of(self.forget), self.share
        if n_vectors > 1:
            return ManyClassesRule(*common, criterion=self.criterion, steps=UPDATES[self.update])
        return SignalRule(*common) if self.criterion == "snr" else ConfidenceRule(*common)


@dataclass(eq=False, repr=False, kw_only=True)
class SOFSRegressorLearner(RowLearner[Any]):
    """Second-order online feature selection for a target of numbers (after Wu et al. 2017).

    SOFS by signal to noise, with the error of a row in place of its distance from the margin: a linear model with a
    confidence for every weight, which keeps the ``n_features_to_select`` features whose weights are largest against
    their own uncertainty and predicts with those alone. One pass, O(non-zeros) time per row, 8 bytes per feature seen.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default=100
        The budget: how many features to keep. A float is a fraction of the width, where that is known beforehand.
        "auto" learns with the largest number of the curve's grid and takes the smallest whose squared error is within
        one standard error of the best.
    loss : {"squared", "huber"}, default="squared"
        "huber" clips errors beyond three times their usual size, for targets with outliers. It does not suit targets
        that are mostly one value, whose usual error is near 0.
    gamma : "auto" or float, default="auto"
        The regularisation: larger learns more slowly. It is a squared length; "auto" goes by the mean squared length of
        the rows so far.
    normalize : {"auto", False, "l2", "standard", "standard+l2"}, default="auto"
        As in SOFS; but "auto" leaves rows as long as they are where at least half of their values are in columns that
        nearly all rows have, as in tables of numbers: there the length says something about the target.
    fit_intercept : bool, default=True
        One more weight, outside the budget, with a constant input. Targets are measured from the median of the first
        32 in any case.
    forget : float, default=None
        A half-life in rows: precision decays, so that the selection can move when the data does.
    curve : bool or list of int, default=False
        Also measure the online R2 with fewer features, on a grid of numbers: ``curve_``, as in SOFS.
    max_cells : int, default=None
        Fixed memory for any number of different features: kept ones are exact, all others share this many cells of 8
        bytes. Ids may then be any below 2**63, and rows may come as dictionaries of values by name.
        ``normalize="auto"`` is "l2" then. None is exact, and remembers every feature.
    n_epochs : int, default=1
        How often to go over the rows.

    Attributes
    ----------
    coef_, intercept_ : sparse array, array
        The weights of the kept features and what is predicted for a row without values, for rows as ``normalize`` makes
        them.
    support_, scores_ : array
        A mask over all features; the scores of the selected ones, aligned with ``get_support(indices=True)``.
    n_features_in_ : int
        The width of the widest row seen.
    r2_ : float
        Online R2: the fraction of the target's variance that was predicted before the rows were learned.
    updates_, n_rows_, n_nonzero_ : int
        Rows learned from; rows and non-zeros seen.
    curve_ : dict
        ``n_features`` and ``r2``, where a curve was asked for.
    n_features_selected_ : int
        The budget, or what "auto" took.
    """

    method: ClassVar[str] = "sofs-regressor"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"loss": "huber", "curve": True},
        {"normalize": "l2", "fit_intercept": False, "curve": [2, 5]},
        {"normalize": "standard+l2", "forget": 20.0, "loss": "huber"},
        {"max_cells": 64, "curve": [2, 5]},
    )
    targets: ClassVar[frozenset[Kind]] = ONLY_NUMBERS
    merges: ClassVar[bool] = True

    n_features_to_select: int | float | str = field(default=100, kw_only=False)
    loss: str = "squared"
    gamma: float | str = "auto"
    normalize: bool | str = "auto"
    fit_intercept: bool = True
    forget: float | None = None
    curve: bool | Sequence[int] = False
    max_cells: int | None = None
    n_epochs: int = 1

    def check_parameters(self) -> None:
        super().check_parameters()
        require_gamma(self.gamma)
        require_one_of("loss", self.loss, LOSSES)

    def rule_for(self, n_vectors: int) -> RowRule[Any]:
        return SignalRule(self.gamma, decay_of(self.forget), self.share, clips=self.loss == "huber")


def require_gamma(gamma: Any) -> None:
    """Raise ParameterError unless gamma is "auto" or a number."""
    if not isinstance(gamma, str) or gamma != AUTO:
        require_between("gamma", gamma, GAMMAS, "'auto' or ")


def decay_of(half_life: float | None) -> float:
    """Return what a row leaves of what was learned before it."""
    return 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)
