"""The words of the source: names, docstrings and messages that a stranger reads once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.paths import ROOT

SOURCE = ROOT / "src" / "streamsieve"
NAMES = {
    "known": "say what is known: names, previous, expected",
    "found": "say what was found: matches, column, result",
    "one": "the noun of what it is: column, record, item",
    "own": "say whose: own_id is a name, own is none",
    "there": "present, available",
    "mine": "say whose",
}
LIMITS = {"MOST": "MAX_", "LARGEST": "MAX_", "LONGEST": "MAX_", "LEAST": "MIN_", "SMALLEST": "MIN_"}
QUESTIONS = re.compile(r"(What|Whether|How|Where|Which|Who|When)\b")
WORDS = {
    r"\bspeaks? for\b": "predicts class; in tables, class",
    r"\bknows no\b": "does not support",
    r"\bhas no use for\b": "does not support",
    r"(?<!there )\bis no (?!longer\b|more\b|better\b|larger\b|smaller\b|less\b|such\b)": "is not a",
    r"\bstands? twice\b|\bcomes twice\b|\bis there twice\b": "appears twice",
    r"\bturned around\b": "transposed",
    r"\bslip of the pen\b": "invalid, rejected",
    r"\bno business in\b": "must not contain",
}
MAX_METHODS = 20


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            yield path.relative_to(ROOT), node


def place(path: Path, node: ast.AST) -> str:
    return f"{path}:{getattr(node, 'lineno', 1)}"


def test_names_say_what_they_hold() -> None:
    wrong = []
    for path, node in nodes():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if node.id in NAMES:
                wrong.append(f"{place(path, node)}: {node.id}: {NAMES[node.id]}")
            head = node.id.partition("_")[0]
            if node.id.isupper() and head in LIMITS:
                wrong.append(f"{place(path, node)}: {node.id}: call it {LIMITS[head]}...")
    assert not wrong, "\n".join(wrong)


def test_docstrings_are_sentences_in_the_imperative_not_questions() -> None:
    wrong = []
    for path, node in nodes():
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            text = ast.get_docstring(node) or ""
            if QUESTIONS.match(text):
                first = text.splitlines()[0]
                wrong.append(f"{place(path, node)}: begin with a verb (Return ...): {first}")
    assert not wrong, "\n".join(wrong)


def test_messages_and_docstrings_use_the_words_of_the_field() -> None:
    wrong = []
    for path, node in nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for pattern, better in WORDS.items():
                if match := re.search(pattern, " ".join(node.value.split())):
                    wrong.append(f"{place(path, node)}: {match[0]!r}; better: {better}")
    assert not wrong, "\n".join(wrong)


def test_classes_stay_small() -> None:
    wrong = []
    for path, node in nodes():
        if isinstance(node, ast.ClassDef):
            count = sum(isinstance(item, ast.FunctionDef) for item in node.body)
            if count > MAX_METHODS:
                wrong.append(f"{place(path, node)}: {node.name} has {count} methods; split it")
    assert not wrong, "\n".join(wrong)
