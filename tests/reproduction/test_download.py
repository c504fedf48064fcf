"""Downloads of data sets: every format is converted, and what differs is refused."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.io import savemat

from reproduction import download
from reproduction.data import SETS, SUFFIX
from reproduction.download import (
    DIGESTS,
    RECIPES,
    UNAVAILABLE,
    Recipe,
    Row,
    digest_of,
    read_svmlight,
)
from streamsieve.errors import DataError
from tests.paths import ROOT

SHIPPED = ROOT / "examples" / "data"
ROWS = [Row(1.0, {1: 0.5, 3: -2.0}), Row(-1.0, {2: 3.0})]
TEXT = "".join(row.text() for row in ROWS)


def rows_of(name: str, *paths: Path) -> str:
    """Return the rows that the recipe of a set reads, as canonical text."""
    return "".join(row.text() for row in RECIPES[name].read(paths))


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_every_set_has_a_recipe_with_a_digest_or_a_reason() -> None:
    assert RECIPES.keys() == DIGESTS.keys()
    assert not RECIPES.keys() & UNAVAILABLE.keys()
    assert RECIPES.keys() | UNAVAILABLE.keys() == SETS.keys()
    for name, reason in UNAVAILABLE.items():
        assert ("examples/data" in reason) == (SHIPPED / (name + SUFFIX)).exists()


@pytest.mark.parametrize("name", [name for name in RECIPES if (SHIPPED / (name + SUFFIX)).exists()])
def test_a_digest_is_that_of_the_shipped_file(name: str) -> None:
    assert digest_of(read_svmlight([SHIPPED / (name + SUFFIX)])) == DIGESTS[name]


def test_a_digest_depends_on_content_and_order_not_on_spelling(tmp_path: Path) -> None:
    usual = write(tmp_path / "a", "+1 1:0.5 3:-2\n-1 2:3\n")
    spelled = write(tmp_path / "b", "1.0 3:-2.0 1:5e-1 4:0\n\n-1 2:3.00\n")
    turned = write(tmp_path / "c", "-1 2:3\n+1 1:0.5 3:-2\n")
    labelled = write(tmp_path / "d", "-1 1:0.5 3:-2\n-1 2:3\n")
    assert digest_of(read_svmlight([spelled])) == digest_of(read_svmlight([usual]))
    assert digest_of(read_svmlight([turned])) != digest_of(read_svmlight([usual]))
    assert digest_of(read_svmlight([labelled])) != digest_of(read_svmlight([usual]))


def test_svmlight_text_is_read_in_the_order_of_the_files(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a8a.t", "+1 3:-2 1:0.5 \n"), write(tmp_path / "a8a", "-1 2:3")
    assert rows_of("a8a", first, second) == TEXT


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("german", "  0.5 0 -2   2 \n   0 3 0   1 \n"),
        ("heart", "0.5 0.0 -2.0 2\n0.0 3.0 0.0 1\n"),
        ("magic04", "0.5,0,-2,g\n0,3,0,h\n"),
        ("thyroid", "3,0.5,0,-2\n1,0,3,0\n"),
        ("svmguide3", "1,0.5,0,-2\n-1,0,3,0\n"),
        ("banana", "@relation banana\n@data\n0.5, 0, -2, 1.0\n0, 3, 0, -1.0\n"),
        ("twonorm", "@relation twonorm\n@data\n0.5, 0, -2, 1\n0, 3, 0, 0\n"),
    ],
)
def test_a_table_is_converted(tmp_path: Path, name: str, text: str) -> None:
    assert rows_of(name, write(tmp_path / "table", text)) == TEXT


def test_a_compressed_table_with_a_header_is_converted(tmp_path: Path) -> None:
    path = tmp_path / "waveform_21.tsv.gz"
    path.write_bytes(gzip.compress(b"x1\tx2\tx3\ttarget\n0.5\t0\t-2\t1\n0\t3\t0\t2\n"))
    assert rows_of("waveform", path) == TEXT


def test_classes_that_are_numbers_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "covtype.data.gz"
    path.write_bytes(gzip.compress(b"2596,0,5\n0,51,7\n"))
    assert rows_of("covtype", path) == "+5 1:2596.0\n+7 2:51.0\n"


@pytest.mark.parametrize("text", ["0.5 0 -2 \n0 3 0 \n", "1:0.5 3:-2 \n2:3 \n"])
def test_values_and_labels_of_the_challenge_are_joined(tmp_path: Path, text: str) -> None:
    paths = write(tmp_path / "x.data", text), write(tmp_path / "x.labels", "1\n-1\n")
    assert rows_of("dexter.train", *paths) == TEXT
    write(paths[1], "1\n")
    with pytest.raises(ValueError, match="shorter"):
        rows_of("dexter.train", *paths)


def test_a_matlab_file_is_converted(tmp_path: Path) -> None:
    path = tmp_path / "BASEHOCK.mat"
    savemat(path, {"X": np.array([[0.5, 0, -2], [0, 3, 0]]), "Y": np.array([[2], [1]])})
    assert rows_of("basehock", path) == TEXT


# ---- downloads from files in place of addresses


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that is the source of the set german, with the content of TEXT."""
    path = write(tmp_path / "german.data-numeric", "0.5 0 -2 2\n0 3 0 1\n")
    monkeypatch.setitem(RECIPES, "german", Recipe((path.as_uri(),), RECIPES["german"].read))
    monkeypatch.setitem(DIGESTS, "german", digest_of(ROWS))
    return path


def test_a_download_is_written_in_the_form_that_is_read(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    folder.mkdir()
    path = download.download("german", folder)
    assert [file.name for file in folder.iterdir()] == ["german.svm.xz"]
    assert "".join(row.text() for row in read_svmlight([path])) == TEXT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5 0 -2 2\n0 3 1 1\n", "differs from that of the papers' tables"),
        ("<html> moved </html>\n", "cannot be read"),
        (None, "may have moved"),
    ],
)
def test_another_content_is_refused_and_nothing_is_left(
    source: Path, tmp_path: Path, text: str | None, message: str
) -> None:
    folder = tmp_path / "sets"
    folder.mkdir()
    if text is None:
        source.unlink()
    else:
        write(source, text)
    with pytest.raises(DataError, match=message):
        download.download("german", folder)
    assert not list(folder.iterdir())


def test_a_file_of_a_zip_archive_is_taken(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "farm.zip", "w") as archive:
        archive.writestr("readme", "no data")
        archive.writestr("inner/farm-ads-vect", TEXT)
    address = (tmp_path / "farm.zip").as_uri()
    folder = tmp_path / "scratch"
    folder.mkdir()
    assert download.fetch(f"{address}#farm-ads-vect", folder).read_text() == TEXT
    with pytest.raises(DataError, match="other is not in it"):
        download.fetch(f"{address}#other", folder)


def test_the_command_writes_what_it_can_and_names_what_it_cannot(
    source: Path, tmp_path: Path
) -> None:
    command = ["german", "splice", "--to", str(tmp_path / "new" / "sets")]
    result = CliRunner().invoke(download.main, command)
    assert result.exit_code == 1
    assert (tmp_path / "new" / "sets" / "german.svm.xz").exists()
    assert "splice cannot be downloaded: it is in examples/data" in result.output
    assert CliRunner().invoke(download.main, ["german", *command[2:]]).exit_code == 0
    assert CliRunner().invoke(download.main, ["nothing", *command[2:]]).exit_code == 2
