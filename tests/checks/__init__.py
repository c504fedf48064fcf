"""Checks that every selector must pass, by how it reads the data.

    for name, check in checks_for("sofs"):
        check()

A check raises AssertionError if the method breaks a promise. A new method in the registry is
checked without further code; its class lists parameters to try beside the defaults, and checks
that it cannot pass, with the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from streamsieve.registry import find_method
from streamsieve.targets import Kind
from tests.checks import columns, matrix, rows

Check = Callable[[], None]
PROMISES = {"rows": rows, "columns": columns, "matrix": matrix}


def checks_for(method: str) -> Iterator[tuple[str, Check]]:
    """Yield the checks that a method must pass, with their names.

    They are made for all its variants and all kinds of targets that it can learn.
    """
    learner = find_method(method)
    promises = PROMISES[learner.reads]
    for kind in sorted(learner.targets):
        for params in ({}, *learner.check_variants):
            if not suits(params, kind):
                continue
            for check in promises.CHECKS:
                if check.__name__ not in learner.exempt_from_checks:
                    variant = ",".join(f"{name}={value}" for name, value in params.items())
                    yield (
                        f"{check.__name__}({variant}) {kind}",
                        partial(check, promises.Maker(method, params, kind)),
                    )


def suits(params: dict[str, Any], kind: Kind) -> bool:
    """Return True if parameters make sense for a kind of target.

    Those that count classes or weight them need classes.
    """
    if "loss" in params:
        return bool(params["loss"] in ("squared", "huber")) == (kind == "numbers")
    return kind == "classes" or (
        params.get("measure") not in ("su", "g2", "chi2") and not params.get("class_weight")
    )
