"""Find, describe and read the data sets of the papers.

A set is a file ``name.svm.xz``: svmlight text, ids from 1, compressed with xz. Sets that are too
large to be shipped are looked for in the folder that the user names, otherwise in ``shared/data``
beside the project; small sets are in the project's ``examples/data``.
"""

from __future__ import annotations

import lzma
import os
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamsieve.errors import DataError, UsageError

ROOT = Path(__file__).resolve().parents[1]  # of the project
VARIABLE = "STREAMSIEVE_DATA"
SUFFIX = ".svm.xz"
ROWS_AT_ONCE = 1_000  # that are dense in float64
SETS = {  # what a set is and where it comes from
    "20news_comp_sci": (
        "20 Newsgroups, comp against sci: word counts built from its text, 9,840 x 26,214"
    ),
    "20news_rec_sci": (
        "20 Newsgroups, rec against sci: word counts built from its text, 8,928 x 26,214"
    ),
    "a8a": "LIBSVM's a8a, its two parts together, 32,561 x 123",
    "arcene.train": "NIPS 2003 challenge: Arcene, training part, 100 x 10,000",
    "arcene.valid": "NIPS 2003 challenge: Arcene, validation part, 100 x 10,000",
    "banana": "KEEL's or the IDA benchmark's banana, 5,300 x 2",
    "basehock": "scikit-feature's BASEHOCK, 1,993 x 4,862",
    "basehock.test": "the last 493 rows of scikit-feature's BASEHOCK, shuffled once",
    "basehock.train": "the first 1,500 rows of scikit-feature's BASEHOCK, shuffled once",
    "codrna": "LIBSVM's cod-rna, test part, 271,617 x 8",
    "colon": "Alon's colon tumours, from datamicroarray (alon), 62 x 2,000",
    "covtype": "UCI's Covertype with its seven classes, 581,012 x 54",
    "dexter.train": "NIPS 2003 challenge: Dexter, training part, 300 x 20,000",
    "dexter.valid": "NIPS 2003 challenge: Dexter, validation part, 300 x 20,000",
    "farm-ads": "UCI's Farm Ads, 4,143 x 54,877",
    "german": "UCI's German credit, numeric form, 1,000 x 24",
    "heart": "UCI's Statlog heart, 270 x 13",
    "leukemia": "Golub's leukemia, from datamicroarray (golub), 72 x 7,129",
    "madelon.train": "NIPS 2003 challenge: Madelon, training part, 2,000 x 500",
    "madelon.valid": "NIPS 2003 challenge: Madelon, validation part, 600 x 500",
    "magic04": "UCI's MAGIC gamma telescope, 19,020 x 10",
    "pcmac_asu": "scikit-feature's PCMAC, 1,943 x 3,289",
    "relathe": "scikit-feature's RELATHE, 1,427 x 4,322",
    "splice": "UCI's splice junctions, bases coded A=1, G=2, C=3, T=4, 3,175 x 60",
    "svmguide3": "LIBSVM's svmguide3, 1,243 x 21",
    "thyroid": "UCI's new thyroid, class 1 against the others, 215 x 5",
    "twonorm": "KEEL's twonorm, 7,400 x 20",
    "waveform": "UCI's waveform (21 features), class 1 against the others, 5,000 x 21",
}


class Folders(NamedTuple):
    """The folders in which sets are looked for, in order.

    Only their names are kept, so that it can be sent to a process.
    """

    paths: tuple[str, ...]

    def path_of(self, name: str) -> Path | None:
        """Return the file of a set; None if it is in none of the folders."""
        return next(
            (path for folder in self.paths if (path := Path(folder, name + SUFFIX)).is_file()), None
        )

    def missing(self, names: Sequence[str]) -> list[str]:
        """Return the sets that are in none of the folders."""
        return [name for name in names if self.path_of(name) is None]

    def load(self, name: str, n_features: int | None = None) -> tuple[Any, NDArray[np.float64]]:
        """Return sparse rows and labels of -1 and 1; of covtype, class 2 against the rest."""
        path = self.path_of(name)
        if path is None:
            raise DataError(f"{missing_text([name])}; {self.advice()}")
        return _read(str(path), name, n_features)

    def advice(self) -> str:
        """Return what to do if a set is missing."""
        searched = f"looked in {', '.join(self.paths)}" if self.paths else "no folder is known"
        return f"name the folder that has them with --data or {VARIABLE} ({searched})"


def missing_text(names: Sequence[str]) -> str:
    """Return a text that names missing sets, what they are and the files they are expected in."""
    listed = [
        f"{name + SUFFIX} ({SETS[name]})" if name in SETS else name + SUFFIX for name in names
    ]
    return f"data not found: {', '.join(listed)}"


def find_folders(given: str | os.PathLike[str] | None = None) -> Folders:
    """Return the folders for data sets: one of three, and ``examples/data``.

    The first is the folder given, the one that the environment variable names, or ``shared/data``
    beside the project.
    """
    folder_name = given or os.environ.get(VARIABLE)
    if folder_name and not Path(folder_name).is_dir():
        raise UsageError(
            f"{folder_name}: there is no such folder; name the one with the data sets (--data,"
            f" {VARIABLE})"
        )
    defaults = [ROOT.parent / "shared" / "data", ROOT / "examples" / "data"]
    folders = [Path(folder_name), *defaults[1:]] if folder_name else defaults
    return Folders(tuple(str(folder) for folder in folders if folder.is_dir()))


@lru_cache(maxsize=2)
def _read(path: str, name: str, n_features: int | None) -> tuple[Any, NDArray[np.float64]]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(
        BytesIO(lzma.decompress(Path(path).read_bytes())), n_features=n_features
    )
    return X, np.where(y == 2, 1.0, -1.0) if name == "covtype" else y


def standardized(X: Any) -> NDArray[np.float32]:
    """Return columns with mean 0 and deviation 1, then rows with length 1.

    This gives the figures of Wang, Zhao, Hoi, Jin 2014.
    """
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=False).fit(X)  # moments of sparse rows, in float64
    mean, deviation = np.asarray(X.mean(axis=0)).ravel(), scaler.scale_
    rows = np.empty(X.shape, dtype=np.float32)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        dense = (X[start : start + ROWS_AT_ONCE].toarray() - mean) / deviation
        norms = np.linalg.norm(dense, axis=1, keepdims=True)
        rows[start : start + ROWS_AT_ONCE] = dense / np.where(norms > 0, norms, 1.0)
    return rows
