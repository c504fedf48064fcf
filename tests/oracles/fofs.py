"""FOFS or OFS, sparse projection.

P4 (Wang et al. 2014), algorithm 3; P1 (Wu, Hoi, Mei, Yu 2017), algorithms 3 and 5.

Gaps closed:
- The radius of the ball is 1 / sqrt(lambda), as in P1; P4 lacks the "1 /".
- P4 learns if y * score <= 1 (``trigger="margin"``); its text says "misclassified"
  (``trigger="mistake"``).
- Truncation, mistakes, many classes (one against the rest) and row weights are those of PET; the
  shrinkage is not multiplied by the weight of the row. When one class learns, all shrink; the ball
  is that of all classes together.
- The intercept shrinks, and counts in the norm, like any weight, but is never truncated.
- ``forget`` = H: every shrinkage is multiplied by 2 ** (-1 / H).
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from .pet import Row, lead, nearer, scores, signs, size, truncate


def learn(
    rows: list[Row],
    n_classes: int = 2,
    weights: list[float] | None = None,
    constants: list[float] | None = None,
    *,
    n_features_to_select: int,
    eta: float = 0.2,
    regularization: float = 0.01,
    radius: float | None = None,
    trigger: str = "margin",
    forget: float | None = None,
) -> dict[str, Any]:
    classes = range(1 if n_classes == 2 else n_classes)
    if radius is None:
        radius = 1 / sqrt(regularization) if regularization > 0 else float("inf")
    shrinkage = 1 - regularization * eta
    if forget is not None:
        shrinkage *= 2 ** (-1 / forget)
    threshold = 1.0 if trigger == "margin" else 0.0
    w: dict[int, list[float]] = {}  # the kept features
    bias = [0.0 for _ in classes]
    # of a kept feature: the steps it made, as (row, absolute value)
    past: dict[int, list[Any]] = {}
    mistakes = updates = 0
    closest_call = float("inf")

    for t, (x, code) in enumerate(rows):
        v = 1.0 if weights is None else weights[t]
        z = 0.0 if constants is None else constants[t]
        if v == 0:
            continue

        score = scores(w, bias, x, z)
        ahead = lead(score, code, n_classes)
        is_exact = not any(j in w for j in x) and not any(weight * z for weight in bias)
        closest_call = nearer(closest_call, ahead, 0.0, tie_is_real=is_exact)
        mistakes += ahead <= 0

        sign = signs(code, n_classes)
        stepping = []
        for c in classes:
            closest_call = nearer(
                closest_call, sign[c] * score[c], threshold, tie_is_real=threshold == 0
            )
            if sign[c] * score[c] <= threshold:
                stepping.append(c)

        for j in w:
            w[j] = [shrinkage * weight for weight in w[j]]
        bias = [shrinkage * weight for weight in bias]
        if not stepping:
            continue
        updates += 1

        outsiders = {j: [0.0 for _ in classes] for j in x if j not in w}
        for j in x:
            vector = w[j] if j in w else outsiders[j]
            for c in stepping:
                vector[c] += eta * v * sign[c] * x[j]
            past.setdefault(j, []).append((t, abs(x[j])))
        for c in stepping:
            bias[c] += eta * v * sign[c] * z

        norm = norm_of([*w.values(), *outsiders.values(), bias])
        if norm > radius:
            for part in (w, outsiders):
                for j in part:
                    part[j] = [weight * (radius / norm) for weight in part[j]]
            bias = [weight * (radius / norm) for weight in bias]

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


def norm_of(vectors: list[list[float]]) -> float:
    total = 0.0
    for vector in vectors:
        for weight in vector:
            total += weight**2
    return sqrt(total)
