"""PET, perceptron with truncation.

P1 (Wu, Hoi, Mei, Yu 2017), algorithms 1 and 2; P4 (Wang et al. 2014), algorithm 1.

Gaps closed:
- P4 learns on mistakes, P1 on a positive hinge loss; ``trigger`` chooses. A score of exactly 0 is a
  mistake.
- Truncation: members step first, then the outsiders of the row try to enter, lowest id first. While
  there is room each enters; then an outsider must be strictly above the smallest member, and of
  equal smallest members the highest id leaves.
- Many classes (in neither paper): one against the rest; a feature counts by its largest absolute
  weight over the classes. A row is a mistake if the true class does not score strictly above every
  other.
- The intercept is a feature of value ``constants[row]`` that is never truncated. It is added to a
  score last.
- A row of weight v steps by eta * v; a row of weight 0 is ignored.
- ``forget`` = H: after each row is scored, all weights and the intercept are multiplied by
  2 ** (-1 / H).
"""

from __future__ import annotations

from typing import Any

Row = tuple[dict[int, float], int]  # id -> value, and the code of the class


def learn(
    rows: list[Row],
    n_classes: int = 2,
    weights: list[float] | None = None,
    constants: list[float] | None = None,
    *,
    n_features_to_select: int,
    eta: float = 1.0,
    trigger: str = "mistake",
    forget: float | None = None,
) -> dict[str, Any]:
    classes = range(1 if n_classes == 2 else n_classes)
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
        closest_call = nearer(closest_call, ahead, 0.0, tie_is_real=adds_up(w, bias, x, z))
        mistakes += ahead <= 0

        if forget is not None:
            for j in w:
                w[j] = [weight * 2 ** (-1 / forget) for weight in w[j]]
            bias = [weight * 2 ** (-1 / forget) for weight in bias]

        sign = signs(code, n_classes)
        stepping = []
        for c in classes:
            margin = sign[c] * score[c]
            if trigger == "mistake":
                steps = margin <= 0
                closest_call = nearer(closest_call, margin, 0.0, tie_is_real=adds_up(w, bias, x, z))
            else:
                steps = max(0.0, 1 - margin) > 0
                terms = [w[j][c] * x[j] for j in x if j in w]
                exact = forget is None and on_grid(eta * v, bias[c] * z, *terms)
                closest_call = nearer(closest_call, margin, 1.0, tie_is_real=exact)
            if steps:
                stepping.append(c)
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

        call = truncate(w, outsiders, n_features_to_select, None if forget is None else past)
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


def signs(code: int, n_classes: int) -> list[int]:
    """Return +1 or -1 for every weight vector: its class, or not."""
    if n_classes == 2:
        return [1 if code == 1 else -1]
    return [1 if c == code else -1 for c in range(n_classes)]


def scores(
    w: dict[int, list[float]], bias: list[float], x: dict[int, float], z: float
) -> list[float]:
    """Return one score per weight vector, summed in ascending id, the intercept last."""
    result = []
    for c in range(len(bias)):
        total = 0.0
        for j in sorted(x):
            if j in w:
                total += w[j][c] * x[j]
        result.append(total + bias[c] * z)
    return result


def lead(score: list[float], code: int, n_classes: int) -> float:
    """Return by how much the true class is ahead; 0 or less is a mistake."""
    if n_classes == 2:
        return score[0] if code == 1 else -score[0]
    return score[code] - max(score[c] for c in range(n_classes) if c != code)


def size(vector: list[float]) -> float:
    return max(abs(weight) for weight in vector)


def truncate(
    kept: dict[int, list[float]],
    outsiders: dict[int, list[float]],
    budget: int,
    past: dict[int, list[Any]] | None,
) -> float:
    """Move outsiders to ``kept`` as far as budget and size allow; return the closest call.

    Equal sizes are a tie in any arithmetic if the features have the same past, or if ``past`` is
    None.
    """
    closest_call = float("inf")
    for j in sorted(outsiders):
        if len(kept) < budget:
            kept[j] = outsiders[j]
            continue
        by_size = sorted(kept, key=lambda k: (size(kept[k]), -k))
        smallest = by_size[0]
        is_real_tie = past is None or past[j] == past[smallest]
        closest_call = nearer(
            closest_call, size(outsiders[j]), size(kept[smallest]), tie_is_real=is_real_tie
        )
        if size(outsiders[j]) > size(kept[smallest]):
            for other in by_size[1:2]:
                is_real_tie = past is None or past[other] == past[smallest]
                closest_call = nearer(
                    closest_call, size(kept[other]), size(kept[smallest]), tie_is_real=is_real_tie
                )
            del kept[smallest]
            kept[j] = outsiders[j]
    return closest_call


def nearer(closest_call: float, value: float, threshold: float, tie_is_real: bool) -> float:
    """Return the smaller of a call and the distance of two numbers, relative if they are large.

    An exact tie that holds in any order of the arithmetic is not decided by rounding and does not
    count.
    """
    distance = abs(value - threshold) / max(1.0, abs(value), abs(threshold))
    return closest_call if distance == 0 and tie_is_real else min(closest_call, distance)


def on_grid(*numbers: float) -> bool:
    """Return True for multiples of 2 ** -20 of moderate size, which add up without rounding."""
    return all(abs(number) < 2**20 and float(number * 2**20).is_integer() for number in numbers)


def adds_up(w: dict[int, list[float]], bias: list[float], x: dict[int, float], z: float) -> bool:
    """Return True if the scores of a row are sums without rounding, equal in any order of terms."""
    return on_grid(
        *(weight * z for weight in bias), *(weight * x[j] for j in x if j in w for weight in w[j])
    )
