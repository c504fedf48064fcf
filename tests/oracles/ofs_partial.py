"""OFS_P, learning with partial inputs for two classes: P4 (Wang et al. 2014), algorithm 4.

The random draws are given: ``asked[row]`` is the set of ids seen in a row that explores, None for a
row that exploits, in which the features of non-zero weight are seen. Gaps closed:
- A seen value is a value of the row at a seen id; if the row has no entry there, it is 0 and
  changes nothing.
- Truncation, mistakes and row weights are those of PET. A kept feature whose weight becomes exactly
  0 stays kept, but is not seen in a row that exploits, and has the inclusion probability of an
  outsider.
- The intercept is always seen, never divided, counts in the norm and is never truncated.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from .pet import Row, lead, nearer, scores, signs, size, truncate


def learn(
    rows: list[Row],
    asked: list[set[int] | None],
    n_features: int,
    n_features_to_select: int,
    epsilon: float = 0.2,
    eta: float = 0.2,
    radius: float = 10.0,
    weights: list[float] | None = None,
    constants: list[float] | None = None,
) -> dict[str, Any]:
    w: dict[int, list[float]] = {}  # the kept features
    bias = [0.0]
    # of a kept feature: the steps it made, as (row, absolute value, probability)
    past: dict[int, list[Any]] = {}
    mistakes = updates = 0
    closest_call = float("inf")

    for t, (x, code) in enumerate(rows):
        v = 1.0 if weights is None else weights[t]
        z = 0.0 if constants is None else constants[t]
        if v == 0:
            continue

        non_zero = {j for j in w if w[j][0] != 0}
        for j in w:
            closest_call = nearer(closest_call, w[j][0], 0.0, tie_is_real=True)
        drawn = asked[t]
        seen = non_zero if drawn is None else drawn
        x_seen = {j: x[j] for j in x if j in seen}

        score = scores(w, bias, x_seen, z)
        margin = lead(score, code, n_classes=2)
        closest_call = nearer(closest_call, margin, 0.0, tie_is_real=True)
        closest_call = nearer(closest_call, margin, 1.0, tie_is_real=False)
        mistakes += margin <= 0
        if margin > 1:
            continue
        updates += 1

        [sign] = signs(code, n_classes=2)
        outsiders = {}
        for j in x_seen:
            probability = n_features_to_select / n_features * epsilon
            if j in non_zero:
                probability += 1 - epsilon
            step = eta * v * sign * (x_seen[j] / probability)
            if j in w:
                w[j] = [w[j][0] + step]
            else:
                outsiders[j] = [step]
            past.setdefault(j, []).append((t, abs(x_seen[j]), probability))
        bias = [bias[0] + eta * v * sign * z]

        total = bias[0] ** 2
        for part in (w, outsiders):
            for j in part:
                total += part[j][0] ** 2
        norm = sqrt(total)
        if norm > radius:
            for part in (w, outsiders):
                for j in part:
                    part[j] = [part[j][0] * (radius / norm)]
            bias = [bias[0] * (radius / norm)]

        call = truncate(w, outsiders, n_features_to_select, past)
        closest_call = min(closest_call, call)
        past = {j: past[j] for j in w}

    return {
        "weights": w,
        "bias": bias,
        "scores": {j: size(w[j]) for j in w},
        "mistakes": mistakes,
        "updates": updates,
        "closest_call": closest_call,
    }
