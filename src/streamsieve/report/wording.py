"""Write numbers as the report shows them."""

from __future__ import annotations

DASH = "\N{EN DASH}"  # for unknown values
MINUTES_FROM_SECONDS = 120.0  # longer times are written in minutes
UNITS = "B", "kB", "MB", "GB", "TB"


def percent(fraction: float | None) -> str:
    """Return a fraction as a percentage with one decimal."""
    return DASH if fraction is None else f"{100.0 * fraction:.1f}%"


def seconds(time: float | None) -> str:
    """Return a time with the digits that matter."""
    if time is None:
        return DASH
    if time >= MINUTES_FROM_SECONDS:
        return f"{time / 60.0:.1f} min"
    return (
        f"{time:.1f} s"
        if time >= 10.0
        else f"{time:.2f} s"
        if time >= 0.1
        else f"{1000.0 * time:.0f} ms"
    )


def size(n_bytes: float | None) -> str:
    """Return a number of bytes with its unit."""
    if n_bytes is None:
        return DASH
    steps = 0
    while n_bytes >= 1000 and steps < len(UNITS) - 1:
        n_bytes, steps = n_bytes / 1000, steps + 1
    return (
        f"{n_bytes:.0f} {UNITS[steps]}"
        if not steps or n_bytes >= 100
        else f"{n_bytes:.1f} {UNITS[steps]}"
    )


def plural(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def join_words(values: list[str]) -> str:
    """Return values as an English list: a, b and c."""
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} and {values[-1]}"
