"""FOBOS with the L1 norm on the hinge loss: the rival in P4 (Wang et al. 2014), section 4.2.

Gaps closed (P4 cites forward-backward splitting without giving the formulas):
- The forward step is that of OGD, with a constant step size.
- The backward step follows every row, learned or not, and subtracts eta * regularization from every
  absolute weight, but not from the intercept's; it is not multiplied by the weight of the row.
- Mistakes, many classes (one against the rest), intercept and row weights are those of PET.
- ``weights`` are all non-zero weights; the budget takes no part in learning. Shrinking alone is not
  an update.
"""

from __future__ import annotations

from typing import Any

from .pet import Row, adds_up, lead, nearer, on_grid, scores, signs, size


def learn(
    rows: list[Row],
    n_classes: int = 2,
    weights: list[float] | None = None,
    constants: list[float] | None = None,
    *,
    n_features_to_select: int | None = None,
    eta: float = 0.1,
    regularization: float = 1e-4,
) -> dict[str, Any]:
    classes = range(1 if n_classes == 2 else n_classes)
    penalty = eta * regularization
    w: dict[int, list[float]] = {}
    bias = [0.0 for _ in classes]
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

        sign = signs(code, n_classes)
        stepping = []
        for c in classes:
            terms = [w[j][c] * x[j] for j in x if j in w]
            exact = on_grid(eta * v, penalty, bias[c] * z, *terms)
            closest_call = nearer(closest_call, sign[c] * score[c], 1.0, tie_is_real=exact)
            if sign[c] * score[c] < 1:
                stepping.append(c)
        updates += bool(stepping)

        for c in stepping:
            for j in x:
                w.setdefault(j, [0.0 for _ in classes])[c] += eta * v * sign[c] * x[j]
            bias[c] += eta * v * sign[c] * z

        for j in w:
            for c in classes:
                weight = w[j][c]
                if weight != 0:
                    closest_call = nearer(
                        closest_call, abs(weight), penalty, tie_is_real=on_grid(weight, penalty)
                    )
                if weight > 0:
                    w[j][c] = max(0.0, weight - penalty)
                else:
                    w[j][c] = min(0.0, weight + penalty)

    w = {j: w[j] for j in w if size(w[j]) > 0}
    return {
        "weights": w,
        "bias": bias,
        "scores": {j: size(w[j]) for j in w},
        "mistakes": mistakes,
        "updates": updates,
        "closest_call": closest_call,
    }
