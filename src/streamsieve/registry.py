"""Every method by its name on the command line; its learner is imported when it is used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

from .errors import UsageError, prefix
from .model import Model, refusing_damage
from .selectors.base import AnyLearner, Reads
from .targets import Kind

METHODS = {  # name -> module under selectors, and learner
    "sofs": "rows.sofs:SOFSLearner",
    "sofs-regressor": "rows.sofs:SOFSRegressorLearner",
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


def method_named(text: str) -> str:
    """The method that a text names: by its name or its class, in any case, with hyphens, underscores or neither."""
    known = {_letters(method): method for method in METHODS}
    method = known.get(_letters(text))
    if method is None:
        near = [known[letters] for letters in difflib.get_close_matches(_letters(text), known, 3)]
        hint = f" (did you mean {' or '.join(near)}?)" if near else ""
        raise UsageError(f"there is no method {text!r}{hint}; the methods are {', '.join(METHODS)}")
    return method


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def learner_class(method: str) -> type[AnyLearner]:
    """The class that learns by a method."""
    module, _, name = METHODS[method_named(method)].partition(":")
    learner: type[AnyLearner] = vars(import_module(f".selectors.{module}", __package__))[name]
    return learner


def refuse_unknown_parameters(method: str, params: Iterable[str], origin: str = "") -> None:
    """Refuse what is not a parameter of a method; ``origin`` is the file it is from."""
    names = learner_class(method).parameter_names()
    for name in params:
        if name not in names:
            near = difflib.get_close_matches(name, names)
            hint = f" (did you mean {' or '.join(near)}?)" if near else ""
            raise UsageError(f"{prefix(origin)}{method} has no parameter {name!r}{hint}; it has {', '.join(names)}")


def methods_for(kind: Kind, reads: Reads) -> list[str]:
    """The methods that learn targets of a kind, those first that read the data in the same way."""
    able = [method for method in METHODS if kind in learner_class(method).targets]
    return sorted(able, key=lambda method: learner_class(method).reads != reads)


def load_learner(path: str | Path) -> tuple[AnyLearner, Model]:
    """The learner that ``save`` wrote to ``path``, without scikit-learn, and the model it was made from."""
    model = Model.load(path)
    with refusing_damage(path):
        return learner_class(model.method).from_model(model, str(path)), model


def merge_models(base: Model, parts: Sequence[Model], divisor: float | None = None) -> Model:
    """One model of what the parts learned, each from rows of its own, all going on from ``base``."""
    return learner_class(base.method).merge(base, parts, divisor)
