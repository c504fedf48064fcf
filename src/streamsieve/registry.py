"""Every method by its name on the command line; its learner is imported when it is used."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import UsageError
from .model import Model, refusing_damage
from .selectors.base import AnyLearner

METHODS = {  # name -> module under selectors, and learner
    "sofs": "rows.sofs:SOFSLearner",
    "sofs-regressor": "rows.sofs_regressor:SOFSRegressorLearner",
    "pet": "rows.first_order:PETLearner",
    "fofs": "rows.first_order:FOFSLearner",
    "ofs-partial": "rows.ofs_partial:OFSPartialLearner",
    "ogd": "rows.baselines:OGDLearner",
    "fobos": "rows.baselines:FOBOSLearner",
    "arow": "rows.baselines:AROWLearner",
    "arow-regressor": "rows.baselines:AROWRegressorLearner",
    "random-selection": "rows.baselines:RandomSelectionLearner",
    "saola": "columns.saola:SAOLALearner",
    "group-saola": "columns.saola:GroupSAOLALearner",
    "ogfs": "columns.ogfs:OGFSLearner",
    "osfs": "columns.osfs:OSFSLearner",
    "fast-osfs": "columns.osfs:FastOSFSLearner",
    "fcbf": "columns.filters:FCBFLearner",
    "mrmr": "columns.filters:MRMRLearner",
    "iamb": "columns.blankets:IAMBLearner",
    "mmmb": "columns.blankets:MMMBLearner",
    "alpha-investing": "columns.alpha_investing:AlphaInvestingLearner",
    "online-substitution": "columns.substitution:OnlineSubstitutionLearner",
    "asyos": "columns.asyos:AsyOSLearner",
    "grafting": "columns.grafting:GraftingLearner",
    "projected-gradient": "matrix.projected_gradient:ProjectedGradientLearner",
    "local-learning": "matrix.local_learning:LocalLearningLearner",
    "relieff": "matrix.relief:ReliefFLearner",
    "irelief": "matrix.relief:IReliefLearner",
}


def learner_class(method: str) -> type[AnyLearner]:
    """The class that learns by a method."""
    if method not in METHODS:
        near = difflib.get_close_matches(method, METHODS, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(f"there is no method {method!r}{hint}; the methods are {', '.join(METHODS)}")
    module, _, name = METHODS[method].partition(":")
    learner: type[AnyLearner] = vars(import_module(f".selectors.{module}", __package__))[name]
    return learner


def describe_method(method: str) -> dict[str, Any]:
    """Name, one line about it, and its parameters with their defaults, from the class itself."""
    learner = learner_class(method)
    summary = (learner.__doc__ or "").splitlines()[0]
    return {"name": method, "summary": summary, "params": learner().parameters()}


def load_learner(path: str | Path) -> tuple[AnyLearner, Model]:
    """The learner that ``save`` wrote to ``path``, without scikit-learn, and the model it was made from."""
    model = Model.load(path)
    with refusing_damage(path):
        return learner_class(model.method).from_model(model, str(path)), model


def merge_models(base: Model, parts: Sequence[Model], divisor: float | None = None) -> Model:
    """One model of what the parts learned, each from rows of its own, all going on from ``base``."""
    return learner_class(base.method).merge(base, parts, divisor)
