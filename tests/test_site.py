"""The site: every public name has a page, every page is in the contents, every link works."""

from __future__ import annotations

import dataclasses
import doctest
import importlib.util
import inspect
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import streamsieve as ss
from tests.paths import ROOT

DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
ENTRY = re.compile(r"^[\w/-]+$", re.MULTILINE)
GENERATED = {"gallery/index"}  # pages of the gallery are made from its programs


def reference_pages() -> ModuleType:
    """Return the module that writes the pages of the reference."""
    path = DOCS / "_ext" / "reference_pages.py"
    spec = importlib.util.spec_from_file_location("reference_pages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages() -> list[Path]:
    outside = {"_build", "notes", "gallery", "generated"}
    return [path for path in sorted(DOCS.glob("**/*.md")) if not outside & set(path.parts)]


def test_every_public_name_has_a_reference_page() -> None:
    page = reference_pages().python_page()
    names = set(re.findall(r"^   streamsieve\.(\w+)$", page, re.MULTILINE))
    assert names == {name for name in ss.__all__ if not name.startswith("_")}


def test_every_page_is_in_the_contents() -> None:
    generated = {f"reference/{Path(name).stem}" for name in reference_pages().PAGES}
    listed = {"index"}
    for path in pages():
        folder = path.relative_to(DOCS).parent
        for block in re.findall(r"```\{toctree\}\n(.*?)```", path.read_text(), re.DOTALL):
            listed |= {os.path.normpath(folder / entry) for entry in ENTRY.findall(block)}
    present = {str(path.relative_to(DOCS).with_suffix("")) for path in pages()}
    assert listed == present | generated | GENERATED


def test_every_link_of_a_page_leads_to_a_file() -> None:
    generated = {DOCS / "reference" / name for name in reference_pages().PAGES}
    broken = []
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages()):
        for target in LINK.findall(path.read_text()):
            file = Path(os.path.normpath(path.parent / target))
            is_generated = file in generated or "generated" in file.parts or "gallery" in file.parts
            if "://" not in target and not is_generated and not file.exists():
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert not broken, "\n".join(broken)


METHOD_PAGES = [path for path in sorted((DOCS / "methods").glob("*.md")) if path.stem != "index"]


@pytest.mark.parametrize("path", METHOD_PAGES, ids=lambda path: path.stem)
def test_a_page_of_a_method_begins_with_an_example_and_ends_with_its_paper(path: Path) -> None:
    text = path.read_text()
    titles = re.findall(r"^## (.*)$|^\*\*([\w ]+)[.,*]", text, re.MULTILINE)
    names = [section or bold for section, bold in titles]
    before_example, example, _ = text.partition("```python")
    assert example
    assert len(before_example.splitlines()) <= 20
    assert not re.search(r"^## |^\*\*(Rule|Cost|Tests)", before_example, re.MULTILINE)
    assert names[-1] in ("Paper", "Papers")


ESTIMATORS = [name for name in ss.__all__ if hasattr(getattr(ss, name), "get_params")]


RESULTS = {"Selection": "selection", "RunRecord": "record", "Comparison": "comparison"}


def check_docstring(name: str, sections: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    """Run the example of a class; return its names, and the attributes in the docstring."""
    text = inspect.cleandoc(getattr(ss, name).__doc__ or "")
    for section in sections:
        assert re.search(rf"^{section}\n-+$", text, re.MULTILINE), f"{name}: no {section}"
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    results = doctest.DocTestRunner().run(example, clear_globs=False)
    assert results.failed == 0
    attributes = re.search(r"^Attributes\n-+\n(.*?)\n\n\w+\n-+$", text, re.MULTILINE | re.DOTALL)
    assert attributes is not None
    lines = re.findall(r"^(\w[\w, ]*) : ", attributes[1], re.MULTILINE)
    return example.globs, [attribute for line in lines for attribute in line.split(", ")]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_has_a_complete_docstring_whose_example_runs(name: str) -> None:
    names, attributes = check_docstring(
        name, ("Parameters", "Attributes", "References", "Examples")
    )
    for attribute in attributes:
        has_it = hasattr(names["selector"], attribute)
        assert has_it or attribute == "curve_", attribute  # of which none was asked for


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_has_all_its_attributes_in_a_docstring_whose_example_runs(name: str) -> None:
    names, attributes = check_docstring(name, ("Attributes", "Examples"))
    fields = {field.name for field in dataclasses.fields(getattr(ss, name))}
    properties = {
        key for key, value in vars(getattr(ss, name)).items() if isinstance(value, property)
    }
    assert set(attributes) == fields | properties
    assert all(hasattr(names[RESULTS[name]], attribute) for attribute in attributes)


OTHERS = [name for name in ss.__all__ if name[0] != "_" and name not in {*ESTIMATORS, *RESULTS}]


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_public_name_has_an_example_that_runs(name: str) -> None:
    text = inspect.cleandoc(getattr(ss, name).__doc__ or "")
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert example.examples, f"{name}: no example"
    assert doctest.DocTestRunner().run(example).failed == 0
