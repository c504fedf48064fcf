"""Several files as one source: found, opened, read in order, rejected where they do not fit."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import streamsieve as ss
from streamsieve import DataError, UsageError, open_source
from streamsieve.sources import many
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.base import BlockSource, Source
from streamsieve.sources.columns import as_column_source
from streamsieve.sources.finding import files_of
from streamsieve.sources.many import ManySource, shares_of, split_into_groups
from streamsieve.sources.writers import write_columns, write_rows
from tests.waiting import wait_for

from .test_prefetch import SOON
from .test_shards import rows_of


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def refusal(data: Any, *options: Any) -> str:
    """Return the message about data when it is opened or read."""
    with pytest.raises((DataError, UsageError)) as error:
        rows_of(open_source(data, *options))
    return str(error.value)


def labels_in(data: Any, *options: Any) -> list[Any]:
    return [label for label, _ in rows_of(open_source(data, *options))]


# Which files


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Return a folder of rows with labels 1, 2, 3, 10, in files that sort differently as text."""
    for number in (10, 2, 1, 3):
        put(tmp_path / "data" / f"part-{number}.svm.gz", f"{number} 1:1\n")
    for name in (
        ".hidden",
        "_SUCCESS",
        "_metadata",
        ".part-1.svm.gz.crc",
        "_delta_log/0.json",
        ".git/config",
    ):
        put(tmp_path / "data" / name, "" if name == "_SUCCESS" else "not data")
    put(tmp_path / "data" / "part-4.svm", "")
    return tmp_path / "data"


@pytest.mark.parametrize(
    "ending", ["", "/", "/*", "/part-*.svm*", "/part-*.gz", "/*[0-9].svm.gz", "/**"]
)
def test_files_of_a_folder_or_pattern_come_in_natural_order(parts: Path, ending: str):
    assert labels_in(f"{parts}{ending}") == [1, 2, 3, 10]


def test_a_list_is_read_in_its_own_order(parts: Path):
    assert labels_in(
        [parts / "part-3.svm.gz", str(parts / "part-10.svm.gz"), parts / "part-4.svm"]
    ) == [3, 10]
    assert labels_in((str(parts / "part-3.svm.gz"), str(parts / "part-1.svm.gz"))) == [3, 1]
    assert labels_in([parts, f"{parts}/*-2*"]) == [1, 2, 3, 10, 2]


def test_a_pattern_may_ask_for_names_that_a_folder_omits(tmp_path: Path):
    put(tmp_path / "_x" / "_1.svm", "1 1:1\n")
    put(tmp_path / "_x" / "2.svm", "2 1:1\n")
    assert labels_in(f"{tmp_path}/_x/_*.svm") == [1]
    assert labels_in(f"{tmp_path}/_x/*.svm") == [2]


def test_one_file_is_opened_as_if_it_were_named_alone(parts: Path):
    alone = open_source(parts / "part-1.svm.gz")
    for data in (
        [parts / "part-1.svm.gz"],
        f"{parts}/part-1.*",
        [parts / "part-1.svm.gz", parts / "part-4.svm"],
    ):
        source = open_source(data)
        assert type(source) is type(alone)
        assert source.name == alone.name


def test_folders_in_a_folder_are_read_in_the_same_order(tmp_path: Path):
    for name in ("day=10/b.parquet", "day=9/part-2.parquet", "day=9/part-11.parquet", "a.parquet"):
        put(tmp_path / name, b"")
        pq.write_table(pa.table({"a": [1.0], "y": [name]}), tmp_path / name)
    names = ["a.parquet", "day=9/part-2.parquet", "day=9/part-11.parquet", "day=10/b.parquet"]
    assert labels_in(tmp_path, "y") == names
    assert labels_in(f"{tmp_path}/day=*", "y") == names[1:]


def test_a_path_that_exists_is_no_pattern(tmp_path: Path):
    put(tmp_path / "part-1.svm", "1 1:1\n")
    put(tmp_path / "part-[0-9].svm", "7 1:1\n")
    assert labels_in(tmp_path / "part-[0-9].svm") == [7]
    assert labels_in(tmp_path / "part-[1-9].svm") == [1]


def test_names_may_have_numbers_of_any_size_and_ties(tmp_path: Path):
    names = ["1", "01", "2", f"{10**30}", "a", "a1", "a02b", "b"]
    files = [put(tmp_path / name, "1 1:1\n") for name in names]
    names_in_order = [path.name for path in files_of(tmp_path)]
    assert sorted(names_in_order) == sorted(path.name for path in files)
    assert names_in_order == ["01", "1", "2", f"{10**30}", "a", "a1", "a02b", "b"]


def test_what_is_not_there_is_said_in_words(parts: Path):
    assert refusal(f"{parts}/*.csv").endswith("*.csv: no file with data matches this pattern")
    assert refusal(f"{parts}/part-4*").endswith("part-4*: no file with data matches this pattern")
    with pytest.raises(FileNotFoundError):
        open_source([parts / "part-1.svm.gz", parts / "part-5.svm.gz"])
    with pytest.raises(FileNotFoundError):
        open_source(parts / "nowhere")
    empty = [put(parts / "none" / name, "") for name in ("a.svm", "b.svm")]
    assert "there is no data in this folder (empty files, hidden" in refusal(parts / "none")
    assert refusal(empty) == f"{empty[0]} and {empty[1]}: all files are empty"


@pytest.mark.parametrize("name", ["-", "synthetic:x1"])
def test_only_files_are_read_one_after_the_other(parts: Path, name: str):
    assert refusal([parts / "part-1.svm.gz", name]).startswith(f"{name}: is not a file")


def test_an_empty_list_is_not_data():
    with pytest.raises(UsageError, match="cannot read from list"):
        open_source([])


def test_the_folder_of_a_run_is_not_data(parts: Path):
    ss.select((np.eye(2), [0, 1]), n_features_to_select=1, output=parts / "run")
    (parts / "empty").mkdir()
    assert "run: is the folder of a run, not data" in refusal(parts / "run")
    for ending in ("", "/*", "/**", "/**/*"):
        assert labels_in(f"{parts}{ending}") == [1, 2, 3, 10]


# What is known of them


def test_sums_and_widths(tmp_path: Path):
    X, y = csr_array(np.arange(12, dtype=np.float32).reshape(4, 3)), np.array([0, 1, 0, 1])
    write_rows(tmp_path / "a.parquet", ArraySource(X, y).row_blocks(), n_features=5)
    write_rows(tmp_path / "b.parquet", ArraySource(X[:2], y[:2]).row_blocks(), n_features=7)
    source = open_source(tmp_path)
    assert isinstance(source, ManySource)
    assert (source.n_rows, source.n_features) == (6, 7)
    assert source.facts.n_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert source.name == str(tmp_path)
    assert source.rewindable
    assert not source.facts.takes_target
    assert source.dense_rows() is None
    assert source.targets().tolist() == [0, 1, 0, 1, 0, 1]
    put(tmp_path / "c.svm", "1 99:1\n")
    source = open_source(tmp_path)
    assert (source.n_rows, source.n_features) == (None, None)
    assert max(block.n_features for block in source.row_blocks()) == 99


def test_names_of_several_files(tmp_path: Path):
    files = [put(tmp_path / f"{letter}.svm", "1 1:1\n") for letter in "abc"]
    assert open_source(files[:2]).name == f"{files[0]} and {files[1]}"
    assert open_source(files).name == f"{files[0]} to {files[2]} (3 files)"
    assert open_source(f"{tmp_path}/*").name == f"{tmp_path}/*"


def test_bytes_read_are_those_of_all_files(parts: Path):
    source = open_source(parts)
    for _ in range(2):  # in the second pass from 0 again
        seen = []
        for _ in source.row_blocks():
            seen.append(source.bytes_read)
        assert seen == sorted(seen)
        assert 0 < seen[0] < seen[-1] <= source.bytes_read == source.facts.n_bytes


# Rows


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=7), st.integers(1, 4), st.booleans())
def test_rows_are_those_of_all_files_in_order(
    tmp_path_factory, lengths: list[int], at_once: int, compressed: bool
):
    folder = tmp_path_factory.mktemp("files")
    lines = [f"{number} {number + 1}:0.5" for number in range(sum(lengths))]
    starts = np.cumsum([0, *lengths])
    for number, (start, stop) in enumerate(pairwise(starts)):
        text = "# rows\n" + "".join(f"{line}\n" for line in lines[start:stop])
        put(folder / f"{number}.svm{'.gz' if compressed else ''}", text)
    put(folder / "all" / "all.svm", "\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many, "cores", lambda: at_once)
        patch.setattr(many, "BYTES_AHEAD", 1)
        source = open_source(f"{folder}/*.*")
        if lines:
            assert rows_of(source) == rows_of(open_source(folder / "all" / "all.svm"))
            assert source.targets().tolist() == list(range(len(lines)))
        else:
            with pytest.raises(DataError, match=r"none of the . files holds a row"):
                rows_of(source)
            with pytest.raises(DataError, match=r"none of the . files holds a row"):
                source.targets()


def test_a_table_may_have_no_rows_if_another_has(tmp_path: Path):
    put(tmp_path / "1.csv", "a,y\n")
    put(tmp_path / "2.csv", "a,y\n1,yes\n")
    pq.write_table(
        pa.table({"a": pa.array([], pa.float64()), "y": pa.array([], pa.string())}),
        tmp_path / "3.parquet",
    )
    put(tmp_path / "4.csv", "a,y\n2,7\n")
    assert labels_in(tmp_path, "y") == ["yes", "7"]
    assert open_source(tmp_path, "y").targets().tolist() == ["yes", "7"]


def test_labels_are_text_in_all_files_if_they_are_in_the_first(tmp_path: Path):
    put(tmp_path / "1.csv", "a,y\n1,yes\n")
    put(tmp_path / "2.csv", "a,y\n1,07\n")
    assert labels_in(tmp_path, "y") == ["yes", "07"]
    put(tmp_path / "0.csv", "a,y\n1,7\n")
    message = (
        f"{tmp_path}/1.csv: its labels are text, but numbers in {tmp_path}/0.csv; write them in one"
    )
    assert refusal(tmp_path, "y").startswith(message)
    with pytest.raises(DataError, match="its labels are text, but numbers in"):
        open_source(tmp_path, "y").targets()


def test_numbers_of_labels_may_have_fractions_in_some_files(tmp_path: Path):
    put(tmp_path / "1.csv", "a,y\n1,7\n")
    put(tmp_path / "2.csv", "a,y\n1,7.5\n")
    assert labels_in(tmp_path, "y") == [7, 7.5]


def test_columns_of_tables_may_come_in_any_order(tmp_path: Path):
    put(tmp_path / "1.csv", "a,b,y\n1,2,1\n")
    put(tmp_path / "2.tsv", "y\tb\ta\n0\t4\t3\n")
    pq.write_table(pa.table({"b": [6.0], "y": [1], "a": [5.0]}), tmp_path / "3.parquet")
    source = open_source(tmp_path, "y")
    assert source.feature_names.tolist() == ["a", "b"]
    assert source.facts.takes_target
    assert source.facts.target == "y"
    table = source.dense_rows()
    assert table is not None
    assert np.concatenate([rows.values for rows in table]).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert np.concatenate([block.to_dense() for block in source.row_blocks()]).tolist() == [
        [1, 2],
        [3, 4],
        [5, 6],
    ]
    chosen = open_source(tmp_path, "y", columns=["b"])
    assert np.concatenate([block.to_dense() for block in chosen.row_blocks()]).tolist() == [
        [2],
        [4],
        [6],
    ]


def test_faults_name_their_file_and_its_line_after_the_rows_before_it(tmp_path: Path):
    put(tmp_path / "1.svm", "1 1:1\n" * 3)
    put(tmp_path / "2.svm.gz", "1 1:1\n\n1 1:x\n")
    put(tmp_path / "3.svm", "rubbish\n")
    rows: Iterator[Any] = open_source(tmp_path).row_blocks()
    assert next(rows).n_rows == 3
    with pytest.raises(DataError, match=r"2\.svm\.gz:3: "):
        list(rows)
    put(tmp_path / "tables" / "1.csv", "a,y\n1,1\n2,0\n")
    put(tmp_path / "tables" / "2.csv", "a,y\n1,1\nnan,0\n")
    assert refusal_of_rows(tmp_path / "tables", "y").startswith(f"{tmp_path}/tables/2.csv: row 2: ")


def refusal_of_rows(data: Any, target: str) -> str:
    with pytest.raises(DataError) as error:
        list(open_source(data, target).row_blocks())
    return str(error.value)


# What does not fit


def test_files_of_different_kinds_are_named(tmp_path: Path):
    put(tmp_path / "1.csv", "a,y\n1,1\n")
    put(tmp_path / "readme.txt", "hello\n")
    message = refusal(tmp_path, "y")
    assert message.startswith(
        f"{tmp_path}: {tmp_path}/1.csv is a table, and {tmp_path}/readme.txt is a file of sparse"
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            "a,y\n1,1\n",
            "2.csv: there is no column 'b', but .*1.csv has it; files .* same columns",
        ),
        ("a,b,c,y\n1,1,1,1\n", "1.csv: there is no column 'c', but .*2.csv has it"),
        ("a,b,z\n1,1,1\n", "2.csv: there is no column 'y' for the target"),
    ],
)
def test_tables_of_other_columns_are_named(tmp_path: Path, other: str, message: str):
    put(tmp_path / "1.csv", "a,b,y\n1,2,1\n")
    put(tmp_path / "2.csv", other)
    with pytest.raises(DataError, match=message):
        open_source(tmp_path, "y")


def test_tables_with_and_without_labels_are_named(tmp_path: Path):
    put(tmp_path / "1.csv", "a\n1\n")
    put(tmp_path / "2.csv", "a,y\n1,1\n")
    message = refusal(tmp_path, "y", False, ["a"])
    assert message == f"{tmp_path}/1.csv: the rows have no labels, but those of {tmp_path}/2.csv do"


def test_sparse_rows_of_other_names_are_refused(tmp_path: Path):
    X, y = csr_array(np.eye(2, dtype=np.float32)), np.array([0, 1])
    for number, names in enumerate((["a", "b"], ["b", "a"])):
        write_rows(tmp_path / f"{number}.npz", ArraySource(X, y).row_blocks(), np.array(names))
    assert "1.npz: its features are not in the order of" in refusal(tmp_path)
    put(tmp_path / "0.svm", "1 1:1\n")
    assert "0.svm: its features have no names, but those of" in refusal(f"{tmp_path}/0.*")


def test_files_of_columns_are_not_one(tmp_path: Path):
    X, y = csr_array(np.eye(2, dtype=np.float32)), np.array([0, 1])
    for number in range(2):
        write_columns(tmp_path / f"{number}.parquet", as_column_source(ArraySource(X, y)))
    assert "0.parquet and " in refusal(tmp_path)
    assert "hold columns, and such files cannot be read as one" in refusal(tmp_path)


def test_a_target_is_for_tables(parts: Path):
    assert "a target column is for tables" in refusal(parts, "y")


# Shards and threads


def sized(sizes: list[int], splittable: bool = True) -> list[Source]:
    sources = [BlockSource([], str(number)) for number in range(len(sizes))]
    for source, size in zip(sources, sizes, strict=True):
        source.facts = replace(source.facts, n_bytes=size, splittable=splittable)
    return list(sources)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=20), st.integers(1, 20))
def test_files_are_grouped_in_order_and_none_is_lost(sizes: list[int], n: int):
    parts, n = sized(sizes), min(n, len(sizes))
    groups = split_into_groups(parts, n)
    assert len(groups) == n
    assert all(groups)
    assert [part for group in groups for part in group] == parts


def test_groups_and_shares_are_balanced_by_bytes():
    grouped = [
        [part.facts.n_bytes for part in group]
        for group in split_into_groups(sized([9, 1, 1, 1, 6, 3, 3]), 3)
    ]
    assert grouped == [[9], [1, 1, 1, 6], [3, 3]]
    assert shares_of(sized([10, 30, 20]), 6) == [1, 3, 2]
    assert shares_of(sized([10, 30], splittable=False), 6) == [1, 1]
    assert shares_of([*sized([10]), *sized([30], splittable=False)], 6) == [5, 1]


def test_reading_that_is_given_up_leaves_no_thread(parts: Path):
    before = set(threading.enumerate())
    rows = open_source(parts).row_blocks()
    next(rows)
    rows.close()
    wait_for(lambda: not set(threading.enumerate()) - before, SOON)  # some of them may be starting


def test_next_files_are_read_while_the_first_is_in_use(
    parts: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(many, "cores", lambda: 2)
    begun = [threading.Event() for _ in range(3)]

    class Noticed(BlockSource):
        def __init__(self, number: int) -> None:
            super().__init__([next(open_source(parts).row_blocks())] * 2, str(number))
            self.number = number

        def row_blocks(self, missing: Any = "error") -> Iterator[ss.RowBlock]:
            for block in super().row_blocks(missing):
                begun[self.number].set()
                yield block

    rows = ManySource("several", [Noticed(number) for number in range(3)]).row_blocks()
    next(rows)
    assert begun[1].wait(SOON)
    assert not begun[2].wait(0.2)
    assert len(list(rows)) == 5


# All kinds of methods


@pytest.mark.parametrize("method", ["sofs", "saola", "relieff"])
def test_every_kind_of_method_gives_the_result_of_one_file(tmp_path: Path, method: str):
    random = np.random.default_rng(1)
    X = random.integers(-3, 4, (120, 6)) * (random.random((120, 6)) < 0.6)
    y = (X[:, 2] + X[:, 4] > 0).astype(int)
    lines = [
        f"{label} " + " ".join(f"{i + 1}:{value}" for i, value in enumerate(row) if value) + "\n"
        for label, row in zip(y, X, strict=True)
    ]
    put(tmp_path / "all.svm", "".join(lines))
    for number in range(4):
        put(tmp_path / "parts" / f"{number}.svm.gz", "".join(lines[30 * number : 30 * number + 30]))
    whole, several = (ss.select(tmp_path / name, method, 2) for name in ("all.svm", "parts"))
    assert several.selection.indices.tolist() == whole.selection.indices.tolist()
    assert several.selection.scores.tolist() == whole.selection.scores.tolist()
    assert (several.n_rows, several.n_nonzero) == (whole.n_rows, whole.n_nonzero)
