"""Online substitution (Yang, Fujimaki, Kusumura, Liu 2016): a linear model of few columns, out of a stream of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..requirements import is_number, require, require_one_of
from .linear import LinearColumnLearner
from .pool import Pool, PoolState
from .stepping import Stepping, SteppingState

SOLVERS = ("pool", "paper")


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineSubstitutionLearner(LinearColumnLearner[PoolState | SteppingState]):
    """Online substitution (Yang, Fujimaki, Kusumura, Liu 2016): columns that make a linear model, out of a stream.

    Features come one by one, for regression or two classes; the memory is that of some columns, O(rows x
    ``n_features_to_select``), whatever the number that went by. Columns are standardised as they are held, sparse ones
    stay sparse. Of columns that are the same but for scale, one is kept.

    Parameters
    ----------
    n_features_to_select : int, default=100
        How many are selected: that many, unless fewer vary.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        What the model minimises. "auto" is squared for numbers and logistic for two classes.
    solver : {"pool", "paper"}, default="pool"
        "pool" holds some more columns than are wanted and weighs them together; it needs no parameter. "paper" is
        algorithm 1 of the paper, whose answer depends on ``step`` and ``m``.
    n_scans : int or None, default=None
        How often the features are read: None for twice where the source can be read again, and once where not.
    step : float or None, default=None
        For "paper": the step of newcomers, eta; None for half of the longest that is safe for uncorrelated columns, 0.5
        for squared and squared hinge, 2 for logistic.
    m : float, default=1.0
        For "paper": kept columns step by ``step / m``.
    refit : bool, default=True
        Whether the model is fitted to the end on the selected columns.
    """

    method: ClassVar[str] = "online-substitution"
    selects_again: ClassVar[bool] = True
    check_variants = ({"solver": "paper"}, {"loss": "squared"}, {"n_features_to_select": 3})

    n_features_to_select: int = field(default=100, kw_only=False)
    loss: str = "auto"
    solver: str = "pool"
    n_scans: int | None = None
    step: float | None = None
    m: float = 1.0
    refit: bool = True

    def check_parameters(self) -> None:
        super().check_parameters()
        require_one_of("solver", self.solver, SOLVERS)
        require_step(self.step, self.m)

    def _rule(self, loss: int, y: NDArray[np.float64]) -> Any:
        wanted = int(self.n_features_to_select)
        return Pool(loss, y, wanted) if self.solver == "pool" else Stepping(loss, y, wanted, self.step, self.m)


def require_step(step: Any, m: Any) -> None:
    """The parameters of the steps that the paper takes."""
    require(step is None or (is_number(step) and step > 0), "step", step, "None or a number above 0")
    require(is_number(m) and m >= 1, "m", m, "a number of 1 or more")
