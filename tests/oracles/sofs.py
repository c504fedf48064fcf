"""SOFS, second-order selection: algorithms 4 and 6 of Wu, Hoi, Mei, Yu 2017, many classes as in their 3.6.

Gaps closed:
- No feature is kept at first. After all features of a row have stepped its outsiders try to enter, lowest id first:
  while there is room each enters; then one must be strictly above the member of smallest key, and
  of equal smallest members the highest id leaves. A feature that enters takes the step of the row
  as its weight.
- A row is a mistake when the true class does not score strictly above every other (two classes: y * score <= 0). Of
  equal best rivals the class of lowest code counts. ``update="uniform"`` with a positive loss but
  no class at or above the true one takes the best rival.
- The key is the precision, for many classes minus the sum over classes of the variances.
- A row of weight v has gamma / v in place of gamma; one of weight 0 was never there.

Beyond the paper:
- The intercept is a feature, always kept and outside the budget. Its value is 0.3 times the mean length of the rows so
  far, the one at hand included (for ``"snr"`` see below); at prediction that of the last row.
- ``gamma="auto"`` is q, the mean squared length of the rows so far that are not empty (times 0.3 for ``"snr"``). While
  there was no such row nothing is learned.
- ``forget`` = H: before each row every precision moves towards 1, its distance times 2 ** (-1 / H). Keys made at
  different rows are compared as if none had been forgotten: divided by what the decay has made of 1
  (s below; streams of up to 1000 H rows). For minus the sum of variances that cannot be done: such
  a key stays as it was when its feature last took part, but that of the member about to be
  challenged is renewed first, until the smallest is a new one.

``criterion="snr"``:
- Outsiders keep shadow weights, which are no part of a score and learn against the score they would have had with that
  one feature more. The key is the Euclidean norm over classes of weight * sqrt(precision), as of
  the last update the feature took part in. A feature that enters or leaves keeps its weight.
- A row whose squared length is above 10 q of the rows before it is scored, counted and learned as one of exactly that.
- The intercept's value is 0.3 sqrt(q_K), where q_K is q with only the features of each row that were kept as it came;
  q if that is 0. Until the first row that is not empty nothing is learned, with any gamma.
- Two classes: the sum of the denominator goes over kept features and the intercept; an outsider adds its own term.
- ``forget``: the sums of q and q_K decay too, before each row.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from .pet import Row, lead, nearer, on_grid, scores

Values = dict[int, float]


class Sizes:
    """How long the rows so far are: what gamma and the intercept's value go by."""

    def __init__(self, criterion: str, forget: float | None) -> None:
        self.criterion = criterion
        self.decay = 2 ** (-1 / forget) if forget is not None and criterion == "snr" else 1.0
        self.squares = self.squares_kept = self.filled = (
            0.0  # A, A_K and N: over the rows that are not empty
        )
        self.lengths = self.rows = 0.0  # over all rows

    def added(self, x: Values, kept: set[int]) -> Values:
        """Count the row in; returns the row as it is scored and learned."""
        self.squares *= self.decay
        self.squares_kept *= self.decay
        self.filled *= self.decay
        if self.criterion == "snr" and self.filled > 0 and square(x) > 10 * self.q:
            factor = sqrt(10 * self.q / square(x))
            x = {j: x[j] * factor for j in x}
        if x:
            self.squares += square(x)
            self.squares_kept += square({j: x[j] for j in x if j in kept})
            self.filled += 1
        self.lengths += sqrt(square(x))
        self.rows += 1
        return x

    @property
    def q(self) -> float:
        return self.squares / self.filled if self.filled > 0 else 0.0

    @property
    def intercept(self) -> float:
        if self.criterion == "confidence":
            return 0.3 * self.lengths / self.rows if self.rows > 0 else 0.0
        q_kept = self.squares_kept / self.filled if self.squares_kept > 0 else self.q
        return 0.3 * sqrt(q_kept)

    def gamma(self, given: float | str) -> float:
        """0 while nothing can be learned."""
        if self.q == 0 and (self.criterion == "snr" or given == "auto"):
            return 0.0
        if given != "auto":
            return float(given)
        return 0.3 * self.q if self.criterion == "snr" else self.q


def learn(
    rows: list[Row],
    n_classes: int = 2,
    weights: list[float] | None = None,
    *,
    n_features_to_select: int,
    fit_intercept: bool = False,
    gamma: float | str = 1.0,
    criterion: str = "confidence",
    update: str = "max_score",
    forget: float | None = None,
    seen: list[set[int] | None] | None = None,
) -> dict[str, Any]:
    """``seen``, for every row: the features that are learned from, without what was known of others; None is all."""
    classes = range(1 if n_classes == 2 else n_classes)
    kept: set[int] = set()
    mu: dict[
        int, list[float]
    ] = {}  # the weights of kept features and, for snr, the shadow weights of all others seen
    evidence: dict[int, list[float]] = {}  # precision - 1, of all features seen
    bias = [0.0 for _ in classes]
    bias_evidence = [0.0 for _ in classes]
    keys: dict[int, float] = {}
    past: dict[
        int, list[Any]
    ] = {}  # the updates a feature took part in, as (row, absolute value, snr: was it kept)
    class_past: list[list[Any]] = [
        [] for _ in classes
    ]  # the updates of a weight vector, as (row, direction)
    sizes = Sizes(criterion, forget)
    exact = (
        gamma != "auto" and forget is None and criterion == "confidence"
    )  # whether no key was ever rounded
    s = 1.0  # what forgetting has made of 1
    z = 0.0  # the intercept's value
    mistakes = updates = 0
    closest_call = float("inf")

    def key_of(j: int) -> float:
        if criterion == "snr":
            total = 0.0
            for c in classes:
                total += mu[j][c] ** 2 * (1 + evidence[j][c]) / s
            return sqrt(total)
        if n_classes == 2:
            return evidence[j][0] / s
        total = 0.0
        for c in classes:
            total += variance(evidence[j][c])
        return -total

    def tie_is_real(j: int, k: int) -> bool:
        """Whether equal keys are equal in any arithmetic: of features with the same past, or made without rounding."""
        return past[j] == past[k] or (exact and (evidence[j] == evidence[k] or on_grid(keys[j])))

    def scores_are_alike(x: Values, c: int, d: int) -> bool:
        """Whether equal scores of a row are equal in any arithmetic: nothing was added up, or the same."""
        terms = [mu[j][i] for j in x if j in kept for i in (c, d)]
        empty = not any(terms) and (z == 0 or not (class_past[c] or class_past[d]))
        return empty or (c != d and class_past[c] == class_past[d])

    rows_so_far = 0
    for t, (x, code) in enumerate(rows):
        v = 1.0 if weights is None else weights[t]
        if v == 0:
            continue

        rows_so_far += 1
        if forget is not None:
            s = 2 ** (-rows_so_far / forget)
            for j in evidence:
                evidence[j] = [e * 2 ** (-1 / forget) for e in evidence[j]]
            bias_evidence = [e * 2 ** (-1 / forget) for e in bias_evidence]
        x = sizes.added(x, kept)
        visible = None if seen is None else seen[t]
        if visible is not None:
            x = {j: x[j] for j in x if j in visible}
            evidence = {j: evidence[j] for j in evidence if j in visible}
            mu = {j: mu[j] for j in mu if j in visible}
        z = sizes.intercept if fit_intercept else 0.0
        gamma_t = sizes.gamma(gamma) / v

        score = scores({j: mu[j] for j in kept}, bias, x, z)
        ahead = lead(score, code, n_classes)
        mistakes += ahead <= 0
        alike = [[scores_are_alike(x, c, d) for d in classes] for c in classes]
        if n_classes == 2:
            closest_call = nearer(closest_call, ahead, 0.0, tie_is_real=alike[0][0])
        else:
            level = [c for c in classes if c != code and score[c] == score[code]]
            closest_call = nearer(
                closest_call, ahead, 0.0, tie_is_real=all(alike[code][c] for c in level)
            )

        a, call = directions(score, code, n_classes, update, alike)
        closest_call = min(closest_call, call)
        margin = 0.0
        for c in classes:
            margin += a[c] * score[c]
        closest_call = nearer(closest_call, margin, 1.0, tie_is_real=False)
        loss = max(0.0, 1 - margin)
        if loss == 0 or gamma_t == 0:
            continue
        updates += 1

        for j in x:
            evidence.setdefault(j, [0.0 for _ in classes])
            mu.setdefault(j, [0.0 for _ in classes])
        kept_only = criterion == "snr" and n_classes == 2
        denominator = gamma_t
        for c in classes:
            for j in x:
                if j in kept or not kept_only:
                    denominator += a[c] ** 2 * variance(evidence[j][c]) * x[j] ** 2
            denominator += a[c] ** 2 * variance(bias_evidence[c]) * z**2

        for j in x:
            own = loss
            own_denominator = denominator
            if criterion == "snr" and j not in kept:
                own_margin = margin
                for c in classes:
                    own_margin += a[c] * mu[j][c] * x[j]
                own = max(0.0, 1 - own_margin)
                if kept_only:
                    own_denominator += variance(evidence[j][0]) * x[j] ** 2
            for c in classes:
                growth = a[c] ** 2 * x[j] ** 2 / gamma_t
                mu[j][c] += own * a[c] * variance(evidence[j][c]) * x[j] / own_denominator
                evidence[j][c] += growth
                exact = exact and on_grid(x[j], gamma_t, 1 / gamma_t, growth)
            past.setdefault(j, []).append((t, abs(x[j]), criterion == "snr" and j in kept))
            keys[j] = key_of(j)
        for c in classes:
            bias[c] += loss * a[c] * variance(bias_evidence[c]) * z / denominator
            bias_evidence[c] += a[c] ** 2 * z**2 / gamma_t
            if a[c] != 0:
                class_past[c].append((t, a[c]))

        for j in [j for j in sorted(x) if j not in kept]:
            if len(kept) < n_features_to_select:
                kept.add(j)
                continue
            order = sorted(kept, key=lambda k: (keys[k], -k))
            if criterion == "confidence" and n_classes > 2 and forget is not None:
                while keys[order[0]] != key_of(order[0]):
                    for other in order[1:2]:
                        real = tie_is_real(other, order[0])
                        closest_call = nearer(closest_call, keys[other], keys[order[0]], real)
                    keys[order[0]] = key_of(order[0])
                    order = sorted(kept, key=lambda k: (keys[k], -k))
                for other in order[
                    1:2
                ]:  # which of the two smallest is brought up to date decides, even if none leaves
                    closest_call = nearer(
                        closest_call, keys[other], keys[order[0]], tie_is_real(other, order[0])
                    )
            least = order[0]
            closest_call = nearer(closest_call, keys[j], keys[least], tie_is_real(j, least))
            if keys[j] > keys[least]:
                for other in order[1:2]:
                    closest_call = nearer(
                        closest_call, keys[other], keys[least], tie_is_real(other, least)
                    )
                kept.remove(least)
                kept.add(j)
        if criterion == "confidence":
            mu = {j: mu[j] for j in mu if j in kept}

    if criterion == "snr":
        final = {j: keys[j] * sqrt(s) for j in kept}
    elif n_classes == 2:
        final = {j: 1 + evidence[j][0] for j in kept}
    else:
        final = {j: keys[j] for j in kept}
    return {
        "weights": {j: mu[j] for j in kept},
        "bias": bias,
        "intercept": z,
        "scores": final,
        "mistakes": mistakes,
        "updates": updates,
        "closest_call": closest_call,
    }


def predict(learned: dict[str, Any], x: Values) -> list[float]:
    """The scores of a row after learning, one per weight vector."""
    return scores(learned["weights"], learned["bias"], x, learned["intercept"])


def square(x: Values) -> float:
    return sum(value**2 for value in x.values())


def variance(evidence: float) -> float:
    return 1 / (1 + evidence)


def directions(
    score: list[float],
    code: int,
    n_classes: int,
    update: str,
    alike: list[list[bool]] | None = None,
) -> tuple[list[float], float]:
    """By how much each class steps (the alphas of equations 10 and 11), and the closest call among the scores.

    ``alike`` says of which classes equal scores are a tie in any arithmetic; without it of all.
    """
    if n_classes == 2:
        return [1.0 if code == 1 else -1.0], float("inf")
    closest_call = float("inf")
    others = [c for c in range(n_classes) if c != code]
    rival = min(others, key=lambda c: (-score[c], c))
    for c in others:
        if c != rival:
            real = alike is None or alike[c][rival]
            closest_call = nearer(closest_call, score[c], score[rival], tie_is_real=real)
    a = [0.0] * n_classes
    a[code] = 1.0
    a[rival] = -1.0
    if update == "uniform":
        for c in others:
            real = alike is None or alike[c][code]
            closest_call = nearer(closest_call, score[c], score[code], tie_is_real=real)
        level = [c for c in others if score[c] >= score[code]]
        if level:
            a[rival] = 0.0
            for c in level:
                a[c] = -1 / len(level)
    return a, closest_call
