"""streamsieve: select a small number of good features from data too wide, too long or never complete."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .blocks import ColumnBlock, RowBlock
    from .errors import DataError, UsageError
    from .estimators import (
        AROW,
        FCBF,
        FOBOS,
        FOFS,
        IAMB,
        MMMB,
        MRMR,
        OGD,
        OGFS,
        PET,
        SAOLA,
        SOFS,
        AlphaInvesting,
        GroupSAOLA,
        IRelief,
        LocalLearning,
        OFSPartial,
        RandomSelection,
        ReliefF,
        load,
    )
    from .selection import RunRecord, Selection
    from .sources import open_source
    from .sources.base import Source
    from .workflow import select

_HOME = {  # public name -> module, imported at first use: most users need few of them
    "AROW": "estimators",
    "AlphaInvesting": "estimators",
    "ColumnBlock": "blocks",
    "DataError": "errors",
    "FCBF": "estimators",
    "FOBOS": "estimators",
    "FOFS": "estimators",
    "FastOSFS": "estimators",
    "GroupSAOLA": "estimators",
    "IAMB": "estimators",
    "MMMB": "estimators",
    "MRMR": "estimators",
    "IRelief": "estimators",
    "LocalLearning": "estimators",
    "OFSPartial": "estimators",
    "OGD": "estimators",
    "OGFS": "estimators",
    "OSFS": "estimators",
    "PET": "estimators",
    "RandomSelection": "estimators",
    "ReliefF": "estimators",
    "RowBlock": "blocks",
    "RunRecord": "selection",
    "SAOLA": "estimators",
    "SOFS": "estimators",
    "Selection": "selection",
    "Source": "sources.base",
    "UsageError": "errors",
    "load": "estimators",
    "open_source": "sources",
    "select": "workflow",
}

__all__ = [
    "__version__",
    "ColumnBlock",
    "DataError",
    "RowBlock",
    "RunRecord",
    "SOFS",
    "AROW",
    "FOBOS",
    "FOFS",
    "OFSPartial",
    "OGD",
    "PET",
    "RandomSelection",
    "SAOLA",
    "GroupSAOLA",
    "OGFS",
    "AlphaInvesting",
    "OSFS",
    "FastOSFS",
    "FCBF",
    "MRMR",
    "IAMB",
    "MMMB",
    "LocalLearning",
    "ReliefF",
    "IRelief",
    "Selection",
    "Source",
    "UsageError",
    "load",
    "open_source",
    "select",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'streamsieve' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
