"""Numbers and sentences as the report writes them."""

from __future__ import annotations

from typing import Any

from ..showing import LONGEST_CELL, printable

DASH = "\N{EN DASH}"  # for what is not known
MOST_SECONDS = 120.0  # from then on minutes are easier to read
MANY_BYTES = 1000


def headline_of_run(run: dict[str, Any]) -> str:
    """What came out and how good it is, in one sentence."""
    kept = f"{count(run['n_selected'])} of {count(run['n_features'])} features"
    quality = run["quality"]
    if not run["n_selected"]:
        return f"No feature was selected from {count(run['n_features'])}."
    if quality["test_accuracy"] is not None:
        return f"With {kept}, {percent(quality['test_accuracy'])} of the test rows are predicted correctly."
    if quality["test_r2"] is not None:
        return f"With {kept}, R² on the test rows is {quality['test_r2']:.3f}."
    if quality["mistake_rate"] is not None:
        right = percent(1.0 - quality["mistake_rate"])
        return f"With {kept}, {right} of the rows were predicted correctly before they were learned."
    if quality["online_r2"] is not None:
        return f"With {kept}, R² of predictions made before learning is {quality['online_r2']:.3f}."
    return f"{kept[:1].upper()}{kept[1:]} were selected from {count(run['n_rows'])} rows."


def count(number: int) -> str:
    return f"{number:,}"


def percent(fraction: float | None, digits: int = 1) -> str:
    return DASH if fraction is None else f"{100.0 * fraction:.{digits}f}%"


def seconds(time: float | None) -> str:
    """A time with the digits that matter."""
    if time is None:
        return DASH
    if time >= MOST_SECONDS:
        return f"{time / 60.0:.1f} min"
    return f"{time:.1f} s" if time >= 10.0 else f"{time:.2f} s" if time >= 0.1 else f"{1000.0 * time:.0f} ms"


def size(n_bytes: float | None) -> str:
    """A number of bytes with its unit."""
    if n_bytes is None:
        return DASH
    units = iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while n_bytes >= MANY_BYTES and unit != "TB":
        n_bytes, unit = n_bytes / MANY_BYTES, next(units)
    return f"{n_bytes:.0f} {unit}" if unit == "B" or n_bytes >= 100 else f"{n_bytes:.1f} {unit}"


def density(fraction: float | None) -> str:
    """How many of the values are not 0."""
    return DASH if fraction is None else f"{100.0 * fraction:.3g}%"


def short(text: object, longest: int = LONGEST_CELL) -> str:
    """Text from data on one line, its middle cut if it is long."""
    return printable(text, longest)


def listed(values: list[str]) -> str:
    """Some values as English has them: a, b and c."""
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} and {values[-1]}"
