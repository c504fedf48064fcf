"""SAOLA (Yu, Wu, Ding, Pei 2016, algorithm 1), pair by pair, as the paper writes it and as its library decides ties.

A column is a list of numbers, NaN where one is missing; the target a list of labels. Dependences
that differ by no more than 1e-12 are equal: the order in which sums are taken must not decide ties.
"""

from __future__ import annotations

import math
from collections import Counter
from statistics import NormalDist

EQUAL = 1e-12


def entropy(items, weights):
    total = sum(weights)
    mass = Counter()
    for item, weight in zip(items, weights, strict=True):
        mass[item] += weight
    return -sum(m / total * math.log2(m / total) for m in mass.values() if m > 0)


def uncertainty(a, b, weights):
    """2 I(A; B) / (H(A) + H(B))."""
    alone = entropy(a, weights) + entropy(b, weights)
    if alone <= 0:
        return 0.0
    return 2 * (alone - entropy(list(zip(a, b, strict=True)), weights)) / alone


def correlation(a, b, weights):
    """|r|; 0 if one of them is constant, that is equal to its first value in every row."""
    a, b = [x - a[0] for x in a], [y - b[0] for y in b]
    n = sum(weights)
    mean_a = sum(w * x for w, x in zip(weights, a, strict=True)) / n
    mean_b = sum(w * x for w, x in zip(weights, b, strict=True)) / n
    ab = sum(w * (x - mean_a) * (y - mean_b) for w, x, y in zip(weights, a, b, strict=True))
    aa = sum(w * (x - mean_a) ** 2 for w, x in zip(weights, a, strict=True))
    bb = sum(w * (y - mean_b) ** 2 for w, y in zip(weights, b, strict=True))
    scale_a = sum(w * x * x for w, x in zip(weights, a, strict=True))
    scale_b = sum(w * y * y for w, y in zip(weights, b, strict=True))
    if aa <= 1e-12 * scale_a or bb <= 1e-12 * scale_b:
        return 0.0
    return abs(ab) / math.sqrt(aa * bb)


def significant(r, n, alpha):
    """Fisher's Z test."""
    if n <= 3:
        return False
    if r >= 1:
        return True
    return math.sqrt(n - 3) * 0.5 * math.log((1 + r) / (1 - r)) >= NormalDist().inv_cdf(
        1 - alpha / 2
    )


def is_discrete(column):
    """Whether a column holds integers alone, and no more than 32 different ones with 0."""
    there = [x for x in column if x == x]
    return all(x == math.floor(x) for x in there) and len({*there, 0}) <= 32


class Judge:
    """Relevance, dependence and who gives way to whom."""

    def __init__(self, columns, target, measure, alpha, delta, bound, variant, balanced):
        self.columns, self.target, self.measure = columns, target, measure
        self.alpha, self.delta, self.bound, self.variant = alpha, delta, bound, variant
        sizes = Counter(target)
        n = len(target)
        self.weights = [n / (len(sizes) * sizes[label]) if balanced else 1.0 for label in target]

    def measure_of(self, *numbers):
        """By uncertainty if all columns are, otherwise by correlation."""
        if self.measure != "auto":
            return self.measure
        return "su" if all(is_discrete(self.columns[number]) for number in numbers) else "fisher_z"

    def depends(self, a, b, measure):
        """Over the rows that have both."""
        rows = [(x, y, w) for x, y, w in zip(a, b, self.weights, strict=True) if x == x and y == y]
        if not rows:
            return 0.0
        return (uncertainty if measure == "su" else correlation)(
            *map(list, zip(*rows, strict=True))
        )

    def relevance(self, number, measure=None):
        return self.depends(self.columns[number], self.target, measure or self.measure_of(number))

    def counts(self, dependence, column, measure):
        """Whether a dependence is more than chance; of weighted rows only so many count as say as much."""
        if measure == "su":
            return dependence > self.delta + EQUAL
        weights = [w for x, w in zip(column, self.weights, strict=True) if x == x]
        rows = sum(weights) ** 2 / sum(w * w for w in weights) if weights else 0
        return significant(dependence + EQUAL, rows, self.alpha)

    def relevant(self, number):
        column = self.columns[number]
        found = self.counts(self.relevance(number), column, self.measure_of(number))
        return found and not (self.variant == "lofs" and sum(column) == 0)

    def gives_way(self, new, old):
        """ "new", "old" or None."""
        measure = self.measure_of(new, old)
        mine, its = self.relevance(new, measure), self.relevance(old, measure)
        pair = self.depends(self.columns[new], self.columns[old], measure)
        if self.variant == "lofs" and not self.counts(pair, self.target, measure):
            return None
        limit = max(mine, its) if self.bound == "max" else min(mine, its)
        if not (pair > limit + EQUAL if self.variant == "lofs" else pair >= limit - EQUAL):
            return None
        ties = self.variant == "lofs" and self.measure != "su"
        if its > mine + EQUAL or (ties and its >= mine - EQUAL):
            return "new"
        return "old" if mine > its + EQUAL else None

    def copies(self, number, kept):
        """Whether a column is equal to a kept one in every row."""
        mine = self.columns[number]
        return any(
            all(
                x == y or (x != x and y != y)
                for x, y in zip(mine, self.columns[other], strict=True)
            )
            for other in kept
        )

    def least(self, kept):
        """The kept one of least relevance; of equals the last."""
        least = min(self.relevance(number) for number in kept)
        return [number for number in kept if self.relevance(number) <= least + EQUAL][-1]


def compare_with_kept(judge, kept, number):
    """Compare a relevant column with the kept ones, in place, and keep it if it is not redundant."""
    for other in list(kept):
        loser = judge.gives_way(number, other)
        if loser == "new":
            return
        if loser == "old":
            kept.remove(other)
    kept.append(number)


def select_and_count(
    columns,
    target,
    measure,
    alpha=0.01,
    delta=0.0,
    bound="min",
    variant="paper",
    budget=None,
    balanced=False,
    duplicates="drop",
):
    """The kept columns and their relevance, in order of arrival (SAOLA, algorithm 1), and what became of all columns.

    Redundant is what is dropped on arrival, as a copy of a kept column, for a kept column or
    because the selection is full; replaced what is dropped later.
    """
    judge = Judge(columns, target, measure, alpha, delta, bound, variant, balanced)
    kept = []
    counts = Counter(irrelevant=0, redundant=0, replaced=0)
    for number in range(len(columns)):
        if not judge.relevant(number):
            counts["irrelevant"] += 1
            continue
        if duplicates == "drop" and judge.copies(number, kept):
            counts["redundant"] += 1
            continue
        before = list(kept)
        compare_with_kept(judge, kept, number)
        if budget is not None and len(kept) > budget:
            kept.remove(judge.least(kept))
        counts["redundant"] += number not in kept
        counts["replaced"] += sum(other not in kept for other in before)
    return [(number, judge.relevance(number)) for number in kept], {"kept": len(kept), **counts}


def select(columns, target, measure, **rule):
    """The kept columns and their relevance, in order of arrival (SAOLA, algorithm 1)."""
    return select_and_count(columns, target, measure, **rule)[0]


def select_groups(
    columns,
    groups,
    target,
    measure,
    alpha=0.01,
    delta=0.0,
    bound="min",
    variant="paper",
    budget=None,
    duplicates="drop",
):
    """The kept columns by group, groups in order of arrival (group-SAOLA, algorithm 2)."""
    judge = Judge(columns, target, measure, alpha, delta, bound, variant, balanced=False)
    selected = {}
    for group in dict.fromkeys(groups):
        new = []
        for number in range(len(columns)):
            if groups[number] == group and judge.relevant(number):
                kept = [other for members in selected.values() for other in members]
                if duplicates == "keep" or not judge.copies(number, [*kept, *new]):
                    compare_with_kept(judge, new, number)
        for members in selected.values():
            for old in list(members):
                for number in list(new):
                    loser = judge.gives_way(number, old)
                    if loser == "new":
                        new.remove(number)
                    elif loser == "old":
                        members.remove(old)
                        break
        selected[group] = new
        selected = {name: members for name, members in selected.items() if members}
        kept = [number for members in selected.values() for number in members]
        while budget is not None and len(kept) > budget:
            kept.remove(judge.least(kept))
        selected = {
            name: [number for number in members if number in kept]
            for name, members in selected.items()
        }
        selected = {name: members for name, members in selected.items() if members}
    return selected
