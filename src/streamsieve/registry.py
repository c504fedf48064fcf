"""Every method by its name on the command line; its module is imported when it is used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

from .errors import ParameterError, UsageError, did_you_mean, prefix
from .model import Model, refusing_damage
from .selectors.base import AnyLearner, Method, Reads
from .targets import Kind


class Entry(NamedTuple):
    """An entry of the registry."""

    method: str  # its module under selectors, and its name in the module
    estimator: str  # its public class
    paper: str


SOFS_PAPER = (
    "Y. Wu, S. C. H. Hoi, T. Mei, N. Yu: Large-scale online feature selection for ultra-high"
    " dimensional sparse data. ACM Transactions on Knowledge Discovery from Data 11(4), 2017"
)
OS_PAPER = (
    "H. Yang, R. Fujimaki, Y. Kusumura, J. Liu: Online feature selection: a limited-memory"
    " substitution algorithm and its asynchronous parallel variation. 2016"
)
SAOLA_PAPER = (
    "K. Yu, X. Wu, W. Ding, J. Pei: Scalable and accurate online feature selection for big data."
    " ACM Transactions on Knowledge Discovery from Data 11(2), 2016"
)
OFS_PAPER = (
    "J. Wang, P. Zhao, S. C. H. Hoi, R. Jin: Online feature selection and its applications. IEEE"
    " Transactions on Knowledge and Data Engineering 26(3), 2014"
)
OSFS_PAPER = (
    "X. Wu, K. Yu, W. Ding, H. Wang, X. Zhu: Online feature selection with streaming features. IEEE"
    " Transactions on Pattern Analysis and Machine Intelligence 35, 2013"
)

METHODS = {
    "sofs": Entry("rows.sofs:SOFS", "SOFS", SOFS_PAPER),
    "sofs-regressor": Entry(
        "rows.sofs:SOFS_REGRESSOR", "SOFSRegressor", f"none for numbers; after {SOFS_PAPER}"
    ),
    "pet": Entry("rows.first_order:PET", "PET", f"{SOFS_PAPER}; {OFS_PAPER}"),
    "fofs": Entry("rows.first_order:FOFS", "FOFS", OFS_PAPER),
    "ofs-partial": Entry("rows.first_order:OFS_PARTIAL", "OFSPartial", OFS_PAPER),
    "ogd": Entry(
        "rows.baselines:OGD",
        "OGD",
        "M. Zinkevich: Online convex programming and generalized infinitesimal gradient ascent."
        " ICML 2003",
    ),
    "fobos": Entry(
        "rows.baselines:FOBOS",
        "FOBOS",
        "J. Duchi, Y. Singer: Efficient online and batch learning using forward backward splitting."
        " Journal of Machine Learning Research 10, 2009",
    ),
    "arow": Entry(
        "rows.baselines:AROW",
        "AROW",
        "K. Crammer, A. Kulesza, M. Dredze: Adaptive regularization of weight vectors. NIPS 2009",
    ),
    "arow-regressor": Entry(
        "rows.baselines:AROW_REGRESSOR",
        "AROWRegressor",
        "N. Vaits, K. Crammer: Re-adapting the regularization of weights for non-stationary"
        " regression. ALT 2011",
    ),
    "random-selection": Entry("rows.first_order:RANDOM_SELECTION", "RandomSelection", OFS_PAPER),
    "saola": Entry("columns.saola:SAOLA", "SAOLA", SAOLA_PAPER),
    "group-saola": Entry("columns.saola:GROUP_SAOLA", "GroupSAOLA", SAOLA_PAPER),
    "ogfs": Entry(
        "columns.rivals:OGFS",
        "OGFS",
        "J. Wang, Z.-Q. Zhao, X. Hu, Y.-M. Cheung, M. Wang, X. Wu: Online group feature selection."
        " IJCAI 2013",
    ),
    "osfs": Entry("columns.rivals:OSFS", "OSFS", OSFS_PAPER),
    "fast-osfs": Entry("columns.rivals:FAST_OSFS", "FastOSFS", OSFS_PAPER),
    "fcbf": Entry(
        "columns.filters:FCBF",
        "FCBF",
        "L. Yu, H. Liu: Feature selection for high-dimensional data: a fast correlation-based"
        " filter solution. ICML 2003",
    ),
    "mrmr": Entry(
        "columns.filters:MRMR",
        "MRMR",
        "H. Peng, F. Long, C. Ding: Feature selection based on mutual information. IEEE"
        " Transactions on Pattern Analysis and Machine Intelligence 27, 2005",
    ),
    "iamb": Entry(
        "columns.filters:IAMB",
        "IAMB",
        "I. Tsamardinos, C. Aliferis, A. Statnikov: Algorithms for large scale Markov blanket"
        " discovery. FLAIRS 2003",
    ),
    "mmmb": Entry(
        "columns.filters:MMMB",
        "MMMB",
        "I. Tsamardinos, C. Aliferis, A. Statnikov: Time and sample efficient discovery of Markov"
        " blankets and direct causal relations. KDD 2003",
    ),
    "alpha-investing": Entry(
        "columns.rivals:ALPHA_INVESTING",
        "AlphaInvesting",
        "J. Zhou, D. P. Foster, R. A. Stine, L. H. Ungar: Streamwise feature selection. Journal of"
        " Machine Learning Research 7, 2006",
    ),
    "online-substitution": Entry(
        "columns.substitution:ONLINE_SUBSTITUTION", "OnlineSubstitution", OS_PAPER
    ),
    "asyos": Entry("columns.asyos:ASYOS", "AsyOS", OS_PAPER),
    "grafting": Entry(
        "columns.grafting:GRAFTING",
        "Grafting",
        "S. Perkins, J. Theiler: Online feature selection using grafting. ICML 2003",
    ),
    "projected-gradient": Entry(
        "matrix.projected_gradient:PROJECTED_GRADIENT",
        "ProjectedGradient",
        "T. Blumensath, M. E. Davies: Normalized iterative hard thresholding: guaranteed stability"
        " and performance. IEEE Journal of Selected Topics in Signal Processing 4, 2010; S."
        " Foucart: Hard thresholding pursuit. SIAM Journal on Numerical Analysis 49, 2011",
    ),
    "local-learning": Entry(
        "matrix.local_learning:LOCAL_LEARNING",
        "LocalLearning",
        "Y. Sun, S. Todorovic, S. Goodison: A feature selection algorithm capable of handling"
        " extremely large data dimensionality. SDM 2008",
    ),
    "relieff": Entry(
        "matrix.weighing:RELIEFF",
        "ReliefF",
        "I. Kononenko: Estimating attributes: analysis and extensions of RELIEF. ECML 1994",
    ),
    "irelief": Entry(
        "matrix.weighing:IRELIEF",
        "IRelief",
        "Y. Sun: Iterative RELIEF for feature weighting: algorithms, theories, and applications."
        " IEEE Transactions on Pattern Analysis and Machine Intelligence 29(6), 2007",
    ),
}


def method_named(text: str) -> str:
    """Return the method for a name or the name of its class.

    The case is ignored, and so are hyphens and underscores.
    """
    methods = {_letters(method): method for method in METHODS}
    method = methods.get(_letters(text))
    if method is None:
        similar = [
            methods[letters] for letters in difflib.get_close_matches(_letters(text), methods, 3)
        ]
        hint = f" (did you mean {' or '.join(similar)}?)" if similar else ""
        raise UsageError(f"there is no method {text!r}{hint}; the methods are {', '.join(METHODS)}")
    return method


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def find_method(name: str) -> Method:
    """Return a method by its name."""
    module, _, constant = METHODS[method_named(name)].method.partition(":")
    return cast(Method, vars(import_module(f".selectors.{module}", __package__))[constant])


def refuse_unknown_parameters(method: str, params: Iterable[str], origin: str = "") -> None:
    """Raise UsageError for a name that is not a parameter of a method.

    ``origin`` is the file in which it was found.
    """
    names = find_method(method).parameter_names
    for name in params:
        if name not in names:
            raise UsageError(
                f"{prefix(origin)}{method} has no parameter {name!r}{did_you_mean(name, names)};"
                f" its parameters are {', '.join(names)}"
            )


def make_learner(
    method: str, params: Mapping[str, Any], seed: int | None = None, origin: str = ""
) -> AnyLearner:
    """Return a learner with these parameters, which are checked before any data is read.

    ``seed`` is used by methods that draw random numbers, if their parameters have no seed;
    ``origin`` begins the messages.
    """
    refuse_unknown_parameters(method, params)
    selected = find_method(method)
    seed_param = (
        {"random_state": seed}
        if seed is not None and "random_state" in selected.parameter_names
        else {}
    )
    try:
        return selected.make(**{**seed_param, **params})
    except ParameterError as error:
        raise UsageError(f"{prefix(origin)}{error}") from None


def methods_for(kind: Kind, reads: Reads) -> list[str]:
    """Return the methods that learn a kind of target, first those that read data the same way."""
    able = [method for method in METHODS if kind in find_method(method).targets]
    return sorted(able, key=lambda method: find_method(method).reads != reads)


def merge_models(base: Model, parts: Sequence[Model], divisor: float | None = None) -> Model:
    """Return one model of several that learned from different rows, all starting from ``base``."""
    from .selectors.rows import merging

    return merging.merge_models(find_method(base.method), base, parts, divisor)


def load_learner(path: str | Path) -> tuple[AnyLearner, Model]:
    """Return the learner that ``save`` wrote to ``path``, and the model it was made from."""
    model = Model.load(path)
    with refusing_damage(path):
        return find_method(model.method).load(model, str(path)), model
