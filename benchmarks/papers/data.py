"""The papers' data sets, read from a folder of ``name.svm.xz`` files."""

from __future__ import annotations

import argparse
import lzma
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

DEFAULT_FOLDER = Path(__file__).parents[3] / "shared" / "data"


def parser(description: str) -> argparse.ArgumentParser:
    """Options that all scripts share."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=DEFAULT_FOLDER, help="folder of the data sets")
    options.add_argument("--sets", nargs="*", help="only these data sets")
    return options


def load(folder: Path, name: str, n_features: int | None = None) -> tuple[Any, NDArray[np.float64]]:
    """Sparse rows and labels of -1 and 1; of covtype, class 2 against the rest."""
    X, y = load_svmlight_file(BytesIO(lzma.decompress((folder / f"{name}.svm.xz").read_bytes())), n_features=n_features)
    return X, np.where(y == 2, 1.0, -1.0) if name == "covtype" else y


def standardized(X: Any) -> NDArray[np.float32]:
    """Columns of mean 0 and deviation 1, then rows of length 1: what gives the figures of Wang, Zhao, Hoi, Jin 2014."""
    dense = X.toarray()
    deviation = dense.std(axis=0)
    dense = (dense - dense.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    norms = np.linalg.norm(dense, axis=1, keepdims=True)
    return (dense / np.where(norms > 0, norms, 1.0)).astype(np.float32)
