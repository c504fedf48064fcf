"""Measure the quality of predictions, the stability of selections and the ranks of methods.

SciPy's statistics and scikit-learn are imported by the functions that need them, since runs measure
predictions, too.
"""

from .against_k import AgainstK, accuracy_against_k
from .models import MODELS, downstream
from .prequential import Prequential, prequential
from .quality import Fit, Quality, area_under_curve, cross_validated, hold_out
from .ranks import (
    Friedman,
    WinTieLoss,
    average_ranks,
    cliques,
    friedman,
    nemenyi_critical_difference,
    win_tie_loss,
)
from .resampling import StabilitySelection, stability_selection
from .stability import Stability, jaccard, nogueira, yu_matching
from .support import false_discovery_rate, recovery_error, support_precision, support_recall

__all__ = [
    "MODELS",
    "AgainstK",
    "Fit",
    "Friedman",
    "Prequential",
    "Quality",
    "Stability",
    "StabilitySelection",
    "WinTieLoss",
    "accuracy_against_k",
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
    "win_tie_loss",
    "yu_matching",
]
