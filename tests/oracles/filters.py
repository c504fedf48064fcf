"""FCBF and mRMR on columns of discrete values, from counts."""

from __future__ import annotations

from .saola import EQUAL, entropy, uncertainty


def information(a, b, weights):
    return (
        entropy(a, weights) + entropy(b, weights) - entropy(list(zip(a, b, strict=True)), weights)
    )


def fcbf(columns, target, delta):
    """Return the kept columns, the most relevant first."""
    weights = [1.0] * len(target)
    relevance = [uncertainty(column, target, weights) for column in columns]
    remaining = sorted(
        (n for n in range(len(columns)) if relevance[n] > delta + EQUAL),
        key=lambda n: (-relevance[n], n),
    )
    kept = []
    while remaining:
        most_relevant = remaining.pop(0)
        kept.append(most_relevant)
        remaining = [
            n
            for n in remaining
            if uncertainty(columns[n], columns[most_relevant], weights) < relevance[n] - EQUAL
        ]
    return kept


def mrmr(columns, target, budget, by_quotient):
    """Return the chosen columns in the order of choice."""
    weights = [1.0] * len(target)
    relevance = [information(column, target, weights) for column in columns]
    remaining = [n for n in range(len(columns)) if relevance[n] > EQUAL]
    chosen = []

    def merit(number):
        if not chosen:
            return relevance[number]
        mean_redundancy = sum(
            max(0.0, information(columns[number], columns[c], weights)) for c in chosen
        ) / len(chosen)
        return (
            relevance[number] / max(mean_redundancy, EQUAL)
            if by_quotient
            else relevance[number] - mean_redundancy
        )

    while remaining and len(chosen) < budget:
        values = {number: merit(number) for number in remaining}
        best = remaining[0]
        for number in remaining:
            if values[number] > values[best] + EQUAL:
                best = number
        chosen.append(best)
        remaining.remove(best)
    return chosen
