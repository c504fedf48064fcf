"""Local learning (Sun, Todorovic, Goodison 2008): expected margins, and weights that maximise them.

Blocks of data are as in ``pairs``.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel, summing
from ..types import F32, F64, I32, I64, unsigned
from .pairs import LANE

ROWS_AT_ONCE = (
    3  # rows whose margins are summed together: with more, LLVM does not vectorise the loop
)
CACHED = 32  # features whose margins stay in the cache
FINE = 1e-4  # relative tolerance of the step to the minimum along a line
MIN_STEP, MAX_STEP = 1e-12, 1e12


@kernel
def weigh_neighbours(
    distances: F64, codes: I32, sigma: float, first: int, last: int, forth: F32, back: F32
) -> None:
    """Compute A[n, i] = P(i is the nearest miss of n) - P(i is its nearest hit), for some rows.

    Equations 2.4 and 2.5. A row that is alone in its class has no hit and so no margin: its A is 0.

    Given    distances: of pairs n < i; first, last: the rows n from ``first`` to before ``last``.
    Back     forth, back: as ``expect_margins`` takes them.
    """
    n_rows = codes.size
    line = np.empty(n_rows)
    for n in range(first, last):
        nearest_hit = nearest_miss = np.inf
        for i in range(n_rows):
            line[i] = distances[min(n, i), max(n, i)]
            if codes[i] != codes[n]:
                nearest_miss = min(nearest_miss, line[i])
            elif i != n:
                nearest_hit = min(nearest_hit, line[i])
        hits = misses = 0.0
        for i in range(n_rows):
            if codes[i] != codes[n]:
                line[i] = np.exp((nearest_miss - line[i]) / sigma)
                misses += line[i]
            elif i != n:
                line[i] = np.exp((nearest_hit - line[i]) / sigma)
                hits += line[i]
        has_no_hit = hits == 0.0
        for i in range(n_rows):
            weight = line[i] / misses if codes[i] != codes[n] else -line[i] / hits
            if i == n or has_no_hit:
                weight = 0.0
            if i > n:
                forth[n, i] = weight
            else:
                back[i, n] = weight


@summing
def expect_margins(block: F32, forth: F32, back: F32, margins: F32) -> None:
    """Compute margins[j, n] = sum over rows i of A[n, i] |x_n - x_i| in feature j.

    A = P(nearest miss) - P(nearest hit).

    Given    forth[n, i] = A[n, i] and back[n, i] = A[i, n] for i > n, 0 elsewhere; lines of zeros
             after the last row make their number a multiple of ``ROWS_AT_ONCE``.
    """
    features = block.shape[0]
    margins[:] = np.float32(0.0)
    for begin in range(0, features, CACHED):
        end = min(features, begin + CACHED)
        for n in range(0, forth.shape[0], ROWS_AT_ONCE):
            for j in range(begin, end):
                add_margins(block, j, n, forth, back, margins)


@summing
def add_margins(block: F32, j: int, n: int, forth: F32, back: F32, margins: F32) -> None:
    """Add the pairs of rows n, n + 1, n + 2 with later rows to both margins in feature j."""
    x, m = block[j], margins[j]
    f0, f1, f2 = forth[n], forth[n + 1], forth[n + 2]
    b0, b1, b2 = back[n], back[n + 1], back[n + 2]
    a0, a1, a2 = x[n], x[n + 1], x[n + 2]
    s0 = s1 = s2 = np.float32(0.0)
    for i in range(unsigned(n // LANE * LANE), unsigned(x.size)):
        d0, d1, d2 = abs(x[i] - a0), abs(x[i] - a1), abs(x[i] - a2)
        s0 += f0[i] * d0
        s1 += f1[i] * d1
        s2 += f2[i] * d2
        m[i] += b0[i] * d0 + b1[i] * d1 + b2[i] * d2
    m[n] += s0
    m[n + 1] += s1
    m[n + 2] += s2


@summing
def add_up_margins(margins: F32, weights: F64, first: int, last: int, total: F64) -> None:
    """Add sum_j w_j z_nj over features ``first`` to before ``last`` to ``total[n]``."""
    for j in range(first, last):
        z, weight = margins[j], weights[j]
        for i in range(unsigned(total.size)):
            total[i] += weight * z[i]


@summing
def compute_gains(margins: F32, pull: F64, first: int, last: int, gain: F64) -> None:
    """Compute gain[j] = sum_n pull_n z_nj, the decrease of the loss per weight of feature j."""
    for j in range(first, last):
        z, total = margins[j], 0.0
        for i in range(unsigned(pull.size)):
            total += z[i] * pull[i]
        gain[j] = total


@kernel
def compute_pull(margin: F64, n_rows: int, pull: F64) -> None:
    """Compute pull = 1 / (1 + exp(margin)), 0 for padding."""
    for n in range(n_rows):
        small = np.exp(-abs(margin[n]))
        pull[n] = small / (1.0 + small) if margin[n] > 0.0 else 1.0 / (1.0 + small)


@summing
def descend(
    margins: F32,
    v: F64,
    pull: F64,
    regularization: float,
    active: I64,
    first: int,
    last: int,
    d: F64,
    b: F64,
    c: F64,
) -> tuple[float, float]:
    """Compute the direction of steepest descent in v (equation 2.9) and its effect on margins.

    Problem  f(v) = sum_n log(1 + exp(-sum_j v_j^2 z_nj)) + regularization ||v||^2.
    Given    margins: z, a line per feature; pull: the weight of every row in the gradient,
             1 / (1 + exp(margin)); active: the features to move, of which this call takes ``first``
             to before ``last``.
    Back     d = -grad / 2 for these; b += sum_j v_j d_j z_nj and c += sum_j d_j^2 z_nj, so that the
             margin of row n at v + t d is a_n + 2 t b_n + t^2 c_n; and the sums of v d and d d.
    """
    along = length = 0.0
    width = unsigned(pull.size)
    for k in range(first, last):
        j = active[k]
        z = margins[j]
        gain = 0.0
        for i in range(width):
            gain += z[i] * pull[i]
        step = (gain - regularization) * v[j]
        d[j] = step
        linear, square = v[j] * step, step * step
        along += linear
        length += square
        for i in range(width):
            b[i] += linear * z[i]
            c[i] += square * z[i]
    return along, length


@kernel
def value_and_slope(
    t: float, a: F64, b: F64, c: F64, n_rows: int, penalty: float, along: float, length: float
) -> tuple[float, float]:
    """Return f and its derivative at v + t d.

    Given    penalty, along, length: the regularised v v, v d and d d.
    """
    value = penalty + 2.0 * t * along + t * t * length
    slope = 2.0 * along + 2.0 * t * length
    for n in range(n_rows):
        margin = a[n] + t * (2.0 * b[n] + t * c[n])
        small = np.exp(-abs(margin))
        value += np.log1p(small) + max(0.0, -margin)
        pull = small / (1.0 + small) if margin > 0.0 else 1.0 / (1.0 + small)
        slope -= pull * 2.0 * (b[n] + t * c[n])
    return value, slope


@kernel
def search_line(
    guess: float, a: F64, b: F64, c: F64, n_rows: int, penalty: float, along: float, length: float
) -> tuple[float, float]:
    """Return the step t > 0 to a minimum of f along d, and f there; 0 and f(v) if no step descends.

    The step is doubled until f rises, then the minimum is bracketed by the slope of f.
    """
    value_at_start, slope = value_and_slope(0.0, a, b, c, n_rows, penalty, along, length)
    low, high = 0.0, guess
    while slope < 0.0 and high < MAX_STEP:
        if value_and_slope(high, a, b, c, n_rows, penalty, along, length)[1] >= 0.0:
            break
        low, high = high, 2.0 * high
    while high - low > FINE * high:
        middle = 0.5 * (low + high)
        if value_and_slope(middle, a, b, c, n_rows, penalty, along, length)[1] < 0.0:
            low = middle
        else:
            high = middle
    while high > MIN_STEP:
        value, _ = value_and_slope(high, a, b, c, n_rows, penalty, along, length)
        if value < value_at_start:
            return high, value
        high *= 0.5
    return 0.0, value_at_start
