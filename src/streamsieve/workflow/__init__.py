"""The verbs that the command line and a notebook share: select, resume, apply, predict, convert, describe."""

from .apply import accuracy, apply, predict, predictions
from .convert import convert, convert_to_columns, read_size, work_folder
from .describe import describe
from .select import refuse_unknown_parameters, resume, select

__all__ = [
    "accuracy",
    "apply",
    "convert",
    "convert_to_columns",
    "describe",
    "predict",
    "predictions",
    "read_size",
    "refuse_unknown_parameters",
    "resume",
    "select",
    "work_folder",
]
