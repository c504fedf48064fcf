"""Merge models that learned different rows from one base, feature by feature.

Precisions and products of precision and weight are added as differences from the base.

A model is a dictionary: ``precision`` and ``weight``, per feature id and vector of weights, of
every learned feature, including ``INTERCEPT``; ``rows`` and other counts; ``usual``, the scale of
errors and the rows it was estimated from. A missing feature has precision 1 and weight 0.

In a part every row may have counted as ``times`` rows.

With ``forget`` = H the precision above 1 of the base has decayed by 2 ** (-rows / H) in a part that
learned so many rows, and in the merged model by the rows of all parts.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

INTERCEPT = -1


def merge(
    base: dict[str, Any],
    parts: list[dict[str, Any]],
    *,
    vectors: int = 1,
    divisor: float = 1.0,
    forget: float | None = None,
    criterion: str | None = None,
    budget: int = 0,
) -> dict[str, Any]:
    """Return the merged model; with a ``criterion`` also ``scores`` by id and the closest call."""
    ids = set(base["precision"])
    for part in parts:
        ids |= set(part["precision"])
    merged: dict[str, Any] = {"precision": {}, "weight": {}}
    for j in sorted(ids):
        merged["precision"][j] = []
        merged["weight"][j] = []
        for c in range(vectors):
            p0, mu0 = state_of(base, j, c)
            all_rows = sum(part["rows"] - base["rows"] for part in parts)
            start = decay(p0, all_rows, forget)
            sum_of_precisions = 0.0
            sum_of_products = 0.0
            for part in parts:
                p, mu = state_of(part, j, c)
                part_start = decay(p0, part["rows"] - base["rows"], forget)
                sum_of_precisions += p - part_start
                sum_of_products += p * mu - part_start * mu0
            sum_of_precisions /= divisor
            sum_of_products /= divisor
            precision = start + sum_of_precisions
            merged["precision"][j].append(precision)
            merged["weight"][j].append((start * mu0 + sum_of_products) / precision)
    for name in ("rows", "nonzeros", "mistakes", "updates"):
        merged[name] = base[name] + sum(part[name] - base[name] for part in parts)
    merged["usual"] = merge_error_scales(base["usual"], [part["usual"] for part in parts])
    merged["closest_call"] = float("inf")
    if criterion is not None:
        keep_best(merged, [base, *parts], criterion, budget)
    return merged


def state_of(model: dict[str, Any], j: int, c: int) -> tuple[float, float]:
    """Return precision and weight of a feature in a model."""
    if j not in model["precision"]:
        return 1.0, 0.0
    return model["precision"][j][c], model["weight"][j][c]


def merge_error_scales(base: list[float], parts: list[list[float]]) -> list[float]:
    """Return the geometric mean of error scales by new rows, and the number of rows seen."""
    total = 0.0
    weighted_rows = 0.0
    seen = base[1]
    for size, seen_by_part in parts:
        new_rows = seen_by_part - base[1]
        seen += new_rows
        if size > 0:
            total += new_rows * log(size)
            weighted_rows += new_rows
    return [exp(total / weighted_rows) if weighted_rows > 0 else base[0], seen]


def decay(precision: float, rows: int, forget: float | None) -> float:
    return precision if forget is None else 1 + (precision - 1) * 2 ** (-rows / forget)


def keep_best(
    merged: dict[str, Any], models: list[dict[str, Any]], criterion: str, budget: int
) -> None:
    """Keep the best features; by confidence the others lose their weights."""
    keys = {}
    for j in merged["precision"]:
        if j != INTERCEPT:
            keys[j] = key_of(merged["precision"][j], merged["weight"][j], criterion)
    ranking = sorted(keys, key=lambda j: (-keys[j], j))
    kept = ranking[:budget]
    merged["scores"] = {j: keys[j] for j in kept}
    for j in ranking[budget:]:
        classes = range(len(merged["weight"][j]))
        is_tie = all(
            state_of(model, j, c) == state_of(model, kept[-1], c)
            for model in models
            for c in classes
        )
        if not is_tie:  # features that are equal in all models are equal in any arithmetic
            gap = abs(keys[j] - keys[kept[-1]]) / max(1.0, abs(keys[j]))
            merged["closest_call"] = min(merged["closest_call"], gap)
        if criterion == "confidence":
            merged["weight"][j] = [0.0 for _ in merged["weight"][j]]


def key_of(precision: list[float], weight: list[float], criterion: str) -> float:
    if criterion == "snr":
        return sqrt(sum(mu**2 * p for p, mu in zip(precision, weight, strict=True)))
    if len(precision) == 1:
        return precision[0]
    return -sum(1 / p for p in precision)


def moments(rows: list[dict[int, float]], j: int, dense: bool) -> tuple[float, float]:
    """Return sum and sum of squares of a feature, or mean and squared deviations if it is dense.

    Zeros count.
    """
    values = [x.get(j, 0.0) for x in rows]
    mean = sum(values) / len(values)
    if dense:
        return mean, sum((v - mean) ** 2 for v in values)
    return sum(values), sum(v**2 for v in values)


def spread(numbers: list[float]) -> tuple[float, float]:
    """Return mean and sum of squared deviations of the targets of rows."""
    mean = sum(numbers) / len(numbers)
    return mean, sum((number - mean) ** 2 for number in numbers)
