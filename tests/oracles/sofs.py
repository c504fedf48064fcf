"""SOFS, second-order selection.

Wu, Hoi, Mei, Yu 2017, algorithms 4 and 6; many classes as in their section 3.6.

Gaps closed:
- No feature is kept at first. After all features of a row have stepped, its outsiders try to enter,
  lowest id first. While there is room each enters; then an outsider must be strictly above the
  member of smallest key, and of equal smallest members the highest id leaves. A feature that enters
  takes the step of the row as its weight.
- A row is a mistake if the true class does not score strictly above every other (two classes:
  y * score <= 0). Of equal best rivals the class of lowest code counts. If the loss is positive but
  no class scores at or above the true one, ``update="uniform"`` takes the best rival.
- The key is the precision, for many classes minus the sum over classes of the variances.
- A row of weight v has gamma / v in place of gamma; a row of weight 0 is ignored.

Beyond the paper:
- The intercept is a feature, always kept and outside the budget. Its value is 0.3 times the mean
  length of the rows so far, including the current one (for ``"snr"`` see below); at prediction it
  is that of the last row.
- ``gamma="auto"`` is q, the mean squared length of the rows so far that are not empty (times 0.3
  for ``"snr"``). Before the first such row nothing is learned.
- ``forget`` = H: before each row the distance of every precision from 1 is multiplied by
  2 ** (-1 / H). Keys from different rows are compared as if nothing had been forgotten: divided by
  the decay of 1 (s below; streams of up to 1000 H rows). For minus the sum of variances that is
  impossible: such a key stays as it was at the last update of its feature, but the key of the
  member to be challenged is renewed first, until the smallest key is a new one.

``criterion="snr"``:
- Outsiders keep shadow weights, which are not part of a score and learn against the score with this
  one feature added. The key is the Euclidean norm over classes of weight * sqrt(precision), as of
  the last update of the feature. A feature that enters or leaves keeps its weight.
- A row whose squared length is above 10 q of the rows before it is scored, counted and learned as
  one of exactly that length.
- The value of the intercept is 0.3 sqrt(q_K), where q_K is q with only the features of each row
  that were kept when it came; q if that is 0. Before the first row that is not empty nothing is
  learned, with any gamma.
- Two classes: the sum of the denominator is over kept features and the intercept; an outsider adds
  its own term.
- ``forget``: the sums of q and q_K decay too, before each row.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from .pet import Row, lead, nearer, on_grid, scores

Values = dict[int, float]


class Sizes:
    """The lengths of the rows so far, from which gamma and the value of the intercept follow."""

    def __init__(self, criterion: str, forget: float | None) -> None:
        self.criterion = criterion
        self.decay = 2 ** (-1 / forget) if forget is not None and criterion == "snr" else 1.0
        # A, A_K and N: over the rows that are not empty
        self.squares = self.squares_kept = self.filled = 0.0
        self.lengths = self.rows = 0.0  # over all rows

    def added(self, x: Values, kept: set[int]) -> Values:
        """Count a row; return it as it is scored and learned."""
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
        """Return gamma, or 0 while nothing can be learned."""
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
    """Learn rows in order.

    ``seen`` has, for every row, the features that are learned; the state of all others is dropped.
    None means all features.
    """
    classes = range(1 if n_classes == 2 else n_classes)
    kept: set[int] = set()
    # the weights of kept features and, for snr, the shadow weights of all others seen
    mu: dict[int, list[float]] = {}
    evidence: dict[int, list[float]] = {}  # precision - 1, of all features seen
    bias = [0.0 for _ in classes]
    bias_evidence = [0.0 for _ in classes]
    keys: dict[int, float] = {}
    # the updates a feature took part in, as (row, absolute value, snr: was it kept)
    past: dict[int, list[Any]] = {}
    # the updates of a weight vector, as (row, direction)
    class_past: list[list[Any]] = [[] for _ in classes]
    sizes = Sizes(criterion, forget)
    # no key was ever rounded
    is_exact = gamma != "auto" and forget is None and criterion == "confidence"
    s = 1.0  # 1 after forgetting
    z = 0.0  # the value of the intercept
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
        """Return True if equal keys are equal in any arithmetic.

        Their features have the same past, or they were computed without rounding.
        """
        return past[j] == past[k] or (is_exact and (evidence[j] == evidence[k] or on_grid(keys[j])))

    def scores_are_alike(x: Values, c: int, d: int) -> bool:
        """Return True if equal scores of a row are equal in any arithmetic.

        Their terms are all 0, or the same.
        """
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
        is_tie = [[scores_are_alike(x, c, d) for d in classes] for c in classes]
        if n_classes == 2:
            closest_call = nearer(closest_call, ahead, 0.0, tie_is_real=is_tie[0][0])
        else:
            tied_rivals = [c for c in classes if c != code and score[c] == score[code]]
            closest_call = nearer(
                closest_call, ahead, 0.0, tie_is_real=all(is_tie[code][c] for c in tied_rivals)
            )

        a, call = directions(score, code, n_classes, update, is_tie)
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
            loss_j = loss
            denominator_j = denominator
            if criterion == "snr" and j not in kept:
                margin_j = margin
                for c in classes:
                    margin_j += a[c] * mu[j][c] * x[j]
                loss_j = max(0.0, 1 - margin_j)
                if kept_only:
                    denominator_j += variance(evidence[j][0]) * x[j] ** 2
            for c in classes:
                growth = a[c] ** 2 * x[j] ** 2 / gamma_t
                mu[j][c] += loss_j * a[c] * variance(evidence[j][c]) * x[j] / denominator_j
                evidence[j][c] += growth
                is_exact = is_exact and on_grid(x[j], gamma_t, 1 / gamma_t, growth)
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
            by_key = sorted(kept, key=lambda k: (keys[k], -k))
            if criterion == "confidence" and n_classes > 2 and forget is not None:
                while keys[by_key[0]] != key_of(by_key[0]):
                    for other in by_key[1:2]:
                        is_real_tie = tie_is_real(other, by_key[0])
                        closest_call = nearer(
                            closest_call, keys[other], keys[by_key[0]], is_real_tie
                        )
                    keys[by_key[0]] = key_of(by_key[0])
                    by_key = sorted(kept, key=lambda k: (keys[k], -k))
                # the choice which of the two smallest is updated counts, even if none leaves
                for other in by_key[1:2]:
                    closest_call = nearer(
                        closest_call, keys[other], keys[by_key[0]], tie_is_real(other, by_key[0])
                    )
            smallest = by_key[0]
            closest_call = nearer(closest_call, keys[j], keys[smallest], tie_is_real(j, smallest))
            if keys[j] > keys[smallest]:
                for other in by_key[1:2]:
                    closest_call = nearer(
                        closest_call, keys[other], keys[smallest], tie_is_real(other, smallest)
                    )
                kept.remove(smallest)
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
    """Return the scores of a row after learning, one per weight vector."""
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
    is_tie: list[list[bool]] | None = None,
) -> tuple[list[float], float]:
    """Return the steps of the classes (the alphas of equations 10 and 11), and the closest call.

    ``is_tie`` says for which classes equal scores are a tie in any arithmetic; None means all.
    """
    if n_classes == 2:
        return [1.0 if code == 1 else -1.0], float("inf")
    closest_call = float("inf")
    others = [c for c in range(n_classes) if c != code]
    rival = min(others, key=lambda c: (-score[c], c))
    for c in others:
        if c != rival:
            is_real_tie = is_tie is None or is_tie[c][rival]
            closest_call = nearer(closest_call, score[c], score[rival], tie_is_real=is_real_tie)
    a = [0.0] * n_classes
    a[code] = 1.0
    a[rival] = -1.0
    if update == "uniform":
        for c in others:
            is_real_tie = is_tie is None or is_tie[c][code]
            closest_call = nearer(closest_call, score[c], score[code], tie_is_real=is_real_tie)
        rivals_at_or_above = [c for c in others if score[c] >= score[code]]
        if rivals_at_or_above:
            a[rival] = 0.0
            for c in rivals_at_or_above:
                a[c] = -1 / len(rivals_at_or_above)
    return a, closest_call
