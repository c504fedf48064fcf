"""SOFS in fixed memory (``max_cells``): features that are not kept share cells.

Otherwise it is ``sofs`` with ``criterion="snr"``, or ``sofs_regressor``.

A feature has the cell ``(h >> 1) mod M``, with h the splitmix64 of its id (Steele, Lea, Flood
2014), and the sign + if h is odd, otherwise -. A cell is a precision above 1 and a weight per
weight vector. The weight of a feature in it is the sign times that of the cell.

Gaps closed:
- The outsiders of a row step one after the other, lowest id first, each on the current state of its
  cell. With more than two classes, where the common denominator is a sum over all features of the
  row, the cells count in it as they were before the row.
- When all have stepped, the outsiders try to enter, lowest id first, each with the current key of
  its cell. A feature that enters takes over the contents of the cell, which is empty afterwards.
  Only then the feature that had to leave goes to its cell, which may be the same.
- When a feature leaves, the precisions above 1 are added, and the new weight is the mean weighted
  by them. If both are 0, the weight of the cell stays.

Values should be random, so that keys are equal only if nothing was learned, that is in any
arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

from .pet import Row, lead, nearer, scores
from .sofs import Sizes, Values, directions, variance
from .sofs_regressor import NumericRow, Quantile, center, first_targets, quantile_of

MASK = 2**64 - 1


def splitmix64(feature: int) -> int:
    h = (feature + 0x9E3779B97F4A7C15) & MASK
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & MASK
    return h ^ (h >> 31)


@dataclass
class Vectors:
    """The weights and precisions of a kept feature or a cell."""

    mu: list[float]
    evidence: list[float]  # precision - 1

    def key(self, s: float) -> float:
        return sqrt(
            sum(
                mu**2 * (1 + evidence) / s
                for mu, evidence in zip(self.mu, self.evidence, strict=True)
            )
        )


class Memory:
    """Kept features, the cells of all others, and the intercept."""

    def __init__(self, budget: int, max_cells: int, n_vectors: int, forget: float | None) -> None:
        self.budget, self.max_cells, self.forget = budget, max_cells, forget
        self.kept: dict[int, Vectors] = {}
        self.keys: dict[
            int, float
        ] = {}  # of kept features, after the last row that each was learned from
        self.cells = [Vectors([0.0] * n_vectors, [0.0] * n_vectors) for _ in range(max_cells)]
        self.bias = Vectors([0.0] * n_vectors, [0.0] * n_vectors)
        self.rows = 0
        self.s = 1.0  # 1 after forgetting
        self.closest_call = float("inf")

    def cell_of(self, j: int) -> Vectors:
        return self.cells[(splitmix64(j) >> 1) % self.max_cells]

    def sign_of(self, j: int) -> float:
        return 1.0 if splitmix64(j) & 1 else -1.0

    def next_row(self) -> None:
        self.rows += 1
        if self.forget is not None:
            self.s = 2 ** (-self.rows / self.forget)
            for vectors in [*self.kept.values(), *self.cells, self.bias]:
                vectors.evidence = [e * 2 ** (-1 / self.forget) for e in vectors.evidence]

    def outsiders(self, x: Values) -> list[int]:
        return [j for j in sorted(x) if j not in self.kept]

    def compare(self, outsiders: list[int]) -> None:
        """Keep the outsiders of a row that are better than the worst member."""
        for j in outsiders:
            cell, sign, outsider_key = self.cell_of(j), self.sign_of(j), self.cell_of(j).key(self.s)
            leaving = None
            if len(self.kept) == self.budget:
                by_key = sorted(self.kept, key=lambda k: (self.keys[k], -k))
                self.closest_call = nearer(
                    self.closest_call, outsider_key, self.keys[by_key[0]], tie_is_real=True
                )
                if not outsider_key > self.keys[by_key[0]]:
                    continue
                for other in by_key[1:2]:
                    call = nearer(
                        self.closest_call, self.keys[other], self.keys[by_key[0]], tie_is_real=True
                    )
                    self.closest_call = call
                leaving = by_key[0]
            self.kept[j] = Vectors([sign * mu for mu in cell.mu], list(cell.evidence))
            self.keys[j] = outsider_key
            for c in range(len(cell.mu)):
                cell.mu[c] = cell.evidence[c] = 0.0
            if leaving is not None:
                self.return_to_cell(leaving)

    def return_to_cell(self, leaving: int) -> None:
        vectors, cell, sign = self.kept.pop(leaving), self.cell_of(leaving), self.sign_of(leaving)
        for c in range(len(cell.mu)):
            total = cell.evidence[c] + vectors.evidence[c]
            if total > 0:
                sum_of_products = (
                    cell.evidence[c] * cell.mu[c] + vectors.evidence[c] * sign * vectors.mu[c]
                )
                cell.mu[c] = sum_of_products / total
            cell.evidence[c] = total

    def results(self, z: float) -> dict[str, Any]:
        return {
            "weights": {j: self.kept[j].mu for j in self.kept},
            "bias": self.bias.mu,
            "intercept": z,
            "scores": {j: self.keys[j] * sqrt(self.s) for j in self.kept},
            "cells": [[*cell.mu, *cell.evidence] for cell in self.cells],
            "closest_call": self.closest_call,
        }


def learn(
    rows: list[Row],
    n_classes: int = 2,
    weights: list[float] | None = None,
    *,
    n_features_to_select: int,
    max_cells: int,
    fit_intercept: bool = False,
    gamma: float | str = 1.0,
    update: str = "max_score",
    forget: float | None = None,
) -> dict[str, Any]:
    classes = range(1 if n_classes == 2 else n_classes)
    memory = Memory(n_features_to_select, max_cells, len(classes), forget)
    kept, bias = memory.kept, memory.bias
    sizes = Sizes("snr", forget)
    z = 0.0  # the intercept's value
    mistakes = updates = 0

    for t, (x, code) in enumerate(rows):
        v = 1.0 if weights is None else weights[t]
        if v == 0:
            continue
        memory.next_row()
        x = sizes.added(x, set(kept))
        z = sizes.intercept if fit_intercept else 0.0
        gamma_t = sizes.gamma(gamma) / v

        score = scores({j: kept[j].mu for j in kept}, bias.mu, x, z)
        ahead = lead(score, code, n_classes)
        mistakes += ahead <= 0
        memory.closest_call = nearer(memory.closest_call, ahead, 0.0, tie_is_real=True)
        a, call = directions(score, code, n_classes, update)
        margin = sum(a[c] * score[c] for c in classes)
        memory.closest_call = nearer(min(memory.closest_call, call), margin, 1.0, tie_is_real=False)
        loss = max(0.0, 1 - margin)
        if loss == 0 or gamma_t == 0:
            continue
        updates += 1

        denominator = gamma_t
        for c in classes:
            denominator += a[c] ** 2 * variance(bias.evidence[c]) * z**2
            for j in x:
                if j in kept:
                    denominator += a[c] ** 2 * variance(kept[j].evidence[c]) * x[j] ** 2
                elif n_classes > 2:
                    denominator += a[c] ** 2 * variance(memory.cell_of(j).evidence[c]) * x[j] ** 2

        for c in classes:
            bias.mu[c] += loss * a[c] * variance(bias.evidence[c]) * z / denominator
            bias.evidence[c] += a[c] ** 2 * z**2 / gamma_t
        for j in x:
            if j in kept:
                for c in classes:
                    kept[j].mu[c] += (
                        loss * a[c] * variance(kept[j].evidence[c]) * x[j] / denominator
                    )
                    kept[j].evidence[c] += a[c] ** 2 * x[j] ** 2 / gamma_t
                memory.keys[j] = kept[j].key(memory.s)
        for j in memory.outsiders(x):
            cell, sign = memory.cell_of(j), memory.sign_of(j)
            margin_j = margin + sum(a[c] * sign * cell.mu[c] * x[j] for c in classes)
            loss_j = max(0.0, 1 - margin_j)
            denominator_j = denominator
            if n_classes == 2:
                denominator_j += variance(cell.evidence[0]) * x[j] ** 2
            for c in classes:
                cell.mu[c] += (
                    sign * loss_j * a[c] * variance(cell.evidence[c]) * x[j] / denominator_j
                )
                cell.evidence[c] += a[c] ** 2 * x[j] ** 2 / gamma_t
        memory.compare(memory.outsiders(x))

    return {**memory.results(z), "mistakes": mistakes, "updates": updates}


def learn_numbers(
    rows: list[NumericRow],
    weights: list[float],
    *,
    n_features_to_select: int,
    max_cells: int,
    fit_intercept: bool = True,
    gamma: float | str = "auto",
    loss: str = "squared",
    forget: float | None = None,
) -> dict[str, Any]:
    present = [(x, y, v) for (x, y), v in zip(rows, weights, strict=True) if v != 0]
    first = first_targets([y for _, y, _ in present])
    c0 = center(first)
    quantile = Quantile(loss == "huber", quantile_of([abs(y - c0) for y in first], 0.9))
    memory = Memory(n_features_to_select, max_cells, 1, forget)
    kept, bias = memory.kept, memory.bias
    sizes = Sizes("snr", forget)
    z = 0.0
    updates = 0

    for x, y, v in present:
        memory.next_row()
        x = sizes.added(x, set(kept))
        z = sizes.intercept if fit_intercept else 0.0
        e = y - c0 - scores({j: kept[j].mu for j in kept}, bias.mu, x, z)[0]
        if sizes.q == 0:
            continue
        updates += 1
        gamma_t = (0.3 * sizes.q if gamma == "auto" else float(gamma)) / v
        denominator = gamma_t + variance(bias.evidence[0]) * z**2
        for j in x:
            if j in kept:
                denominator += variance(kept[j].evidence[0]) * x[j] ** 2
        trust = quantile.clipped(e) / e if e != 0 else 1.0

        bias.mu[0] += quantile.clipped(e) * variance(bias.evidence[0]) * z / denominator
        bias.evidence[0] += trust * z**2 / gamma_t
        for j in x:
            if j in kept:
                kept[j].mu[0] += (
                    quantile.clipped(e) * variance(kept[j].evidence[0]) * x[j] / denominator
                )
                kept[j].evidence[0] += trust * x[j] ** 2 / gamma_t
                memory.keys[j] = kept[j].key(memory.s)
        for j in memory.outsiders(x):
            cell, sign = memory.cell_of(j), memory.sign_of(j)
            e_j = quantile.clipped(e - sign * cell.mu[0] * x[j])
            denominator_j = denominator + variance(cell.evidence[0]) * x[j] ** 2
            cell.mu[0] += sign * e_j * variance(cell.evidence[0]) * x[j] / denominator_j
            cell.evidence[0] += trust * x[j] ** 2 / gamma_t
        if quantile.huber:
            if quantile.value > 0:
                size = abs(e) / quantile.value
                memory.closest_call = nearer(
                    memory.closest_call, size, 1.0, tie_is_real=updates == 1
                )
            quantile.move(e)
        memory.compare(memory.outsiders(x))

    return {**memory.results(z), "center": c0, "updates": updates}
