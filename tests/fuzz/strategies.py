"""Nearly valid text, by a grammar: odd numbers, ids, blanks, line ends, bytes that are not text."""

from __future__ import annotations

from hypothesis import strategies as st

FLAGS = st.binary(min_size=1, max_size=1)
DIGITS = st.text("0123456789", min_size=1, max_size=4) | st.text(
    "0123456789", min_size=15, max_size=24
)
NUMBERS = st.one_of(
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["", "", "-", "+"]),
        DIGITS | st.just(""),
        st.just("") | st.just(".") | st.builds(".{}".format, DIGITS),
        st.just("")
        | st.builds(
            "{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "-", "+"]), DIGITS
        ),
    ),
    st.sampled_from(
        [
            "0",
            "-0",
            "1",
            "0.5",
            "1e39",
            "3.4028236e38",
            "1e-46",
            "7e-46",
            "nan",
            "inf",
            "1e",
            ".",
            "0x1",
        ]
    ),
    st.sampled_from(
        ["16777217", "9007199254740993", "0.1", "1e22", "1e23", "123456789012345678", "1_0", "1,5"]
    ),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
)
BLANKS = st.sampled_from([" ", " ", " ", "  ", "\t", " \t", "\r", "\x0b", "\x00"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", "\r", ""])
MARKS = st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf", b"\xff", b"\x00"])
INDICES = st.integers(0, 12).map(str) | st.sampled_from(
    [
        "2147483646",
        "2147483647",
        "2147483648",
        "9223372036854775806",
        "9223372036854775808",
        "007",
        "-1",
        "1" * 19,
    ]
)

ENTRIES = st.one_of(
    st.builds("{}:{}".format, INDICES, NUMBERS),
    st.builds("{}:{}".format, INDICES, NUMBERS),
    st.sampled_from(["qid:1", "qid:", "qid", "#", "# comment", "1:", ":1", "1", "1::2", "a:1"]),
)
LINES = st.builds(
    lambda start, label, entries, end: (
        start + label + "".join(blank + entry for blank, entry in entries) + end
    ),
    st.sampled_from(["", "", "", " ", "\t", "#"]),
    NUMBERS,
    st.lists(st.tuples(BLANKS, ENTRIES), max_size=6),
    ENDS,
)
SVMLIGHT = st.builds(
    lambda flags, mark, lines: flags + mark + "".join(lines).encode(),
    FLAGS,
    MARKS,
    st.lists(LINES, max_size=5),
)

FIELDS = st.one_of(
    NUMBERS,
    NUMBERS,
    st.sampled_from(
        [
            "",
            " ",
            "NA",
            "NaN",
            "null",
            '""',
            '"1"',
            '" 1 "',
            '"a,b"',
            '"a\nb"',
            '"a""b"',
            '"',
            'a"b',
        ]
    ),
    st.sampled_from(
        ["true", "False", "x", "y", "01", "1 ", " 1", "2020-01-01", "=1", "\x1b[31m", "ä"]
    ),
)
HEADERS = st.sampled_from(
    ["a,b,y", "a,b,y", "a,b,y", "y,a,b", '"a","b","y"', "a,a,y", "a,b", "a,b,y,", "", " a,b,y"]
)
RECORDS = st.lists(FIELDS, min_size=3, max_size=3) | st.lists(FIELDS, min_size=1, max_size=4)
TABLES = st.builds(
    lambda flags, mark, header, end, records: (
        flags
        + mark
        + table_text(header, end, records, bool(flags[0] & 1)).encode("utf-8", "surrogatepass")
    ),
    FLAGS,
    MARKS,
    HEADERS,
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    st.lists(st.tuples(RECORDS, ENDS), max_size=6),
)


def table_text(header: str, end: str, records: list[tuple[list[str], str]], tabs: bool) -> str:
    text = header + end + "".join(",".join(fields) + line_end for fields, line_end in records)
    return text.replace(",", "\t") if tabs else text


NAMED = st.lists(
    st.lists(
        st.builds("{}={}".format, st.text(max_size=4), st.text("x", max_size=4)),
        min_size=1,
        max_size=5,
    ).map(";".join),
    min_size=1,
    max_size=4,
).map(lambda rows: "\n".join(rows).encode("utf-8", "surrogatepass"))
EDITS = st.binary(min_size=2, max_size=40)

BY_TARGET = {
    "svmlight_text": SVMLIGHT,
    "svmlight_file": SVMLIGHT,
    "delimited_file": TABLES,
    "names": NAMED,
    "arrow": EDITS,
    "parquet": EDITS,
    "npz": EDITS,
    "arrays": EDITS,
    "model": EDITS,
}
