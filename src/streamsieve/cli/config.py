"""Options of ``select`` from a TOML file."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..errors import UsageError

NOT_IN_FILES = ("config", "resume", "params", "help")  # options by their name in click
PARAMS = "params"  # the table of the method's parameters


class Config(NamedTuple):
    """Options by their name in click, and parameters of the method."""

    path: Path
    options: dict[str, Any]
    params: dict[str, Any]


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
            raise UsageError(f"{path}: {unknown(key, sorted(known))}")
        if option.name in options:
            raise UsageError(f"{path}: {key} is there twice, under another name, too; omit one of them")
        options[option.name] = value_of(path, key, option, value)
    return Config(path, options, params)


def unknown(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known)
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    return (
        f"unknown key {key!r}{hint}; keys are {', '.join(known)}, and the table [{PARAMS}] for parameters of the method"
    )


def value_of(path: Path, key: str, option: click.Parameter, value: Any) -> Any:
    """A value as click takes it."""
    single = isinstance(value, str | int | float) and not isinstance(value, bool)
    if isinstance(option, click.Option) and option.is_flag:
        if isinstance(value, bool):
            return value
        raise UsageError(f"{path}: {key} must be true or false")
    if option.nargs == -1 or option.multiple:
        values = [str(value)] if single else value
        if isinstance(values, list) and all(isinstance(one, str) for one in values):
            return values
        raise UsageError(f"{path}: {key} must be text, or a list of texts")
    if isinstance(value, list) and "," in (option.metavar or ""):  # such as A,B
        return ",".join(map(str, value))
    if single:
        return value
    raise UsageError(f"{path}: {key} must be text or a number")
