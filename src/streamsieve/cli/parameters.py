"""The parameters of a method on the command line: ``--name value``, ``--param name=value``, ``-k`` and a file."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from ..errors import NO_VALUE, Spelling, UsageError, did_you_mean
from .terminal import printable

if TYPE_CHECKING:
    from ..manual import Parameter

BUDGET = "n_features_to_select"
SHARED = {BUDGET: "-k", "workers": "--workers"}  # parameters that are options of the command, too
SAME_AS = {
    BUDGET: "budget",
    "ks": "budgets",
}  # arguments in Python, and what click calls their options
WORDS = {"True": True, "False": False, "None": None}  # Python's, where JSON has others
CHOSEN = "streamsieve.chosen"  # where the context has what was chosen
Given = tuple[str, str, Any]  # a parameter, how it was given, and its value


NOT_IN_FILES = ("config", "resume", "params", "help")  # options by their name in click
PARAMS = "params"  # the table of the method's parameters


class Config(NamedTuple):
    """Options by their name in click, and parameters of the method."""

    path: Path
    options: dict[str, Any]
    params: dict[str, Any]


class Chosen(NamedTuple):
    """The method that was chosen, the options made from its parameters, the file of options."""

    method: str
    options: list[MethodOption]
    without: list[str]  # parameters whose option would be one of the command
    config: Config | None
    values: dict[str, Any]  # by name of a click option that is about parameters
    typed: dict[str, str]  # by parameter: how it was given


class MethodOption(click.Option):
    """``--name value`` for one parameter of the method."""

    def __init__(self, parameter: Parameter) -> None:
        words = [text_of(value) for value in parameter.choices or ()]
        super().__init__(
            [option_name(parameter.name), f"parameter_{parameter.name}"],
            metavar="|".join(words) or "VALUE",
            help=option_help(parameter),
            expose_value=False,
            callback=keep,
            shell_complete=lambda ctx, option, start: completed(words, start),
        )
        self.parameter = parameter.name


def option_name(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def option_help(parameter: Parameter) -> str:
    """One sentence on a parameter, what it may be and what it is otherwise."""
    first = (
        "The same as -k."
        if parameter.name == BUDGET
        else re.split(r"(?<=\.) (?=[A-Z\"])", parameter.meaning)[0]
    )
    allowed = "" if parameter.choices else f" Allowed: {in_words(parameter.allowed)}."
    return f"{first}{allowed} [default: {text_of(parameter.default)}]"


def in_words(allowed: str) -> str:
    """What a parameter may be, with the words of the command line for Python's."""
    return re.sub(r"\b(True|False|None)\b", lambda word: text_of(WORDS[word[0]]), allowed)


def text_of(value: Any) -> str:
    """Return a value as it is typed on the command line; one that cannot be typed, in its own words."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def completed(words: Iterable[str], start: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(start)]


def complete_method(
    ctx: click.Context, option: click.Parameter, start: str
) -> list[CompletionItem]:
    from ..registry import METHODS

    return completed(METHODS, start)


def read_method(ctx: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """The method that was meant."""
    from ..registry import method_named

    return None if value is None else method_named(value)


def keep(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep the value of an option that is about parameters for ``given_parameters``."""
    if CHOSEN in ctx.meta and value not in (None, ()):
        ctx.meta[CHOSEN].values[option.name] = value


def read_value(text: str) -> Any:
    """JSON if it is that (true, null, numbers, lists), text otherwise; what is not a number in JSON, NaN, is text."""
    if text in WORDS:
        return WORDS[text]
    try:
        return json.loads(text, parse_constant=str)
    except (
        ValueError,
        RecursionError,
    ):  # of a list in lists, or an integer of thousands of digits, too
        return text


def read_param(text: str) -> tuple[str, Any]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--param {text[:80]}: expected NAME=VALUE, such as --param gamma=0.5")
    return name, read_value(value)


def given_parameters(ctx: click.Context) -> dict[str, Any]:
    """The parameters of the method, with the budget and the number of workers among them.

    What is typed wins over what is in a file; what is said twice in one of them is refused.
    """
    chosen: Chosen = ctx.meta[CHOSEN]
    path = "" if chosen.config is None else str(chosen.config.path)
    on_line: list[Given] = []
    in_file: list[Given] = []
    for parameter, option in SHARED.items():
        name = SAME_AS.get(parameter, parameter)
        if name in chosen.values:
            value = read_value(str(chosen.values[name]))
            if is_typed(ctx, name):
                on_line.append((parameter, option, value))
            else:
                in_file.append((parameter, f"{path}: {option.lstrip('-')}", value))
    values = chosen.values
    on_line += [
        (one.parameter, one.opts[0], read_value(values[one.name]))
        for one in chosen.options
        if one.name in values
    ]
    on_line += [
        (name, f"--param {name}", value)
        for name, value in map(read_param, values.get("params", ()))
    ]
    if chosen.config is not None:
        for name, value in chosen.config.params.items():
            in_file.append(
                (name, f"{path}: {name}", read_value(value) if isinstance(value, str) else value)
            )
    typed, filed = once(chosen, on_line), once(chosen, in_file, path)
    for name, option in (
        ("random_state", "--seed"),
        *((name, option_name(name)) for name in chosen.without),
    ):
        if (
            name in typed
            and typed[name][0] != option
            and is_typed(ctx, option.lstrip("-").replace("-", "_"))
        ):
            raise UsageError(f"{option} and {shown(typed[name][0])} say the same; omit one of them")
    given = filed | typed
    chosen.typed.update({name: option for name, (option, _) in given.items()})
    return {name: value for name, (_, value) in given.items()}


def is_typed(ctx: click.Context, name: str) -> bool:
    """Whether an option is on the command line."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def once(chosen: Chosen, several: list[Given], origin: str = "") -> dict[str, tuple[str, Any]]:
    """Return parameters with how each was given and its value, given once each and known to the method.

    ``origin`` is the file that they are in.
    """
    from ..registry import refuse_unknown_parameters

    given: dict[str, tuple[str, Any]] = {}
    for name, option, value in several:
        if name in given:
            before = given[name][0]
            same = "is given twice" if before == option else f"and {shown(option)} say the same"
            raise UsageError(f"{shown(before)} {same}; omit one of them")
        if name == BUDGET and name not in (
            *chosen.without,
            *(option.parameter for option in chosen.options),
        ):
            raise UsageError(
                f"{option}: {chosen.method} decides by itself how many features to keep; omit it"
            )
        if name != "workers":  # of an engine, if not of the method
            refuse_unknown_parameters(chosen.method, [name], origin)
        given[name] = option, value
    return given


def shown(option: str) -> str:
    """Return how a parameter was given, without its value."""
    return f"{option}=..." if option.startswith("--param ") else option


class OptionSpelling(Spelling):
    """Arguments in messages as options of the command line; what is no option of a command stays as it is.

    Parameters of a ``chosen`` method are written as they were typed or, if they were not, can be.
    """

    def __init__(self, commands: Iterable[click.Command], chosen: Chosen | None = None) -> None:
        options = [
            option
            for command in commands
            for option in command.params
            if isinstance(option, click.Option)
        ]
        self.options, self.chosen = {option.name: option for option in options}, chosen

    def argument(self, name: str, value: Any = NO_VALUE) -> str:
        typed, own = ({}, []) if self.chosen is None else (self.chosen.typed, self.chosen.options)
        if name in typed or name in (option.parameter for option in own):
            return with_value(typed.get(name) or SHARED.get(name, option_name(name)), value)
        option = self.options.get(SAME_AS.get(name, name))
        if option is None:
            return super().argument(name, value)
        if option.is_flag and value is True:
            return option.opts[0]
        return with_value(
            option.opts[0], ",".join(map(str, value)) if isinstance(value, list | tuple) else value
        )

    def allowed(self, text: str) -> str:
        return in_words(text)


def with_value(option: str, value: Any) -> str:
    """Return an option, or a key of a file, with its value as it is typed."""
    if value is NO_VALUE:
        return option
    between = "=" if option.startswith("--param ") or not option.startswith("-") else " "
    return f"{option}{between}{printable(shlex.quote(text_of(value)))}"


# ---- the file of options


def read_config(path: Path, command: click.Command) -> Config:
    """What a file says; its keys are the options of a command without their dashes, and TRAIN."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file ({error})") from None
    params = content.pop(PARAMS, {})
    if not isinstance(params, dict):
        raise UsageError(f"{path}: [{PARAMS}] must be a table, such as alpha = 0.05 below it")
    known = {
        opt.lstrip("-"): option
        for option in command.params
        if option.name not in NOT_IN_FILES
        for opt in (option.opts if isinstance(option, click.Option) else [option.name or ""])
    }
    options: dict[str, Any] = {}
    for key, value in content.items():
        option = known.get(key.replace("_", "-"))
        if option is None or option.name is None:
            names = sorted(known)
            raise UsageError(
                f"{path}: unknown key {key!r}{did_you_mean(key, names)}; keys are"
                f" {', '.join(names)}, and the table [{PARAMS}] for parameters of the method"
            )
        if option.name in options:
            raise UsageError(
                f"{path}: {key} is there twice, under another name, too; omit one of them"
            )
        options[option.name] = value_of(path, key, option, value)
    return Config(path, options, params)


def value_of(path: Path, key: str, option: click.Parameter, value: Any) -> Any:
    """A value as click takes it."""
    is_single = isinstance(value, str | int | float) and not isinstance(value, bool)
    if isinstance(option, click.Option) and option.is_flag:
        is_right, expected = isinstance(value, bool), "true or false"
    elif option.nargs == -1 or option.multiple:
        value = [str(value)] if is_single else value
        is_right = isinstance(value, list) and all(isinstance(text, str) for text in value)
        expected = "text, or a list of texts"
    elif isinstance(value, list) and "," in (option.metavar or ""):  # such as A,B
        return ",".join(map(str, value))
    else:
        is_right, expected = is_single, "text or a number"
    if not is_right:
        raise UsageError(f"{path}: {key} must be {expected}")
    return value
