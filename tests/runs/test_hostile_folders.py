"""Folders that come from strangers: links, pipes and forged notes."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streamsieve as ss
from streamsieve import workflow
from streamsieve.model import Model
from streamsieve.runs.folder import CHECKPOINT, FILES, MODEL, REQUEST, RESULT
from streamsieve.sources import buckets, svmlight
from streamsieve.training import Progress
from tests.effort import FULL


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "rows.svm"
    path.write_text("1 1:1\n-1 2:1\n" * 1000)
    return path


@pytest.fixture(scope="module")
def begun(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that was interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "begun"

    def watch(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workflow.select(
            rows, output=folder, n_features_to_select=1, checkpoint_every=500, watch=watch
        )
    return folder


@pytest.fixture(scope="module")
def finished(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "finished"
    workflow.select(rows, output=folder, n_features_to_select=1)
    return folder


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text("secret")
    return path


# ---- runs


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("way", ["link", "dangling link", "pipe", "folder", "zeros"])
def test_a_run_of_a_stranger_reaches_no_file_outside(
    begun: Path, tmp_path: Path, key: Path, name: str, way: str
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(begun, folder)
    (folder / name).unlink(missing_ok=True)
    if way == "pipe":
        os.mkfifo(folder / name)
    elif way == "folder":
        (folder / name).mkdir()
    else:
        target = {"link": key, "dangling link": tmp_path / "new key", "zeros": "/dev/zero"}[way]
        (folder / name).symlink_to(target)
    with pytest.raises(
        ss.DataError,
        match=rf"{name}: is a (link|device or a pipe|folder), but must be a regular file",
    ):
        workflow.resume(folder)
    assert key.read_text() == "secret"
    assert not (tmp_path / "new key").exists()
    assert (folder / name).is_symlink() == ("link" in way or way == "zeros")


@pytest.mark.parametrize("name", [REQUEST, MODEL, RESULT])
def test_a_finished_run_of_a_stranger_reads_no_file_outside(
    finished: Path, rows: Path, tmp_path: Path, name: str
) -> None:
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    shutil.copytree(finished, folder)
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)
    calls: list[Any] = [
        lambda: workflow.apply(folder, rows, tmp_path / "out.svm"),
        lambda: workflow.resume(folder),
    ]
    for call in calls:
        with pytest.raises(ss.DataError, match=f"{name}: is a link"):
            call()
    assert not (tmp_path / "out.svm").exists()


def test_a_link_to_the_folder_of_a_run_is_the_user_s_own(begun: Path, tmp_path: Path) -> None:
    shutil.copytree(begun, tmp_path / "run")
    (tmp_path / "link").symlink_to("run")
    assert workflow.resume(tmp_path / "link").n_rows == 2000


@pytest.mark.parametrize("name", [REQUEST, RESULT])
def test_json_that_is_nested_without_end_is_damaged(begun: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(begun, folder)
    (folder / name).write_text("[" * 500_000)
    with pytest.raises(ss.DataError, match=f"{name}: damaged"):
        workflow.resume(folder)


def test_the_command_line_says_it_without_a_traceback(
    begun: Path, tmp_path: Path, key: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(begun, folder)
    (folder / "selection.csv").symlink_to(key)
    command = [sys.executable, "-m", "streamsieve", "select", "--resume", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"streamsieve: error: {folder}/selection.csv: is a link")
    assert key.read_text() == "secret"
    assert (folder / CHECKPOINT).exists()


# ---- conversions to columns

SMALL = 100 * buckets.BYTES_TO_SORT  # bytes for the work: less than the rows take
OUTPUT = "columns.parquet"


class StoppedError(Exception):
    """An error in place of the end of a killed process."""


@pytest.fixture(scope="module")
def sparse_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, random = tmp_path_factory.mktemp("data") / "sparse.svm", np.random.default_rng(0)
    lines = []
    for row in range(40):
        ids = np.sort(random.choice(60, 15, replace=False)) + 1
        lines.append(
            f"{row % 3} " + " ".join(f"{feature}:{random.integers(1, 9)}" for feature in ids)
        )
    path.write_text("\n".join([*lines, "1 60:1\n"]))
    return path


def columns_in(path: Path) -> bytes:
    """Return everything that a file of columns holds."""
    source = ss.open_source(path)
    blocks = list(source.column_blocks())
    parts = [
        part
        for block in blocks
        for part in (block.ids, np.diff(block.indptr), block.indices, block.values)
    ]
    return pickle.dumps(
        [source.n_features, source.targets().tolist(), [part.tolist() for part in parts]]
    )


@pytest.fixture(scope="module", autouse=True)
def little_memory() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["streamsieve.workflow.convert"], "work_bytes", lambda _: SMALL)
        yield


@pytest.fixture(scope="module")
def expected(sparse_rows: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("expected") / OUTPUT
    workflow.convert_to_columns(sparse_rows, path)
    return columns_in(path)


@pytest.fixture(scope="module")
def interrupted(sparse_rows: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return folders with a conversion that was interrupted.

    One was interrupted while entries were sorted into buckets, the other when all were sorted.
    """
    folders = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "NOTE_EVERY", 50)
        patch.setattr(svmlight.SvmlightSource.__init__, "__defaults__", (False, 200))
        for unit, at in (("rows sorted", 20), ("features written", 1)):
            folders[unit] = tmp_path_factory.mktemp("interrupted")

            def stop(now: Progress, unit: str = unit, at: int = at) -> None:
                if now.unit == unit and now.done >= at:
                    raise StoppedError

            with pytest.raises(StoppedError):
                workflow.convert_to_columns(sparse_rows, folders[unit] / OUTPUT, watch=stop)
            (work,) = folders[unit].iterdir()
            assert sorted(path.name for path in work.iterdir()) == ["buckets", "note", "survey"]
            assert work.stat().st_mode & 0o777 == 0o700
    return folders


def converted(rows: Path, folder: Path) -> bytes:
    workflow.convert_to_columns(rows, folder / OUTPUT)
    return columns_in(folder / OUTPUT)


def test_a_folder_of_the_user_s_is_never_a_work_folder(
    sparse_rows: Path, expected: bytes, interrupted: dict[str, Path], tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    for name in ("mine.txt", "survey", "buckets", "note", "note.json", "survey.npz"):
        (precious / name).write_text("precious")
    (work,) = interrupted["rows sorted"].iterdir()
    for name in (f".{OUTPUT}.columns", work.name):
        folder = tmp_path / f"for {name}"
        folder.mkdir()
        (folder / name).symlink_to(precious)
        assert converted(sparse_rows, folder) == expected
        assert sorted(path.name for path in folder.iterdir()) == sorted([name, OUTPUT])
    folder = tmp_path / "real"
    shutil.copytree(precious, folder / f".{OUTPUT}.columns")
    assert converted(sparse_rows, folder) == expected
    for kept in (precious, folder / f".{OUTPUT}.columns"):
        assert {path.read_text() for path in kept.iterdir()} == {"precious"}
        assert len(list(kept.iterdir())) == 6


def test_only_known_files_are_removed_from_remains(
    sparse_rows: Path, expected: bytes, interrupted: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(interrupted["rows sorted"], tmp_path, dirs_exist_ok=True)
    (work,) = tmp_path.iterdir()
    (work / "mine.txt").write_text("precious")
    (work / ".survey.1f.partial").touch()
    assert converted(sparse_rows, tmp_path) == expected
    assert [path.name for path in work.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["survey", "note", "buckets"])
@pytest.mark.parametrize("way", ["link", "hard link", "pipe", "folder", "zeros", "sparse terabyte"])
def test_notes_that_lead_elsewhere_are_not_followed(
    sparse_rows: Path,
    expected: bytes,
    interrupted: dict[str, Path],
    tmp_path: Path,
    key: Path,
    name: str,
    way: str,
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(interrupted["rows sorted"], folder)
    (work,) = folder.iterdir()
    if way == "hard link":
        key.write_bytes((work / name).read_bytes())
    content = key.read_bytes()
    if way == "sparse terabyte":
        os.truncate(work / name, 10**12)
    else:
        (work / name).unlink()
    if way == "link":
        (work / name).symlink_to(key)
    elif way == "hard link":
        os.link(key, work / name)
    elif way == "pipe":
        os.mkfifo(work / name)
    elif way == "folder":
        (work / name).mkdir()
    elif way == "zeros":
        (work / name).symlink_to("/dev/zero")
    assert converted(sparse_rows, folder) == expected
    assert key.read_bytes() == content


def test_two_conversions_to_one_file_do_not_meet(
    sparse_rows: Path, expected: bytes, interrupted: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(interrupted["rows sorted"], tmp_path, dirs_exist_ok=True)
    refused = []

    def second(now: Progress) -> None:
        with pytest.raises(
            ss.UsageError, match="another process is writing this file; wait"
        ) as error:
            workflow.convert_to_columns(sparse_rows, tmp_path / OUTPUT)
        refused.append(error)

    workflow.convert_to_columns(sparse_rows, tmp_path / OUTPUT, watch=second)
    assert refused
    assert columns_in(tmp_path / OUTPUT) == expected
    long = "n" * 60
    (tmp_path / "other").mkdir()

    def another(now: Progress) -> None:
        if now.unit == "rows sorted":
            workflow.convert_to_columns(sparse_rows, tmp_path / "other" / f"{long}2.parquet")

    workflow.convert_to_columns(sparse_rows, tmp_path / "other" / f"{long}1.parquet", watch=another)
    assert len(list((tmp_path / "other").iterdir())) == 2


def test_notes_of_a_stranger_give_the_right_columns_or_none(
    sparse_rows: Path, expected: bytes, interrupted: dict[str, Path], tmp_path: Path
) -> None:
    """Damage or forge several hundred notes.

    The columns are the same as without the notes, at once or when the conversion begins again.
    """
    random, outcomes, every = np.random.default_rng(0), Counter[str](), 1 if FULL else 12
    for stage, whole in interrupted.items():
        for number, (description, mutate) in enumerate(mutations(random)):
            if number % every:
                continue
            folder = tmp_path / f"{stage} {number}"
            shutil.copytree(whole, folder)
            (work,) = folder.iterdir()
            mutate(work)
            try:
                columns = converted(sparse_rows, folder)
            except ss.DataError as error:
                outcomes[str(error)[-11:]] += 1
                columns = converted(sparse_rows, folder)
            assert columns == expected, f"{stage}: {description}"
            assert [path.name for path in folder.iterdir()] == [OUTPUT], f"{stage}: {description}"
            shutil.rmtree(folder)
            outcomes["right"] += 1
    assert outcomes["right"] > 400 // every
    assert set(outcomes) == {"right", "begin again"}


def mutations(random: np.random.Generator) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Yield changes to the files of a work folder, and descriptions of them.

    Bytes are changed, and properly packed contents.
    """
    for name in ("survey", "note", "buckets"):
        for _ in range(8):
            yield f"a byte of {name}", partial(change_bytes, name=name, random=random)
        for size in (0, 1, 100, 1000):
            yield f"{name} cut to {size}", partial(cut_to, name=name, size=size)
    numbers = -1, 0, 1, 7, 41, 2**31, 2**63, 2**70, 1e30, 0.5, None, "x", [], True
    for name, field in (
        *(("survey", field) for field in ("stamp", "n_features", "memory", "shift")),
        *(("note", field) for field in ("rows", "survey")),
    ):
        for value in numbers:
            yield (
                f"{name}.{field} = {value!r}",
                partial(change_header, name=name, field=field, value=value),
            )
        yield f"no {name}.{field}", partial(change_header, name=name, field=field, value=...)
    for name, field in (
        ("survey", "y"),
        ("survey", "ranges"),
        ("survey", "counts"),
        ("note", "filled"),
        ("note", "sums"),
    ):
        for what, change in ARRAY_CHANGES.items():
            yield (
                f"{name}.{field}: {what}",
                partial(change_array, name=name, field=field, change=change),
            )
    for name in ("survey", "note"):
        yield (
            f"{name} of another kind",
            partial(change_model, name=name, change=lambda model: setattr(model, "method", "x")),
        )
        yield (
            f"more in {name}",
            partial(
                change_model, name=name, change=lambda model: model.arrays.update(x=np.ones(3))
            ),
        )
        yield f"{name} compressed", partial(compress, name=name)


ARRAY_CHANGES: dict[str, Callable[[np.ndarray], np.ndarray | None]] = {
    "one more": lambda array: array + np.array(1, array.dtype),
    "first one more": lambda array: np.concatenate(
        [array[:1] + np.array(1, array.dtype), array[1:]]
    ),
    "first and last": (
        lambda array: np.concatenate([array[:1] + 1, array[1:-1], array[-1:] - 1]).astype(
            array.dtype
        )
    ),
    "negative": lambda array: -array,
    "zeros": np.zeros_like,
    "huge": lambda array: np.full_like(
        array, np.iinfo(array.dtype).max if array.dtype.kind in "iu" else 1e300
    ),
    "one huge": lambda array: np.concatenate(
        [array[:5], (array[5:6] + 2**30).astype(array.dtype), array[6:]]
    ),
    "backwards": lambda array: array[::-1],
    "sorted": np.sort,
    "shorter": lambda array: array[:-1],
    "longer": lambda array: np.concatenate([array, array[:1]]),
    "empty": lambda array: array[:0],
    "missing": lambda array: None,
    "matrix": lambda array: array[:, None],
    "single": lambda array: np.array(array[0]),
    "float32": lambda array: array.astype(np.float32),
    "text": lambda array: array.astype(str),
    "int8": lambda array: array.astype(np.int8),
    "NaN": lambda array: np.full(array.shape, np.nan),
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
}


def change_bytes(work: Path, name: str, random: np.random.Generator) -> None:
    content = bytearray((work / name).read_bytes())
    position = int(
        random.integers(len(content))
        if random.random() < 0.3
        else random.integers(min(len(content), 3000))
    )
    content[position] ^= int(random.integers(1, 256))
    (work / name).write_bytes(content)


def cut_to(work: Path, name: str, size: int) -> None:
    os.truncate(work / name, min(size, (work / name).stat().st_size))


def change_model(work: Path, name: str, change: Callable[[Model], Any]) -> None:
    model = Model.load(work / name)
    change(model)
    model.save(work / name)


def change_header(work: Path, name: str, field: str, value: Any) -> None:
    def change(model: Model) -> None:
        if value is ...:
            del model.header[field]
        else:
            model.header[field] = value

    change_model(work, name, change)


def change_array(
    work: Path, name: str, field: str, change: Callable[[np.ndarray], np.ndarray | None]
) -> None:
    def change_it(model: Model) -> None:
        with np.errstate(all="ignore"):
            changed = change(model.arrays[field])
        if changed is None:
            del model.arrays[field]
        else:
            model.arrays[field] = changed

    change_model(work, name, change_it)


def compress(work: Path, name: str) -> None:
    with zipfile.ZipFile(work / name) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with zipfile.ZipFile(work / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
