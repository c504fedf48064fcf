"""Functions shared by the command line and notebooks: select, resume, apply, predict, convert."""

from ..evaluation.quality import Fit
from .apply import apply, measure, predict, predictions
from .convert import convert, convert_to_columns, work_folder
from .describe import describe
from .select import resume, select

__all__ = [
    "Fit",
    "apply",
    "convert",
    "convert_to_columns",
    "describe",
    "measure",
    "predict",
    "predictions",
    "resume",
    "select",
    "work_folder",
]
