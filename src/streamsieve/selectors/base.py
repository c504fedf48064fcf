"""What every algorithm shares, without scikit-learn: parameters, the selection, saving and loading.

An algorithm is written as a learner. ``streamsieve.estimators`` gives it scikit-learn's face. The two are apart because
a run from a file needs no scikit-learn, whose import alone costs most of a second and a hundred megabytes.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..persistence import write_model
from ..selection import Selection
from ..version import __version__


class Learner:
    """The base of all algorithms. ``_selected`` gives the chosen ids, ascending, and their scores."""

    method: ClassVar[str]  # its name in the registry

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @classmethod
    def parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def check_parameters(self) -> None:
        """Refuse, with a ValueError, parameters that make no sense."""
        raise NotImplementedError

    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        raise NotImplementedError

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learned, as arrays."""
        raise NotImplementedError

    def _header(self) -> dict[str, Any]:
        """What is needed beside the arrays, as JSON."""
        raise NotImplementedError

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take up what ``_arrays`` and ``_header`` gave."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """The parameters by name, as JSON can hold them."""
        return {name: plain(getattr(self, name)) for name in self.parameter_names()}

    def selection(self) -> Selection:
        """The selected features, with scores and names; its size is that of the selection."""
        indices, scores = self._selected()
        names = self._names()
        return Selection(indices, scores, None if names is None else names[indices])

    def _names(self) -> NDArray[Any] | None:
        return getattr(self, "feature_names_in_", None)

    def save(self, path: str | Path, note: dict[str, Any] | None = None) -> None:
        """Write the model to one file, without pickle; ``streamsieve.load`` gives it back and learning can go on.

        ``note`` is kept in the file's header as JSON, for whoever wrote it.
        """
        header = {
            "method": self.method,
            "version": __version__,
            "params": {name: _as_json(value) for name, value in self.parameters().items()},
            "n_features": self.n_features_in_,
            "note": note,
            **self._header(),
        }
        arrays = self._arrays()
        names = self._names()
        if names is not None:
            arrays["feature_names"] = names.astype(str)
        write_model(path, header, arrays)

    @classmethod
    def from_saved(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """What ``save`` wrote, ready to go on."""
        learner = cls(**{name: _from_json(value) for name, value in header["params"].items()})
        learner.n_features_in_ = header["n_features"]
        if "feature_names" in arrays:
            learner.feature_names_in_ = arrays["feature_names"].astype(object)
        learner._restore(header, arrays)
        return learner


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays, as searches over parameters hand out, as Python's own; a generator as None.

    What a generator would draw next is saved apart.
    """
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return None if isinstance(value, np.random.Generator) else value


def _as_json(value: Any) -> Any:
    """A parameter as JSON gives it back: keys of any kind become pairs."""
    if isinstance(value, dict):
        return {"pairs": [[plain(key), weight] for key, weight in value.items()]}
    return value


def _from_json(value: Any) -> Any:
    return dict(map(tuple, value["pairs"])) if isinstance(value, dict) else value


def require(condition: bool, name: str, value: Any, expected: str) -> None:
    """Refuse a parameter, saying what it must be."""
    if not condition:
        raise ValueError(f"{name}={value!r}: must be {expected}")


def is_whole(value: Any) -> bool:
    """Whether a value is an integer, and not a truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, and not a truth value."""
    return is_whole(value) or (isinstance(value, float | np.floating) and bool(np.isfinite(value)))
