"""Shards of columns: in order, they are the columns of the source, for any number of shards."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

from streamsieve import DataError, UsageError, open_source
from streamsieve.blocks import ColumnBlock, RowBlock, columns_of
from streamsieve.sources import columns as by_column
from streamsieve.sources import transpose
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.base import BlockSource, ColumnBlockSource, ColumnSource, Source
from streamsieve.sources.columns import as_column_source, balanced_cuts
from streamsieve.sources.transpose import transpose_in_memory, whole_matrix
from streamsieve.sources.writers import write_columns, write_rows

NUMBERS = [2, 5, 100]
WIDTH, HEIGHT = 23, 11
TARGET = np.arange(HEIGHT) % 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("column-shards")


def columns_read(source: ColumnSource) -> list[tuple[Any, ...]]:
    """Return id, name, group and entries of every column."""
    columns = []
    for block in source.column_blocks():
        assert not block.values.flags.writeable
        for position, feature in enumerate(block.ids.tolist()):
            entries = slice(block.indptr[position], block.indptr[position + 1])
            labels = [
                None if values_of_block is None else values_of_block.tolist()[position]
                for values_of_block in (block.names, block.groups)
            ]
            values = map(str, block.values[entries].tolist())
            columns.append(
                (feature, *labels, dict(zip(block.indices[entries].tolist(), values, strict=True)))
            )
    return columns


def assert_column_shards(source: ColumnSource, n: int) -> list[ColumnSource]:
    """Check that shards have the columns of a source and can be read twice.

    Every shard is pickled and unpickled first.
    """
    assert source.facts.columns_splittable
    shards = [pickle.loads(pickle.dumps(shard)) for shard in source.column_shards(n)]
    parts = [columns_read(shard) for shard in shards]
    assert 1 <= len(parts) <= n
    assert all(parts)
    assert [column for part in parts for column in part] == columns_read(source)
    for shard, part in zip(shards, parts, strict=True):
        assert columns_read(shard) == part
        assert shard.targets().tolist() == source.targets().tolist()
        for name in ("name", "n_rows", "n_features", "rewindable", "has_labels", "has_names"):
            assert getattr(shard, name) == getattr(source, name)
        for name in ("value_type", "has_groups"):
            assert getattr(shard.facts, name) == getattr(source.facts, name)
    return shards


def random_columns(seed: int = 0, width: int = WIDTH, density: float = 0.6) -> csc_array:
    random = np.random.default_rng(seed)
    dense = random.integers(-2, 3, (HEIGHT, width)) * (random.random((HEIGHT, width)) < density)
    dense[:, [3, 4, width - 1]] = 0
    return csc_array(dense.astype(np.float32))


def rewrite_in_sections(path: Path, section_size: int) -> Path:
    """Write a file of records again, in sections of ``section_size`` records."""
    if path.suffix == ".parquet":
        pq.write_table(pq.read_table(path), path, row_group_size=section_size)
        return path
    with pa.ipc.open_file(path) as file:
        table = file.read_all()
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=section_size)
    return path


# In memory


@pytest.mark.parametrize("n", NUMBERS)
@pytest.mark.parametrize(
    "form", [csc_array.toarray, csr_array, csc_array, lambda X: np.asfortranarray(X.toarray())]
)
@pytest.mark.parametrize("named", [False, True])
def test_arrays_can_be_split_by_columns(form, named, n):
    names = np.array([f"column {i}" for i in range(WIDTH)], object) if named else None
    source = ArraySource(form(random_columns()), TARGET, names)
    shards = assert_column_shards(source, n)
    if n < 5:
        assert len(shards) == n
    for shard in shards:
        assert_column_shards(shard, 3)


@settings(deadline=None)
@given(
    st.lists(st.sets(st.integers(0, 999), max_size=9), min_size=1, max_size=9),
    st.integers(0, 30),
    st.integers(1, 40),
    st.sampled_from([0, 10**9]),
    st.sampled_from([0, 1 << 32]),
)
def test_rows_that_were_transposed_can_be_split(rows, n_empty, n, min_wide_width, max_filled_width):
    width = max((max(row) for row in rows if row), default=0) + 1 + n_empty
    indices = np.array([feature for row in rows for feature in sorted(row)], np.int64)
    indptr = np.cumsum([0, *map(len, rows)])
    block = RowBlock(
        indptr, indices, np.ones(indices.size, np.float32), np.arange(len(rows)) % 2, width
    )
    with pytest.MonkeyPatch.context() as patch:
        # 0: only the columns that occur are held, if they are few
        patch.setattr(transpose, "WIDE", min_wide_width)
        # 0: columns without values are left out
        patch.setattr(by_column, "MAX_FILLED_WIDTH", max_filled_width)
        source = transpose_in_memory(BlockSource([block], n_features=width))
        if not columns_read(source):
            return
        for shard in assert_column_shards(source, n):
            assert_column_shards(shard, 3)


def test_a_shard_of_a_matrix_has_its_own_part_alone():
    X = np.random.default_rng(0).normal(size=(100, 800))
    names = np.array([f"a long name of a feature, number {i}" for i in range(800)], object)
    for matrix in (X, csc_array(X), csr_array(X)):
        source = ArraySource(matrix, np.arange(100) % 2, names)
        whole = len(pickle.dumps(source))
        assert all(len(pickle.dumps(shard)) < 1.2 * whole / 8 for shard in source.column_shards(8))
        assert all(
            len(pickle.dumps(shard)) < 1.2 * whole / 8 + 40_000 for shard in source.shards(8)
        )


def test_a_shard_is_a_matrix_of_some_features():
    X = random_columns()
    for shard in ArraySource(X, TARGET).column_shards(3):
        whole = whole_matrix(shard)
        assert whole.n_features == WIDTH
        assert (whole.values.toarray() == X.toarray()[:, whole.ids]).all()


def test_columns_without_a_target_say_so():
    shard = ArraySource(random_columns(), None).column_shards(2)[1]
    assert not shard.has_labels
    with pytest.raises(DataError, match="array: the rows have no labels"):
        shard.targets()


# Blocks


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(1, 30), st.booleans())
def test_lists_of_blocks_can_be_split(sizes, n, grouped):
    blocks, first = [], 0
    for size in sizes:
        ids = np.arange(first, first + size) * 7
        names = np.array([f"x{feature}" for feature in ids.tolist()], object)
        groups = ids // 21 if grouped else None
        blocks.append(columns_of(random_columns(first).toarray()[:, :size], 0, ids, names, groups))
        first += size
    source = ColumnBlockSource(blocks, TARGET, n_features=1000)
    if first:
        assert_column_shards(source, n)
    else:
        assert source.column_shards(n) == [source]


def test_blocks_that_are_read_once_cannot_be_split():
    blocks = [columns_of(random_columns())]
    for source in (
        ColumnBlockSource(iter(blocks), TARGET),
        ColumnBlockSource((block for block in blocks), TARGET),
    ):
        assert not source.facts.columns_splittable
        assert source.column_shards(1) == [source]
        with pytest.raises(
            UsageError,
            match="blocks: these columns cannot be split into parts; write them to a file",
        ):
            source.column_shards(2)
    with pytest.raises(UsageError, match="cannot be split into 0 parts"):
        ColumnBlockSource(blocks, TARGET).column_shards(0)


# Files


@pytest.mark.parametrize("n", NUMBERS)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_tables_can_be_split_by_columns(folder, suffix, n):
    path = folder / f"table{suffix}"
    write_rows(
        path, ArraySource(random_columns(), TARGET).row_blocks(), n_features=WIDTH, target="y"
    )
    source = open_source(path, "y")
    assert isinstance(source, ColumnSource)
    for shard in assert_column_shards(source, n):
        assert_column_shards(shard, 3)
    for rows in source.shards(2):
        assert isinstance(rows, ColumnSource)
        assert_column_shards(rows, n)


@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("section_size", [pytest.param(1, marks=pytest.mark.slow), 9, 100])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize(
    ("extra", "first"), [("nothing", 0), ("names", 1000), ("names and groups", 0)]
)
def test_files_of_columns_can_be_split(folder, suffix, extra, section_size, n, first):
    ids = first + np.arange(WIDTH) * 3
    block = columns_of(random_columns(), ids=ids)
    if extra != "nothing":
        block = block.derived(names=np.array([f"column {feature}" for feature in ids], object))
    if extra == "names and groups":
        block = block.derived(groups=ids // 15)
    path = folder / f"columns{suffix}"
    write_columns(path, ColumnBlockSource([block], TARGET, n_features=2000))
    source = open_source(rewrite_in_sections(path, section_size))
    assert isinstance(source, ColumnSource)
    shards = assert_column_shards(source, n)
    if n <= 3:
        assert len(shards) >= n - 1
    for shard in shards:
        assert_column_shards(shard, 3)


@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize(
    "drop", [["0", "30"], ["column 0", "column 3", "column 30"], ["column 66"]]
)
def test_what_is_left_of_a_file_of_columns_keeps_names_and_groups(folder, suffix, drop, n):
    ids = np.arange(WIDTH) * 3
    names = np.array([f"column {feature}" for feature in ids], object)
    block = columns_of(random_columns(), ids=ids).derived(names=names, groups=ids // 15)
    path = folder / f"some{suffix}"
    write_columns(path, ColumnBlockSource([block], TARGET, n_features=2000))
    whole, source = open_source(rewrite_in_sections(path, 4)), open_source(path, drop=drop)
    assert isinstance(source, ColumnSource)
    assert (source.has_names, source.facts.has_groups) == (True, True)
    omitted = {int(name.removeprefix("column ")) for name in drop}
    assert columns_read(source) == [
        column for column in columns_read(whole) if column[0] not in omitted
    ]
    entries = [block.indices[block.indptr[0] : block.indptr[-1]] for block in source.row_blocks()]
    assert omitted.isdisjoint(np.concatenate(entries).tolist())
    assert_column_shards(source, n)
    with pytest.raises(
        UsageError, match=r"there is no feature 'colum 3' to omit or to keep; did you mean column 3"
    ):
        open_source(path, only="colum 3")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_shards_of_files_have_about_the_same_work(folder, suffix):
    """Use a file whose first columns are a hundred times longer than the others."""
    X = np.zeros((1000, 4000), np.float32)
    X[:, :100], X[::100, 100:] = 1, 2
    path = folder / f"uneven{suffix}"
    write_columns(path, as_column_source(ArraySource(csc_array(X), np.arange(1000) % 2)))
    rewrite_in_sections(path, 20)
    source = open_source(path)
    assert isinstance(source, ColumnSource)
    work = [
        len(part) + sum(len(column[-1]) for column in part)
        for part in map(columns_read, source.column_shards(4))
    ]
    assert len(work) == 4
    assert max(work) < 1.6 * min(work)


def test_a_shard_of_row_groups_begins_with_one(folder):
    path = folder / "groups.parquet"
    write_columns(
        path,
        as_column_source(ArraySource(csc_array(np.ones((5, 100), np.float32)), np.arange(5) % 2)),
    )
    source = open_source(rewrite_in_sections(path, 10))
    assert isinstance(source, ColumnSource)
    assert [len(columns_read(shard)) for shard in source.column_shards(3)] == [30, 40, 30]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".svm", ".csv"])
def test_a_shard_of_a_file_does_not_carry_its_data(folder, suffix):
    X = np.random.default_rng(0).normal(size=(2000, 300)).astype(np.float32)
    source = ArraySource(X, np.arange(2000) % 2)
    write_rows(
        folder / f"table{suffix}",
        source.row_blocks(),
        n_features=300,
        target=None if suffix == ".svm" else "y",
    )
    opened = [open_source(folder / f"table{suffix}", None if suffix == ".svm" else "y")]
    if suffix in (".parquet", ".arrow"):
        write_columns(folder / f"large{suffix}", source)
        write_rows(folder / f"rows{suffix}", source.row_blocks(), n_features=300)
        opened += [open_source(folder / f"{name}{suffix}") for name in ("large", "rows")]
    for data in opened:
        rows = data.shards(4) if data.facts.splittable else []
        columns = data.column_shards(4) if isinstance(data, ColumnSource) else []
        assert len(rows) + len(columns) >= 4
        for shard in (*rows, *columns):
            next(iter(shard.row_blocks() if isinstance(shard, Source) else shard.column_blocks()))
            assert len(pickle.dumps(shard)) < 15_000


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("section_size", [3, 5, 100])
def test_ids_that_do_not_ascend_are_found_in_shards_too(folder, suffix, section_size):
    block = columns_of(random_columns(), ids=np.arange(WIDTH))
    path = folder / f"damaged{suffix}"
    for first, second in [(1, 2), (0, 20), (7, 8), (11, 22)]:
        ids = np.arange(WIDTH)
        ids[[first, second]] = ids[[second, first]]
        named = block.derived(ids=ids, names=np.array([f"x{i}" for i in ids], object))
        write_columns(path, ColumnBlockSource([named], TARGET, n_features=WIDTH))
        source = open_source(rewrite_in_sections(path, section_size))
        assert isinstance(source, ColumnSource)
        with pytest.raises(DataError, match=r"damaged.*from column \d+ on, the ids do not ascend"):
            [columns_read(shard) for shard in source.column_shards(4)]


def test_a_row_group_without_statistics_is_looked_into(folder):
    path = folder / "plain.parquet"
    write_columns(path, as_column_source(ArraySource(random_columns(), TARGET)))
    pq.write_table(pq.read_table(path), path, row_group_size=5, write_statistics=False)
    source = open_source(path)
    assert isinstance(source, ColumnSource)
    assert_column_shards(source, 3)


def test_a_file_that_has_changed_is_refused_by_its_shards(folder):
    path = folder / "changed.arrow"
    write_columns(path, as_column_source(ArraySource(random_columns(), TARGET)))
    source = open_source(path)
    assert isinstance(source, ColumnSource)
    shard = source.column_shards(2)[1]
    write_columns(path, as_column_source(ArraySource(random_columns(1), TARGET)))
    with pytest.raises(DataError, match=r"changed\.arrow: has changed since it was opened"):
        columns_read(shard)


# Generated


@pytest.mark.parametrize("n", NUMBERS)
def test_generated_columns_can_be_split(n):
    source = open_source("synthetic:substitution?rows=30&features=40&informative=3&seed=4")
    assert isinstance(source, ColumnSource)
    for shard in assert_column_shards(source, n):
        assert_column_shards(shard, 3)
        assert len(pickle.dumps(shard)) < 2000


# What all share


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 50), min_size=2, max_size=9), st.integers(2, 30), st.integers(0, 10**16)
)
def test_fair_cuts_ascend_from_the_first_id(work, n, first):
    ids = first + np.arange(len(work)) * 5
    cuts = balanced_cuts(ids, np.cumsum(work), n)
    assert cuts[0] == first
    assert cuts == sorted(set(cuts))
    assert cuts[-1] < ids[-1]
    assert len(cuts) <= n


def test_pickled_blocks_of_columns_stay_frozen():
    block = columns_of(random_columns())
    again = pickle.loads(pickle.dumps(block.columns(2, 5)))
    assert isinstance(again, ColumnBlock)
    assert not any(
        array.flags.writeable for array in (again.indptr, again.indices, again.values, again.ids)
    )
