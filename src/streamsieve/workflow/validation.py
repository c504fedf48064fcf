"""What a run is asked for: the learner it names, and options that its method has no use for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..distributed.driving import refuse_on_engine
from ..errors import UsageError, spell
from ..registry import METHODS, find_method
from ..runs import RunRequest
from ..runs.request import is_part
from ..selectors.base import AnyLearner
from ..sources.base import refuse_weight
from ..sources.groups import given_groups


def with_skipping(request: RunRequest) -> RunRequest:
    """The same request where missing values are skipped by the method and on reading alike."""
    if "missing" not in find_method(request.method).parameter_names:
        return request
    if request.read.missing == "skip":
        return replace(request, params={"missing": "skip", **request.params})
    skips = request.params.get("missing") == "skip"
    return replace(request, read=replace(request.read, missing="skip")) if skips else request


def refuse_options(learner: AnyLearner, request: RunRequest, test: Any) -> None:
    """Refuse what a method has no use for."""
    method = request.method
    if test is not None and not learner.method.predicts:
        raise UsageError(
            f"{method} selects features and predicts nothing, so there is no accuracy to test;"
            " apply the selection and train a model on what it leaves"
        )
    learner.refuse_weight(request.read.weight)
    if request.resamples is not None:
        refuse_weight(
            request.read.weight, "subsamples have no weights", f"{spell('resamples')} or "
        )
    if isinstance(request.test, float):
        if not is_part(request.test):
            raise UsageError(
                "test", f"a fraction of the rows must be above 0 and below 1, got {request.test:g}"
            )
        if request.engine is not None:
            raise UsageError(
                f"rows are held out by one process, and {spell('engine')} starts others; test on a"
                " file instead"
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
        can = ", ".join(
            known for known in METHODS if "missing" in find_method(known).parameter_names
        )
        raise UsageError(
            f"{method} cannot skip missing values; fill them in ({spell('missing', 'zero')} or "
            f"{spell('missing', 'mean')}), or use a method that can: {can}"
        )
    if request.classes is not None and "classes" not in learner.method.targets:
        raise UsageError(f"{method} learns numbers, not classes; omit {spell('classes')}")
    if request.classes is not None and learner.reads != "rows":
        raise UsageError(f"{method} takes the classes from the target; omit {spell('classes')}")
    if request.engine is not None:
        if request.memory is not None:
            raise UsageError(
                f"a limit of memory is for one process, and {spell('engine')} starts others; omit"
                " one of them"
            )
        refuse_on_engine(learner, request.engine, request.checkpoint_every is not None)
    if request.groups is not None and not learner.method.knows_groups:
        raise UsageError(f"{method} knows no groups of features; group-saola and ogfs do")


def as_request(groups: Any) -> str | list[Any] | None:
    """Groups as a request keeps them: where their file is, or all of them."""
    if groups is None:
        return None
    return (
        str(Path(groups).absolute())
        if isinstance(groups, str | Path)
        else given_groups(groups).to_json()
    )
