"""The table of formats: complete, without contradictions, and true."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from streamsieve import UsageError, open_source
from streamsieve.sources import formats
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.base import ColumnSource, Source
from streamsieve.sources.columns import as_column_source
from streamsieve.sources.formats import COMPRESSIONS, FORMATS, Format
from streamsieve.sources.writers import write_columns, write_rows

FUNCTIONS = ("open_rows", "open_columns", "write_rows", "write_columns")
X = np.array([[1.0, 0.0, 2.5], [0.0, 3.0, 0.0], [4.0, 5.0, 6.0]], np.float32)
Y = np.array([1, 0, 1])

each_format = pytest.mark.parametrize("file_format", FORMATS, ids=lambda entry: entry.name)


@each_format
def test_every_function_that_a_format_names_is_there(file_format: Format):
    for field in FUNCTIONS:
        reference = getattr(file_format, field)
        if reference is not None:
            try:
                assert callable(formats.import_function(reference))
            except (ImportError, AttributeError) as error:
                pytest.fail(
                    f"the format {file_format.name} names {field}={reference!r}, which cannot be"
                    f" imported: {error}"
                )


@each_format
def test_a_format_can_be_read_and_what_it_writes_it_reads(file_format: Format):
    assert file_format.open_rows or file_format.open_columns, (
        f"{file_format.name} names neither open_rows nor open_columns"
    )
    if file_format.write_rows:
        assert file_format.open_rows, (
            f"{file_format.name} has write_rows but no open_rows to read the file again"
        )
    if file_format.write_columns:
        assert file_format.open_columns, (
            f"{file_format.name} has write_columns but no open_columns to read the file again"
        )


def test_no_two_formats_share_a_suffix():
    suffixes = [suffix for entry in FORMATS for suffix in entry.suffixes]
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in suffixes)
    twice = {suffix for suffix in suffixes if suffixes.count(suffix) > 1 or suffix in COMPRESSIONS}
    assert not twice, f"which format is {twice}?"


@each_format
def test_rows_come_back_from_every_file_of_a_format(file_format: Format, tmp_path: Path):
    if file_format.write_rows is None:
        pytest.skip("only read")
    compressions = ["", *(COMPRESSIONS if file_format.compressible else ())]
    for name in [
        f"rows{suffix}{compression}"
        for suffix in file_format.suffixes
        for compression in compressions
    ]:
        write_rows(tmp_path / name, ArraySource(X, Y).row_blocks(), n_features=3)
        always_a_table = file_format.tables and not file_format.wants_width
        source = open_source(tmp_path / name, "label" if always_a_table else None)
        assert isinstance(source, Source)
        assert (
            np.concatenate([block.to_dense() for block in source.row_blocks()]).tolist()
            == X.tolist()
        ), name
        assert source.targets().tolist() == Y.tolist()


@each_format
def test_columns_come_back_from_every_file_of_a_format(file_format: Format, tmp_path: Path):
    for suffix in file_format.suffixes:
        path = tmp_path / f"columns{suffix}"
        if file_format.write_columns is None:
            with pytest.raises(UsageError, match="columns can only be written to"):
                write_columns(path, as_column_source(ArraySource(X, Y)))
            continue
        write_columns(path, as_column_source(ArraySource(X, Y)))
        source = open_source(path)
        assert isinstance(source, ColumnSource)
        columns = np.zeros(X.shape)
        for block in source.column_blocks():
            for column, feature in enumerate(block.ids.tolist()):
                entries = slice(block.indptr[column], block.indptr[column + 1])
                columns[block.indices[entries], feature] = block.values[entries]
        assert columns.tolist() == X.tolist()


@each_format
def test_help_texts_name_every_format(file_format: Format):
    others = (
        file_format.suffixes if file_format is not formats.SVMLIGHT else file_format.suffixes[:1]
    )
    assert all(suffix in formats.readable_formats() for suffix in others)
    assert all(suffix in formats.writable_formats() for suffix in others if file_format.write_rows)
    assert all(compression in formats.readable_formats() for compression in COMPRESSIONS)
    documented = (*others, *COMPRESSIONS) if file_format is not formats.SVMLIGHT else ()
    forgotten = [suffix for suffix in documented if suffix not in str(open_source.__doc__)]
    assert not forgotten, f"the docstring of open_source does not name {forgotten}"


@each_format
def test_a_file_is_known_by_its_beginning(file_format: Format, tmp_path: Path):
    if not file_format.signature:
        return
    path = tmp_path / f"rows{file_format.suffixes[0]}"
    write_rows(path, ArraySource(csr_array(X), Y).row_blocks(), n_features=3)
    assert (
        formats.kind_of(path.read_bytes()[:16])
        == f"{file_format.name} data: give it the suffix {file_format.suffixes[0]}"
    )


def test_a_format_that_is_only_read_cannot_be_written(monkeypatch, tmp_path):
    read_only = Format("chess", (".chess",), open_rows="svmlight:open_rows")
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, read_only))
    (tmp_path / "game.chess").write_text("1 1:1\n0 2:2\n")
    assert open_source(tmp_path / "game.chess").targets().tolist() == [1, 0]
    with pytest.raises(UsageError, match=r"chess cannot be written; choose svmlight text \(\.svm"):
        write_rows(tmp_path / "new.chess", ArraySource(X, Y).row_blocks())
    with pytest.raises(UsageError, match=r"\.chess files cannot be compressed as a whole"):
        open_source(tmp_path / "game.chess.gz")
