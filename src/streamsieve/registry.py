"""Every method by its name on the command line: learner, estimator and paper; both are imported when they are used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from .errors import UsageError, prefix
from .model import Model, refusing_damage
from .selectors.base import AnyLearner, Reads
from .targets import Kind


class Method(NamedTuple):
    """Where a method is defined."""

    learner: str  # its module under selectors, and its class
    estimator: str  # its public class, in the module of estimators that is called as the learner's folder
    paper: str


SOFS_PAPER = (
    "Y. Wu, S. C. H. Hoi, T. Mei, N. Yu: Large-scale online feature selection for ultra-high dimensional sparse data. "
    "ACM Transactions on Knowledge Discovery from Data 11(4), 2017"
)
OS_PAPER = (
    "H. Yang, R. Fujimaki, Y. Kusumura, J. Liu: Online feature selection: a limited-memory substitution algorithm and "
    "its asynchronous parallel variation. 2016"
)
SAOLA_PAPER = (
    "K. Yu, X. Wu, W. Ding, J. Pei: Scalable and accurate online feature selection for big data. ACM Transactions on "
    "Knowledge Discovery from Data 11(2), 2016"
)
OFS_PAPER = (
    "J. Wang, P. Zhao, S. C. H. Hoi, R. Jin: Online feature selection and its applications. IEEE Transactions on "
    "Knowledge and Data Engineering 26(3), 2014"
)
LOCAL_PAPER = (
    "Y. Sun, S. Todorovic, S. Goodison: A feature selection algorithm capable of handling extremely large data "
    "dimensionality. SDM 2008"
)
OSFS_PAPER = (
    "X. Wu, K. Yu, W. Ding, H. Wang, X. Zhu: Online feature selection with streaming features. IEEE Transactions on "
    "Pattern Analysis and Machine Intelligence 35, 2013"
)
AROW_PAPER = "K. Crammer, A. Kulesza, M. Dredze: Adaptive regularization of weight vectors. NIPS 2009"

METHODS = {
    "sofs": Method("rows.sofs:SOFSLearner", "SOFS", SOFS_PAPER),
    "sofs-regressor": Method(
        "rows.sofs:SOFSRegressorLearner", "SOFSRegressor", f"none for numbers; after {SOFS_PAPER}"
    ),
    "pet": Method("rows.first_order:PETLearner", "PET", f"{SOFS_PAPER}; {OFS_PAPER}"),
    "fofs": Method("rows.first_order:FOFSLearner", "FOFS", OFS_PAPER),
    "ofs-partial": Method("rows.ofs_partial:OFSPartialLearner", "OFSPartial", OFS_PAPER),
    "ogd": Method(
        "rows.baselines:OGDLearner",
        "OGD",
        "M. Zinkevich: Online convex programming and generalized infinitesimal gradient ascent. ICML 2003",
    ),
    "fobos": Method(
        "rows.baselines:FOBOSLearner",
        "FOBOS",
        "J. Duchi, Y. Singer: Efficient online and batch learning using forward backward splitting. Journal of Machine "
        "Learning Research 10, 2009",
    ),
    "arow": Method("rows.baselines:AROWLearner", "AROW", AROW_PAPER),
    "arow-regressor": Method(
        "rows.baselines:AROWRegressorLearner",
        "AROWRegressor",
        "N. Vaits, K. Crammer: Re-adapting the regularization of weights for non-stationary regression. ALT 2011",
    ),
    "random-selection": Method("rows.baselines:RandomSelectionLearner", "RandomSelection", OFS_PAPER),
    "saola": Method("columns.saola:SAOLALearner", "SAOLA", SAOLA_PAPER),
    "group-saola": Method("columns.saola:GroupSAOLALearner", "GroupSAOLA", SAOLA_PAPER),
    "ogfs": Method(
        "columns.ogfs:OGFSLearner",
        "OGFS",
        "J. Wang, Z.-Q. Zhao, X. Hu, Y.-M. Cheung, M. Wang, X. Wu: Online group feature selection. IJCAI 2013",
    ),
    "osfs": Method("columns.osfs:OSFSLearner", "OSFS", OSFS_PAPER),
    "fast-osfs": Method("columns.osfs:FastOSFSLearner", "FastOSFS", OSFS_PAPER),
    "fcbf": Method(
        "columns.filters:FCBFLearner",
        "FCBF",
        "L. Yu, H. Liu: Feature selection for high-dimensional data: a fast correlation-based filter solution. ICML "
        "2003",
    ),
    "mrmr": Method(
        "columns.filters:MRMRLearner",
        "MRMR",
        "H. Peng, F. Long, C. Ding: Feature selection based on mutual information. IEEE Transactions on Pattern "
        "Analysis and Machine Intelligence 27, 2005",
    ),
    "iamb": Method(
        "columns.blankets:IAMBLearner",
        "IAMB",
        "I. Tsamardinos, C. Aliferis, A. Statnikov: Algorithms for large scale Markov blanket discovery. FLAIRS 2003",
    ),
    "mmmb": Method(
        "columns.blankets:MMMBLearner",
        "MMMB",
        "I. Tsamardinos, C. Aliferis, A. Statnikov: Time and sample efficient discovery of Markov blankets and direct "
        "causal relations. KDD 2003",
    ),
    "alpha-investing": Method(
        "columns.alpha_investing:AlphaInvestingLearner",
        "AlphaInvesting",
        "J. Zhou, D. P. Foster, R. A. Stine, L. H. Ungar: Streamwise feature selection. Journal of Machine Learning "
        "Research 7, 2006",
    ),
    "online-substitution": Method("columns.substitution:OnlineSubstitutionLearner", "OnlineSubstitution", OS_PAPER),
    "asyos": Method("columns.asyos:AsyOSLearner", "AsyOS", OS_PAPER),
    "grafting": Method(
        "columns.grafting:GraftingLearner",
        "Grafting",
        "S. Perkins, J. Theiler: Online feature selection using grafting. ICML 2003",
    ),
    "projected-gradient": Method(
        "matrix.projected_gradient:ProjectedGradientLearner",
        "ProjectedGradient",
        "T. Blumensath, M. E. Davies: Normalized iterative hard thresholding: guaranteed stability and performance. "
        "IEEE Journal of Selected Topics in Signal Processing 4, 2010; S. Foucart: Hard thresholding pursuit. SIAM "
        "Journal on Numerical Analysis 49, 2011",
    ),
    "local-learning": Method("matrix.local_learning:LocalLearningLearner", "LocalLearning", LOCAL_PAPER),
    "relieff": Method(
        "matrix.relief:ReliefFLearner",
        "ReliefF",
        "I. Kononenko: Estimating attributes: analysis and extensions of RELIEF. ECML 1994",
    ),
    "irelief": Method(
        "matrix.relief:IReliefLearner",
        "IRelief",
        "Y. Sun: Iterative RELIEF for feature weighting: algorithms, theories, and applications. IEEE Transactions on "
        "Pattern Analysis and Machine Intelligence 29(6), 2007",
    ),
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
    module, _, name = METHODS[method_named(method)].learner.partition(":")
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
