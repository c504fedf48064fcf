"""Steps of SOFS by signal to noise (after Wu, Hoi, Mei, Yu 2017): precisions, weights, keys.

These functions update the kept features and the outsiders of a row; the rules are in
``signal_update``.
"""

from __future__ import annotations

import numpy as np

from ..jit import inlined, inlined_summing, kernel, summing
from ..types import F32, F64, I64, unsigned
from .storing import NEAREST, cell_of, clip_precision, clip_to_float32, rounded

EXCESS, WEIGHT = 0, 1  # columns of ``cells``


@summing
def learn_kept(
    x: F64, excess: F32, count: int, scale: float, growth: float, noise: int, variance_x: F64
) -> float:
    """Update the precisions of a row's kept features; return their part of D.

    Back     excess: updated; variance_x: S x, with S from before the row.
    """
    spread = 0.0
    for i in range(count):
        variance = 1.0 / (1.0 + excess[i] * scale)
        excess[i] = rounded(clip_precision(excess[i] + x[i] * x[i] * growth), noise)
        variance_x[i] = variance * x[i]
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
    """Update the precisions and shadow weights of a row's outsiders, and fill in their keys."""
    for i in range(count):
        excess[i], weight[i] = step_shadow(
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
    """Update the cells of a row's outsiders, one after the other, since some may share a cell.

    The rules are those of ``learn_shadows``.
    """
    # two loops, which are not vectorised and would otherwise test the noise for every outsider
    if noise < 0:
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
    rank: int,
) -> None:
    """Update the cell of one outsider, and fill in its key."""
    cell_number, sign = cell_of(feature, cells.shape[0])
    cell = unsigned(cell_number)
    cells[cell, EXCESS], cells[cell, WEIGHT] = step_shadow(
        sign * x,
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
    key[rank] = key_of(cells[cell, EXCESS], cells[cell, WEIGHT], 1.0 / scale)


@inlined_summing
def step_shadow(
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
    """Return the precision and the shadow weight of an outsider after a row of value ``x``.

    Its error is clipped to ``low`` and ``high``. S x / (D + S x^2) is computed as
    x / (D / S + x^2), with one division.
    """
    outsider_error = min(max(error - weight * x, low), high)
    x_squared = x * x
    step = outsider_error * x / (spread * (1.0 + excess * scale) + x_squared)
    return rounded(clip_precision(excess + x_squared * growth), noise), rounded(
        clip_to_float32(weight + step), noise
    )


@inlined_summing
def key_of(excess: float, weight: float, inverse_scale: float) -> float:
    """Return the key: squared signal to noise, divided by the scale."""
    return np.float64(weight) * np.float64(weight) * (inverse_scale + excess)
