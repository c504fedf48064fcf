"""Which files are meant: by a path, several of them, a folder, a pattern such as ``part-*.svm.gz``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import TypeGuard

from ..errors import DataError, UsageError

STANDARD_INPUT, SYNTHETIC = "-", "synthetic:"  # a name, and how names begin, that stand for no file
RUN_FILE = "run.json"  # what makes a folder that of a run
MODEL_FILE = "model"  # what it has learned, once it is finished
MAGIC = re.compile(r"[*?[]")
OMITTED = ".", "_"  # how names begin in a folder that are not data: .crc, _SUCCESS, _metadata

Names = str | Path | Sequence[str | Path]


def is_names(data: object) -> TypeGuard[Names]:
    """Whether data is named by a path, or by several."""
    names = data if isinstance(data, list | tuple) else [data]
    return bool(names) and all(isinstance(name, str | Path) for name in names)


def alone(names: Names) -> Names:
    """The same; of a list with one name, that name."""
    return names[0] if not isinstance(names, str | Path) and len(names) == 1 else names


def is_no_file(name: str | Path) -> bool:
    """Whether a name stands for data that is not in a file."""
    return str(name) == STANDARD_INPUT or str(name).startswith(SYNTHETIC)


def files_of(names: Names) -> list[Path]:
    """The files that names stand for, in order; of several, those that are empty are omitted.

    A folder stands for its files and those of its folders, a pattern for what matches it, both in
    natural order: part-2 comes before part-10. A path that exists is no pattern; one that does not
    stands for itself.
    """
    if isinstance(names, str | Path):
        return _expanded(names)
    for name in filter(is_no_file, names):
        raise UsageError(
            f"{name}: is not a file, and only files are read one after the other; give it alone"
        )
    several = [path for name in names for path in _expanded(name)]
    files = _with_content(several) if len(several) > 1 else several
    if not files:
        raise DataError(f"{name_of(names, several)}: all are empty")
    return files


def name_of(names: Names, files: Sequence[Path]) -> str:
    """What to call several files in a message."""
    if isinstance(names, str | Path):
        return str(names)
    if len(files) == 2:
        return f"{files[0]} and {files[1]}"
    return f"{files[0]} to {files[-1]} ({len(files):,} files)"


def natural(path: Path) -> tuple[list[list[tuple[bool, int, str]]], str]:
    """What to sort by, so that numbers in names count as such."""
    words = (re.findall(r"(\d+)|(\D+)", part) for part in path.parts)
    return [[(not digits, int(digits or 0), text) for digits, text in part] for part in words], str(
        path
    )


def _expanded(name: str | Path) -> list[Path]:
    path = Path(name)
    if not path.is_dir():
        return [path] if path.exists() or not MAGIC.search(str(name)) else _matching(str(name))
    if (path / RUN_FILE).exists():
        raise UsageError(
            f"{path}: is the folder of a run, not data; name the data that the run has read"
        )
    files = _in_folder(path)
    if not files:
        raise DataError(
            f"{path}: there is no data in this folder (what is empty, hidden or begins with _ is"
            " not read); name a file or another folder"
        )
    return files


def _in_folder(folder: Path) -> list[Path]:
    """The files of a folder and of those in it, but not of runs."""

    def refuse(error: OSError) -> None:
        raise error

    found: list[Path] = []
    for inner, folders, names in os.walk(folder, onerror=refuse):
        if RUN_FILE in names:
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(OMITTED)]
        found += [Path(inner, name) for name in names if not name.startswith(OMITTED)]
    return _with_content(sorted(found, key=natural))


def _matching(pattern: str) -> list[Path]:
    """The files that match a pattern, and those in folders that do, but not of runs."""
    written = Path(pattern).parts

    def is_wanted(path: Path) -> bool:
        if (path.parent / RUN_FILE).exists():
            return False
        hidden = [part for part in path.parts if part.startswith(OMITTED) and part not in written]
        return not hidden or (hidden == [path.name] and written[-1].startswith(OMITTED))

    found = sorted(filter(is_wanted, map(Path, glob(pattern, recursive=True))), key=natural)
    files = [file for path in found for file in (_in_folder(path) if path.is_dir() else [path])]
    files = _with_content(
        list(dict.fromkeys(files))
    )  # with ** a file matches, and the folder it is in
    if not files:
        raise UsageError(f"{pattern}: no file with data matches this pattern")
    return files


def _with_content(files: list[Path]) -> list[Path]:
    """Those that are not empty; a file that does not exist is for its opening to refuse."""
    return [path for path in files if not path.is_file() or path.stat().st_size]
