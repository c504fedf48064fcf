"""How the arguments of ``select`` are read: its options are its own and those of the method that ``-m`` names.

The latter are made from the method's parameters. Where both would have the same name, the option is
that of ``select``.
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
    SHARED,
    Chosen,
    Config,
    MethodOption,
    OptionSpelling,
    option_name,
    read_config,
)


class Select(click.Command):
    """A command whose options are its own and those of the method that it is asked for."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, last = super().get_params(ctx)  # the last is --help
        return [*own, *(ctx.meta[CHOSEN].options if CHOSEN in ctx.meta else ()), last]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        if (
            ctx.resilient_parsing
        ):  # the shell wants to complete what is typed so far, right or wrong
            with suppress(UsageError, OSError):
                self.choose(ctx, given)
            return super().parse_args(ctx, args)
        self.choose(ctx, given)
        try:
            self.refuse_twice(ctx, given)
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(self.no_such_option(ctx, error.option_name), ctx) from None
        except click.BadParameter as error:
            raise in_file(ctx, error) from None
        refuse_files_after_test(given, ctx.params["train"] or ())
        return rest

    def choose(self, ctx: click.Context, args: list[str]) -> None:
        """Find out which method is asked for, and what parameters it has."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True  # they may be those of the method
        try:
            found, _, _ = parser.parse_args(list(args))
        except click.UsageError:
            found = {}  # it is raised again when all options are known
        config = read_config(Path(found["config"]), self) if "config" in found else None
        if config is not None:
            ctx.default_map = {**(ctx.default_map or {}), **config.options}
        named = found.get("method") or (config.options.get("method") if config else None)
        if named is None and "resume" in found:
            named = method_of_run(found["resume"])
        helping = self.get_help_option(ctx)
        if named is None and helping is not None and helping.name in found:
            return  # nothing needs to be imported for that
        from ..manual import describe_parameters
        from ..registry import find_method

        own_method = next(option for option in self.params if option.name == "method")
        method = find_method(str(named or own_method.get_default(ctx)))
        own = {opt for option in self.params for opt in option.opts}
        parameters = describe_parameters(method)
        options = [MethodOption(one) for one in parameters if option_name(one.name) not in own]
        without = [one.name for one in parameters if option_name(one.name) in own]
        ctx.meta[CHOSEN] = Chosen(method.name, options, without, config, {}, {})

    def refuse_twice(self, ctx: click.Context, args: list[str]) -> None:
        """Refuse an option that takes one value and has two: which of them is meant is anybody's guess."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        once = [
            option for option in order if isinstance(option, click.Option) and not option.multiple
        ]
        for option in once:
            if once.count(option) > 1 and not option.is_flag:
                raise UsageError(f"{option.opts[-1]} is given twice; omit one of them")

    def no_such_option(self, ctx: click.Context, name: str) -> str:
        """What to say of an option that neither the command nor the method has."""
        known = [
            opt for option in self.get_params(ctx) for opt in option.opts if opt.startswith("--")
        ]
        near = difflib.get_close_matches(name.lstrip("-"), [opt.lstrip("-") for opt in known])
        hint = f" (did you mean {' or '.join(f'--{one}' for one in near)}?)" if near else ""
        chosen: Chosen | None = ctx.meta.get(CHOSEN)
        own = (
            f"; {chosen.method} has {', '.join(option.opts[0] for option in chosen.options)}"
            if chosen
            else ""
        )
        return f"no such option: {name}{hint}{own}"

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of the command, then those of the method."""
        own = [option for option in super().get_params(ctx) if isinstance(option, click.Option)]
        with formatter.section("Options"):
            formatter.write_dl(
                [record for option in own if (record := option.get_help_record(ctx))]
            )
        if CHOSEN not in ctx.meta:
            with formatter.section("Options of the method"):
                formatter.write_text("streamsieve select -m METHOD --help lists them.")
            return
        chosen: Chosen = ctx.meta[CHOSEN]
        with formatter.section(f"Options of {chosen.method}"):
            formatter.write_dl(
                [record for option in chosen.options if (record := option.get_help_record(ctx))]
            )
            for name in [name for name in chosen.without if name not in SHARED]:
                formatter.write_text(
                    f"{option_name(name)} is an option of select; the parameter {name} of"
                    f" {chosen.method} is given by --param {name}=VALUE."
                )

    def invoke(self, ctx: click.Context) -> Any:
        with spelling_as(OptionSpelling([self], ctx.meta[CHOSEN])):
            return super().invoke(ctx)


def method_of_run(folder: str) -> str | None:
    """The method of a run that is to be resumed, if it can be read; what is wrong with it is said later."""
    from ..runs import RunDirectory

    try:
        return RunDirectory(folder).request().method
    except (DataError, UsageError, OSError):
        return None


def in_file(ctx: click.Context, error: click.BadParameter) -> click.UsageError:
    """An error about the value of an option; if that is from a file, it names the file."""
    name = error.param.name if error.param else None
    if (
        name is None
        or CHOSEN not in ctx.meta
        or ctx.get_parameter_source(name) is not ParameterSource.DEFAULT_MAP
    ):
        return error
    config: Config = ctx.meta[CHOSEN].config
    return click.UsageError(f"{config.path}: {error.format_message()}", ctx)


def refuse_files_after_test(args: list[str], train: Iterable[str]) -> None:
    """Refuse files after --test FILE, as a shell writes them for an unquoted pattern: they would be learned from."""
    train = list(train)
    for option, name, after in zip(["", *args], args, args[1:], strict=False):
        if (option == "--test" or name.startswith("--test=")) and after in train and len(train) > 1:
            raise UsageError(
                f"{after}: comes after --test FILE and would be learned from; quote a pattern or"
                " repeat --test, and name what to learn from first"
            )
