"""Files that are complete or absent: names that cannot be predicted, remains, links, threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from streamsieve.errors import DataError
from streamsieve.files import PARTIAL, clear_partial, file_exists, replacing


def partials(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(PARTIAL))


def test_a_file_is_the_old_one_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with replacing(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with pytest.raises(ZeroDivisionError), replacing(path) as partial:
        partial.write_text(str(1 // 0))
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_threads_that_write_one_file_do_not_disturb_one_another(tmp_path: Path) -> None:
    path, failures = tmp_path / "out", []
    path.write_text("0" * 5000)

    def write(digit: str) -> None:
        try:
            for _ in range(40):
                with replacing(path) as partial, partial.open("w") as file:
                    for _ in range(50):
                        file.write(digit * 100)
                content = path.read_text()
                if len(content) != 5000 or len(set(content)) != 1:
                    failures.append(content[:20])
        except BaseException as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=write, args=(digit,)) for digit in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_remains_of_the_dead_are_cleared_and_the_living_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out"
    code = (
        "import os, signal, sys; from pathlib import Path; from streamsieve.files import"
        " replacing\nwith replacing(Path(sys.argv[1])) as partial:\n    partial.write_text('half');"
        " os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert len(partials(tmp_path)) == 1
    others = [
        tmp_path / name
        for name in (".out.partial", ".out.x.partial", ".outer.1f.partial", "out.1f.partial")
    ]
    for other in others:
        other.touch()
    (tmp_path / ".out.2.partial").symlink_to(others[0])
    (tmp_path / ".out.3.partial").mkdir()
    os.mkfifo(tmp_path / ".out.4.partial")
    kept = {".out.2.partial", ".out.3.partial", ".out.4.partial", *(other.name for other in others)}
    with replacing(path) as living:
        living.touch()
        clear_partial(path)
        assert set(partials(tmp_path)) == {living.name, *kept}
    assert set(partials(tmp_path)) == kept


def test_a_link_that_waits_under_the_name_of_a_partial_file_leads_nowhere(tmp_path: Path) -> None:
    """The name cannot be predicted, neither from the process id nor from anything else."""
    path, key = tmp_path / "out", tmp_path / "key"
    key.write_text("secret")
    (tmp_path / f".out.{os.getpid()}.partial").symlink_to(key)
    with replacing(path) as partial:
        assert not partial.is_symlink()
        partial.write_text("new")
    assert key.read_text() == "secret"
    names = set()
    for _ in range(3):
        with replacing(path) as partial:
            names.add(partial.name)
    assert len(names) == 3


def test_links_are_followed_only_where_a_user_names_them(tmp_path: Path) -> None:
    key, link = tmp_path / "key", tmp_path / "link"
    key.write_text("secret")
    link.symlink_to(key)
    with (
        pytest.raises(DataError, match="link: is a link"),
        replacing(link, follow=False) as partial,
    ):
        partial.write_text("new")
    assert key.read_text() == "secret"
    with replacing(link) as partial:
        partial.write_text("new")
    assert (key.read_text(), link.is_symlink()) == ("new", True)


def test_what_is_not_a_regular_file_is_refused_by_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    for name, what in (
        ("pipe", "a device or a pipe"),
        ("folder", "a folder"),
        ("dangling", "a link"),
    ):
        with pytest.raises(DataError, match=f"{name}: is {what}, but must be a regular file"):
            file_exists(tmp_path / name)
    assert not file_exists(tmp_path / "nothing")


def test_what_cannot_be_written_is_named_as_the_user_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError) as error, replacing(tmp_path / "out"):
        pass
    assert error.value.filename == str(tmp_path / "out")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_compressed_file_has_the_same_bytes_every_time(tmp_path: Path, suffix: str) -> None:
    """The temporary name under which it is written is not stored, for example."""
    from streamsieve import workflow

    rows, outputs = (
        tmp_path / "rows.svm",
        [tmp_path / f"{number}.svm{suffix}" for number in range(2)],
    )
    rows.write_text("1 1:1\n-1 2:1\n")
    for output in outputs:
        workflow.convert(rows, output)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert b"partial" not in outputs[0].read_bytes()
