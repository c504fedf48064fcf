"""SOFS for numeric targets: second-order selection by signal to noise, with a residual.

This is in no paper. It is ``criterion="snr"`` of SOFS (Wu, Hoi, Mei, Yu 2017) for two classes, with
the residual e in place of the distance to the margin, (1 - m) y, and every row is learned:
- e = y - c0 - b c - the sum over kept features of mu_j x_j;
- D = gamma + S_b c^2 + the sum over kept features of S_j x_j^2;
- kept features and the intercept step by e S x / D, outsiders by
  (e - mu_j x_j) S_j x_j / (D + S_j x_j^2);
- all precisions 1/S_j grow by x_j^2 / gamma, that of the intercept by c^2 / gamma;
- the key is |mu_j| / sqrt(S_j), as of the last row of the feature.

Gaps closed:
- ``gamma="auto"`` is 0.3 q, where q is the mean squared length of the rows so far that are not
  empty. The value c of the intercept is 0.3 sqrt(q_K), where q_K is q with only the features of
  each row that were kept when it came; q if that is 0. Before the first row that is not empty
  nothing is learned and c0 is predicted, with any gamma.
- A row whose squared length is above 10 q of the rows before it is scored, counted and learned as
  one of exactly that length.
- c0 is the median of the first 1, 2, 4, ..., 32 targets. Each time learning starts again from the
  first row, so the last median counts, and it holds for all rows. The same applies to Q below.
- Entering, leaving, equal keys, weights of rows and ``forget`` are those of SOFS; ``forget`` does
  not change Q and c0.

``loss="huber"``: Q is a running 0.9 quantile of |e|. It starts as that of |y - c0| over the rows
that c0 is computed from.
- e and the residual of an outsider are clipped at 3 Q; the growth of all precisions is multiplied
  by min(1, 3 Q / |e|).
- Then Q is multiplied by exp(0.9 h) if |e| > Q, otherwise by exp(-0.1 h), with
  h = max(0.02, 1 / sqrt(t)) for the t-th row that is learned.
- A Q of 0 clips nothing, and the first |e| above 0 replaces it.
"""

from __future__ import annotations

from math import exp, sqrt
from statistics import median
from typing import Any

from .pet import nearer
from .sofs import Sizes, Values, variance

NumericRow = tuple[Values, float]  # id -> value, and the target

LAST_BOUNDARY = 32  # rows


class Quantile:
    """The clipping value Q of the Huber loss; without ``huber`` nothing is clipped."""

    def __init__(self, huber: bool, start: float) -> None:
        self.huber, self.value, self.rows = huber, start, 0

    def clipped(self, residual: float) -> float:
        if not self.huber or self.value == 0:
            return residual
        return max(-3 * self.value, min(3 * self.value, residual))

    def move(self, residual: float) -> None:
        self.rows += 1
        if self.value == 0:
            self.value = abs(residual)
            return
        h = max(0.02, 1 / sqrt(self.rows))
        self.value *= exp(0.9 * h) if abs(residual) > self.value else exp(-0.1 * h)


def learn(
    rows: list[NumericRow],
    weights: list[float] | None = None,
    *,
    n_features_to_select: int,
    fit_intercept: bool = True,
    gamma: float | str = "auto",
    loss: str = "squared",
    forget: float | None = None,
) -> dict[str, Any]:
    if weights is None:
        weights = [1.0] * len(rows)
    present = [(x, y, v) for (x, y), v in zip(rows, weights, strict=True) if v != 0]
    first = first_targets([y for _, y, _ in present])
    c0 = center(first)
    quantile = Quantile(loss == "huber", quantile_of([abs(y - c0) for y in first], 0.9))

    kept: set[int] = set()
    mu: Values = {}  # the weights of kept features and the shadow weights of all others seen
    evidence: Values = {}  # precision - 1
    keys: Values = {}
    bias = bias_evidence = 0.0
    # the rows a feature took part in, as (row, absolute value, was it kept)
    past: dict[int, list[Any]] = {}
    sizes = Sizes("snr", forget)
    s = 1.0  # 1 after forgetting
    z = 0.0  # the value of the intercept
    updates = 0
    predictions = []
    squared_error = 0.0
    closest_call = float("inf")

    for t, (x, y, v) in enumerate(present):
        if forget is not None:
            s = 2 ** (-(t + 1) / forget)
            evidence = {j: evidence[j] * 2 ** (-1 / forget) for j in evidence}
            bias_evidence *= 2 ** (-1 / forget)
        x = sizes.added(x, kept)
        z = sizes.intercept if fit_intercept else 0.0

        score = bias * z
        for j in sorted(x):
            if j in kept:
                score += mu[j] * x[j]
        e = y - c0 - score
        predictions.append(c0 + score)
        squared_error += e**2
        if sizes.q == 0:
            continue
        updates += 1
        gamma_t = (0.3 * sizes.q if gamma == "auto" else float(gamma)) / v

        for j in x:
            mu.setdefault(j, 0.0)
            evidence.setdefault(j, 0.0)
        denominator = gamma_t + variance(bias_evidence) * z**2
        for j in x:
            if j in kept:
                denominator += variance(evidence[j]) * x[j] ** 2
        trust = quantile.clipped(e) / e if e != 0 else 1.0

        for j in x:
            e_j = e
            denominator_j = denominator
            if j not in kept:
                e_j -= mu[j] * x[j]
                denominator_j += variance(evidence[j]) * x[j] ** 2
            mu[j] += quantile.clipped(e_j) * variance(evidence[j]) * x[j] / denominator_j
            evidence[j] += trust * x[j] ** 2 / gamma_t
            past.setdefault(j, []).append((t, abs(x[j]), j in kept))
            keys[j] = abs(mu[j]) * sqrt((1 + evidence[j]) / s)
        bias += quantile.clipped(e) * variance(bias_evidence) * z / denominator
        bias_evidence += trust * z**2 / gamma_t
        if quantile.huber:
            if quantile.value > 0:
                is_first_update = updates == 1
                closest_call = nearer(
                    closest_call, abs(e) / quantile.value, 1.0, tie_is_real=is_first_update
                )
            quantile.move(e)

        for j in [j for j in sorted(x) if j not in kept]:
            if len(kept) < n_features_to_select:
                kept.add(j)
                continue
            by_key = sorted(kept, key=lambda k: (keys[k], -k))
            smallest = by_key[0]
            closest_call = nearer(
                closest_call, keys[j], keys[smallest], tie_is_real=past[j] == past[smallest]
            )
            if keys[j] > keys[smallest]:
                for other in by_key[1:]:
                    is_real_tie = past[other] == past[smallest]
                    closest_call = nearer(
                        closest_call, keys[other], keys[smallest], tie_is_real=is_real_tie
                    )
                kept.remove(smallest)
                kept.add(j)

    return {
        "weights": {j: [mu[j]] for j in kept},
        "bias": [bias],
        "center": c0,
        "intercept": z,
        "precisions": {j: 1 + evidence[j] for j in kept},
        "bias_precision": 1 + bias_evidence,
        "scores": {j: keys[j] * sqrt(s) for j in kept},
        "quantile": quantile.value,
        "predictions": predictions,  # of each row before it was learned, of weight above 0
        "squared_error": squared_error,  # of these predictions
        "updates": updates,
        "closest_call": closest_call,
    }


def predict(learned: dict[str, Any], x: Values) -> float:
    """Return the prediction for a row after learning."""
    total: float = learned["bias"][0] * learned["intercept"]
    for j in sorted(x):
        if j in learned["weights"]:
            total += learned["weights"][j][0] * x[j]
    return total + float(learned["center"])


def first_targets(targets: list[float]) -> list[float]:
    """Return the first 1, 2, 4, ..., 32 of these targets, for c0 and the first Q."""
    n = 1
    while 2 * n <= min(len(targets), LAST_BOUNDARY):
        n *= 2
    return targets[:n]


def center(first: list[float]) -> float:
    return median(first) if first else 0.0


def quantile_of(values: list[float], fraction: float) -> float:
    """Return a quantile, linear between the two nearest values."""
    if not values:
        return 0.0
    ascending = sorted(values)
    position = fraction * (len(ascending) - 1)
    below = int(position)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (position - below) * (ascending[above] - ascending[below])
