"""SOFS for numbers: second-order online feature selection (after Wu, Hoi, Mei, Yu 2017) with squared or Huber loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...kernels.rows.batch import Rows
from ...kernels.rows.curve import Curve
from ...kernels.rows.signal import SignalState, signal_update
from ..requirements import require_one_of
from .regressor import RowRegressor
from .sofs import NOT_CLIPPED, SecondOrder, SofsState

LOSSES = ("squared", "huber")


class SOFSRegressorLearner(SecondOrder, RowRegressor[SofsState]):
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
    criterion = "snr"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"loss": "huber", "curve": True},
        {"normalize": "l2", "fit_intercept": False, "curve": [2, 5]},
        {"normalize": "standard+l2", "forget": 20.0, "loss": "huber"},
        {"max_cells": 64, "curve": [2, 5]},
    )

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        loss: str = "squared",
        gamma: float | str = "auto",
        normalize: bool | str = "auto",
        fit_intercept: bool = True,
        forget: float | None = None,
        curve: bool | Sequence[int] = False,
        max_cells: int | None = None,
        n_epochs: int = 1,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.loss = loss
        self.gamma = gamma
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.forget = forget
        self.curve = curve
        self.max_cells = max_cells
        self.n_epochs = n_epochs

    def check_parameters(self) -> None:
        super().check_parameters()
        require_one_of("loss", self.loss, LOSSES)

    def _update(self, state: SofsState, ids: NDArray[np.int64], rows: Rows, curve: Curve | None) -> None:
        assert isinstance(state, SignalState)
        first_size = self.known.usual_size if self.loss == "huber" else NOT_CLIPPED
        table, gammas = self._table_of(state), self._gammas(rows)
        signal_update(state, ids, table, rows, gammas, curve, self._decay, self._share, first_size)
