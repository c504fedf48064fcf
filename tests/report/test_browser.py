"""The page in a real browser: no errors, no network, quick tables, hostile names as text."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamsieve.report import write_report

from .samples import HOSTILE, make_comparison, make_record

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
N_FEATURES = 100_000
MAX_USUAL_BYTES, MAX_BYTES = 2_000_000, 6_000_000  # bytes of a page
REASON = "NO BROWSER TESTS of the report: {}; `make browser` installs Debian's chromium, as root"

playwright = pytest.importorskip(
    "playwright.sync_api",
    reason=REASON.format("playwright is not installed (pip install 'streamsieve[dev]')"),
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason=REASON.format("there is no chromium on this machine")
)


class Visit:
    """A page that was opened, with what it said and what it asked for."""

    def __init__(self, context: Any, path: Path) -> None:
        self.page = context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def requests(self) -> list[str]:
        """Return requests for anything but the page; figures being saved are part of the page."""
        return [url for url in self.asked[1:] if not url.startswith(("data:", "blob:"))]

    def names(self, table: str) -> list[str]:
        """Return the features in the visible rows of a table."""
        cells: list[str] = self.page.locator(f"#{table} tr.line td:nth-child(2)").all_inner_texts()
        return cells


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the pages that all tests use, by name."""
    folder = tmp_path_factory.mktemp("pages")
    names = [f"word {number:06d}" for number in range(N_FEATURES)]
    sources = {
        "run": make_record([f"word {number}" for number in range(60)]),
        "comparison": make_comparison(),
        "hostile": make_record(HOSTILE),
        "many": make_record(names),
        "both": [make_record(), make_comparison(("one",))],
    }
    return {name: write_report(source, folder / f"{name}.html") for name, source in sources.items()}


@pytest.fixture
def visit(browser: Any, pages: dict[str, Path]) -> Iterator[Any]:
    """Open pages by name; at the end check for errors and requests."""
    visits: list[Visit] = []
    contexts = []

    def open_page(name: str, **options: Any) -> Visit:
        contexts.append(
            browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        )
        visits.append(Visit(contexts[-1], pages[name]))
        return visits[-1]

    yield open_page
    for page_visit in visits:
        assert page_visit.said == []
        assert page_visit.requests() == []
    for context in contexts:
        context.close()


def test_every_picture_of_a_run_has_marks(visit: Any) -> None:
    page = visit("run").page
    for name in ("weights", "scores", "curve", "mistakes", "stays", "moves", "cost"):
        marks = page.locator(f"#picture-run-1-{name} svg.chart .mark")
        assert marks.count() > 1, name
        assert marks.first.get_attribute("data-tip")
    assert (
        page.locator("h1").inner_text()
        == "With 60 of 600 features, 91.0% of the test rows are predicted correctly."
    )
    assert "chosen: 60" in page.locator("#picture-run-1-curve").inner_text()


def test_every_picture_of_a_comparison_has_marks(visit: Any) -> None:
    page = visit("comparison").page
    for name in ("k-1", "k-3", "time-1", "time-3", "ranks"):
        assert page.locator(f"#picture-comparison-1-{name} svg.chart .mark").count() > 1, name
    bold = page.locator("#table-comparison-1-results td.best").all_inner_texts()
    assert len(bold) == 9  # the first method wins on every line
    assert "it did not converge" in page.locator("#comparison-1-failed").inner_text()


def test_a_table_sorts_by_any_column_and_says_so(visit: Any) -> None:
    seen = visit("run")
    page, score = seen.page, seen.page.locator("#table-run-1-features th", has_text="Score")
    assert score.get_attribute("aria-sort") == "none"
    best = seen.names("table-run-1-features")[0]
    page.locator("#table-run-1-features th", has_text="Feature").get_by_role("button").click()
    assert seen.names("table-run-1-features")[:3] == [
        "word 0",
        "word 1",
        "word 2",
    ]  # numbers by their size
    score.get_by_role("button").click()
    assert score.get_attribute("aria-sort") == "descending"
    assert seen.names("table-run-1-features")[0] == best
    score.get_by_role("button").click()
    assert score.get_attribute("aria-sort") == "ascending"
    page.locator("#table-run-1-features .scroller").evaluate(
        "box => { box.scrollTop = box.scrollHeight; }"
    )
    playwright.expect(page.locator("#table-run-1-features")).to_contain_text(best)
    assert seen.names("table-run-1-features")[-1] == best


def test_a_table_is_filtered_by_text_and_by_class(visit: Any) -> None:
    seen = visit("run")
    seen.page.locator("#table-run-1-features input").fill("WORD 1")
    assert seen.page.locator("#table-run-1-features .count").inner_text() == "11 of 60 features"
    seen.page.locator("#table-run-1-features select").select_option(label="hockey")
    names = seen.names("table-run-1-features")
    assert 0 < len(names) < 11
    assert all(name.startswith("word 1") for name in names)
    seen.page.locator("#table-run-1-features input").fill("no such word")
    assert "Nothing fits" in seen.page.locator("#table-run-1-features tbody").inner_text()


def test_a_long_table_has_few_rows_in_the_page(visit: Any, pages: dict[str, Path]) -> None:
    seen = visit("many")
    page = seen.page
    assert pages["many"].stat().st_size < MAX_BYTES
    assert pages["run"].stat().st_size < MAX_USUAL_BYTES
    assert page.locator("tr.line").count() < 60
    page.locator("#table-run-1-features th", has_text="Feature").get_by_role("button").click()
    page.locator("#table-run-1-features .scroller").evaluate(
        "box => { box.scrollTop = box.scrollHeight; }"
    )
    playwright.expect(page.locator("#table-run-1-features")).to_contain_text("word 099999")
    assert page.locator("tr.line").count() < 60
    page.locator("#table-run-1-features input").fill("word 04321")
    assert seen.names("table-run-1-features") == [f"word 04321{digit}" for digit in range(10)]


def test_hostile_names_are_text_and_nothing_else(visit: Any) -> None:
    seen = visit("hostile")
    page = seen.page
    assert page.evaluate("window.harmed === undefined")
    shown = " ".join(seen.names("table-run-1-features"))
    for text in (
        "<script>window.harmed = 1</script>",
        '"><img src=x onerror=',
        r"\x1b[31mred\x1b[0m\x07",
        "שלום עולם",
    ):
        assert text in shown
    assert "{{script}}" in shown
    assert (
        page.locator("main img, main iframe, main script:not([type='application/json'])").count()
        == 0
    )
    page.get_by_role("cell", name=HOSTILE[0], exact=True).hover()
    assert page.locator("#tip").inner_text() == HOSTILE[0]
    assert page.locator("#table-run-1-features td bdi").count() > 0


def test_hover_and_arrow_keys_show_what_a_mark_is(visit: Any) -> None:
    page = visit("run").page
    mark = page.locator("#picture-run-1-weights .mark").first
    mark.hover()
    assert page.locator("#tip").inner_text() == mark.get_attribute("data-tip")
    chart = page.locator("#picture-run-1-weights svg.chart")
    page.mouse.move(0, 0)
    chart.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("#picture-run-1-weights .mark.current").count() == 1
    assert page.locator("#tip").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_pictures_are_saved_as_svg_and_png(visit: Any) -> None:
    page = visit("run").page
    files = {}
    for kind in ("svg", "png"):
        with page.expect_download() as download:
            page.locator(f"#picture-run-1-curve button[data-save={kind}]").click()
        assert download.value.suggested_filename == f"run-1-curve.{kind}"
        files[kind] = Path(download.value.path()).read_bytes()
    assert files["png"].startswith(b"\x89PNG")
    assert ElementTree.fromstring(files["svg"]).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"var(" not in files["svg"]  # other programs do not know the page's colours
    assert b"<title" not in files["svg"] or b"data-tip" not in files["svg"]


def test_light_and_dark_follow_the_system_and_the_switch(visit: Any) -> None:
    page = visit("run", color_scheme="dark").page

    def brightness() -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in re.findall(r"\d+", colour)[:3])

    assert brightness() < 200
    page.get_by_role("button", name="Theme: auto").click()
    assert brightness() > 600
    page.get_by_role("button", name="Theme: light").click()
    assert brightness() < 200


@pytest.mark.parametrize("name", ["run", "comparison", "hostile", "both"])
def test_a_narrow_page_does_not_scroll_sideways(visit: Any, name: str) -> None:
    page = visit(name, viewport={"width": 390, "height": 800}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_on_paper_tables_are_complete_and_buttons_are_gone(visit: Any) -> None:
    seen = visit("run", color_scheme="dark")
    seen.page.emulate_media(media="print", color_scheme="dark")
    playwright.expect(seen.page.locator("#table-run-1-features tr.line")).to_have_count(60)
    assert seen.page.locator("button[data-save]:visible").count() == 0
    assert (
        seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    seen = visit("many")
    seen.page.emulate_media(media="print")
    playwright.expect(seen.page.locator("#table-run-1-features tr.line")).to_have_count(1000)
    assert (
        seen.page.locator("#table-run-1-features .count").inner_text()
        == "the first 1,000 of 100,000 features"
    )


def test_several_results_have_a_table_of_contents(visit: Any) -> None:
    page = visit("both").page
    assert page.locator("h1").inner_text() == "2 results"
    for link in page.locator("nav.contents a").all():
        assert page.locator(link.get_attribute("href")).count() == 1
    assert page.locator("nav.contents a.result").count() == 2


def test_the_page_forbids_the_network(visit: Any) -> None:
    page = visit("run").page
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy.startswith("default-src 'none';")
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    assert page.locator("[src], link, [href^=http]").count() == 0
