"""Charts as inline SVG: text from plain data, without scripts and dependencies.

Every function returns one ``<svg class="chart">``, the same text for the same data. Colours are
variables of the page's style sheet (``CSS``), so that a chart follows light and dark themes;
``standalone`` combines charts in one file. Elements that show a tip have the class ``mark`` and its
text in ``data-tip``.
"""

from .bars import bar_chart, sparkline, timeline
from .heat import heat_map
from .plots import line_chart, scatter
from .ranks import critical_difference
from .svg import CSS, standalone

__all__ = [
    "CSS",
    "bar_chart",
    "critical_difference",
    "heat_map",
    "line_chart",
    "scatter",
    "sparkline",
    "standalone",
    "timeline",
]
