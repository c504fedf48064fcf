"""How charts look: one style sheet, for pages that follow the reader's light or dark setting and for single files."""

from __future__ import annotations

import re

from ...colours import DARK, LIGHT, N_COLOURS

FONTS = '-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans","Noto Sans",system-ui,sans-serif'


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


def _kinds() -> str:
    """The classes of marks of each colour: filled (f1), light (a1, for bands) and drawn (s1)."""
    return "".join(
        f".chart .f{i}{{fill:var(--c{i})}}.chart .a{i}{{fill:var(--c{i});fill-opacity:.16}}"
        f".chart .s{i}{{stroke:var(--c{i});fill:none}}\n"
        for i in range(1, N_COLOURS + 1)
    )


THEME = f""":root{{{_variables(LIGHT)}}}
@media (prefers-color-scheme:dark){{:root:not([data-theme="light"]){{{_variables(DARK)}}}}}
:root[data-theme="dark"]{{{_variables(DARK)}}}
@media print{{:root,:root:not([data-theme="light"]),:root[data-theme="dark"]{{{_variables(LIGHT)}}}}}
"""

MARKS = f""".chart{{display:block;width:100%;height:auto;max-width:640px;overflow:visible;fill:var(--ink);\
font-family:{FONTS};font-size:13px;font-variant-numeric:tabular-nums}}
.chart[data-size="wide"]{{min-width:560px;max-width:740px}}
.chart[data-size="huge"]{{min-width:880px;max-width:1400px}}
@media print{{.chart[data-size]{{min-width:0}}}}
.chart text{{fill:var(--ink)}}
.chart .muted{{fill:var(--muted)}}
.chart .tick{{fill:var(--muted);font-size:12px}}
.chart .name{{font-size:12px}}
.chart .small{{font-size:10.5px;fill:var(--muted)}}
.chart .number{{font-size:9px;fill:var(--muted);text-anchor:middle}}
.chart .strong{{font-weight:600}}
.chart .middle{{text-anchor:middle}}
.chart .end{{text-anchor:end}}
.chart .grid{{stroke:var(--grid);stroke-width:1}}
.chart .axis{{stroke:var(--muted);stroke-width:1}}
.chart .rule{{stroke:var(--ink);stroke-width:1.2}}
.chart .chosen{{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:4 3}}
.chart .ring{{stroke:var(--ink);stroke-width:1.6;fill:none}}
.chart .lead{{stroke-width:1;stroke-opacity:.6}}
.chart .curve{{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}}
.chart .d1{{stroke-dasharray:6 4}}
.chart .d2{{stroke-dasharray:2 4}}
.chart .d3{{stroke-dasharray:8 3 2 3}}
.chart .whisker{{stroke-width:1.2;stroke-opacity:.75}}
.chart .dot{{stroke:var(--paper);stroke-width:1}}
.chart .many{{stroke:none;fill-opacity:.6}}
.chart .step{{shape-rendering:crispEdges}}
.chart .hit{{opacity:0}}
.chart .hit:hover,.chart .hit:focus{{opacity:1}}
.chart .mark:hover{{stroke:var(--ink);stroke-width:1.5}}
.chart .clique{{stroke:var(--ink);stroke-width:4;stroke-linecap:round;stroke-opacity:.75}}
.chart .lead-line{{fill:none;stroke:var(--muted);stroke-width:1.2}}
.chart .empty{{fill:none;stroke:var(--grid);stroke-dasharray:4 4}}
.chart .blank{{fill:var(--grid);fill-opacity:.5}}
.chart .gone{{fill:var(--c8);fill-opacity:.45}}
.chart .below{{fill:var(--c2)}}
.chart .above{{fill:var(--c1)}}
.chart .on-mark{{fill:var(--paper)}}
.chart .paper{{fill:var(--paper)}}
"""

CSS = THEME + MARKS + _kinds()
OPENING = re.compile(r'<svg class="chart"[^>]*? viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
MARGIN = 12  # around a chart in a file of its own
VARIABLE = re.compile(r"var\(--([a-z0-9]+)\)")


def standalone(svg: str, dark: bool = False) -> str:
    """A chart as a file of its own: with its size, its paper and its style, in colours that every viewer knows."""
    colours = DARK if dark else LIGHT
    found = OPENING.match(svg)
    if found is None:
        raise ValueError("standalone takes what a function of streamsieve.report.charts returned")
    width, height = (float(size) + 2 * MARGIN for size in found.groups())
    style = VARIABLE.sub(lambda name: colours[name[1]], MARKS + _kinds())
    box = f"{-MARGIN} {-MARGIN} {width:g} {height:g}"
    opening = re.sub(
        'viewBox="[^"]+"', f'viewBox="{box}" width="{width:g}" height="{height:g}"', svg[: svg.index(">") + 1]
    )
    paper = f'<rect class="paper" x="{-MARGIN}" y="{-MARGIN}" width="{width:g}" height="{height:g}"/>'
    rest = svg[svg.index(">") + 1 :]
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{opening}\n<style>{style}</style>\n{paper}{rest}\n'
