"""SOFS for numeric targets: the second-order selection of Wu, Hoi, Mei, Yu 2017 by signal to noise, with a residual.

No paper has it. It is ``criterion="snr"`` of SOFS for two classes where the distance to the margin,
(1 - m) y, is replaced by the residual e, and every row is learned:
- e = y - c0 - b c - the sum over kept features of mu_j x_j;
- D = gamma + S_b c^2 + the sum over kept features of S_j x_j^2;
- kept features and the intercept step by e S x / D, outsiders by (e - mu_j x_j) S_j x_j / (D + S_j x_j^2);
- all precisions 1/S_j grow by x_j^2 / gamma, that of the intercept by c^2 / gamma;
- the key is |mu_j| / sqrt(S_j), as of the last row the feature took part in.

Gaps closed:
- ``gamma="auto"`` is 0.3 q, q the mean squared length of the rows so far that are not empty; the intercept's value c is
  0.3 sqrt(q_K), q_K being q with only the features of each row that were kept as it came, q if that
  is 0. Until the first row that is not empty nothing is learned and c0 is predicted, with any
  gamma.
- A row whose squared length is above 10 q of the rows before it is scored, counted and learned as one of exactly that.
- c0 is the median of the first targets: of 1, 2, 4, ..., 32 of them. Each time learning starts again from the first
  row, so what counts in the end is the last median, and it holds for all rows. The same with Q
  below.
- Entering, leaving, equal keys, weights of rows and ``forget`` are those of SOFS; ``forget`` leaves Q and c0 alone.

``loss="huber"``: Q is a running 0.9 quantile of |e|. It starts as that of |y - c0| over the rows c0
is made from.
- e and an outsider's own residual are clipped at 3 Q; all precisions grow by min(1, 3 Q / |e|) times as much.
- Then Q is multiplied by exp(0.9 h) if |e| > Q, by exp(-0.1 h) otherwise; h = max(0.02, 1 / sqrt(t)) for the t-th row
  that is learned.
- A Q of 0 clips nothing, and the first |e| above 0 takes its place.
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
    """Q of the Huber loss; without ``huber`` it clips nothing."""

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
    past: dict[
        int, list[Any]
    ] = {}  # the rows a feature took part in, as (row, absolute value, was it kept)
    sizes = Sizes("snr", forget)
    s = 1.0  # what forgetting has made of 1
    z = 0.0  # the intercept's value
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
        believed = quantile.clipped(e) / e if e != 0 else 1.0

        for j in x:
            own = e
            own_denominator = denominator
            if j not in kept:
                own -= mu[j] * x[j]
                own_denominator += variance(evidence[j]) * x[j] ** 2
            mu[j] += quantile.clipped(own) * variance(evidence[j]) * x[j] / own_denominator
            evidence[j] += believed * x[j] ** 2 / gamma_t
            past.setdefault(j, []).append((t, abs(x[j]), j in kept))
            keys[j] = abs(mu[j]) * sqrt((1 + evidence[j]) / s)
        bias += quantile.clipped(e) * variance(bias_evidence) * z / denominator
        bias_evidence += believed * z**2 / gamma_t
        if quantile.huber:
            if quantile.value > 0:
                nothing_learned = updates == 1
                closest_call = nearer(
                    closest_call, abs(e) / quantile.value, 1.0, tie_is_real=nothing_learned
                )
            quantile.move(e)

        for j in [j for j in sorted(x) if j not in kept]:
            if len(kept) < n_features_to_select:
                kept.add(j)
                continue
            order = sorted(kept, key=lambda k: (keys[k], -k))
            least = order[0]
            closest_call = nearer(
                closest_call, keys[j], keys[least], tie_is_real=past[j] == past[least]
            )
            if keys[j] > keys[least]:
                for other in order[1:]:
                    real = past[other] == past[least]
                    closest_call = nearer(closest_call, keys[other], keys[least], tie_is_real=real)
                kept.remove(least)
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
    """What is predicted for a row after learning."""
    total: float = learned["bias"][0] * learned["intercept"]
    for j in sorted(x):
        if j in learned["weights"]:
            total += learned["weights"][j][0] * x[j]
    return total + float(learned["center"])


def first_targets(targets: list[float]) -> list[float]:
    """Those that c0 and the first Q are made from when these have been seen: 1, 2, 4, ..., 32."""
    n = 1
    while 2 * n <= min(len(targets), LAST_BOUNDARY):
        n *= 2
    return targets[:n]


def center(first: list[float]) -> float:
    return median(first) if first else 0.0


def quantile_of(values: list[float], fraction: float) -> float:
    """Linear between the two nearest values."""
    if not values:
        return 0.0
    ascending = sorted(values)
    position = fraction * (len(ascending) - 1)
    below = int(position)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (position - below) * (ascending[above] - ascending[below])
