"""The colours of all pictures, for light and for dark backgrounds.

Eight colours for kinds of marks, after Okabe and Ito 2008. Their yellow and black, which are hard
to see on a light or dark background, are replaced by brown and grey. The colours can be
distinguished with the common forms of colour blindness.
"""

from __future__ import annotations

LIGHT = {
    "c1": "#0072b2",
    "c2": "#d55e00",
    "c3": "#009e73",
    "c4": "#cc79a7",
    "c5": "#e69f00",
    "c6": "#56b4e9",
    "c7": "#7a3b1d",
    "c8": "#4f545b",
    "ink": "#1f2328",
    "muted": "#5f6874",
    "grid": "#e4e7eb",
    "paper": "#ffffff",
}
DARK = {
    "c1": "#4a9fe8",
    "c2": "#f0773a",
    "c3": "#2cbf94",
    "c4": "#e79cc6",
    "c5": "#f2b840",
    "c6": "#9ad8f8",
    "c7": "#a16345",
    "c8": "#6b717b",
    "ink": "#e8ebf0",
    "muted": "#a3acb9",
    "grid": "#2d333c",
    "paper": "#15181d",
}
N_COLOURS = 8
