"""Compare the results of two ways to the same result, and describe differences in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import streamsieve as ss

RUN_FACTS = "mistakes", "updates", "test_accuracy", "test_r2"  # an estimator does not have them
TRACEBACK = 70  # the code of a command that did not end by itself
TOLERANCE = 1e-4  # relative: values in memory and in reduced files are rounded in another order


class Tried(NamedTuple):
    """What a command, or its like in Python, ended with."""

    code: int
    value: Any = None
    message: str = ""

    def __str__(self) -> str:
        return "a result" if not self.code else f"exit code {self.code}: {self.message[:300]}"


def attempt(function: Callable[[], Any]) -> Tried:
    """Call Python; scikit-learn refuses with a ValueError of its own."""
    try:
        return Tried(0, function())
    except ValueError as error:
        return Tried(2 if isinstance(error, ss.UsageError) else 1, None, str(error))


def compare(first: Tried, second: Tried, difference: Callable[[Any, Any], str]) -> str:
    """Compare two results; a refusal is like any other, and a traceback was noted already."""
    if TRACEBACK in (first.code, second.code) or (first.code and second.code):
        return ""
    if first.code or second.code:
        return f"the first ends with {first}, the second with {second}"
    return difference(first.value, second.value)


def same_run(first: dict[str, Any], second: dict[str, Any], tolerance: float = 0.0) -> str:
    names = [
        "selected",
        "scores",
        "names",
        "n_rows",
        "n_features",
        *(name for name in RUN_FACTS if name in second),
    ]
    wrong = [name for name in names if not alike(first.get(name), second.get(name), tolerance)]
    return f"{wrong[0]} is {first.get(wrong[0])}, and then {second.get(wrong[0])}" if wrong else ""


def same_run_in_memory(first: dict[str, Any], second: dict[str, Any]) -> str:
    return same_run(first, second, TOLERANCE)


def same_names(first: dict[str, Any], second: dict[str, Any]) -> str:
    """Compare the names that were selected; of features that score alike, either may be."""
    a, b = (
        dict(zip(result.get("names", ()), result["scores"], strict=True))
        for result in (first, second)
    )
    exchanged = [(a | b)[name] for name in a.keys() ^ b.keys()]
    if len(a) == len(b) and (
        not exchanged or np.ptp(exchanged) <= TOLERANCE * max(map(abs, exchanged))
    ):
        return ""
    return f"the names are {sorted(a)}, and then {sorted(b)}"


def same_predictions(first: Any, second: Any) -> str:
    """Compare scores and, of rows that are not between two classes, labels."""
    (labels, scores), (other_labels, other_scores) = first, second
    if not alike(scores, other_scores, TOLERANCE):
        return f"the scores are {scores[:3].tolist()} ..., and then {other_scores[:3].tolist()} ..."
    if labels is None:
        return ""
    ranked = np.sort(np.column_stack([scores, -scores]) if scores.shape[1] == 1 else scores)
    clear = ranked[:, -1] - ranked[:, -2] > TOLERANCE * abs(scores).max()
    wrong = np.flatnonzero(clear & (np.array(labels) != np.array(other_labels)))
    return (
        f"row {wrong[0] + 1} is {labels[wrong[0]]}, and then {other_labels[wrong[0]]}"
        if wrong.size
        else ""
    )


def same_values(first: NDArray[Any], second: NDArray[Any]) -> str:
    if alike(first, second, TOLERANCE):
        return ""
    return (
        f"the first row is {first[:1].tolist()} of {first.shape}, and then {second[:1].tolist()} of"
        f" {second.shape}"
    )


def alike(first: Any, second: Any, tolerance: float) -> bool:
    a, b = np.asarray(first), np.asarray(second)
    if a.dtype.kind not in "fiu" or b.dtype.kind not in "fiu":  # names, or nothing
        return bool(first == second)
    near = tolerance * np.nanmax(abs(a), initial=0)
    return a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=near, equal_nan=True)


def to_array(matrix: Any) -> NDArray[np.float64]:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)


def in_columns(scores: NDArray[Any]) -> NDArray[np.float64]:
    return scores.reshape(len(scores), -1).astype(np.float64)
