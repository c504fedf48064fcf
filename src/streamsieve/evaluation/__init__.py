"""Measure the quality of predictions, the stability of selections and the ranks of methods.

SciPy's statistics and scikit-learn are imported by the functions that need them, since runs measure
predictions, too.
"""

from .models import MODELS, downstream
from .prequential import Prequential, prequential
from .quality import Fit, Quality, area_under_curve, cross_validated, hold_out
from .ranks import (
    Friedman,
    average_ranks,
    cliques,
    friedman,
    nemenyi_critical_difference,
)
from .resampling import StabilitySelection, stability_selection
from .stability import Stability, jaccard, nogueira, yu_matching
from .support import false_discovery_rate, recovery_error, support_precision, support_recall

__all__ = [
    "MODELS",
    "Fit",
    "Friedman",
    "Prequential",
    "Quality",
    "Stability",
    "StabilitySelection",
    "area_under_curve",
    "average_ranks",
    "cliques",
    "cross_validated",
    "downstream",
    "false_discovery_rate",
    "friedman",
    "hold_out",
    "jaccard",
    "nemenyi_critical_difference",
    "nogueira",
    "prequential",
    "recovery_error",
    "stability_selection",
    "support_precision",
    "support_recall",
    "yu_matching",
]
