"""Keep a run in a folder: its request, its progress and its result.

``run.json`` is written before the first row is read, ``checkpoint`` while rows are read, ``model``,
``selection.csv`` and, last of all, ``result.json`` at the end. Every file is complete or absent, so
a run can be killed at any moment and resumed. A folder may come from a stranger: anything in it
that is not a regular file is neither read nor written through.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path

from ..errors import DataError, UsageError
from ..files import clear_partial, file_exists, lock, replacing
from ..json_text import read_json, write_json
from ..selectors.base import AnyLearner
from ..sources.finding import MODEL_FILE, RUN_FILE
from ..sources.writers import label_text
from .record import RunRecord
from .request import RunRequest

REQUEST, CHECKPOINT, MODEL, TABLE, RESULT = (
    RUN_FILE,
    "checkpoint",
    MODEL_FILE,
    "selection.csv",
    "result.json",
)
FILES = REQUEST, CHECKPOINT, MODEL, TABLE, RESULT


class RunDirectory:
    """The folder of a run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.is_new = False  # True if the folder was made for the run
        self.is_begun = False  # True if this process began the run, not an earlier one

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextmanager
    def begin_run(self, request: RunRequest) -> Iterator[None]:
        """Begin a run in a new or empty folder: write the request, and lock out other processes."""
        self.is_new = not self.path.exists()
        if self.is_new:
            self.path.mkdir(parents=True, exist_ok=True)
        with self.lock_run() if self.path.is_dir() else nullcontext():
            if not self.path.is_dir() or any(self.path.iterdir()):
                raise UsageError(
                    f"{self.path}: is not an empty folder; name another, or go on with the run in"
                    " it: select --resume"
                )
            self.is_begun = True
            try:
                write_json(self / REQUEST, asdict(request))
            except BaseException:
                self.discard()
                raise
            yield

    @contextmanager
    def lock_run(self) -> Iterator[None]:
        """Lock out other processes, and remove partial files that a killed process left."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if lock(descriptor) == "taken" or not self._is_here(descriptor):
                raise UsageError(
                    f"{self.path}: another process is at work on this run; wait until it has ended"
                )
            self.refuse_strange_files()
            self._clear_partial()
            yield
        finally:
            os.close(descriptor)

    def _is_here(self, descriptor: int) -> bool:
        """Return True if the open folder is the one at the path, not one that was removed."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def refuse_strange_files(self) -> None:
        """Raise DataError if a file of the run is not a regular file."""
        for name in FILES:
            file_exists(self / name)

    def request(self) -> RunRequest:
        """Return the request of the run."""
        path = self / REQUEST
        self.refuse_strange_files()
        try:
            content = read_json(path, "put it back from a copy, or start a new run")
        except FileNotFoundError:
            raise UsageError(f"{self.path}: there is no run in this folder") from None
        return RunRequest.from_dict(content, str(path))

    def _clear_partial(self) -> None:
        for name in FILES:
            clear_partial(self / name)

    @property
    def checkpoint(self) -> Path | None:
        """Return the path of the last checkpoint, or None without a checkpoint."""
        path = self / CHECKPOINT
        return path if file_exists(path) else None

    def finish(self, record: RunRecord, learner: AnyLearner) -> None:
        """Write the model and the result; the run is finished when the result is written."""
        self.refuse_strange_files()
        learner.save(self / MODEL)
        _write_table(self / TABLE, record)
        write_json(self / RESULT, record.to_dict())
        self.drop_checkpoint()

    def drop_checkpoint(self) -> None:
        """Remove the last checkpoint, which is not needed once the run is finished."""
        (self / CHECKPOINT).unlink(missing_ok=True)

    def result(self) -> RunRecord | None:
        """Return the record of a finished run; None if it is not finished."""
        if not file_exists(self / RESULT):
            return None
        cure = "remove it to finish the run again"
        content = read_json(self / RESULT, cure)
        try:
            return RunRecord.from_dict(content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"{self / RESULT}: damaged, or of another version ({error}); {cure}"
            ) from error

    def model(self) -> Path:
        """Return the path of the model of a finished run."""
        if not file_exists(self / MODEL):
            self.request()
            raise UsageError(
                f"{self.path}: the run is not finished; go on with it: select --resume {self.path}"
            )
        return self / MODEL

    def discard(self, hopeless: bool = False) -> None:
        """Remove the files of a failed run, unless it left a checkpoint to go on from.

        The request is kept if an earlier process began the run and it is not ``hopeless``: then it
        can be resumed once more.
        """
        self._clear_partial()
        if self.checkpoint:
            return
        for name in (*([REQUEST] if self.is_begun or hopeless else []), MODEL, TABLE, RESULT):
            (self / name).unlink(missing_ok=True)
        if self.is_new and not any(self.path.iterdir()):
            self.path.rmdir()


def _write_table(path: Path, record: RunRecord) -> None:
    """Write the selection as a table, best first."""
    lines = record.table()
    for line in lines:
        if "class" in line:
            line["class"] = "" if line["class"] is None else label_text(line["class"])
    titles = list(lines[0]) if lines else ["feature", "index", "score"]
    with (
        replacing(path, follow=False) as partial,
        partial.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, titles)
        writer.writeheader()
        writer.writerows(lines)
