"""The glossary: every word has one meaning, names what exists, and is used with that meaning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.test_site import reference_pages

DOCS, SOURCE = ROOT / "docs", ROOT / "src" / "streamsieve"
GLOSSARY = DOCS / "reference" / "glossary.md"
ENTRY = re.compile(r"^\| \*\*([^*]+)\*\* \| (.*) \|$", re.MULTILINE)
BOLD = re.compile(r"\*\*([^*]+)\*\*")
CODE = re.compile(r"`([^`]+)`")
LOCATED = re.compile(r"`([\w.]+)` in `([\w/]+\.py)`")
CLASS_NAME = re.compile(r"[A-Z]+[a-z]\w*")
# uses of a word with a meaning that the glossary does not give it, and the word to use instead
MISUSES = {
    r"\brows?\b[^.|]*\bscore[sd]?\b|\bscore[sd]?\b[^.|]*\brows?\b": "decision value",
    r"\bscores? of an? (?:method|row)\b|\bequal scores\b": "value, or decision value",
    r"\b(?:in|into|to) the memory\b(?! of)|\b[Oo]nly the memory\b": "learned state",
    r"\bempty cells?\b|\bcells? of a table\b|\breads a cell\b": "field",
    r"\b(?:cells?|rows) per (?:row|cell)\b": "entry",
    r"\b(?:[Tt]he|[Aa]) driver\b": "main process",
}
MARGIN = re.compile(r"(?<!\bthe )(?<!hypothesis )\bmargins?\b")
ON_LOCAL_LEARNING = {"local-learning.md"}


def tables() -> list[list[tuple[str, str]]]:
    """Return the words and definitions of every table."""
    return [ENTRY.findall(part) for part in GLOSSARY.read_text().split("\n## ")[1:]]


def entries() -> list[tuple[str, str]]:
    return [entry for table in tables() for entry in table]


def sentences(path: Path) -> str:
    """Return the prose of a page in one line per paragraph, without code."""
    text = re.sub(r"^```.*?^```|^    .*?$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"!\[[^\]]*\]|`[^`]*`|\]\([^)]*\)|<!--.*?-->", " ", text)
    return re.sub(r"(?<!\n)\n(?![\n|#-])", " ", text)


def pages() -> list[Path]:
    """Return the pages that are written by hand, but the glossary."""
    outside = {"_build", "notes", "gallery", "generated"}
    made = {DOCS / "reference" / name for name in reference_pages().PAGES}
    return [
        path
        for path in sorted(DOCS.glob("**/*.md"))
        if not outside & set(path.parts) and path not in {GLOSSARY, *made}
    ]


def test_every_line_of_a_table_is_an_entry() -> None:
    assert len(entries()) == GLOSSARY.read_text().count("\n| **")


def test_every_word_is_defined_once_also_within_definitions() -> None:
    words = [word for word, _ in entries()]
    words += [word for _, definition in entries() for word in BOLD.findall(definition)]
    assert sorted(words) == sorted(set(words))


def test_the_words_of_a_table_are_in_alphabetical_order() -> None:
    for table in tables():
        words = [word.lower() for word, _ in table]
        assert words == sorted(words)


def test_every_file_and_folder_named_exists() -> None:
    missing = [
        f"{word}: {path}"
        for word, definition in entries()
        for path in CODE.findall(definition)
        if re.fullmatch(r"[\w/]+(\.py|/)", path)
        and not (SOURCE / path).exists()
        and not (path.startswith("tests/") and (ROOT / path).exists())
    ]
    assert not missing, "\n".join(missing)


def test_every_identifier_is_in_the_file_that_is_named_for_it() -> None:
    missing = []
    for word, definition in entries():
        for name, path in LOCATED.findall(definition):
            text = (SOURCE / path).read_text()
            if not all(re.search(rf"\b{part}\b", text) for part in name.split(".")):
                missing.append(f"{word}: {name} is not in {path}")
    assert not missing, "\n".join(missing)


def test_every_class_named_is_in_the_source() -> None:
    source = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    for word, definition in entries():
        for name in CODE.findall(definition):
            if CLASS_NAME.fullmatch(name):
                assert re.search(rf"^class {name}\b", source, re.MULTILINE), f"{word}: {name}"


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.stem)
def test_words_of_two_meanings_are_used_with_that_of_the_glossary(path: Path) -> None:
    wrong = []
    for line in sentences(path).splitlines():
        for pattern, better in MISUSES.items():
            if match := re.search(pattern, line):
                wrong.append(f"{match[0]!r} in {line[:80]!r}; better: {better}")
        if path.name not in ON_LOCAL_LEARNING and (match := MARGIN.search(line)):
            wrong.append(f"{line[max(0, match.start() - 40) : match.end()]!r}: which margin?")
    assert not wrong, "\n".join(wrong)


def test_cells_are_those_of_max_cells_or_of_a_comparison() -> None:
    for path in pages():
        text = path.read_text()
        if re.search(r"\bcells?\b", sentences(path)):
            assert re.search(r"max_cells|fixed memory|comparison cell", text), path
