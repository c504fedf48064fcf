"""Run the papers' tables and figures again, by their protocols: ``python -m reproduction``.

One module per paper lists its experiments, and the tables and figures that cannot be run for want
of data.
"""

from . import first_order, local_learning, saola, sofs, substitution
from .data import Folders, find_folders
from .experiment import Experiment, Setting, Table

_PAPERS = (sofs, substitution, saola, first_order, local_learning)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for paper in _PAPERS for experiment in paper.EXPERIMENTS
}
MISSING: dict[str, str] = {
    name: needed for paper in _PAPERS for name, needed in paper.MISSING.items()
}

__all__ = ["EXPERIMENTS", "MISSING", "Experiment", "Folders", "Setting", "Table", "find_folders"]
