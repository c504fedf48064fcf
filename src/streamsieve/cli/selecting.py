"""Parse the arguments of ``select``: its own options and those of the method ``-m``.

The options of the method are made from its parameters. Where both would have the same name, the
option is that of ``select``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..errors import DataError, UsageError, spelling_as
from .parameters import (
    CHOSEN,
    NO_CONFIG,
    SHARED,
    ChosenMethod,
    MethodOption,
    OptionSpelling,
    option_name,
    read_config,
)


class SelectCommand(click.Command):
    """A command that has its own options and those of the method that is asked for."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *options, help_option = super().get_params(ctx)  # the last is --help
        return [*options, *(ctx.meta[CHOSEN].options if CHOSEN in ctx.meta else ()), help_option]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        if ctx.resilient_parsing:  # the shell completes what is typed so far, right or wrong
            with suppress(UsageError, OSError):
                self.choose_method(ctx, given)
            return super().parse_args(ctx, args)
        self.choose_method(ctx, given)
        try:
            self.refuse_repeated(ctx, given)
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(
                self.unknown_option_message(ctx, error.option_name), ctx
            ) from None
        except click.BadParameter as error:
            raise add_file_name(ctx, error) from None
        refuse_files_after_test(given, ctx.params["train"] or ())
        return rest

    def choose_method(self, ctx: click.Context, args: list[str]) -> None:
        """Find the method that is asked for, and its parameters."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True  # they may belong to the method
        try:
            values, _, _ = parser.parse_args(list(args))
        except click.UsageError:
            values = {}  # the error is raised again when all options are known
        config = read_config(Path(values["config"]), self) if "config" in values else NO_CONFIG
        ctx.default_map = {**(ctx.default_map or {}), **config.options}
        named = values.get("method") or config.options.get("method")
        if named is None and "resume" in values:
            named = method_of_run(values["resume"])
        helping = self.get_help_option(ctx)
        if named is None and helping is not None and helping.name in values:
            return  # help needs no imports
        from ..manual import describe_parameters
        from ..registry import find_method

        method_option = next(option for option in self.params if option.name == "method")
        method = find_method(str(named or method_option.get_default(ctx)))
        command_options = {opt for option in self.params for opt in option.opts}
        parameters = describe_parameters(method)
        options = [
            MethodOption(parameter)
            for parameter in parameters
            if option_name(parameter.name) not in command_options
        ]
        shadowed = [
            parameter.name
            for parameter in parameters
            if option_name(parameter.name) in command_options
        ]
        ctx.meta[CHOSEN] = ChosenMethod(method.name, options, shadowed, config, {}, {})

    def refuse_repeated(self, ctx: click.Context, args: list[str]) -> None:
        """Raise UsageError if an option that takes one value is given twice."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        single = [
            option for option in order if isinstance(option, click.Option) and not option.multiple
        ]
        for option in single:
            if single.count(option) > 1 and not option.is_flag:
                raise UsageError(f"{option.opts[-1]} is given twice; omit one of them")

    def unknown_option_message(self, ctx: click.Context, name: str) -> str:
        """Return the message about an option that is unknown to command and method."""
        names = [
            opt for option in self.get_params(ctx) for opt in option.opts if opt.startswith("--")
        ]
        close_names = difflib.get_close_matches(
            name.lstrip("-"), [opt.lstrip("-") for opt in names]
        )
        hint = (
            f" (did you mean {' or '.join(f'--{close_name}' for close_name in close_names)}?)"
            if close_names
            else ""
        )
        chosen: ChosenMethod | None = ctx.meta.get(CHOSEN)
        listing = (
            f"; {chosen.method} has {', '.join(option.opts[0] for option in chosen.options)}"
            if chosen
            else ""
        )
        return f"no such option: {name}{hint}{listing}"

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the command, then those of the method."""
        options = [option for option in super().get_params(ctx) if isinstance(option, click.Option)]
        with formatter.section("Options"):
            formatter.write_dl(
                [record for option in options if (record := option.get_help_record(ctx))]
            )
        if CHOSEN not in ctx.meta:
            with formatter.section("Options of the method"):
                formatter.write_text("streamsieve select -m METHOD --help lists them.")
            return
        chosen: ChosenMethod = ctx.meta[CHOSEN]
        with formatter.section(f"Options of {chosen.method}"):
            formatter.write_dl(
                [record for option in chosen.options if (record := option.get_help_record(ctx))]
            )
            for name in [name for name in chosen.shadowed if name not in SHARED]:
                formatter.write_text(
                    f"{option_name(name)} is an option of select; the parameter {name} of"
                    f" {chosen.method} is given by --param {name}=VALUE."
                )

    def invoke(self, ctx: click.Context) -> Any:
        with spelling_as(OptionSpelling([self], ctx.meta[CHOSEN])):
            return super().invoke(ctx)


def method_of_run(folder: str) -> str | None:
    """Return the method of a run to be resumed, or None if it cannot be read.

    The reason is reported later.
    """
    from ..runs import RunDirectory

    try:
        return RunDirectory(folder).request().method
    except (DataError, UsageError, OSError):
        return None


def add_file_name(ctx: click.Context, error: click.BadParameter) -> click.UsageError:
    """Return an error about the value of an option, with the file of options it is from."""
    name = error.param.name if error.param else None
    if (
        name is None
        or CHOSEN not in ctx.meta
        or ctx.get_parameter_source(name) is not ParameterSource.DEFAULT_MAP
    ):
        return error
    return click.UsageError(f"{ctx.meta[CHOSEN].config.path}: {error.format_message()}", ctx)


def refuse_files_after_test(args: list[str], train: Iterable[str]) -> None:
    """Raise UsageError for files after --test FILE, which would be learned from.

    A shell writes them for an unquoted pattern.
    """
    train = list(train)
    for option, name, after in zip(["", *args], args, args[1:], strict=False):
        if (option == "--test" or name.startswith("--test=")) and after in train and len(train) > 1:
            raise UsageError(
                f"{after}: follows --test FILE and would be learned from; quote a pattern or"
                " repeat --test, and name what to learn from first"
            )
