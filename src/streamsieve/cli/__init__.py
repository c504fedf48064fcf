"""The command line: thin commands over ``streamsieve.workflow``."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from typing import Any

import click

from ..errors import DataError, RunError, UsageError, prefix
from .commands import COMMANDS

FAILED, MISUSED = 1, 2


class Group(click.Group):
    """Turns what goes wrong into one message and an exit code: 1 bad data or a failed run, 2 bad usage."""

    def main(self, args: Any = None, *rest: Any, **extra: Any) -> Any:
        """As a program, without arguments here, leave without taking the interpreter apart.

        A thread that reads ahead may be inside Arrow then, and Arrow's threads inside Python: the process would abort
        or hang after its last message.
        """
        if args is not None:
            return super().main(args, *rest, **extra)
        try:
            super().main(*rest, **extra)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            for stream in (sys.stdout, sys.stderr):
                try:
                    if stream is not None:
                        stream.flush()
                except (OSError, ValueError):
                    code = code or FAILED
            os._exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        warnings.showwarning = _show_warning
        code = FAILED
        try:
            return super().invoke(ctx)
        except UsageError as error:
            failure, code = str(error), MISUSED
        except FileNotFoundError as error:
            failure, code = f"{error.filename}: there is no such file", MISUSED
        except (DataError, RunError) as error:
            failure = str(error)
        except MemoryError as error:
            failure = f"out of memory; hash the features to fewer, or use a machine with more memory ({error})"
        except KeyboardInterrupt:
            failure = "interrupted"
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            failure = f"{prefix(error.filename or '')}{error.strerror or error}"
        click.echo(f"streamsieve: error: {failure}", err=True)
        sys.exit(code)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"streamsieve: warning: {message}", err=True)


@click.group(cls=Group, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="streamsieve", message="%(prog)s %(version)s")
def main() -> None:
    """Select a small number of good features from data too wide, too long or never complete, in one pass.

    \b
    streamsieve select train.svm.xz -k 100 --test test.svm.xz -o run
    streamsieve apply run new.svm -o reduced.svm
    streamsieve predict run new.svm
    """
