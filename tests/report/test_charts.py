"""Charts as SVG: well-formed for any names and numbers, marks in place, separate labels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamsieve.colours import DARK, LIGHT
from streamsieve.report import charts
from streamsieve.report.charts.svg import fit_to_width, width_of

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    "\"quotes\" & 'more' ]]> -->",
    "\x1b[31mred\x1b[0m\x00\nforged",
    "שלום עולם",
    "right\u202eleft",
    "日本語の特徴量の名前はとても長いです",
    "n" * 5000,
    "\ud800 \ufffe \uffff",
    "",
]
NUMBER = re.compile(r"-?\d+(\.\d+)?")
SIZES = {"tick": 12.0, "name": 12.0, "small": 10.5, "number": 9.0}


def parse(svg: str) -> ElementTree.Element:
    """Return a chart, after checks of its form, its numbers and the titles of its marks."""
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("class") == "chart"
    assert root.get("aria-label")
    for element in root.iter():
        for key, value in element.attrib.items():
            if key in ("class", "data-tip", "aria-label", "role", "data-size"):
                continue
            bare = re.sub(r"[MLHVZhvl ]", " ", value) if key == "d" else value
            assert all(NUMBER.fullmatch(part) for part in bare.split()), (key, value)
        if "mark" in (element.get("class") or "").split():
            title = element.find(f"{SVG}title")
            assert title is not None
            assert title.text == element.get("data-tip")
        assert not re.search(
            "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]",
            (element.text or "") + element.get("data-tip", ""),
        )
    return root


def parse_file(text: str) -> ElementTree.Element:
    """Return a file of charts, which must be well-formed and need no style sheet."""
    assert "var(" not in text
    assert "<script" not in text
    return ElementTree.fromstring(text.encode())


def marks(svg: str) -> list[ElementTree.Element]:
    return [
        element for element in parse(svg).iter() if "mark" in (element.get("class") or "").split()
    ]


def coordinates_of(element: ElementTree.Element, *keys: str) -> tuple[float, ...]:
    return tuple(float(element.get(key, "nan")) for key in keys)


Box = tuple[float, float, float, float]


def text_boxes(svg: str) -> list[tuple[str, Box]]:
    """Return the approximate boxes of the texts of a chart."""
    boxes = []
    for element in parse(svg).iter(f"{SVG}text"):
        kinds, text = (element.get("class") or "").split(), element.text or ""
        size = next((SIZES[kind] for kind in kinds if kind in SIZES), 13.0)
        (x, y), width = coordinates_of(element, "x", "y"), width_of(text, size)
        left = x - width if "end" in kinds else x - width / 2 if "middle" in kinds else x
        boxes.append((text, (left, y - 0.72 * size, left + width, y + 0.2 * size)))
    return boxes


def assert_apart(svg: str) -> None:
    """Check that no two texts of a chart touch, and that none leaves the page."""
    width = float(parse(svg).get("viewBox", "").split()[2])
    boxes = text_boxes(svg)
    for text, box in boxes:
        assert box[0] >= -1, text
        assert box[2] <= width + 1, text
    for (text_a, a), (text_b, b) in combinations(boxes, 2):
        assert not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]), (text_a, text_b)


def curve(name: str, x: Sequence[Any], y: Sequence[Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "x": x, "y": y, **more}


def every_chart(name: str, number: Any, other: Any) -> list[str]:
    """Return each chart, of two items with a name and these numbers."""
    items = [
        {"name": name, "value": number, "group": name, "tip": name},
        {"name": "b", "value": other, "group": "b"},
    ]
    points = [
        {"name": name, "x": number, "y": other, "group": name, "tip": name},
        {"name": "b", "x": 1, "y": number},
    ]
    series = curve(
        name, [number, 2, 3], [other, number, 1], low=[0, other, None], high=[1, number, None]
    )
    return [
        charts.line_chart([series, curve("b", [1], [other])], x_title=name, y_title=name),
        charts.line_chart(
            [series],
            x_title="",
            y_title="",
            log_x=True,
            percent=True,
            marked={"x": other, "label": name},
        ),
        charts.scatter(points, x_title=name, y_title="y"),
        charts.scatter(points, x_title=name, y_title="y", log_x=True, percent=True),
        charts.bar_chart(items, signed=True, x_title=name),
        charts.bar_chart([{"name": name, "value": number}]),
        charts.heat_map([name, "b", "c"], [[1, number, other]] * 3, title=name),
        charts.heat_map([name, "b"], [[1, number], [other, 1]]),
        charts.timeline(
            [{"name": name, "selected": False, "stays": [[0, 5], [6, 7]]}], x_title=name, end=7
        ),
        charts.critical_difference(
            {name: number, "b": 1.5, "c": 2, "d": other}, other, [[name, "b"], ["c", "d", "no"]]
        ),
    ]


odd_numbers = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(10**400), 10**400),
    st.sampled_from([5e-324, -1e308, 1e300, 1e-300, 0.1 + 0.2, 1 - 1e-16]),
)


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(), max_size=20), odd_numbers, odd_numbers)
def test_any_names_and_numbers_give_a_well_formed_picture(
    name: str, number: Any, other: Any
) -> None:
    for svg in every_chart(name, number, other):
        parse(svg)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name: str) -> None:
    for svg in every_chart(name, 1, 2):
        assert "<script" not in svg
        assert parse_file(charts.standalone([(name, svg)]))
        assert_apart(svg)


def test_a_tip_has_the_name_on_one_line() -> None:
    (mark,) = marks(charts.bar_chart([{"name": "<b>&\"\n'", "value": 3, "tip": "class a\n"}]))
    assert mark.get("data-tip") == "<b>&\"\\n'\n3\nclass a\\n"


def test_without_values_a_chart_says_so() -> None:
    nothing = [
        charts.line_chart([], x_title="k", y_title="accuracy"),
        charts.line_chart([curve("a", [0], [1])], x_title="k", y_title="accuracy", log_x=True),
        charts.scatter([{"name": "a", "x": math.nan, "y": 1}], x_title="x", y_title="y"),
        charts.bar_chart([{"name": "a", "value": math.inf}]),
        charts.heat_map(["only one"], [[1]]),
        charts.timeline([], x_title="rows", end=10),
        charts.critical_difference({"a": 1}, 1, []),
    ]
    for svg in nothing:
        assert not marks(svg)
        (text,) = parse(svg).iter(f"{SVG}text")
        assert text.text


def test_points_of_a_curve_are_where_their_values_are() -> None:
    svg = charts.line_chart(
        [curve("a", [0, 5, 10], [0, 0.5, 1])], x_title="k", y_title="accuracy", percent=True
    )
    # left: "100%" of 12 * (3 * 0.59 + 0.95) = 32.64, 8 before the plot, 6 within it; right: 480 -
    # 14 - 6; 24 above 220
    assert [coordinates_of(mark, "cx", "cy") for mark in marks(svg)] == [
        (46.6, 244),
        (253.3, 134),
        (460, 24),
    ]
    assert marks(svg)[1].get("data-tip") == "a\nk: 5\naccuracy: 50.00%"
    assert 'd="M46.6 244L253.3 134L460 24"' in svg
    stepped = charts.line_chart(
        [curve("a", [0, 10], [0, 1])], x_title="k", y_title="y", percent=True, step=True
    )
    assert 'd="M46.6 244H460V24"' in stepped


def test_missing_values_are_skipped_and_order_does_not_matter() -> None:
    svg = charts.line_chart(
        [curve("a", [3, None, 1, 2], [4, 1, math.nan, 8])], x_title="x", y_title="y"
    )
    assert [mark.get("data-tip", "").split("\n")[1:] for mark in marks(svg)] == [
        ["x: 2", "y: 8"],
        ["x: 3", "y: 4"],
    ]


def test_few_points_have_whiskers_and_many_a_band() -> None:
    def drawn(n: int) -> str:
        x = list(range(n))
        series = curve("a", x, x, low=[i - 1 for i in x], high=[i + 1 for i in x])
        return charts.line_chart([series], x_title="x", y_title="y")

    assert drawn(5).count('class="whisker s1"') == 5
    assert "a1" not in drawn(5)
    assert drawn(50).count('class="a1"') == 1
    assert "whisker" not in drawn(50)


def test_the_automatic_choice_is_marked() -> None:
    svg = charts.line_chart(
        [curve("a", [1, 10, 100], [1, 2, 3])],
        x_title="k",
        y_title="y",
        log_x=True,
        marked={"x": 10, "label": "chosen: 10"},
    )
    (line,) = [
        element for element in parse(svg).iter(f"{SVG}line") if element.get("class") == "chosen"
    ]
    assert coordinates_of(line, "x1") == coordinates_of(marks(svg)[1], "cx")
    assert "chosen: 10" in [text for text, _ in text_boxes(svg)]
    assert svg.count('class="ring"') == 1


def test_bars_are_as_long_as_their_values() -> None:
    svg = charts.bar_chart(
        [{"name": "a", "value": 10}, {"name": "b", "value": 5}, {"name": "c", "value": math.nan}]
    )
    # names take 13 * 0.59 = 7.67 and 10 more; the rest up to 480 - 14 is of 0 to 10
    assert [coordinates_of(mark, "x", "y", "width") for mark in marks(svg)] == [
        (17.7, 4.5, 448.3),
        (17.7, 24.5, 224.2),
    ]
    below, above = marks(
        charts.bar_chart([{"name": "a", "value": -1}, {"name": "b", "value": 1}], signed=True)
    )
    assert coordinates_of(below, "x")[0] + coordinates_of(below, "width")[0] == pytest.approx(
        coordinates_of(above, "x")[0], abs=0.2
    )
    assert (below.get("class"), above.get("class")) == ("mark f2", "mark f1")


def test_groups_have_colours_and_a_legend() -> None:
    items = [{"name": str(i), "value": i, "group": "ab"[i % 2]} for i in range(1, 5)]
    svg = charts.bar_chart(items)
    assert [mark.get("class") for mark in marks(svg)] == ["mark f1", "mark f2"] * 2
    assert [text for text, _ in text_boxes(svg)][:2] == ["b", "a"]


def test_a_long_curve_has_few_marks() -> None:
    n = 400
    line = charts.line_chart(
        [curve("a", range(n), [math.sin(i) * i for i in range(n)])], x_title="x", y_title="y"
    )
    assert len(marks(line)) == 80
    assert len(line) < 40_000


def test_a_heat_map_has_a_cell_per_pair_and_its_colour() -> None:
    svg = charts.heat_map(
        ["a", "b", "c"], [[1, 9, 9], [-0.5, 1, 9], [None, 0.25, 1]], title="correlation"
    )
    cells = marks(svg)
    assert [cell.get("data-tip") for cell in cells] == [
        "b\na\n-0.5",
        "c\na\nno value",
        "c\nb\n0.25",
    ]
    assert [cell.get("class") for cell in cells] == ["mark below", "mark empty", "mark above"]
    assert [cell.get("fill-opacity") for cell in cells] == ["0.50", None, "0.25"]
    a, b = coordinates_of(cells[0], "x", "y"), coordinates_of(cells[2], "x", "y")
    assert (b[0] - a[0], b[1] - a[1]) == (42, 42)


def test_spans_of_features_that_stayed_and_that_left() -> None:
    rows = [
        {"name": "stays", "selected": True, "stays": [[0, 25], [50, 100]]},
        {"name": "left", "selected": False, "stays": [[25, 75]]},
    ]
    svg = charts.timeline(rows, x_title="rows", end=100)
    first, second, third = marks(svg)
    # names take 12 * (0.59 * 3 + 2 * 0.34) rounded, 10 more, up to 466: 0 to 100
    start, stop = coordinates_of(first, "x")[0], 466.0
    assert coordinates_of(second, "x", "width") == pytest.approx(
        ((start + stop) / 2, (stop - start) / 2), abs=0.1
    )
    assert coordinates_of(third, "x", "width") == pytest.approx(
        (start + (stop - start) / 4, (stop - start) / 2), abs=0.1
    )
    assert [mark.get("class") for mark in (first, second, third)] == [
        "mark f1",
        "mark f1",
        "mark gone",
    ]
    assert second.get("data-tip") == "stays\nrows: 50 to 100"


def test_a_critical_difference_is_drawn_to_scale() -> None:
    svg = charts.critical_difference(
        {"a": 1.0, "b": 2.0, "c": 3.0}, 1.0, [["a", "b"], ["c"], ["b", "c"]]
    )
    root = parse(svg)
    ticks = {text: (box[0] + box[2]) / 2 for text, box in text_boxes(svg) if text in "123"}
    assert ticks["2"] == pytest.approx((ticks["1"] + ticks["3"]) / 2, abs=0.1)
    assert ticks["1"] > ticks["2"] > ticks["3"]  # the best at the right
    rules = [
        coordinates_of(element, "x1", "y1", "x2", "y2")
        for element in root.iter(f"{SVG}line")
        if element.get("class") == "rule"
    ]
    bracket = rules[0]
    assert bracket[2] - bracket[0] == pytest.approx(ticks["1"] - ticks["2"], abs=0.2)
    bars = [
        coordinates_of(mark, "x1", "x2", "y1")
        for mark in marks(svg)
        if mark.get("class") == "mark clique"
    ]
    assert [bar[:2] for bar in bars] == [
        pytest.approx((ticks["2"] - 5, ticks["1"] + 5), abs=0.2),
        pytest.approx((ticks["3"] - 5, ticks["2"] + 5), abs=0.2),
    ]
    assert bars[0][2] != bars[1][2]  # or they would be read as one
    paths = [mark.get("d", "") for mark in marks(svg) if mark.tag == f"{SVG}path"]
    assert [float(path[1:].split(" ")[0]) for path in paths] == pytest.approx(
        [ticks["1"], ticks["2"], ticks["3"]], abs=0.1
    )


@pytest.mark.parametrize("n", range(2, 16))
@pytest.mark.parametrize("ranks", [lambda i: i + 1.0, lambda i: 1.5 + i / 100, lambda i: 1.5])
def test_labels_of_methods_do_not_touch(n: int, ranks: Callable[[int], float]) -> None:
    names = [f"a method of a long name {i}" if i % 2 else f"m{i}" for i in range(n)]
    assert_apart(
        charts.critical_difference(
            {name: ranks(i) for i, name in enumerate(names)}, 2.5, [names[:3], names[2:]]
        )
    )


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 12), st.floats(0.01, 1e6), st.booleans(), st.booleans(), st.integers(0, 2**32)
)
def test_texts_of_plots_do_not_touch(
    n: int, scale: float, log_x: bool, percent: bool, seed: int
) -> None:
    values = [
        [((seed * 31 + 7 * i + 13 * j) % 101) / 101 * scale for j in range(5)] for i in range(n)
    ]
    ks = [1 + ((seed + j) % 7) * 10**j for j in range(5)]
    series = [curve(f"method {i}", ks, values[i]) for i in range(n)]
    marked = {"x": ks[-1], "label": "chosen: many features"}
    titles = {"x_title": "selected features", "y_title": "accuracy"}
    assert_apart(charts.line_chart(series, **titles, log_x=log_x, percent=percent, marked=marked))
    points = [
        {"name": f"method {i}", "x": values[i][0], "y": values[i][1], "group": i} for i in range(n)
    ]
    assert_apart(charts.scatter(points, **titles, log_x=log_x, percent=percent))
    assert_apart(charts.scatter([point | {"group": None} for point in points], **titles))
    bars = [
        {"name": point["name"], "value": point["x"] - scale / 2, "group": i % 3}
        for i, point in enumerate(points)
    ]
    assert_apart(charts.bar_chart(bars, signed=True, x_title="weight"))


def test_colours_are_those_of_the_page_or_of_the_file() -> None:
    svg = charts.bar_chart([{"name": "a", "value": 1}])
    assert not re.search("#[0-9a-f]{3}", svg)
    for name, light, dark in zip(LIGHT, LIGHT.values(), DARK.values(), strict=True):
        assert f"--{name}:{light}" in charts.CSS
        assert f"--{name}:{dark}" in charts.CSS


def test_charts_in_a_file_are_below_their_titles() -> None:
    bars = charts.bar_chart([{"name": "a", "value": 1}])
    ranks = charts.critical_difference({"a": 1, "b": 2}, 1, [])
    root = parse_file(charts.standalone([("first & <best>", bars), ("second", ranks)]))
    assert root.get("aria-label") == "first & <best>; second"
    assert root.get("width") == "564"  # 540, and 12 to either side
    first, second = root.findall(f"{SVG}svg")
    assert coordinates_of(first, "x", "y", "width") == (12, 34, 480)
    assert coordinates_of(second, "y") == (
        coordinates_of(first, "y")[0] + coordinates_of(first, "height")[0] + 34,
    )
    assert float(root.get("height", "")) == pytest.approx(
        coordinates_of(second, "y")[0] + coordinates_of(second, "height")[0] + 12
    )
    texts = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "strong"]
    assert texts == ["first & <best>", "second"]
    assert LIGHT["c1"] in (root.findtext(f"{SVG}style") or "")


def test_logarithmic_axes_have_ticks_at_decades() -> None:
    def labels(svg: str) -> list[str]:
        return [
            text.text or ""
            for text in parse(svg).iter(f"{SVG}text")
            if text.get("class") == "tick middle"
        ]

    wide = charts.line_chart([curve("a", [1, 10**7], [0, 1])], x_title="k", y_title="", log_x=True)
    assert labels(wide) == ["1", "10", "100", "1,000", "10,000", "100k", "1M", "10M"]
    narrow = charts.line_chart(
        [curve("a", [10, 200], [0, 1])], x_title="k", y_title="y", log_x=True
    )
    assert labels(narrow) == ["10", "20", "50", "100", "200"]
    within = charts.line_chart(
        [curve("a", [110, 170], [0, 1])], x_title="k", y_title="y", log_x=True
    )
    assert labels(within) == ["110", "120", "130", "140", "150", "160", "170"]


def test_long_names_are_cut_and_in_full_in_the_tip() -> None:
    name = "a feature with a name that takes more room than there is " * 2
    short = fit_to_width(name, 100)
    assert width_of(short) <= 100
    assert "…" in short
    svg = charts.bar_chart([{"name": name, "value": 1}])
    assert marks(svg)[0].get("data-tip", "").startswith(name)
    assert f"<title>{name}</title></text>" in svg
