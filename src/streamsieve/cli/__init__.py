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
from .doctor import doctor
from .parameters import OptionSpelling
from .terminal import MAX_LINE_LENGTH, begin_notes, printable, remark, say

FAILED, MISUSED = 1, 2
SIGNALLED = 128  # and the number of the signal
CLOSED_OUTPUT = (
    "standard output is closed, so the output cannot be written; redirect it to a file or to"
    " /dev/null"
)


class Terminated(KeyboardInterrupt):
    """A request to end the process, other than Ctrl-C: it cleans up in the same way."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


TASKS = {  # the commands of each, with an example
    "Select features": {
        "select": "select train.svm.xz -k 100 --test test.svm.xz -o run",
        "apply": "apply run new.svm -o reduced.svm",
        "predict": "predict run new.svm -o labels.csv",
    },
    "Judge a selection": {
        "compare": "compare train.svm.xz -m sofs -m chi2 -k 10,50 -o comparison",
        "report": "report run -o report.html",
    },
    "Prepare data": {
        "info": "info train.csv --target y",
        "convert": "convert train.svm train.arrow",
        "generate": "generate clicks --rows 20000 -o clicks.svm",
    },
    "Help": {
        "methods": "methods sofs",
        "doctor": "doctor",
        "completion": "completion bash",
    },
}


class Group(click.Group):
    """Commands whose errors become one message and an exit code.

    The code is 1 for bad data or a failed run, and 2 for bad usage.
    """

    def main(self, args: Any = None, *rest: Any, **extra: Any) -> Any:
        """Run the command; as a program, leave without finalizing the interpreter.

        There are no arguments here if this is the program. A thread that reads ahead may be inside
        Arrow, and Arrow's threads inside Python: the process would abort or hang after its last
        message.
        """
        if args is not None:
            return super().main(args, *rest, **extra)
        _open_closed_streams()
        _handle_signals()
        try:
            super().main(*rest, **extra)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except OSError as error:  # the help cannot be written
            code = _fail(_reason_of(error))
        os._exit(code or _flush_output())

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in order of use, not alphabetically

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by task, each with an example."""
        for task, examples in TASKS.items():
            with formatter.section(task):
                lines = [(name, self.commands[name].get_short_help_str(80)) for name in examples]
                formatter.write_dl(lines, col_max=12)
                formatter.write_paragraph()
                for example in examples.values():
                    formatter.write_text(f"$ streamsieve {example}")

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
            failure = _reason_of(error)
        sys.exit(_fail(failure, code))


def _fail(failure: str, code: int = FAILED) -> int:
    """Print what went wrong and return the exit code."""
    say(f"streamsieve: error: {failure}", err=True)
    return code


def _handle_signals() -> None:
    """Handle signals that end the process like Ctrl-C.

    A signal that is ignored, as under nohup, is still ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        return

    def end(number: int, frame: FrameType | None) -> None:
        # Further signals are ignored: cleaning up must not be interrupted.
        for ending in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.SIG_IGN)
        _raise(Terminated(number))

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C: begin a new line after the ^C that the terminal shows."""
    if os.isatty(2):
        os.write(2, b"\n")
    _raise(KeyboardInterrupt())


def _raise(error: KeyboardInterrupt) -> None:
    """Raise ``error``; while kernels are compiled, as soon as the compiler allows it."""
    jit = sys.modules.get("streamsieve.kernels.jit")  # importing it takes a second
    if jit is None or not hasattr(jit, "interrupt"):  # or half imported
        raise error
    jit.interrupt(error)


def _open_closed_streams() -> None:
    """Open closed standard streams: the next opened file would get their numbers.

    Nothing can be read from them, and what is written to standard output fails.
    """
    for name, mode in (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            # This gives the lowest free number, which is that of the stream.
            descriptor = os.open(os.devnull, mode)
            if name != "stdin":
                setattr(sys, name, os.fdopen(descriptor, "w", encoding="utf-8"))


def _flush_output() -> int:
    """Write buffered output and return the exit code."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        return FAILED if error.errno == errno.EPIPE else _fail(_reason_of(error))
    except ValueError:  # already closed
        return FAILED
    return 0


def _reason_of(error: OSError) -> str:
    """Return the message for an error of the operating system."""
    if error.errno == errno.EBADF and error.filename is None:
        return CLOSED_OUTPUT
    stream = "standard output" if error.errno == errno.ENOSPC else ""  # other files have names
    return f"{prefix(error.filename or stream)}{error.strerror or error}"


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
        doctor,
        completion,
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "`streamsieve COMMAND --help` explains a command, `streamsieve methods METHOD` a method."
    ),
)
@click.version_option(package_name="streamsieve", message="%(prog)s %(version)s")
def main() -> None:
    """Select a small number of good features from wide, long or endless data, in one pass."""
