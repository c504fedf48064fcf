"""streamsieve: select a few good features from data that is too wide, too long or never complete.

The public names are those of the stub beside this file. Each is imported, and each estimator class
created, at first use, as most users need only a few of them.
"""

import ast
from pathlib import Path
from typing import Any

import lazy_loader

from .version import __version__

_STUB = Path(__file__).with_suffix(".pyi")
_ESTIMATORS = [
    node.name for node in ast.parse(_STUB.read_text()).body if isinstance(node, ast.ClassDef)
]
_import, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += [*_ESTIMATORS, "__version__"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _ESTIMATORS:
        return _import(name)
    from .estimators import estimator_class

    return estimator_class(name)
