"""The command that describes an installation, for its user and for a bug report."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import click

from ..json_text import to_json
from .options import AS_JSON
from .terminal import say

NEEDED = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "click", "rich", "lazy-loader")
OPTIONAL = ("pandas", "polars", "river", "ray", "matplotlib")
SENT = (
    "For a bug report, send these lines, the command or the program, its whole output and, if"
    " you can, a small file that shows the fault."
)


@click.command(short_help="Describe this installation, for a bug report.")
@AS_JSON
def doctor(as_json: bool) -> None:
    """Describe this installation: versions, cores, memory, compiled kernels, GPU, Ray.

    \b
    streamsieve doctor
    """
    facts = {
        "versions": describe_versions(),
        "machine": describe_resources(),
        "kernels": describe_kernels(),
    }
    if as_json:
        click.echo(to_json(facts))
        return
    for title, lines in facts.items():
        say(title)
        width = max(map(len, lines))
        for name, value in lines.items():
            say(f"  {name:<{width}}  {value}")
    say(SENT)


def describe_versions() -> dict[str, str]:
    """Return the versions of this package and of all that it uses."""
    from importlib import metadata

    from ..machine import is_installed
    from ..version import __version__

    versions = {"streamsieve": __version__, "python": platform.python_version()}
    for name in (*NEEDED, *OPTIONAL):
        absent = "not installed" if name in OPTIONAL else "MISSING: install streamsieve again"
        versions[name] = metadata.version(name) if is_installed(name) else absent
    return versions


def describe_resources() -> dict[str, str]:
    """Return what a run may use of this machine."""
    from ..machine import available_memory, cores, scratch_folder, size_text

    return {
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": f"{cores()} (of {os.cpu_count()}; STREAMSIEVE_THREADS limits them)",
        "memory": f"{size_text(available_memory())} available",
        "temporary files": str(scratch_folder()),
        "GPU": "not used by this version",
    }


def describe_kernels() -> dict[str, str]:
    """Return where compiled kernels are kept, and how many there are."""
    package = Path(__file__).parents[1]
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(chosen) if chosen else package
    compiled = sum(1 for _ in folder.rglob("*.nbc")) if folder.is_dir() else 0
    can_write = os.access(folder if folder.is_dir() else folder.parent, os.W_OK)
    return {
        "folder": f"{folder} (NUMBA_CACHE_DIR chooses another)",
        "writable": "yes" if can_write else "no: every process compiles anew",
        "compiled": f"{compiled:,} (each is compiled at its first use and kept)",
        "interpreter": sys.executable,
    }
