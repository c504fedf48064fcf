"""Fuzz one reader, or all of them, guided by coverage.

    python -m tests.fuzz.run TARGET [--seconds 60] [--jit] [--runs N] [INPUT ...]

Kernels run as Python, so that the fuzzer sees every branch of theirs; with ``--jit`` they are
compiled, and far more inputs are tried. Inputs that found something new are added to the corpus of
the session, in ``--corpus``; a finding is written to ``--findings``. With INPUT files the target is
given those alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
MAX_SECONDS = 10  # seconds for an input
MEMORY = 2048  # MB


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target")
    parser.add_argument("inputs", nargs="*", help="try these files and nothing else")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--jit", action="store_true", help="compiled kernels: faster, and blind for their branches"
    )
    parser.add_argument("--corpus", help="where new inputs go (default: a folder that is removed)")
    parser.add_argument("--findings", default=".", help="where inputs go that find a fault")
    options = parser.parse_intermixed_args()
    if not options.jit:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    if options.inputs:
        from .targets import TARGETS

        for name in options.inputs:
            TARGETS[options.target](Path(name).read_bytes())
        return
    fuzz(options)


def fuzz(options: argparse.Namespace) -> None:
    """Hand over to atheris, which does not come back."""
    import atheris

    compiled = kernel_modules() if options.jit else []  # Numba cannot compile what is instrumented
    with atheris.instrument_imports(
        include=["streamsieve"], exclude=compiled, enable_loader_override=False
    ):
        from .targets import MAX_BYTES, TARGETS
    seeds = CORPUS / options.target
    if options.jit:
        for path in sorted(seeds.iterdir()):  # compiles the kernels, which would look like a hang
            TARGETS[options.target](path.read_bytes())
    with tempfile.TemporaryDirectory() as scratch:
        corpus = options.corpus or scratch
        Path(corpus).mkdir(exist_ok=True)
        flags = [
            sys.argv[0],
            corpus,
            str(seeds),
            f"-max_total_time={options.seconds}",
            f"-runs={options.runs}",
            f"-seed={options.seed or 1}",
            f"-timeout={MAX_SECONDS}",
            f"-rss_limit_mb={MEMORY}",
            f"-max_len={MAX_BYTES}",
            f"-artifact_prefix={options.findings}/{options.target}-",
            "-print_final_stats=1",
            "-verbosity=1",
        ]
        atheris.Setup(flags, TARGETS[options.target])
        atheris.Fuzz()


def kernel_modules() -> list[str]:
    """Return the names of all modules of kernels, without importing them."""
    spec = importlib.util.find_spec("streamsieve")
    root = Path(
        spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else "."
    )
    parts = (
        path.relative_to(root.parent).with_suffix("").parts
        for path in (root / "kernels").rglob("*.py")
    )
    return [".".join(part).removesuffix(".__init__") for part in parts]


if __name__ == "__main__":
    main()
