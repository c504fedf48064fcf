"""Find files by a path, several paths, a folder, or a pattern such as ``part-*.svm.gz``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import TypeGuard

from ..errors import DataError, UsageError

STANDARD_INPUT, SYNTHETIC = "-", "synthetic:"  # a name, and a prefix of names, that are not files
RUN_FILE = "run.json"  # in every run folder
MODEL_FILE = "model"  # in the folder of a finished run
WILDCARDS = re.compile(r"[*?[]")
OMITTED = ".", "_"  # prefixes of names in a folder that are not data: .crc, _SUCCESS, _metadata

Names = str | Path | Sequence[str | Path]


def is_names(data: object) -> TypeGuard[Names]:
    """Return True if data is given by one or several paths."""
    names = data if isinstance(data, list | tuple) else [data]
    return bool(names) and all(isinstance(name, str | Path) for name in names)


def unwrap_single(names: Names) -> Names:
    """Return the only name of a list with one name; other names are returned as they are."""
    return names[0] if not isinstance(names, str | Path) and len(names) == 1 else names


def is_special_name(name: str | Path) -> bool:
    """Return True if a name stands for data that is not in a file."""
    return str(name) == STANDARD_INPUT or str(name).startswith(SYNTHETIC)


def files_of(names: Names) -> list[Path]:
    """Return the files that names stand for, in order; empty ones of several are omitted.

    A folder stands for its files and those of its subfolders, a pattern for all matches, both in
    natural order: part-2 comes before part-10. A path that exists is not taken as a pattern; a path
    that does not exist stands for itself.
    """
    if isinstance(names, str | Path):
        return _expand(names)
    for name in filter(is_special_name, names):
        raise UsageError(
            f"{name}: is not a file, so it cannot be read with other data; give it by itself"
        )
    paths = [path for name in names for path in _expand(name)]
    files = _non_empty(paths) if len(paths) > 1 else paths
    if not files:
        raise DataError(f"{name_of(names, paths)}: all files are empty")
    return files


def name_of(names: Names, files: Sequence[Path]) -> str:
    """Return the name of one or several files for messages."""
    if isinstance(names, str | Path):
        return str(names)
    if len(files) == 2:
        return f"{files[0]} and {files[1]}"
    return f"{files[0]} to {files[-1]} ({len(files):,} files)"


def natural_key(path: Path) -> tuple[list[list[tuple[bool, int, str]]], str]:
    """Return a sort key by which numbers in names are compared as numbers."""
    words = (re.findall(r"(\d+)|(\D+)", part) for part in path.parts)
    return [[(not digits, int(digits or 0), text) for digits, text in part] for part in words], str(
        path
    )


def _expand(name: str | Path) -> list[Path]:
    path = Path(name)
    if not path.is_dir():
        return (
            [path]
            if path.exists() or not WILDCARDS.search(str(name))
            else _match_pattern(str(name))
        )
    if (path / RUN_FILE).exists():
        raise UsageError(
            f"{path}: is the folder of a run, not data; give the data that the run read"
        )
    files = _list_folder(path)
    if not files:
        raise DataError(
            f"{path}: there is no data in this folder (empty files, hidden files and names that"
            " begin with _ are not read); name a file or another folder"
        )
    return files


def _list_folder(folder: Path) -> list[Path]:
    """Return the files of a folder and its subfolders, except for runs."""

    def refuse(error: OSError) -> None:
        raise error

    paths: list[Path] = []
    for subfolder, folders, names in os.walk(folder, onerror=refuse):
        if RUN_FILE in names:
            folders.clear()
        else:
            folders[:] = [name for name in folders if not name.startswith(OMITTED)]
            paths += [Path(subfolder, name) for name in names if not name.startswith(OMITTED)]
    return _non_empty(sorted(paths, key=natural_key))


def _match_pattern(pattern: str) -> list[Path]:
    """Return the files that match a pattern and those in matching folders, except for runs."""
    pattern_parts = Path(pattern).parts

    def is_wanted(path: Path) -> bool:
        if (path.parent / RUN_FILE).exists():
            return False
        hidden = [
            part for part in path.parts if part.startswith(OMITTED) and part not in pattern_parts
        ]
        return not hidden or (hidden == [path.name] and pattern_parts[-1].startswith(OMITTED))

    paths = sorted(filter(is_wanted, map(Path, glob(pattern, recursive=True))), key=natural_key)
    files = [file for path in paths for file in (_list_folder(path) if path.is_dir() else [path])]
    # With ``**``, both a file and its folder match.
    files = _non_empty(list(dict.fromkeys(files)))
    if not files:
        raise UsageError(f"{pattern}: no file with data matches this pattern")
    return files


def _non_empty(files: list[Path]) -> list[Path]:
    """Return the files that are not empty; files that do not exist are kept, to fail on opening."""
    return [path for path in files if not path.is_file() or path.stat().st_size]
