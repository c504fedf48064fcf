"""Write tables as Markdown that also reads well in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from .experiment import Cell, Table


def markdown(table: Table) -> str:
    """Return a table as Markdown, with its title and notes."""
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    notes = [f"\n{note}" for note in table.notes]
    return "\n".join([f"**{table.title}**", "", aligned(table.columns, rows), *notes])


def cell_text(cell: Cell) -> str:
    """Return a cell as text.

    Integers have separators, other numbers four digits, and nothing is a dash.
    """
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.4g}"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, with the first column to the left, the others to the right."""
    widths = [
        max(3, *(len(row[column]) for row in [header, *rows])) for column in range(len(header))
    ]
    lines = [
        _line(header, widths),
        _line(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])], widths),
    ]
    return "\n".join([*lines, *(_line(row, widths) for row in rows)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = cells
    padded = [
        first.ljust(widths[0]),
        *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)),
    ]
    return f"| {' | '.join(padded)} |"
