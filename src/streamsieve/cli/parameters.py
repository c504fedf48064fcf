"""Parameters of a method on the command line: options, ``--param``, ``-k`` and a file."""

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
SHARED = {BUDGET: "-k", "workers": "--workers"}  # parameters with an option of the command
CLICK_NAMES = {BUDGET: "budget", "ks": "budgets"}  # of arguments in Python: names in click
WORDS = {"True": True, "False": False, "None": None}  # Python's, where JSON has others
CHOSEN = "streamsieve.chosen"  # the key of ``ChosenMethod`` in the context
GivenParameter = tuple[str, str, Any]  # a parameter, how it was given, and its value
NOT_IN_FILES = ("config", "resume", "params", "help")  # options by their name in click
PARAMS = "params"  # the table of the method's parameters


class Config(NamedTuple):
    """A file of options: options by their name in click, and parameters of the method."""

    path: str
    options: dict[str, Any]
    params: dict[str, Any]


NO_CONFIG = Config("", {}, {})


class ChosenMethod(NamedTuple):
    """The chosen method, the options of its parameters, and the file of options."""

    method: str
    options: list[MethodOption]
    shadowed: list[str]  # parameters without an option: the command has one of that name
    config: Config
    values: dict[str, Any]  # by name of a click option that sets parameters
    typed: dict[str, str]  # by parameter: how it was given


class MethodOption(click.Option):
    """The option ``--name value`` for one parameter of the method."""

    def __init__(self, parameter: Parameter) -> None:
        words = [text_of(value) for value in parameter.choices or ()]
        super().__init__(
            [option_name(parameter.name), f"parameter_{parameter.name}"],
            metavar="|".join(words) or "VALUE",
            help=option_help(parameter),
            expose_value=False,
            callback=keep_value,
            shell_complete=lambda ctx, option, start: completions_of(words, start),
        )
        self.parameter = parameter.name


def option_name(parameter: str) -> str:
    """Return the option of a parameter."""
    return f"--{parameter.replace('_', '-')}"


def option_help(parameter: Parameter) -> str:
    """Return one sentence about a parameter, its allowed values and its default."""
    first = (
        "The same as -k."
        if parameter.name == BUDGET
        else re.split(r"(?<=\.) (?=[A-Z\"])", parameter.meaning)[0]
    )
    allowed = "" if parameter.choices else f" Allowed: {to_typed_words(parameter.allowed)}."
    return f"{first}{allowed} [default: {text_of(parameter.default)}]"


def to_typed_words(allowed: str) -> str:
    """Return a text with Python's True, False and None as they are typed on the command line."""
    return re.sub(r"\b(True|False|None)\b", lambda word: text_of(WORDS[word[0]]), allowed)


def text_of(value: Any) -> str:
    """Return a value as it is typed on the command line, or else its text in Python."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def completions_of(words: Iterable[str], start: str) -> list[CompletionItem]:
    """Return the words that begin with ``start``, for the shell."""
    return [CompletionItem(word) for word in words if word.startswith(start)]


def complete_method(
    ctx: click.Context, option: click.Parameter, start: str
) -> list[CompletionItem]:
    """Return the methods that begin with ``start``."""
    from ..registry import METHODS

    return completions_of(METHODS, start)


def read_method(ctx: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return the name of the method that the user means."""
    from ..registry import method_named

    return None if value is None else method_named(value)


def keep_value(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep the value of an option that sets parameters, for ``given_parameters``."""
    if CHOSEN in ctx.meta and value not in (None, ()):
        ctx.meta[CHOSEN].values[option.name] = value


def read_value(text: str) -> Any:
    """Return a text as JSON (true, null, numbers, lists), or else as it is.

    NaN and Infinity, which JSON does not have, stay text.
    """
    if text in WORDS:
        return WORDS[text]
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):  # also deep lists, and integers of thousands of digits
        return text


def read_param(text: str) -> tuple[str, Any]:
    """Return the name and the value of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--param {text[:80]}: expected NAME=VALUE, such as --param gamma=0.5")
    return name, read_value(value)


def given_parameters(ctx: click.Context) -> dict[str, Any]:
    """Return the parameters of the method, including the budget and the workers.

    The command line takes precedence over the file of options; a parameter that is given twice in
    one of them is an error.
    """
    chosen: ChosenMethod = ctx.meta[CHOSEN]
    values, path = chosen.values, chosen.config.path
    on_line: list[GivenParameter] = []
    in_file: list[GivenParameter] = []
    for parameter, option in SHARED.items():
        name = CLICK_NAMES.get(parameter, parameter)
        if name in values and is_typed(ctx, name):
            on_line.append((parameter, option, read_value(str(values[name]))))
        elif name in values:
            key = f"{path}: {option.lstrip('-')}"
            in_file.append((parameter, key, read_value(str(values[name]))))
    on_line += [
        (method_option.parameter, method_option.opts[0], read_value(values[method_option.name]))
        for method_option in chosen.options
        if method_option.name in values
    ]
    on_line += [
        (name, f"--param {name}", value)
        for name, value in map(read_param, values.get("params", ()))
    ]
    in_file += [
        (name, f"{path}: {name}", read_value(value) if isinstance(value, str) else value)
        for name, value in chosen.config.params.items()
    ]
    typed, from_file = collect_given(chosen, on_line), collect_given(chosen, in_file, path)
    for name, option in (
        ("random_state", "--seed"),
        *((name, option_name(name)) for name in chosen.shadowed),
    ):
        if (
            name in typed
            and typed[name][0] != option
            and is_typed(ctx, option.lstrip("-").replace("-", "_"))
        ):
            raise UsageError(
                f"{option} and {without_value(typed[name][0])} mean the same; omit one of them"
            )
    given = from_file | typed
    chosen.typed.update({name: option for name, (option, _) in given.items()})
    return {name: value for name, (_, value) in given.items()}


def is_typed(ctx: click.Context, name: str) -> bool:
    """Return True if an option is on the command line."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def collect_given(
    chosen: ChosenMethod, several: list[GivenParameter], origin: str = ""
) -> dict[str, tuple[str, Any]]:
    """Return the value of each parameter, and how it was given; raise UsageError for repetitions.

    Parameters that the method does not have are refused, too. ``origin`` is the file of the
    parameters.
    """
    from ..registry import refuse_unknown_parameters

    given: dict[str, tuple[str, Any]] = {}
    for name, option, value in several:
        if name in given:
            previous = given[name][0]
            problem = (
                "is given twice"
                if previous == option
                else f"and {without_value(option)} mean the same"
            )
            raise UsageError(f"{without_value(previous)} {problem}; omit one of them")
        if name == BUDGET and name not in (
            *chosen.shadowed,
            *(option.parameter for option in chosen.options),
        ):
            raise UsageError(
                f"{option}: {chosen.method} decides by itself how many features to keep; omit it"
            )
        if name != "workers":  # of an engine, if not of the method
            refuse_unknown_parameters(chosen.method, [name], origin)
        given[name] = option, value
    return given


def without_value(option: str) -> str:
    """Return how a parameter was given, without its value."""
    return f"{option}=..." if option.startswith("--param ") else option


class OptionSpelling(Spelling):
    """Writes arguments in messages as options of the command line.

    Names that are not options of a command stay as they are. Parameters of a ``chosen`` method are
    written as they were typed or, if they were not, as they can be typed.
    """

    def __init__(
        self, commands: Iterable[click.Command], chosen: ChosenMethod | None = None
    ) -> None:
        options = [
            option
            for command in commands
            for option in command.params
            if isinstance(option, click.Option)
        ]
        self.options, self.chosen = {option.name: option for option in options}, chosen

    def argument(self, name: str, value: Any = NO_VALUE) -> str:
        typed, method_options = (
            ({}, []) if self.chosen is None else (self.chosen.typed, self.chosen.options)
        )
        if name in typed or name in (option.parameter for option in method_options):
            return with_value(typed.get(name) or SHARED.get(name, option_name(name)), value)
        option = self.options.get(CLICK_NAMES.get(name, name))
        if option is None:
            return super().argument(name, value)
        if option.is_flag and value is True:
            return option.opts[0]
        return with_value(
            option.opts[0], ",".join(map(str, value)) if isinstance(value, list | tuple) else value
        )

    def allowed(self, text: str) -> str:
        return to_typed_words(text)


def with_value(option: str, value: Any) -> str:
    """Return an option, or a key of a file, with its value as it is typed."""
    if value is NO_VALUE:
        return option
    between = "=" if option.startswith("--param ") or not option.startswith("-") else " "
    return f"{option}{between}{printable(shlex.quote(text_of(value)))}"


# ---- the file of options


def read_config(path: Path, command: click.Command) -> Config:
    """Return the contents of a file of options.

    Its keys are the options of a command without their dashes, and TRAIN.
    """
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file ({error})") from None
    params = content.pop(PARAMS, {})
    if not isinstance(params, dict):
        raise UsageError(f"{path}: [{PARAMS}] must be a table, such as alpha = 0.05 below it")
    allowed = {
        opt.lstrip("-"): option
        for option in command.params
        if option.name not in NOT_IN_FILES
        for opt in (option.opts if isinstance(option, click.Option) else [option.name or ""])
    }
    options: dict[str, Any] = {}
    for key, value in content.items():
        option = allowed.get(key.replace("_", "-"))
        if option is None or option.name is None:
            names = sorted(allowed)
            raise UsageError(
                f"{path}: unknown key {key!r}{did_you_mean(key, names)}; keys are"
                f" {', '.join(names)}, and the table [{PARAMS}] for parameters of the method"
            )
        if option.name in options:
            raise UsageError(
                f"{path}: {key} appears twice, once under another name; omit one of them"
            )
        options[option.name] = convert_value(path, key, option, value)
    return Config(str(path), options, params)


def convert_value(path: Path, key: str, option: click.Parameter, value: Any) -> Any:
    """Return a value as click takes it."""
    is_single = isinstance(value, str | int | float) and not isinstance(value, bool)
    if isinstance(option, click.Option) and option.is_flag:
        is_valid, expected = isinstance(value, bool), "true or false"
    elif option.nargs == -1 or option.multiple:
        value = [str(value)] if is_single else value
        is_valid = isinstance(value, list) and all(isinstance(text, str) for text in value)
        expected = "text, or a list of texts"
    elif isinstance(value, list) and "," in (option.metavar or ""):  # such as A,B
        return ",".join(map(str, value))
    else:
        is_valid, expected = is_single, "text or a number"
    if not is_valid:
        raise UsageError(f"{path}: {key} must be {expected}")
    return value
