"""The palette: it is legible on its background, and distinguishable with colour blindness."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from streamsieve.colours import DARK, LIGHT, N_COLOURS

# What is seen of red, green and blue light without one kind of cones: Machado, Oliveira and
# Fernandes 2009.
SEEN = {
    "all colours": np.eye(3),
    "no red cones": np.array(
        [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]]
    ),
    "no green cones": np.array(
        [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]
    ),
    "no blue cones": np.array(
        [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> NDArray[np.float64]:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return linear red, green and blue as CIE L*a*b*, in which a difference of 10 is obvious."""
    xyz = TO_XYZ @ np.clip(light, 0, 1) / (TO_XYZ @ np.ones(3))
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def contrast(first: str, second: str) -> float:
    """Return the ratio of luminances of two colours, by the rules of WCAG 2.1."""
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (first, second))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_texts_and_marks_can_be_read_on_their_paper(colours: dict[str, str]) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast(colours["ink"], colours["paper"]) > 12
    assert contrast(colours["muted"], colours["paper"]) > 4.5
    assert all(contrast(colours[f"c{i}"], colours["paper"]) > 2 for i in range(1, N_COLOURS + 1))


@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_no_two_colours_look_alike(colours: dict[str, str], eyes: str) -> None:
    seen = [lab(SEEN[eyes] @ linear(colours[f"c{i}"])) for i in range(1, N_COLOURS + 1)]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 12
