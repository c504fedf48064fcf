"""Check the request of a run before any data is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..distributed.driving import check_engine_support
from ..errors import UsageError, spell
from ..registry import METHODS, find_method
from ..runs import RunRequest
from ..runs.request import is_proper_fraction
from ..selectors.base import AnyLearner, check_supports_weight
from ..sources.base import check_no_weight
from ..sources.groups import parse_groups


def with_skipping(request: RunRequest) -> RunRequest:
    """Return the request with missing values skipped by both method and reader."""
    if "missing" not in find_method(request.method).parameter_names:
        return request
    if request.read.missing == "skip":
        return replace(request, params={"missing": "skip", **request.params})
    skips = request.params.get("missing") == "skip"
    return replace(request, read=replace(request.read, missing="skip")) if skips else request


def refuse_options(learner: AnyLearner, request: RunRequest, test: Any) -> None:
    """Raise UsageError if the method does not support an option of the request."""
    method = request.method
    if test is not None and not learner.method.predicts:
        raise UsageError(
            f"{method} selects features and does not predict, so there is no accuracy to test;"
            " apply the selection and train a model on the reduced data"
        )
    check_supports_weight(learner.method, request.read.weight)
    if request.resamples is not None:
        check_no_weight(
            request.read.weight, "subsamples have no weights", f"{spell('resamples')} or "
        )
    if isinstance(request.test, float):
        if not is_proper_fraction(request.test):
            raise UsageError(
                "test", f"a fraction of the rows must be above 0 and below 1, got {request.test:g}"
            )
        if request.engine is not None:
            raise UsageError(
                f"rows cannot be held out with {spell('engine')}, which starts several processes;"
                " test on a file instead"
            )
    if request.checkpoint_every is not None and learner.reads == "matrix":
        raise UsageError(
            f"checkpoints are for methods that learn block by block; {method} needs the whole"
            " matrix at once"
        )
    if (
        request.read.missing == "skip"
        and "missing" not in request.params
        and learner.missing_rows == "error"
    ):
        names = ", ".join(
            name for name in METHODS if "missing" in find_method(name).parameter_names
        )
        raise UsageError(
            f"{method} cannot skip missing values; fill them in ({spell('missing', 'zero')} or "
            f"{spell('missing', 'mean')}), or use a method that can: {names}"
        )
    if request.classes is not None and "classes" not in learner.method.targets:
        raise UsageError(f"{method} learns numbers, not classes; omit {spell('classes')}")
    if request.classes is not None and learner.reads != "rows":
        raise UsageError(f"{method} takes the classes from the target; omit {spell('classes')}")
    if request.engine is not None:
        if request.memory is not None:
            raise UsageError(
                f"a memory limit is for one process, and {spell('engine')} starts others; omit one"
                " of them"
            )
        check_engine_support(learner, request.engine, request.checkpoint_every is not None)
    if request.groups is not None and not learner.method.supports_groups:
        raise UsageError(f"{method} does not support groups; use group-saola or ogfs")


def as_request(groups: Any) -> str | list[Any] | None:
    """Return groups as a request keeps them: the path of their file, or all of them."""
    if groups is None:
        return None
    return (
        str(Path(groups).absolute())
        if isinstance(groups, str | Path)
        else parse_groups(groups).to_json()
    )
