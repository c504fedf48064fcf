"""An interpreter that has everything imported already, for tests that run many commands.

Most of the time of a short command goes into imports. ``streamsieve`` and ``python`` give commands
that a small client hands to a server, with folder, environment, open files and ignored signals; the
server forks, and the child is the command. The client passes signals on and ends as the command
does; if it is killed, so is the command. That a command works from a cold start, and imports no
more than it needs, has tests of its own.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import NoReturn

from tests.paths import ROOT

LOCK = f"streamsieve-tests-{os.getuid()}.lock"
PASSED_ON = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
given = []
for file in range(3):
    try:
        os.fstat(file)
        given.append(file)
    except OSError:
        pass  # closed
ignored = [number for number in {passed_on!r} if signal.getsignal(number) is signal.SIG_IGN]
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
    connection.connect({address!r})
    request = json.dumps([sys.argv, os.getcwd(), dict(os.environ), ignored, given]).encode()
    socket.send_fds(connection, [len(request).to_bytes(8, "little")], given)
    connection.sendall(request)
    child = int.from_bytes(connection.recv(8), "little")
    for number in set({passed_on!r}) - set(ignored):
        signal.signal(number, lambda number, frame: os.kill(child, number))
    code = int.from_bytes(connection.recv(8) or bytes([70]), "little", signed=True)
if code < 0:
    if -code in {passed_on!r}:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@cache
def clients() -> Path:
    """Return a folder with ``streamsieve`` and ``warm-python``.

    Their server lives as long as this process.
    """
    folder = Path(tempfile.mkdtemp())
    address = str(folder / "socket")
    command = [sys.executable, "-m", "tests.warm", address]
    server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    for name in ("streamsieve", "warm-python"):
        client = folder / name
        numbers = tuple(map(int, PASSED_ON))
        client.write_text(CLIENT.format(python=sys.executable, address=address, passed_on=numbers))
        client.chmod(0o700)
    atexit.register(shutil.rmtree, folder)
    atexit.register(server.communicate)  # the end of its input is its end
    return folder


def streamsieve(*words: str | Path) -> list[str]:
    """Return a command of the product, from the warm interpreter."""
    return [str(clients() / "streamsieve"), *map(str, words)]


def python(script: str, *words: str | Path) -> list[str]:
    """Return a command that runs a script in the warm interpreter."""
    return [str(clients() / "warm-python"), "-c", script, *map(str, words)]


def load_kernels() -> None:
    """Run what most commands run, so that they find its kernels in memory.

    Only one process at a time does so, if none is compiled.
    """
    from streamsieve import cli

    with (
        tempfile.TemporaryDirectory() as name,
        open(Path(tempfile.gettempdir()) / LOCK, "w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = Path(name)
        (folder / "rows.svm").write_text("1 1:1 3:2\n-1 2:1 3:1\n" * 20)
        (folder / "rows.csv").write_text("a,b,y\n" + "1,2,0\n2,1,1\n" * 20)
        rows, table, run = folder / "rows.svm", folder / "rows.csv", folder / "run"
        for words in (
            ["select", rows, "-k", 2, "--test", rows, "-o", run],
            ["predict", run, rows, "-o", folder / "predicted"],
            ["apply", run, rows, "-o", folder / "reduced.svm"],
            ["select", table, "--target", "y", "-k", 1],
            ["select", rows, "-m", "saola"],
            ["info", table],
        ):
            try:
                with (
                    open(os.devnull, "w") as nowhere,
                    redirect_stdout(nowhere),
                    redirect_stderr(nowhere),
                ):
                    cli.main([str(word) for word in words])
            except SystemExit as end:
                if end.code:
                    raise RuntimeError(f"{words} failed") from end


def serve(address: str) -> None:
    """Run commands until standard input ends."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait
    print("ready", flush=True)
    while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            wait_for_command(connection)
        connection.close()


def wait_for_command(connection: socket.socket) -> NoReturn:
    """Act as the parent of a command: send its process id, then its exit code.

    The command is ended if nobody waits for it any more.
    """
    size, files, _, _ = socket.recv_fds(connection, 8, 3)
    request = b""
    while len(request) < int.from_bytes(size, "little"):
        request += connection.recv(1 << 16)
    child = os.fork()
    if child == 0:
        connection.close()
        run_command(*json.loads(request), files)
    for file in (0, 1, 2, *files):
        os.close(file)
    connection.sendall(child.to_bytes(8, "little"))
    if connection in select.select([connection, os.pidfd_open(child)], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        connection.sendall(code.to_bytes(8, "little", signed=True))
    finally:
        os._exit(0)


def run_command(
    arguments: list[str],
    folder: str,
    environment: dict[str, str],
    ignored: list[int],
    given: list[int],
    files: list[int],
) -> NoReturn:
    """Act as the command.

    ``files`` become those of the numbers ``given``; the other standard files are closed.
    """
    for number, file in zip(given, files, strict=True):
        os.dup2(file, number)
        os.close(file)
    for number, stream in enumerate(("stdin", "stdout", "stderr")):
        if number not in given:
            os.close(number)
            setattr(sys, stream, None)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    from streamsieve import cli

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    code = 70
    try:
        if Path(arguments[0]).name == "warm-python":
            sys.argv = ["-c", *arguments[3:]]
            exec(
                compile(arguments[2], "<script>", "exec", dont_inherit=True),
                {"__name__": "__main__"},
            )
            code = 0
        else:
            sys.argv = arguments
            cli.main()  # does not come back
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    import traceback

    import streamsieve.estimators
    import streamsieve.report
    import streamsieve.workflow  # noqa: F401
    from streamsieve import registry

    for method in registry.METHODS:
        registry.find_method(method)
    load_kernels()
    __package__ = None  # click would name the command after it
    serve(sys.argv[1])
