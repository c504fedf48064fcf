"""SAOLA (P3 algorithm 1), pair by pair, as the paper writes it and as the authors' library decides ties.

A column is a list of numbers, NaN where one is missing; the target a list of labels. Dependences that differ by no more
than 1e-12 are equal: the order in which sums are taken must not decide ties.
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
    """|r|; 0 if one of them is constant."""
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
    return math.sqrt(n - 3) * 0.5 * math.log((1 + r) / (1 - r)) >= NormalDist().inv_cdf(1 - alpha / 2)


class Judge:
    """Relevance, dependence and who gives way to whom."""

    def __init__(self, columns, target, measure, alpha, delta, bound, variant, balanced):
        self.columns, self.target, self.measure = columns, target, measure
        self.alpha, self.delta, self.bound, self.variant = alpha, delta, bound, variant
        sizes = Counter(target)
        n = len(target)
        self.weights = [n / (len(sizes) * sizes[label]) if balanced else 1.0 for label in target]

    def depends(self, a, b):
        """Over the rows that have both."""
        rows = [(x, y, w) for x, y, w in zip(a, b, self.weights, strict=True) if x == x and y == y]
        if not rows:
            return 0.0
        return (uncertainty if self.measure == "su" else correlation)(*map(list, zip(*rows, strict=True)))

    def relevance(self, number):
        return self.depends(self.columns[number], self.target)

    def counts(self, dependence, column):
        """Whether a dependence is more than chance; of weighted rows only so many count as say as much."""
        if self.measure == "su":
            return dependence > self.delta + EQUAL
        weights = [w for x, w in zip(column, self.weights, strict=True) if x == x]
        rows = sum(weights) ** 2 / sum(w * w for w in weights) if weights else 0
        return significant(dependence + EQUAL, rows, self.alpha)

    def relevant(self, number):
        column = self.columns[number]
        return self.counts(self.relevance(number), column) and not (self.variant == "lofs" and sum(column) == 0)

    def gives_way(self, new, old):
        """ "new", "old" or None."""
        mine, its = self.relevance(new), self.relevance(old)
        pair = self.depends(self.columns[new], self.columns[old])
        if self.variant == "lofs" and not self.counts(pair, self.target):
            return None
        limit = max(mine, its) if self.bound == "max" else min(mine, its)
        if not (pair > limit + EQUAL if self.variant == "lofs" else pair >= limit - EQUAL):
            return None
        ties = self.variant == "lofs" and self.measure == "fisher_z"
        if its > mine + EQUAL or (ties and its >= mine - EQUAL):
            return "new"
        return "old" if mine > its + EQUAL else None

    def least(self, kept):
        """The kept one of least relevance; of equals the last."""
        least = min(self.relevance(number) for number in kept)
        return [number for number in kept if self.relevance(number) <= least + EQUAL][-1]


def walk_in(judge, kept, number):
    """Offer a relevant column to kept ones, in place."""
    for other in list(kept):
        loser = judge.gives_way(number, other)
        if loser == "new":
            return
        if loser == "old":
            kept.remove(other)
    kept.append(number)


def select(columns, target, measure, alpha=0.01, delta=0.0, bound="min", variant="paper", budget=None, balanced=False):
    """The kept columns and their relevance, in order of arrival (P3 algorithm 1)."""
    judge = Judge(columns, target, measure, alpha, delta, bound, variant, balanced)
    kept = []
    for number in range(len(columns)):
        if judge.relevant(number):
            walk_in(judge, kept, number)
            if budget is not None and len(kept) > budget:
                kept.remove(judge.least(kept))
    return [(number, judge.relevance(number)) for number in kept]


def select_groups(columns, groups, target, measure, alpha=0.01, delta=0.0, bound="min", variant="paper", budget=None):
    """The kept columns by group, groups in order of arrival (P3 algorithm 2)."""
    judge = Judge(columns, target, measure, alpha, delta, bound, variant, balanced=False)
    selected = {}
    for group in dict.fromkeys(groups):
        new = []
        for number in range(len(columns)):
            if groups[number] == group and judge.relevant(number):
                walk_in(judge, new, number)
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
        selected = {name: [number for number in members if number in kept] for name, members in selected.items()}
        selected = {name: members for name, members in selected.items() if members}
    return selected
