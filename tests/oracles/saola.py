"""SAOLA (Yu, Wu, Ding, Pei 2016, algorithm 1), pair by pair, with the ties of its library.

A column is a list of numbers, NaN if missing; the target is a list of labels. Dependences that
differ by at most 1e-12 are equal: the order of summation must not decide ties.
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
    """Return 2 I(A; B) / (H(A) + H(B))."""
    sum_of_entropies = entropy(a, weights) + entropy(b, weights)
    if sum_of_entropies <= 0:
        return 0.0
    return (
        2 * (sum_of_entropies - entropy(list(zip(a, b, strict=True)), weights)) / sum_of_entropies
    )


def correlation(a, b, weights):
    """Return |r|; 0 if a column is constant, that is equal to its first value in every row."""
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
    """Return True if Fisher's Z test rejects independence."""
    if n <= 3:
        return False
    if r >= 1:
        return True
    return math.sqrt(n - 3) * 0.5 * math.log((1 + r) / (1 - r)) >= NormalDist().inv_cdf(
        1 - alpha / 2
    )


def is_discrete(column):
    """Return True if a column holds only integers, at most 32 different ones including 0."""
    present = [x for x in column if x == x]
    return all(x == math.floor(x) for x in present) and len({*present, 0}) <= 32


class Judge:
    """The relevance of columns, their dependence, and which of two gives way."""

    def __init__(self, columns, target, measure, alpha, delta, bound, variant, balanced):
        self.columns, self.target, self.measure = columns, target, measure
        self.alpha, self.delta, self.bound, self.variant = alpha, delta, bound, variant
        sizes = Counter(target)
        n = len(target)
        self.weights = [n / (len(sizes) * sizes[label]) if balanced else 1.0 for label in target]

    def measure_of(self, *numbers):
        """Return the measure for columns: uncertainty if all are discrete, else correlation."""
        if self.measure != "auto":
            return self.measure
        return "su" if all(is_discrete(self.columns[number]) for number in numbers) else "fisher_z"

    def depends(self, a, b, measure):
        """Return the dependence of two columns over the rows that have both values."""
        rows = [(x, y, w) for x, y, w in zip(a, b, self.weights, strict=True) if x == x and y == y]
        if not rows:
            return 0.0
        return (uncertainty if measure == "su" else correlation)(
            *map(list, zip(*rows, strict=True))
        )

    def relevance(self, number, measure=None):
        return self.depends(self.columns[number], self.target, measure or self.measure_of(number))

    def counts(self, dependence, column, measure):
        """Return True if a dependence is significant for the effective number of rows."""
        if measure == "su":
            return dependence > self.delta + EQUAL
        weights = [w for x, w in zip(column, self.weights, strict=True) if x == x]
        rows = sum(weights) ** 2 / sum(w * w for w in weights) if weights else 0
        return significant(dependence + EQUAL, rows, self.alpha)

    def relevant(self, number):
        column = self.columns[number]
        is_significant = self.counts(self.relevance(number), column, self.measure_of(number))
        return is_significant and not (self.variant == "lofs" and sum(column) == 0)

    def gives_way(self, new, old):
        """Return which column gives way: "new", "old" or None."""
        measure = self.measure_of(new, old)
        new_relevance, old_relevance = self.relevance(new, measure), self.relevance(old, measure)
        pair = self.depends(self.columns[new], self.columns[old], measure)
        if self.variant == "lofs" and not self.counts(pair, self.target, measure):
            return None
        limit = (
            max(new_relevance, old_relevance)
            if self.bound == "max"
            else min(new_relevance, old_relevance)
        )
        if not (pair > limit + EQUAL if self.variant == "lofs" else pair >= limit - EQUAL):
            return None
        ties_go_to_old = self.variant == "lofs" and self.measure != "su"
        if old_relevance > new_relevance + EQUAL or (
            ties_go_to_old and old_relevance >= new_relevance - EQUAL
        ):
            return "new"
        return "old" if new_relevance > old_relevance + EQUAL else None

    def copies(self, number, kept):
        """Return True if a column is equal to a kept one in every row."""
        values = self.columns[number]
        return any(
            all(
                x == y or (x != x and y != y)
                for x, y in zip(values, self.columns[other], strict=True)
            )
            for other in kept
        )

    def least(self, kept):
        """Return the kept column of least relevance; of equal ones the last."""
        least_relevance = min(self.relevance(number) for number in kept)
        return [number for number in kept if self.relevance(number) <= least_relevance + EQUAL][-1]


def compare_with_kept(judge, kept, number):
    """Compare a relevant column with the kept ones in place; keep it if it is not redundant."""
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
    """Return the kept columns with relevance, in order of arrival (algorithm 1), and counts.

    A column is redundant if it is dropped on arrival: as a copy of a kept column, because of a kept
    column, or because the selection is full. It is replaced if it is dropped later.
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
    """Return the kept columns with relevance, in order of arrival (SAOLA, algorithm 1)."""
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
    """Return the kept columns by group, groups in order of arrival (group-SAOLA, algorithm 2)."""
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
