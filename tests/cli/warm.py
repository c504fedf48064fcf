"""An interpreter that has everything imported already, for tests that run many commands.

Half of the time of a short command goes into imports. A ``streamsieve`` in front of the search path hands its
arguments, folder, environment and open files to a server, which forks: the child is the command. That a command works
from a cold start, and imports no more than it needs, has tests of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NoReturn

from streamsieve import cli, registry

CLIENT = """#!{python} -IS
import json, os, socket, sys
given = []
for file in range(3):
    try:
        os.fstat(file)
        given.append(file)
    except OSError:
        pass  # closed
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
    connection.connect({address!r})
    request = json.dumps([sys.argv, os.getcwd(), dict(os.environ), given]).encode()
    socket.send_fds(connection, [len(request).to_bytes(8, "little")], given)
    connection.sendall(request)
    code = connection.recv(1)
os._exit(code[0] if code else 70)
"""


@cache
def commands() -> str:
    """A folder with a ``streamsieve`` to put in front of the search path; its server lives as long as this process."""
    folder = Path(tempfile.mkdtemp())
    address = str(folder / "socket")
    server = subprocess.Popen([sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    client = folder / "streamsieve"
    client.write_text(CLIENT.format(python=sys.executable, address=address))
    client.chmod(0o700)
    atexit.register(shutil.rmtree, folder)
    atexit.register(server.communicate)  # the end of its input is its end
    return str(folder)


def serve(address: str) -> None:
    """Run commands until standard input ends."""
    for method in registry.METHODS:
        registry.learner_class(method)
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
    """Be the parent of a command, and send its exit code."""
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
    connection.sendall(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256]))
    os._exit(0)


def run_command(
    arguments: list[str], folder: str, environment: dict[str, str], given: list[int], files: list[int]
) -> NoReturn:
    """Be the command; ``files`` are to be those of the numbers ``given``, and the other standard ones closed."""
    for number, file in zip(given, files, strict=True):
        os.dup2(file, number)
        os.close(file)
    for number, stream in enumerate(("stdin", "stdout", "stderr")):
        if number not in given:
            os.close(number)
            setattr(sys, stream, None)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments
    try:
        cli.main()
    finally:
        os._exit(70)  # main does not come back


if __name__ == "__main__":
    import streamsieve.estimators
    import streamsieve.report
    import streamsieve.workflow  # noqa: F401

    serve(sys.argv[1])
