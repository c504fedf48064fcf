"""Parameters that methods on rows have in common: their checks, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base import ClassWeight, Seed
from ..parameters import (
    HALF_LIVES,
    MAX_CELLS,
    MAX_EPOCHS,
    MAX_FEATURES,
    Check,
    between,
    checked,
    count,
    fits,
    is_integer,
    is_number,
    one_of,
    together,
)
from .inputs import AUTO, NORMALIZATIONS
from .weights import check_class_weight


@dataclass(frozen=True)
class RowOptions:
    """The parameters that methods on rows share.

    A parameter that a method does not have takes the default given here.
    """

    n_features_to_select: int | float | str = 100
    normalize: bool | str = AUTO
    fit_intercept: bool = True
    n_epochs: int = 1
    class_weight: ClassWeight = None
    forget: float | None = None
    curve: bool | Sequence[int] = False
    max_cells: int | None = None
    attributes: str = "all"
    random_state: Seed = None

    @property
    def chooses_budget(self) -> bool:
        """Return True if the number of features is taken from the curve."""
        return self.n_features_to_select == AUTO


def is_budget(value: Any) -> bool:
    """Return True for a number of features, or a fraction of them."""
    return is_number(value) and (value >= 1 if is_integer(value) else 0 < value < 1)


def is_grid(value: Any) -> bool:
    """Return True for a list of numbers of features, at least one."""
    listed = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1 and len(value) > 0
    return listed and all(is_integer(k) and 1 <= k < MAX_FEATURES for k in value)


def is_auto(value: Any) -> bool:
    """Return True for "auto"."""
    return isinstance(value, str) and value == AUTO


A_BUDGET = "an integer of 1 or more, or a fraction between 0 and 1"
BUDGET: tuple[Check, ...] = (
    fits(is_budget, A_BUDGET),
    fits(lambda value: value < MAX_FEATURES, f"below {MAX_FEATURES:,}"),
)
BUDGET_OR_AUTO: tuple[Check, ...] = (
    fits(lambda value: is_auto(value) or is_budget(value), f"{A_BUDGET}, or 'auto'"),
    fits(lambda value: is_auto(value) or value < MAX_FEATURES, f"below {MAX_FEATURES:,}"),
)


@dataclass(eq=False, repr=False, kw_only=True)
class Budget:
    """The first parameter of most methods: a number of features, or a fraction of them."""

    n_features_to_select: int | float = field(default=100, kw_only=False, metadata=checked(*BUDGET))


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetOrAuto:
    """The same parameter where the number may be chosen from the curve."""

    n_features_to_select: int | float | str = field(
        default=100, kw_only=False, metadata=checked(*BUDGET_OR_AUTO)
    )


NORMALIZE = one_of(*NORMALIZATIONS)
NORMALIZE_CELLS: tuple[Check, ...] = (
    NORMALIZE,
    together(
        lambda params, value: params.max_cells is None or value is False or value in (AUTO, "l2"),
        "'auto', 'l2' or False with max_cells: the spread of every feature would need memory of"
        " its own",
    ),
)
CLASS_WEIGHT: Check = check_class_weight
HALF_LIFE = between(*HALF_LIVES, None, words="None or, in rows, ")
GRID = fits(
    lambda value: isinstance(value, bool) or is_grid(value),
    f"True, False or a list of integers from 1 to below {MAX_FEATURES:,}",
)
CELLS = count(MAX_CELLS, optional=True)
EPOCHS = count(MAX_EPOCHS)
ATTRIBUTES = one_of("all", "random")

# A check of scikit-learn that cannot hold for methods whose step grows with the weight of a row.
ONE_LONG_STEP = {
    "check_class_weight_classifiers": (
        "in one pass a class weight of 1,000 is one long step, not 1,000 steps"
    ),
}
