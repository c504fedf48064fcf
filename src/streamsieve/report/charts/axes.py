"""Map values to positions on the page: scales, readable ticks, axes and legends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

from ...colours import N_COLOURS
from ...display import printable
from .svg import SMALL, fit_to_width, label, line, width_of

MAX_SIZE = 1e300  # differences of larger values could overflow
MIN_SIZE = 1e-290  # smaller values are taken as zero
STEPS = 1.0, 2.0, 5.0, 10.0
MAX_DIGITS = 4  # after the point; smaller numbers are written with a power of ten
SUFFIXES = (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")
WIDTH = 480.0
PLOT_HEIGHT = 220.0
ROW = 18.0  # the height of a line of text
BETWEEN = 10.0  # two texts in a row
MAX_LEGEND_WIDTH = 150.0
MAX_PARTS = 5  # of a y axis
MAX_DECADES = 6  # with minor ticks between them


def drawable_value(value: Any, log: bool = False) -> float | None:
    """Return a value that an axis can show, or None.

    Values that are missing or not finite cannot be shown; on a logarithmic axis neither can zero
    and negative values.
    """
    try:
        number = math.nan if value is None else float(value)
    except OverflowError:  # an integer that is too large for a float
        return None
    number = 0.0 if abs(number) < MIN_SIZE else number
    return number if abs(number) <= MAX_SIZE and not (log and number <= 0) else None


@dataclass(frozen=True, slots=True)
class Scale:
    """A map of values from ``low`` to ``high`` to pixels from ``start`` to ``stop``.

    If ``log``, it is logarithmic.
    """

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = (
            (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        )
        position = math.log10(value) if self.log else value
        return self.start + (position - low) / (high - low) * (self.stop - self.start)


def extent(values: Sequence[float], log: bool = False) -> tuple[float, float]:
    """Return the smallest and the largest value, apart from each other."""
    low, high = min(values), max(values)
    if log:
        return (low, high) if high / low > 1 + 1e-9 else (low / 2, high * 2)
    pad = 0.0 if high - low > 1e-9 * max(abs(low), abs(high)) else abs(low) / 10 or 1.0
    return low - pad, high + pad


def step_for(low: float, high: float, max_parts: int) -> float:
    """Return the smallest round step that divides a range into at most ``max_parts`` parts.

    Round steps are 1, 2 or 5 times a power of ten.
    """
    min_step = (high - low) / max_parts
    power = 10.0 ** math.floor(math.log10(min_step))
    return power * next(step for step in STEPS if step * power >= min_step * (1 - 1e-9))


def set_width(low: float, high: float, max_parts: int) -> tuple[float, float]:
    """Return a range widened to the ticks around it."""
    step = step_for(low, high, max_parts)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def linear_ticks(low: float, high: float, max_parts: int = 5) -> list[float]:
    """Return the multiples of a round step within a range, about ``max_parts`` of them."""
    step = step_for(low, high, max_parts)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(i * step, digits) + 0.0 for i in range(first, last + 1)]  # + 0.0: not -0.0


def log_ticks(low: float, high: float) -> Iterator[list[float]]:
    """Yield ticks of a logarithmic scale, the longest list first.

    The lists are: 1-2-5 of every decade, every decade, every second decade, and so on.
    """
    first, last = math.floor(math.log10(low) - 1e-9), math.ceil(math.log10(high) + 1e-9)
    limits = (low * (1 - 1e-9), high * (1 + 1e-9))
    for per_decade, every in [
        ((1, 2, 5), 1),
        *(((1,), every) for every in range(1, last - first + 2)),
    ]:
        powers = [power for power in range(first, last + 1) if power % every == 0]
        ticks = [float(f"{digit}e{power}") for power in powers for digit in per_decade]
        yield [tick for tick in ticks if limits[0] <= tick <= limits[1]]


def tick_texts(ticks: Sequence[float], percent: bool = False, log: bool = False) -> list[str]:
    """Return the labels of ticks, with just enough decimals to distinguish them.

    Large numbers have a suffix, such as k for thousands.
    """
    if log:
        return [_tick_text(tick, _count_decimals([tick])) for tick in ticks]
    if percent:
        digits = _count_decimals([100 * tick for tick in ticks])
        return [f"{_tick_text(100 * tick, digits)}%" for tick in ticks]
    largest = max((abs(tick) for tick in ticks), default=0.0)
    unit, suffix = next((pair for pair in SUFFIXES if largest >= max(pair[0], 1e5)), (1.0, ""))
    scaled = [tick / unit for tick in ticks]
    digits = _count_decimals(scaled)
    return [_tick_text(value, digits) + (suffix if value else "") for value in scaled]


def _count_decimals(values: Sequence[float]) -> int:
    """Return how many decimals write all values exactly, or one more than the maximum."""
    digits = range(MAX_DIGITS + 1)
    exact = (
        n
        for n in digits
        if all(abs(value - round(value, n)) <= 1e-9 * abs(value) for value in values)
    )
    return next(exact, len(digits))


def _tick_text(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    unit, suffix = next((pair for pair in SUFFIXES if pair[0] <= abs(value) < 1e15), (1.0, ""))
    is_plain = digits <= MAX_DIGITS and abs(value) < 1e5
    text = f"{value:,.{digits}f}" if is_plain else _power(f"{value / unit:.4g}") + suffix
    return text.replace("-", "\u2212")  # a minus, not a hyphen


def _power(text: str) -> str:
    """Return 1e-05 as 1e-5."""
    head, _, exponent = text.partition("e")
    return f"{head}e{int(exponent)}" if exponent else head


def number_text(value: float, percent: bool = False) -> str:
    """Return a value as tips show it: integers in full, others with four or more digits."""
    if percent:
        return f"{100 * value:.2f}%" if abs(value) < 1e3 else f"{_power(f'{100 * value:.4g}')}%"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if 1000 <= abs(value) < 1e15 else _power(f"{value:.4g}")


# ---- the position of the plot on the page, its axes, its legend

Sample = Callable[[int, float, float], str]  # draws a mark of a kind for the legend


class Room(NamedTuple):
    """The edges of the plot on the page."""

    left: float
    right: float
    top: float
    bottom: float


def colour_of(position: int) -> int:
    """Return the colour, from 1 on, of the kind at a position; colours repeat after eight kinds."""
    return position % N_COLOURS + 1


class Ticks(NamedTuple):
    """Values of an axis, and what is written at them."""

    values: list[float]
    texts: list[str]

    @property
    def width(self) -> float:
        """Return the width of the longest text."""
        return max(width_of(text, SMALL) for text in self.texts)


def y_ticks(values: Sequence[float], percent: bool) -> Ticks:
    """Return the ticks of a y axis around some values; fractions do not pass 0 and 1."""
    low, high = extent(values)
    if percent and min(values) >= 0 and max(values) <= 1:
        low, high = max(low, 0.0), min(high, 1.0)
    step = step_for(low, high, MAX_PARTS)
    low, high = set_width(low, high, MAX_PARTS)
    ticks = linear_ticks(low, high, max(1, round((high - low) / step)))
    return Ticks(ticks, tick_texts(ticks, percent))


def draw_y_axis(scale: Scale, room: Room, ticks: Ticks, title: str) -> list[str]:
    """Draw lines across the plot with their values, and the title above them."""
    parts = []
    for tick, text in zip(*ticks, strict=True):
        y = scale(tick)
        parts += [
            line("grid", room.left, y, room.right, y),
            label("tick end", room.left - 6, y + 4, text),
        ]
    return (
        [*parts, label("muted", 0, room.top - 12, f"↑ {printable(title)}", room.right)]
        if title
        else parts
    )


def x_ticks(scale: Scale) -> Ticks:
    """Return as many ticks of an x axis as there is room for their labels, if possible two."""
    linear = (linear_ticks(scale.low, scale.high, max_parts) for max_parts in (6, 5, 4, 3, 2, 1))
    by_decade = (
        (ticks for ticks in log_ticks(scale.low, scale.high) if len(ticks) > 1)
        if scale.log
        else iter(())
    )
    for values in chain(by_decade, linear):
        texts = tick_texts(values, log=scale.log)
        edges = [
            (scale(value), width_of(text, SMALL) / 2)
            for value, text in zip(values, texts, strict=True)
        ]
        if values and all(b[0] - b[1] - a[0] - a[1] >= BETWEEN for a, b in pairwise(edges)):
            return Ticks(values, texts)
    return Ticks([], [])


def draw_x_axis(scale: Scale, room: Room, ticks: Ticks, title: str) -> list[str]:
    """Draw the line below the plot with its values, and the title at its end."""
    parts = [line("axis", room.left, room.bottom, room.right, room.bottom)]
    for tick, text in zip(*ticks, strict=True):
        x, half = scale(tick), width_of(text, SMALL) / 2
        parts += [
            line("axis", x, room.bottom, x, room.bottom + 4),
            label("tick middle", min(x, WIDTH - half), room.bottom + 17, text),
        ]
    if scale.log and len(_decades(scale)) <= MAX_DECADES + 1:
        between = [digit * 10.0**power for power in _decades(scale) for digit in range(2, 10)]
        inside = [tick for tick in between if scale.low <= tick <= scale.high]
        parts += [
            line("grid", scale(tick), room.bottom, scale(tick), room.bottom + 3) for tick in inside
        ]
    below = label("muted end", room.right, room.bottom + 35, f"{printable(title)} →", room.right)
    return [*parts, below] if title else parts


def _decades(scale: Scale) -> range:
    """Return the decades of a logarithmic scale."""
    return range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)


def draw_legend(kinds: Iterable[tuple[Any, int]], sample: Sample) -> tuple[list[str], float]:
    """Return a legend with full rows, and its height; ``sample(position, x, y)`` draws a mark."""
    parts: list[str] = []
    x = y = 0.0
    for name, position in kinds:
        needed = 20 + width_of(fit_to_width(name, MAX_LEGEND_WIDTH))
        if x and x + needed > WIDTH:
            x, y = 0.0, y + ROW
        parts += [
            sample(position, x, y + ROW / 2),
            label("", x + 19, y + ROW / 2 + 4.5, name, MAX_LEGEND_WIDTH),
        ]
        x += needed + 14
    return parts, y + ROW if parts else 0.0
