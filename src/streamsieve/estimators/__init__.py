"""The algorithms as scikit-learn estimators: all the glue, once.

Each public class is an interface mixed over a learner: ``SOFS`` over ``selectors.rows.sofs.SOFSLearner``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..model import Model, refusing_damage
from ..registry import learner_class
from ..selectors.base import AnyLearner
from ..sources.finding import MODEL_FILE
from .base import Estimator
from .columns import (
    FCBF,
    IAMB,
    MMMB,
    MRMR,
    OGFS,
    OSFS,
    SAOLA,
    AlphaInvesting,
    AsyOS,
    FastOSFS,
    Grafting,
    GroupSAOLA,
    OnlineSubstitution,
)
from .matrix import IRelief, LocalLearning, ProjectedGradient, ReliefF
from .rows import (
    AROW,
    FOBOS,
    FOFS,
    OGD,
    PET,
    SOFS,
    AROWRegressor,
    OFSPartial,
    RandomSelection,
    SOFSRegressor,
)

__all__ = [
    "AROW",
    "AROWRegressor",
    "AlphaInvesting",
    "AsyOS",
    "Estimator",
    "FCBF",
    "FOBOS",
    "FOFS",
    "FastOSFS",
    "Grafting",
    "GroupSAOLA",
    "IAMB",
    "IRelief",
    "LocalLearning",
    "MMMB",
    "MRMR",
    "OFSPartial",
    "OGD",
    "OGFS",
    "OSFS",
    "OnlineSubstitution",
    "PET",
    "ProjectedGradient",
    "RandomSelection",
    "ReliefF",
    "SAOLA",
    "SOFS",
    "SOFSRegressor",
    "as_estimator",
    "estimator_class",
    "load",
]

ESTIMATORS: dict[str, type[Estimator]] = {
    estimator.method: estimator
    for estimator in (
        *(SOFS, SOFSRegressor, PET, FOFS, OFSPartial, OGD, FOBOS, AROW, AROWRegressor, RandomSelection),
        *(SAOLA, GroupSAOLA, OGFS, OSFS, FastOSFS, FCBF, MRMR, IAMB, MMMB, AlphaInvesting),
        *(OnlineSubstitution, AsyOS, Grafting),
        *(ProjectedGradient, LocalLearning, ReliefF, IRelief),
    )
}


def estimator_class(method: str) -> type[Estimator]:
    """The estimator over the learner of a method."""
    return ESTIMATORS[learner_class(method).method]


def as_estimator(learner: AnyLearner) -> Estimator:
    """The same learner as an estimator; what either learns from then on, both know."""
    kind = estimator_class(learner.method)
    estimator = kind.__new__(kind)
    estimator.__dict__ = learner.__dict__
    return estimator


def load(path: str | Path) -> Any:
    """The estimator that ``save`` wrote to ``path``; learning goes on as if never interrupted.

    The folder of a finished run stands for the model in it.
    """
    if Path(path).is_dir():
        folder, path = Path(path), Path(path) / MODEL_FILE
        if not path.is_file():
            raise UsageError(f"{folder}: there is no model of a finished run in this folder")
    model = Model.load(path)
    with refusing_damage(path):
        return estimator_class(model.method).from_model(model, str(path))
