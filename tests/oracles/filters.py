"""FCBF and mRMR on columns of discrete values, from counts."""

from __future__ import annotations

from .saola import EQUAL, entropy, uncertainty


def information(a, b, weights):
    return (
        entropy(a, weights) + entropy(b, weights) - entropy(list(zip(a, b, strict=True)), weights)
    )


def fcbf(columns, target, delta):
    """The kept columns, the most relevant first."""
    weights = [1.0] * len(target)
    relevance = [uncertainty(column, target, weights) for column in columns]
    left = sorted(
        (n for n in range(len(columns)) if relevance[n] > delta + EQUAL),
        key=lambda n: (-relevance[n], n),
    )
    kept = []
    while left:
        first = left.pop(0)
        kept.append(first)
        left = [
            n
            for n in left
            if uncertainty(columns[n], columns[first], weights) < relevance[n] - EQUAL
        ]
    return kept


def mrmr(columns, target, budget, by_quotient):
    """The chosen columns, the first first."""
    weights = [1.0] * len(target)
    relevance = [information(column, target, weights) for column in columns]
    left = [n for n in range(len(columns)) if relevance[n] > EQUAL]
    chosen = []

    def worth(number):
        if not chosen:
            return relevance[number]
        mean = sum(
            max(0.0, information(columns[number], columns[c], weights)) for c in chosen
        ) / len(chosen)
        return relevance[number] / max(mean, EQUAL) if by_quotient else relevance[number] - mean

    while left and len(chosen) < budget:
        values = {number: worth(number) for number in left}
        best = left[0]
        for number in left:
            if values[number] > values[best] + EQUAL:
                best = number
        chosen.append(best)
        left.remove(best)
    return chosen
