"""The steps of SOFS by signal to noise (after Wu, Hoi, Mei, Yu 2017): precisions, shadow weights, keys.

What ``signal_update`` does to the kept features of a row and to the others; see there for the
rules.
"""

from __future__ import annotations

import numpy as np

from ..jit import inlined, inlined_summing, kernel, summing
from ..types import F32, F64, I64, unsigned
from .storing import NEAREST, bounded, cell_of, rounded, storable

EXCESS, WEIGHT = 0, 1  # columns of ``cells``


@summing
def learn_kept(
    x: F64, excess: F32, count: int, scale: float, growth: float, noise: int, step: F64
) -> float:
    """What a row does to the precisions of its kept features; their part of D, and S x in ``step``."""
    spread = 0.0
    for i in range(count):
        variance = 1.0 / (1.0 + excess[i] * scale)
        excess[i] = rounded(storable(excess[i] + x[i] * x[i] * growth), noise)
        step[i] = variance * x[i]
        spread += variance * x[i] * x[i]
    return spread


@summing
def learn_shadows(
    x: F64,
    excess: F32,
    weight: F32,
    count: int,
    scale: float,
    growth: float,
    noise: int,
    spread: float,
    error: float,
    low: float,
    high: float,
    key: F64,
) -> None:
    """What a row does to the precisions and shadow weights of its outsiders, and the keys they then have."""
    for i in range(count):
        excess[i], weight[i] = learned_shadow(
            x[i], excess[i], weight[i], scale, growth, noise, spread, error, low, high
        )
        key[i] = key_of(excess[i], weight[i], 1.0 / scale)


@kernel
def learn_cells(
    features: I64,
    x: F64,
    cells: F32,
    count: int,
    scale: float,
    growth: float,
    noise: int,
    spread: float,
    error: float,
    low: float,
    high: float,
    key: F64,
) -> None:
    """``learn_shadows`` of outsiders in their cells, one after the other: some may share one."""
    if noise < 0:  # apart, since this loop is not vectorised and would ask again for every outsider
        for i in range(count):
            learn_cell(
                features[i], x[i], cells, scale, growth, NEAREST, spread, error, low, high, key, i
            )
    else:
        for i in range(count):
            learn_cell(
                features[i], x[i], cells, scale, growth, noise, spread, error, low, high, key, i
            )


@inlined
def learn_cell(
    feature: int,
    x: float,
    cells: F32,
    scale: float,
    growth: float,
    noise: int,
    spread: float,
    error: float,
    low: float,
    high: float,
    key: F64,
    i: int,
) -> None:
    at, side = cell_of(feature, cells.shape[0])
    cell = unsigned(at)
    cells[cell, EXCESS], cells[cell, WEIGHT] = learned_shadow(
        side * x,
        cells[cell, EXCESS],
        cells[cell, WEIGHT],
        scale,
        growth,
        noise,
        spread,
        error,
        low,
        high,
    )
    key[i] = key_of(cells[cell, EXCESS], cells[cell, WEIGHT], 1.0 / scale)


@inlined_summing
def learned_shadow(
    x: float,
    excess: float,
    weight: float,
    scale: float,
    growth: float,
    noise: int,
    spread: float,
    error: float,
    low: float,
    high: float,
) -> tuple[np.float32, np.float32]:
    """What a row of value ``x`` makes of the precision and the shadow weight of an outsider, as a cell can hold them.

    Its error is between ``low`` and ``high``. S x / (D + S x^2) is x / (D / S + x^2): one division.
    """
    own = min(max(error - weight * x, low), high)
    squared = x * x
    step = own * x / (spread * (1.0 + excess * scale) + squared)
    return rounded(storable(excess + squared * growth), noise), rounded(
        bounded(weight + step), noise
    )


@inlined_summing
def key_of(excess: float, weight: float, start: float) -> float:
    """Signal to noise, squared and over the scale, of which ``start`` is the inverse."""
    return np.float64(weight) * np.float64(weight) * (start + excess)
