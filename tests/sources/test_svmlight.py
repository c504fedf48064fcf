"""The svmlight reader: what it accepts, to the last bit, and where it reports a fault."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import select
import sys
import threading
from decimal import Context, Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from streamsieve import DataError, UsageError, open_source
from streamsieve.sources import svmlight, svmlight_parsing
from streamsieve.sources.svmlight import SvmlightSource
from tests.effort import examples

COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
CHUNKS = [1, 7, 64, 1000, 1 << 20]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("svmlight")


def put(folder: Path, data: str | bytes, name: str = "rows.svm") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def read(source: SvmlightSource) -> list[tuple[float, dict[int, float]]]:
    """Return every row as its label and its entries.

    Each block is checked against what a RowBlock promises.
    """
    rows = []
    for block in source.row_blocks():
        assert block.values.dtype == np.float32
        assert np.isfinite(block.values).all()
        assert block.values.all()
        for row in range(block.n_rows):
            ids = block.indices[block.indptr[row] : block.indptr[row + 1]]
            assert (np.diff(ids) > 0).all()
            assert ids.size == 0 or 0 <= ids[0] <= ids[-1] < block.n_features
            values = block.values[block.indptr[row] : block.indptr[row + 1]]
            rows.append(
                (float(block.y[row]), dict(zip(ids.tolist(), values.tolist(), strict=True)))
            )
    return rows


def read_text(folder: Path, data: str | bytes, **options) -> list[tuple[float, dict[int, float]]]:
    return read(SvmlightSource(put(folder, data), **options))


def refusal(path: Path, **options) -> str:
    with pytest.raises(DataError) as caught:
        read(SvmlightSource(path, **options))
    return str(caught.value)


def nearest(text: str) -> np.float32:
    with np.errstate(over="ignore", under="ignore"):
        return np.float32(float(text))


def slow_read(text: str) -> list[tuple[float, dict[int, float]]]:
    """Return the rows of a well-formed text, read in the obvious way."""
    rows = []
    for line in text.split("\n"):
        label, *entries = line.split("#")[0].split() or [""]
        if label:
            pairs = [entry.split(":") for entry in entries if not entry.startswith("qid:")]
            numbers = {int(index) - 1: float(nearest(value)) for index, value in pairs}
            rows.append((float(label), {i: value for i, value in numbers.items() if value}))
    return rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1 1:2 3:4\n", [(1, {0: 2, 2: 4})]),
        ("1 1:2", [(1, {0: 2})]),
        ("# about\n1 1:2 # why\n  # indented\n-1 2:3#close\n", [(1, {0: 2}), (-1, {1: 3})]),
        ("1#label only\n", [(1, {})]),
        ("\n1 1:2\n\n \t \n2 1:3\n\n", [(1, {0: 2}), (2, {0: 3})]),
        ("1 qid:7 1:2\n1 qid:7\n", [(1, {0: 2}), (1, {})]),
        ("1 1:2\r\n\r\n-1 2:3\r\n", [(1, {0: 2}), (-1, {1: 3})]),
        (
            "+1\n1.0\n-1\n1e1\n-2.5E-1\n.5\n1.\n+.5e+1\n",
            [(y, {}) for y in (1, 1, -1, 10, -0.25, 0.5, 1, 5)],
        ),
        (
            "1 1:+1 2:.5 3:1. 4:-1e1 5:2E-1\n",
            [(1, {0: 1, 1: 0.5, 2: 1, 3: -10, 4: float(np.float32(0.2))})],
        ),
        ("1 3:3 1:1 2:2\n", [(1, {0: 1, 1: 2, 2: 3})]),
        ("\t1  1:2\t\t2:3 \t \n", [(1, {0: 2, 1: 3})]),
        ("1 007:2\n", [(1, {6: 2})]),
        ("# caf\xe9\n1 1:2\n", [(1, {0: 2})]),
    ],
)
def test_well_formed_text_is_read(folder, text, rows):
    assert read_text(folder, text.encode("latin-1")) == rows


def test_ids_past_32_bits_are_kept(folder):
    text = "1 2147483647:1 2147483648:2 5000000000:3\n0 5:1\n"
    source = SvmlightSource(put(folder, text))
    assert read(source) == [(1, {2**31 - 2: 1, 2**31 - 1: 2, 4_999_999_999: 3}), (0, {4: 1})]
    assert max(block.n_features for block in source.row_blocks()) == 5_000_000_000


def test_unsorted_ids_past_32_bits_are_sorted(folder):
    assert read_text(folder, "1 5000000000:3 2:1\n") == [(1, {1: 1, 4_999_999_999: 3})]


@pytest.mark.parametrize(
    "zero", ["0", "-0", "0.0", "0e5", "1e-60", "0." + "0" * 50 + "1", "7006492321624086e-61"]
)
def test_zeros_are_dropped_but_widen_the_rows(folder, zero):
    (block,) = SvmlightSource(put(folder, f"1 1:1 9:{zero}\n")).row_blocks()
    assert (block.n_features, block.n_nonzero) == (9, 1)


def test_zero_based_file_starts_at_0(folder):
    source = SvmlightSource(put(folder, "1 0:1 2:3\n"), zero_based=True)
    assert read(source) == [(1, {0: 1, 2: 3})]
    assert next(source.row_blocks()).n_features == 3


def test_a_source_can_be_read_again(folder):
    source = SvmlightSource(put(folder, "1 1:1\n2 2:2\n"), chunk_bytes=4)
    assert read(source) == read(source)
    assert source.targets().tolist() == [1, 2]


def test_bytes_read_ends_at_the_size_of_the_file(folder):
    source = SvmlightSource(put(folder, "1 1:1\n" * 50 + "# end"), chunk_bytes=16)
    read(source)
    assert source.bytes_read == source.facts.n_bytes == 305


# Numbers


digits = st.text("0123456789", max_size=40)
exponents = st.sampled_from(["", "e", "E", "e+", "e-"]).flatmap(
    lambda sign: st.integers(0, 60).map(lambda power: f"{sign}{power:02d}") if sign else st.just("")
)
written = st.builds(
    "{}{}{}{}{}".format, st.sampled_from(["", "+", "-"]), digits, st.just("."), digits, exponents
)
whole = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-"]),
    st.text("0123456789", min_size=1, max_size=45),
    exponents,
)
doubles = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def midpoints(draw) -> str:
    """Draw a number halfway between two float32, printed in full, or one just beside it."""
    below = np.uint32(draw(st.integers(0, 0x7F7FFFFE))).view(np.float32)
    middle = Decimal((float(below) + float(np.nextafter(below, np.float32(np.inf)))) / 2)
    aside = Decimal(draw(st.sampled_from(["0", "1e-25", "-1e-25", "1e-16", "-1e-16"])))
    number = Context(prec=300).multiply(middle, 1 + aside)
    return draw(st.sampled_from(["", "-", "000"])) + format(
        number, draw(st.sampled_from(["f", "e"]))
    )


decimal_texts = st.one_of(
    written.filter(lambda text: any(char.isdigit() for char in re.split("[eE]", text)[0])),
    whole,
    doubles.map(repr),
    doubles.map("{:.17g}".format),
    doubles.map("{:.25e}".format),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map("{:.9g}".format),
    midpoints(),
    st.builds("{}e{}".format, digits.filter(bool), st.integers(-400, 400)),
)


@settings(deadline=None, max_examples=examples(300))
@given(
    st.lists(decimal_texts.filter(lambda text: np.isfinite(nearest(text))), min_size=1, max_size=40)
)
def test_values_are_the_nearest_float32(folder, texts):
    line = "1 " + " ".join(f"{i}:{text}" for i, text in enumerate(texts, 1)) + "\n"
    ((_, entries),) = read_text(folder, line)
    got = np.array([entries.get(i, 0.0) for i in range(len(texts))], np.float32)
    expected = np.array([nearest(text) for text in texts]) + np.float32(0)  # -0 is dropped like 0
    wrong = got.view(np.uint32) != expected.view(np.uint32)
    assert not wrong.any(), [texts[i] for i in np.flatnonzero(wrong)]


@settings(deadline=None, max_examples=examples(200))
@given(
    st.lists(decimal_texts.filter(lambda text: np.isfinite(float(text))), min_size=1, max_size=40)
)
def test_labels_are_the_nearest_float64(folder, texts):
    assert [label for label, _ in read_text(folder, "\n".join(texts))] == [
        float(text) for text in texts
    ]


OVERFLOW = 2**128 - 2**103  # halfway between the largest float32 and what would come next


@pytest.mark.parametrize(
    "text",
    [
        "1e39",
        "-1e39",
        "1e400",
        "-9" + "9" * 60,
        str(OVERFLOW),
        str(OVERFLOW - 1),
        f"-{OVERFLOW + 1}",
        "3.4028236e38",
    ],
)
def test_value_too_large_for_float32_is_refused(folder, text):
    path = put(folder, f"1 1:1\n1 2:{text}\n")
    assert re.search(
        f"^{re.escape(str(path))}:2: .*feature 2.* too large for float32", refusal(path)
    )


@pytest.mark.parametrize(
    "text", [str(OVERFLOW - 2**76), "3.4028235e38", "340282346638528859811704183484516925440"]
)
def test_largest_float32_is_read(folder, text):
    assert read_text(folder, f"1 1:{text} 2:-{text}") == [
        (1, {0: 2.0**128 - 2**104, 1: -(2.0**128 - 2**104)})
    ]


def test_random_file_reads_as_scikit_learn_reads_it(folder):
    random = np.random.default_rng(5)
    lines = []
    for _ in range(400):
        ids = np.sort(random.choice(300, random.integers(0, 30), replace=False)) + 1
        values = random.normal(size=ids.size) * 10.0 ** random.integers(-30, 30, ids.size)
        pairs = zip(ids, values.tolist(), strict=True)
        lines.append(
            " ".join([str(random.integers(-3, 4)), *(f"{i}:{value!r}" for i, value in pairs)])
        )
    path = put(folder, "\n".join(lines))
    X, y = load_svmlight_file(str(path), n_features=300, dtype=np.float32, zero_based=False)
    rows = read(SvmlightSource(path, chunk_bytes=5000))
    assert [label for label, _ in rows] == y.tolist()
    for (_, entries), expected in zip(rows, X, strict=True):
        assert entries == dict(zip(expected.indices.tolist(), expected.data.tolist(), strict=True))


# Chunks and compressions


blanks = st.sampled_from([" ", "  ", "\t", " \t "])
small_values = st.sampled_from(["1", "-2.5", "0", "1e-3", "0.1000000000000000055511151231257827"])
entries = st.dictionaries(st.integers(1, 10**10), small_values, max_size=12)
comments = st.text("ab:#1 ", max_size=30).map("#{}".format)


@st.composite
def row_lines(draw) -> str:
    parts = [draw(st.sampled_from(["1", "-1", "+1", "2.5"]))]
    parts += [f"{index}:{value}" for index, value in draw(entries).items()]
    return draw(blanks).join(parts) + draw(st.sampled_from(["", " ", " # why", "\r"]))


texts = st.builds(
    lambda lines, end: "\n".join(lines) + end,
    st.lists(
        st.one_of(row_lines(), row_lines(), comments, st.sampled_from(["", " ", "\r"])), max_size=15
    ),
    st.sampled_from(["", "\n", "\n\n"]),
).filter(slow_read)


@settings(deadline=None, max_examples=examples(300))
@given(
    texts,
    st.integers(1, 400),
    st.sampled_from([1, 16, svmlight.MARGIN_BYTES]),
    st.sampled_from(["", ".gz"]),
)
def test_any_chunk_size_gives_the_same_rows(folder, text, chunk_bytes, margin, compression):
    data = COMPRESS[compression](text.encode()) if compression else text.encode()
    path = put(folder, data, f"chunks.svm{compression}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight, "MARGIN_BYTES", margin)
        assert read(SvmlightSource(path, chunk_bytes=chunk_bytes)) == slow_read(text)


def test_line_longer_than_chunk_and_margin_is_read(folder):
    long = "1 " + " ".join(f"{i}:{i}" for i in range(1, 20_001))
    assert read_text(folder, f"2 1:1\n{long}\n3 1:1", chunk_bytes=64) == slow_read(
        f"2 1:1\n{long}\n3 1:1"
    )


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("chunk_bytes", [64, 1 << 20])
def test_compressed_file_gives_the_rows_of_the_plain_one(folder, compression, chunk_bytes):
    text = "".join(f"{i % 3} {i + 1}:{i / 7} {i + 9}:1\n" for i in range(300))
    path = put(folder, COMPRESS[compression](text.encode()), f"rows.svm{compression}")
    assert read(SvmlightSource(path, chunk_bytes=chunk_bytes)) == slow_read(text)
    assert read(open_source(path)) == slow_read(text)


@pytest.mark.parametrize("compression", COMPRESS)
def test_archives_end_to_end_are_one_file(folder, compression):
    path = put(
        folder,
        COMPRESS[compression](b"1 1:1\n2 2:") + COMPRESS[compression](b"3\n"),
        f"joined.svm{compression}",
    )
    assert read(SvmlightSource(path)) == [(1, {0: 1}), (2, {1: 3})]


def test_standard_input_is_read_once(folder, monkeypatch):
    with put(folder, "1 1:1\n2 0:2\n").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        source = open_source("-", zero_based=True)
        assert not source.rewindable
        assert read(source) == [(1, {1: 1}), (2, {0: 2})]


def test_a_pipe_that_has_nothing_yet_is_not_at_its_end(monkeypatch):
    end, start = os.pipe()
    os.set_blocking(end, False)
    lines = iter(["1 1:1\n", "2 2:2\n"])

    def wait(*streams):  # which comes after a look that found nothing
        line = next(lines, None)
        os.close(start) if line is None else os.write(start, line.encode())
        return select.select(*streams)

    monkeypatch.setattr(svmlight, "select", SimpleNamespace(select=wait))
    with os.fdopen(end) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert np.concatenate([block.y for block in SvmlightSource("-").row_blocks()]).tolist() == [
            1,
            2,
        ]


def test_fault_in_standard_input_is_named(folder, monkeypatch):
    with put(folder, "1 1:1\n2 0:2\n").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(DataError, match=r"^standard input:2: feature index 0"):
            read(open_source("-"))


def left_alive(before: set[threading.Thread]) -> list[str]:
    """Return the threads started since ``before`` that do not end by themselves."""
    started = set(threading.enumerate()) - before
    for thread in started:
        thread.join(5)
    return [thread.name for thread in started if thread.is_alive()]


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
def test_abandoned_iterator_leaves_no_thread(folder, compression):
    data = b"1 1:1 2:2\n" * 5000
    path = put(
        folder, COMPRESS[compression](data) if compression else data, f"long.svm{compression}"
    )
    before = set(threading.enumerate())
    blocks = SvmlightSource(path, chunk_bytes=64).row_blocks()
    next(blocks)
    del blocks
    assert not left_alive(before)


@pytest.mark.parametrize("compression", ["", ".gz"])
def test_error_that_is_kept_keeps_no_thread(folder, compression):
    data = b"1 x\n" + b"1 1:1\n" * 5000
    path = put(
        folder, COMPRESS[compression](data) if compression else data, f"bad.svm{compression}"
    )
    before = set(threading.enumerate())
    with pytest.raises(DataError) as caught:
        read(SvmlightSource(path, chunk_bytes=64))
    assert not left_alive(before), caught


# Faults


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 7", "'7' has no colon"),
        ("1 1:1 7 8:1", "'7' has no colon"),
        ("1 7;5", "'7;5' has no colon"),
        ("1 a:5", "'a:5' does not start with a feature index"),
        ("1 :5", "':5' does not start with a feature index"),
        ("1 +3:5", "'\\+3:5' does not start with a feature index"),
        ("1 3:x", "feature 3 'x' is not a number"),
        ("1 3:", "feature 3 '' is not a number"),
        ("1 3: 5", "feature 3 '' is not a number"),
        ("1 3:1e", "feature 3 '1e' is not a number"),
        ("1 3:1.5.2", "feature 3 '1.5.2' is not a number"),
        ("1 3:1:2", "feature 3 '1:2' is not a number"),
        ("1 3:--1", "feature 3 '--1' is not a number"),
        ("1 3:.", "feature 3 '.' is not a number"),
        ("1 3:1_000", "feature 3 '1_000' is not a number"),
        ("1 3:0x10", "feature 3 '0x10' is not a number"),
        ("1:5 2:6", "this row has no label before its first 'index:value'"),
        ("cat 2:6", "label 'cat' is not a number"),
        ("qid:3 2:6", "label 'qid:3' is not a number"),
        ("1,2 2:6", "label '1,2' is not a number"),
        ("nan 2:6", "label is nan; .*not finite"),
        ("-inf 2:6", "label is -inf; .*not finite"),
        ("1e400 2:6", "label inf is too large"),
        ("1 0:5", "feature index 0 .*zero_based=True"),
        ("1 -3:5", "feature index -3 is negative"),
        ("1 99999999999999999999:5", "feature index 99999999999999999999 is too large"),
        ("1 18446744073709551617:5", "feature index 18446744073709551617 is too large"),
        ("1 9223372036854775808:5", "feature index 9223372036854775808 is too large"),
        ("1 3:1 3:2", "feature 3 appears twice"),
        ("1 3:1 1:2 3:2", "feature 3 appears twice"),
        ("1 5000000000:1 1:2 5000000000:2", "feature 5000000000 appears twice"),
        ("1 3:0 3:0", "feature 3 appears twice"),
        ("1 3:nan", "feature 3 is nan; .*not finite"),
        ("1 3:NaN", "feature 3 is NaN; .*not finite"),
        ("1 3:-inf", "feature 3 is -inf; .*not finite"),
        ("1 3:Infinity", "feature 3 is Infinity; .*not finite"),
        ("1 3:1e39", "feature 3, 1e39, is too large for float32"),
    ],
)
def test_fault_is_named_with_file_and_line(folder, line, message):
    path = put(folder, f"# head\n\n1 1:1\n\n{line} # tail\n1 1:1\n")
    assert re.search(f"^{re.escape(str(path))}:5: .*{message}", refusal(path))


def test_repeated_index_is_named_as_the_file_counts(folder):
    path = put(folder, "1 0:1 3:1 0:2\n")
    assert "feature 0 appears twice" in refusal(path, zero_based=True)


@pytest.mark.parametrize("compression", ["", ".gz"])
@pytest.mark.parametrize("chunk_bytes", CHUNKS)
@pytest.mark.parametrize("bad", ["1 2:x", "1 2:1 1:1 2:1", "1e400", "1 0:1", "1 2:1e39"])
def test_line_number_is_right_far_into_a_file(folder, bad, chunk_bytes, compression):
    long = "1 " + " ".join(f"{i}:1" for i in range(1, 60))
    text = "\n".join(
        [long if i % 10 == 0 else "# note" if i % 10 == 5 else "1 1:2" for i in range(200)]
        + [bad, "1"]
    )
    data = text.encode()
    path = put(
        folder, COMPRESS[compression](data) if compression else data, f"far.svm{compression}"
    )
    assert refusal(path, chunk_bytes=chunk_bytes).startswith(f"{path}:201: ")


@pytest.mark.parametrize("first", ["1 2:1 1:1 2:1", "1e400", "1 2:x"])
def test_first_of_two_faults_is_named(folder, first):
    path = put(folder, f"1 1:1\n{first}\n1 1:1\n1 x:1\n")
    assert refusal(path).startswith(f"{path}:2: ")


@settings(deadline=None, max_examples=examples(150))
@given(st.lists(st.one_of(row_lines(), comments), max_size=25), st.integers(1, 200))
def test_line_number_does_not_depend_on_chunks(folder, lines, chunk_bytes):
    path = put(folder, "\n".join([*lines, "1 x:1", *lines]))
    assert refusal(path, chunk_bytes=chunk_bytes).startswith(
        f"{path}:{len(lines) + 1}: 'x:1' does not start"
    )


@pytest.mark.parametrize("data", [b"", b"\n\n \n", b"# only\n# comments", b"# c\n" * 100])
@pytest.mark.parametrize("chunk_bytes", CHUNKS)
def test_file_without_rows_is_refused(folder, data, chunk_bytes):
    path = put(folder, data)
    assert refusal(path, chunk_bytes=chunk_bytes).startswith(f"{path}: holds no rows")


@pytest.mark.parametrize(
    "data", [b"\xff\xfe1\x00 \x00", b"\x80\x81\n\x82", bytes(range(256)) * 20, b"1 \xe9:1\n"]
)
def test_binary_rubbish_is_not_text(folder, data):
    path = put(folder, data)
    assert re.search(f"^{re.escape(str(path))}:1: .*(not text|text in UTF-16)", refusal(path))


@pytest.mark.parametrize(
    "rubbish", [b"\0", b"1 \0:1", b"1 1:\xff", b"\x0b", b"1 \x0c", b"1 1:1\x0b"]
)
@pytest.mark.parametrize("before", [2, 3000])
def test_line_with_rubbish_bytes_is_named(folder, rubbish, before):
    path = put(folder, b"1 1:1\n" * before + rubbish + b"\n")
    assert refusal(path).startswith(f"{path}:{before + 1}: ")


@pytest.mark.parametrize("compression", COMPRESS)
def test_compressed_file_without_its_suffix_is_told_which(folder, compression):
    path = put(folder, COMPRESS[compression](b"1 1:1\n" * 100), "compressed.svm")
    assert re.search(
        rf"^{re.escape(str(path))}:1: this is .* data: give it the suffix \{compression}$",
        refusal(path),
    )


@pytest.fixture(scope="module")
def random_text() -> bytes:
    random = np.random.default_rng(6)
    return "".join(f"1 1:{x!r} 2:{y!r}\n" for x, y in random.random((2000, 2)).tolist()).encode()


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("chunk_bytes", [64, 1 << 20])
@pytest.mark.parametrize("cut", ["header", "middle", "end"])
def test_truncated_archive_is_named(folder, random_text, compression, chunk_bytes, cut):
    data = COMPRESS[compression](random_text)
    path = put(
        folder,
        data[: {"header": 5, "middle": len(data) // 2, "end": -1}[cut]],
        f"cut.svm{compression}",
    )
    message = refusal(path, chunk_bytes=chunk_bytes)
    assert re.search(f"^{re.escape(str(path))}: the .* file is damaged or cut short", message)


@pytest.mark.parametrize("compression", COMPRESS)
def test_rubbish_in_place_of_an_archive_is_named(folder, compression):
    path = put(folder, b"1 1:1\n" * 50, f"rubbish.svm{compression}")
    assert re.search(f"^{re.escape(str(path))}: the .* file is damaged", refusal(path))


@pytest.mark.parametrize(
    "compression", [".gz", ".bz2", ".xz"]
)  # Zstandard need not carry a checksum
def test_rubbish_inside_an_archive_is_named(folder, random_text, compression):
    data = COMPRESS[compression](random_text)
    path = put(folder, data[:5000] + b"rubbish!" * 20 + data[5160:], f"hurt.svm{compression}")
    assert re.search(f"^{re.escape(str(path))}: the .* file is damaged", refusal(path))


def test_fault_before_the_cut_of_an_archive_comes_first(folder, random_text):
    data = gzip.compress(b"1 x\n" + random_text)
    path = put(folder, data[:-1], "both.svm.gz")
    assert refusal(path, chunk_bytes=len(random_text) // 2).startswith(f"{path}:1: ")


def test_folder_is_not_a_file(folder):
    with pytest.raises(DataError, match="is a folder"):
        SvmlightSource(folder)


def test_target_is_not_for_svmlight(folder):
    with pytest.raises(UsageError, match="target column is for tables"):
        open_source(put(folder, "1 1:1\n"), target="y")


loose_entries = st.one_of(
    st.text("0123456789.-+eE: #\t\x00\xff", max_size=40),
    st.builds(
        "{}:{}{}{}{}".format,
        st.integers(0, 10**17),
        st.sampled_from(["", "-", "+"]),
        st.text("0123456789", max_size=18),
        st.sampled_from(["", "."]),
        st.text("0123456789", max_size=18),
    ),
)


@settings(deadline=None)
@given(st.lists(loose_entries, min_size=1, max_size=4))
def test_an_entry_means_the_same_wherever_it_stands(parts):
    assert_same_wherever(parts)


ODD_ENTRIES = [
    *(
        "1",
        "1:",
        ":1",
        ":",
        "x:1",
        "1:x",
        "1.5:2",
        "1;2",
        "1 :2",
        "1: 2",
        "1::2",
        "1:2:3",
        "0:1",
        "-1:1",
        "+1:1",
        "01:1",
    ),
    *(
        "1:-",
        "1:--1",
        "1:+1",
        "1:-+1",
        "1:1.",
        "1:.5",
        "1:.",
        "1:-.5",
        "1:1.5.5",
        "1:/.5",
        "1:;.5",
        "1:-5.",
        "1:1#2",
    ),
    *(
        "1:0",
        "1:-0",
        "1:0.0",
        "1:1e3",
        "1:1.5e3",
        "1:1e",
        "1:1.5e",
        "1:nan",
        "1:inf",
        "1:0x1",
        "1:1_0",
        "1:1,5",
    ),
    *(f"{'1' * n}:1" for n in (7, 8, 9, 15, 16, 17, 18, 19)),
    *(f"1:{'9' * n}" for n in (7, 8, 9, 15, 16, 17, 31)),
    *(f"1:-{'1' * n}" for n in (14, 15, 16, 29, 30)),
    *(f"1:3.{'7' * n}" for n in (1, 7, 8, 9, 14, 15, 16, 17, 30)),
    *(
        "1:9.007199254740992",
        "1:9.007199254740993",
        "1:9.99999999999999",
        "1:0.000000000000001",
        "1:0.0000000000000001",
    ),
    *(
        "2:1 1:1",
        "2:1 2:1",
        "1:1\t2:2",
        "1:1  2:2",
        "1:1\r",
        "qid:3 1:1",
        "1:1 qid:3",
        "1:1 # 2:x",
        "1:1#",
        "1:1.5#",
    ),
    *(
        f"{2**31}:1",
        f"{2**31 - 1}:1.5 {2**31}:2",
        f"{2**63 - 1}:1",
        "1:3.4e38",
        "1:3.5e38",
        f"1:{'9' * 39}",
    ),
]


@pytest.mark.parametrize("entry", ODD_ENTRIES)
def test_an_odd_entry_means_the_same_wherever_it_is(entry):
    for parts in ([entry], ["1:1", entry], [entry, "999:2.5"]):
        assert_same_wherever(parts)


def assert_same_wherever(parts):
    """Check that entries are read in the same way everywhere.

    Near the end of a text they are read byte by byte, elsewhere eight bytes at a time.
    """
    line = ("1 " + " ".join(parts) + "\n").encode("latin-1")
    slow, slow_lines = svmlight_parsing.parse_text(np.frombuffer(line, np.uint8), 1, "rows.svm")
    rest = b"-1 1:0.5 2:0.25\n" * 8
    quick, quick_lines = svmlight_parsing.parse_text(
        np.frombuffer(line + rest, np.uint8), 1, "rows.svm"
    )
    if isinstance(slow, svmlight_parsing.Fault):
        assert quick == slow
        assert quick_lines == slow_lines
    else:
        assert quick_lines == slow_lines + 8
        first = quick.rows(0, slow.n_rows)
        assert first.indices.tolist() == slow.indices.tolist()
        assert first.values.tolist() == slow.values.tolist()
