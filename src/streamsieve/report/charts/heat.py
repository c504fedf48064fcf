"""A heat map of pairs, such as the correlations of selected features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...display import printable
from .axes import WIDTH, drawable_value, number_text, tick_texts
from .svg import (
    SMALL,
    draw_element,
    element,
    empty,
    fit_to_width,
    label,
    picture,
    place,
    width_of,
    with_tip,
)

MAX_NAME_WIDTH = 130.0
MAX_TIP_NAME_LENGTH = 60  # characters: a name is in the tips of a whole row and column
MAX_CELL, MIN_CELL = 42.0, 16.0
MAX_ROWS_WITH_VALUES = 9  # rows, with the value written in each cell
STRONG = 0.8  # text on a stronger colour has the colour of the paper
LEGEND = 120.0, 10.0, 24  # width, height, steps
LEGEND_ROOM = 52.0


def heat_map(names: Sequence[Any], matrix: Sequence[Sequence[Any]], *, title: str = "") -> str:
    """Draw the lower half of a symmetric matrix with values from -1 to 1.

    Every row has the values of a name with the names before it. Colours go from zero to either
    side. Names are numbered, and the number of a column is on the diagonal, in the row of its name.
    """
    about = f"Heat map{': ' + title if title else ''}"
    n = len(names)
    if n < 2:
        return empty(WIDTH, about, "nothing to show: pairs need two features or more")
    about += f"; {n:,} names: {', '.join(printable(name, 60) for name in names[:10])}"
    numbers = width_of(str(n), SMALL) + 12
    left = (
        max(width_of(fit_to_width(name, MAX_NAME_WIDTH, SMALL), SMALL) for name in names)
        + numbers
        + 4
    )
    cell = min(MAX_CELL, max(MIN_CELL, (WIDTH - left) / n))
    width = max(WIDTH, left + cell * n)
    has_room = left + cell * (LEGEND_ROOM / cell + 2) < width - max(LEGEND[0], width_of(title)) - 16
    top = 2.0 if has_room else LEGEND_ROOM
    parts = _draw_legend(title, width)
    for i, name in enumerate(names):
        x, y = left + cell * i, top + cell * i
        parts += [
            label("name end", left - numbers, y + cell / 2 + 4, name, MAX_NAME_WIDTH, SMALL),
            label("tick end", left - 6, y + cell / 2 + 4, i + 1),
        ]
        for j in range(i):
            parts += _draw_cell(
                (name, names[j]),
                matrix[i][j],
                left + cell * j,
                y,
                cell,
                written=n <= MAX_ROWS_WITH_VALUES,
            )
        kind, below = ("tick middle", 4) if cell >= 18 else ("number", 3)
        parts += [
            draw_element("rect", "blank", x=x + 0.5, y=y + 0.5, width=cell - 1, height=cell - 1),
            label(kind, x + cell / 2, y + cell / 2 + below, i + 1),
        ]
    return picture(
        width, top + cell * n + 4, about, parts, ' data-size="wide"' if width > WIDTH + 40 else ""
    )


def _draw_cell(
    pair: tuple[Any, Any], value: Any, x: float, y: float, size: float, written: bool
) -> list[str]:
    """Draw the cell of a pair, with its value if ``written``."""
    coordinates = {"x": x + 0.5, "y": y + 0.5, "width": size - 1, "height": size - 1}
    names, number = [printable(name, MAX_TIP_NAME_LENGTH) for name in pair], drawable_value(value)
    if number is None:
        return [with_tip(element("rect", "mark empty", **coordinates), [*names, "no value"])]
    strength = min(1.0, abs(number))
    opening = element("rect", f"mark {'below' if number < 0 else 'above'}", **coordinates)
    mark = with_tip(f'{opening} fill-opacity="{strength:.2f}"', [*names, number_text(number)])
    kind, text = (
        "name middle" + (" on-mark" if strength > STRONG else ""),
        f"{number:.2f}".replace("-", "\u2212"),
    )
    return [mark, label(kind, x + size / 2, y + size / 2 + 4, text)] if written else [mark]


def _draw_legend(title: str, width: float) -> list[str]:
    """Draw the colours with their values at the upper right, where a triangle is empty."""
    total, height, steps = LEGEND
    left, top = width - total - 8, 20.0
    parts = []
    for i in range(steps):
        strength = 2 * (i + 0.5) / steps - 1
        opening = element(
            "rect",
            f"step {'below' if strength < 0 else 'above'}",
            x=left + total / steps * i,
            y=top,
        )
        size = f'width="{place(total / steps)}" height="{place(height)}"'
        parts.append(f'{opening} {size} fill-opacity="{abs(strength):.2f}"/>')
    ends = [-1.0, 0.0, 1.0]
    for value, text in zip(ends, tick_texts(ends), strict=True):
        parts.append(label("tick middle", left + total * (value + 1) / 2, top + height + 14, text))
    return [*parts, label("muted end", width - 8, top - 7, title, width - 8)] if title else parts
