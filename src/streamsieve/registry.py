"""Every method by its name on the command line; its learner is imported when it is used."""

from __future__ import annotations

import difflib
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import UsageError
from .persistence import read_model, refusing_damage

METHODS = {
    "sofs": "streamsieve.selectors.rows.sofs:SOFSLearner",
    "pet": "streamsieve.selectors.rows.first_order:PETLearner",
    "fofs": "streamsieve.selectors.rows.first_order:FOFSLearner",
    "ofs-partial": "streamsieve.selectors.rows.ofs_partial:OFSPartialLearner",
    "ogd": "streamsieve.selectors.rows.baselines:OGDLearner",
    "fobos": "streamsieve.selectors.rows.baselines:FOBOSLearner",
    "arow": "streamsieve.selectors.rows.baselines:AROWLearner",
    "random-selection": "streamsieve.selectors.rows.baselines:RandomSelectionLearner",
    "saola": "streamsieve.selectors.columns.saola:SAOLALearner",
    "group-saola": "streamsieve.selectors.columns.saola:GroupSAOLALearner",
    "ogfs": "streamsieve.selectors.columns.ogfs:OGFSLearner",
    "osfs": "streamsieve.selectors.columns.osfs:OSFSLearner",
    "fast-osfs": "streamsieve.selectors.columns.osfs:FastOSFSLearner",
    "fcbf": "streamsieve.selectors.columns.filters:FCBFLearner",
    "mrmr": "streamsieve.selectors.columns.filters:MRMRLearner",
    "iamb": "streamsieve.selectors.columns.blankets:IAMBLearner",
    "mmmb": "streamsieve.selectors.columns.blankets:MMMBLearner",
    "alpha-investing": "streamsieve.selectors.columns.alpha_investing:AlphaInvestingLearner",
    "local-learning": "streamsieve.selectors.matrix.local_learning:LocalLearningLearner",
    "relieff": "streamsieve.selectors.matrix.relief:ReliefFLearner",
    "irelief": "streamsieve.selectors.matrix.relief:IReliefLearner",
}


def learner_class(method: str) -> Any:
    """The class that learns by a method."""
    if method not in METHODS:
        near = difflib.get_close_matches(method, METHODS, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(f"there is no method {method!r}{hint}; the methods are {', '.join(METHODS)}")
    module, _, name = METHODS[method].partition(":")
    return getattr(import_module(module), name)


def describe_method(method: str) -> dict[str, Any]:
    """Name, one line about it, and its parameters with their defaults, from the class itself."""
    learner = learner_class(method)
    return {"name": method, "summary": learner.__doc__.splitlines()[0], "params": learner().parameters()}


def load_learner(path: str | Path) -> Any:
    """The learner that ``save`` wrote to ``path``, without scikit-learn's face."""
    header, arrays = read_model(path)
    with refusing_damage(path):
        return learner_class(header["method"]).from_saved(header, arrays)
