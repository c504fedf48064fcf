"""The command line: thin commands over ``streamsieve.workflow``."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import warnings
from types import FrameType
from typing import Any

import click

from ..errors import DataError, RunError, UsageError, prefix, spelling_as
from .about import completion, methods
from .commands import apply, convert, generate, info, predict, report, select
from .comparing import compare
from .parameters import OptionSpelling
from .terminal import MAX_LINE_LENGTH, begin_notes, printable, remark, say

FAILED, MISUSED = 1, 2
SIGNALLED = 128  # and the number of the signal
CLOSED = (
    "standard output is closed, and there is something to write to it; redirect it to a file or to"
    " /dev/null"
)


class Terminated(KeyboardInterrupt):
    """The process is asked to end, by another than Ctrl-C: it cleans up in the same way."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


class Group(click.Group):
    """Turns what goes wrong into one message and an exit code: 1 bad data or a failed run, 2 bad usage."""

    def main(self, args: Any = None, *rest: Any, **extra: Any) -> Any:
        """As a program, without arguments here, leave without taking the interpreter apart.

        A thread that reads ahead may be inside Arrow then, and Arrow's threads inside Python: the
        process would abort or hang after its last message.
        """
        if args is not None:
            return super().main(args, *rest, **extra)
        _open_what_is_closed()
        _end_in_order()
        try:
            super().main(*rest, **extra)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except OSError as error:  # help, which nobody can read
            code = _fail(_reason(error))
        os._exit(code or _flushed())

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # as they are used, not by the alphabet

    def invoke(self, ctx: click.Context) -> Any:
        warnings.showwarning = _show_warning
        begin_notes()
        code = FAILED
        try:
            with spelling_as(OptionSpelling(self.commands.values())):
                return super().invoke(ctx)
        except click.UsageError as error:
            raise click.UsageError(
                printable(error.format_message(), MAX_LINE_LENGTH), error.ctx
            ) from None
        except UsageError as error:
            failure, code = str(error), MISUSED
        except FileNotFoundError as error:
            failure, code = f"{error.filename}: there is no such file", MISUSED
        except (DataError, RunError) as error:
            failure = str(error)
        except MemoryError as error:
            failure = (
                "out of memory; hash the features to fewer, or use a machine with more memory"
                f" ({error})"
            )
        except OverflowError as error:
            failure, code = f"a number is too large ({error}); give a smaller one", MISUSED
        except Terminated as error:
            failure, code = str(error), SIGNALLED + error.number
        except KeyboardInterrupt:
            failure = "interrupted"
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            failure = _reason(error)
        sys.exit(_fail(failure, code))


def _fail(failure: str, code: int = FAILED) -> int:
    """Say what went wrong; the exit code."""
    say(f"streamsieve: error: {failure}", err=True)
    return code


def _end_in_order() -> None:
    """Have a request to end the process do what Ctrl-C does; one that is ignored, as under nohup, still is."""
    if threading.current_thread() is not threading.main_thread():
        return

    def end(number: int, frame: FrameType | None) -> None:
        for asked in (
            signal.SIGTERM,
            signal.SIGHUP,
        ):  # once is enough: cleaning up must not be interrupted
            signal.signal(asked, signal.SIG_IGN)
        _raise(Terminated(number))

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Ctrl-C: begin a new line after the ^C that the terminal shows, before anything is said."""
    if os.isatty(2):
        os.write(2, b"\n")
    _raise(KeyboardInterrupt())


def _raise(error: KeyboardInterrupt) -> None:
    """Raise ``error``; where kernels may be in the compiler, as they allow."""
    compiling = sys.modules.get("streamsieve.kernels.jit")  # loading it takes a second
    if compiling is None or not hasattr(compiling, "interrupt"):  # or half loaded
        raise error
    compiling.interrupt(error)


def _open_what_is_closed() -> None:
    """Open standard streams that are closed, or the next file that is opened would take their numbers.

    Nothing can be read from them, and what is written to standard output fails.
    """
    for name, mode in (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            descriptor = os.open(
                os.devnull, mode
            )  # the lowest that is free, and so that of the stream
            if name != "stdin":
                setattr(sys, name, os.fdopen(descriptor, "w", encoding="utf-8"))


def _flushed() -> int:
    """Write what waits to be written; the exit code."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        return FAILED if error.errno == errno.EPIPE else _fail(_reason(error))
    except ValueError:  # closed by now
        return FAILED
    return 0


def _reason(error: OSError) -> str:
    if error.errno == errno.EBADF and error.filename is None:
        return CLOSED
    full = "standard output" if error.errno == errno.ENOSPC else ""  # files are named
    return f"{prefix(error.filename or full)}{error.strerror or error}"


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    remark(f"streamsieve: warning: {message}")


@click.group(
    cls=Group,
    commands=[
        select,
        apply,
        predict,
        compare,
        report,
        convert,
        generate,
        info,
        methods,
        completion,
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "`streamsieve COMMAND --help` explains a command, `streamsieve methods METHOD` a method."
    ),
)
@click.version_option(package_name="streamsieve", message="%(prog)s %(version)s")
def main() -> None:
    """Select a small number of good features from data too wide, too long or never complete, in one pass.

    \b
    streamsieve select train.svm.xz -k 100 --test test.svm.xz -o run
    streamsieve apply run new.svm -o reduced.svm
    streamsieve predict run new.svm
    """
