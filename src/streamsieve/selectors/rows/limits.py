"""What parameters of methods on rows may be: ranges within which all that is computed is a number.

Values of rows are float32, up to 3.4e38, and a row has weights up to 10^12. The ranges are as wide as data of any scale
can ask for, and so narrow that no product in a kernel overflows. What is beyond is a slip of the pen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..parameters import to_builtin
from ..requirements import is_integer, is_number, require

# A squared length of rows: those of float32 are from 10^-90 to 10^77 times the width.
GAMMAS = 1e-90, 1e90
# A step times a squared length is to be about 1.
STEPS = 1e-80, 1e20
RADII = 1e-30, 1e30  # of a ball of weights
PENALTIES = 0.0, 1e20
# With a half-life below one row a learner would have forgotten every row before it meets the next.
HALF_LIVES = 1.0, 1e15
FRACTIONS = 1e-6, 1.0  # of rows to explore: values are divided by it
MOST_EPOCHS = 1_000_000
MOST_CELLS = 1 << 40


def require_between(name: str, value: Any, bounds: tuple[float, float], alternative: str = "") -> None:
    """Refuse a number outside of its range; ``alternative`` is what else is allowed, for the message."""
    low, high = bounds
    fits = is_number(value) and low <= to_builtin(value) <= high
    require(fits, name, value, f"{alternative}a number from {low:g} to {high:g}")


def require_count(name: str, value: Any, most: int, alternative: str = "") -> None:
    """Refuse what is not an integer from 1 to ``most``."""
    require(is_integer(value) and 1 <= value <= most, name, value, f"{alternative}an integer from 1 to {most:,}")


def require_seed(value: Any) -> None:
    """``random_state`` is None, an integer or one of NumPy's generators."""
    fits = value is None or isinstance(value, np.random.Generator) or (is_integer(value) and value >= 0)
    require(fits, "random_state", value, "None, an integer of 0 or more, or a numpy.random.Generator")


def is_grid(value: Any, most: int) -> bool:
    """Whether a value is a list of numbers of features, at least one."""
    listed = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1 and len(value) > 0
    return listed and all(is_integer(k) and 1 <= k < most for k in value)
