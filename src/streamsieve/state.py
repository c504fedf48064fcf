"""States of algorithms: NamedTuples of declared arrays (``kernels.arrays``), which kernels change in place.

A state may hold other states, and tuples of them. Arrays are then named by a path: ``slots.ids``,
``workers.0.level``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol, TypeVar, cast, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from .kernels.arrays import ArraySpec

NEGATED_AT_ONCE = 1 << 16  # entries
MAX_COUNT = 2**62  # of anything
MAX_NUMBER = (
    1e100  # that learning from float32 comes near: sums of squares of the largest are far below
)

Arrays = dict[str, NDArray[Any]]
Schema = Mapping[str, ArraySpec]


class State(Protocol):
    """A NamedTuple of arrays, of other such states, or of tuples of them."""

    def _asdict(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=State)


# ---- what the declarations say


@cache
def declared(state_type: Any) -> dict[str, ArraySpec]:
    """Return the declarations of the arrays of a state by name, with the types that their annotations say."""
    hints, specs = get_type_hints(state_type), state_type._field_defaults
    return {name: spec._replace(dtype=dtype_of(hints[name])) for name, spec in specs.items()}


@cache
def nested_types(state_type: Any) -> dict[str, Any]:
    """Return the types of the states within a state by name."""
    return {
        name: hint for name, hint in get_type_hints(state_type).items() if hasattr(hint, "_fields")
    }


def dtype_of(hint: Any) -> Any:
    """Return the dtype in an annotation ``NDArray[...]``; None if it may be any."""
    scalar = hint
    while arguments := get_args(
        scalar
    ):  # ndarray[..., dtype[scalar]], or from NumPy 2.5 on NDArray[scalar]
        scalar = arguments[-1]
    return None if scalar is Any else np.dtype(scalar)


def names_along(state_type: Any, axis: str) -> list[str]:
    """Return the names of the arrays whose first axis is of that size."""
    return [name for name, spec in declared(state_type).items() if spec.shape[0] == axis]


def names_of_positions(state_type: Any) -> list[str]:
    """Return the names of the arrays that hold positions of features."""
    return [name for name, spec in declared(state_type).items() if spec.positions]


def empty(state_type: type[T], **sizes: int) -> T:
    """Return a fresh state with axes of these sizes."""
    parts = {name: empty(part, **sizes) for name, part in nested_types(state_type).items()}
    arrays = {name: fresh_array(spec, sizes) for name, spec in declared(state_type).items()}
    return cast(T, cast(Any, state_type)(**parts, **arrays))


def fresh_array(spec: ArraySpec, sizes: Mapping[str, int]) -> NDArray[Any]:
    """Return a fresh array with axes of these sizes; zeros take no memory until they are written to."""
    shape = tuple(sizes[axis] if isinstance(axis, str) else axis for axis in spec.shape)
    if spec.numbered:
        return np.arange(shape[0], dtype=spec.dtype)
    return np.full(shape, spec.start, spec.dtype) if spec.start else np.zeros(shape, spec.dtype)


def grown(state: T, axis: str, size: int) -> T:
    """Return the state with longer arrays along an axis; the arrays that are given stay whole."""
    parts: dict[str, Any] = {name: grown(part, axis, size) for name, part in nested(state).items()}
    for name, spec in declared(type(state)).items():
        if axis in spec.shape:
            array = getattr(state, name)
            sizes = {**dict(zip(map(str, spec.shape), array.shape, strict=True)), axis: size}
            parts[name] = fresh_array(spec, sizes)
            parts[name][tuple(map(slice, array.shape))] = array
    return changed(state, **parts)


def sizes_of(state: State) -> dict[str, int]:
    """Return the sizes of the axes that have names."""
    sizes: dict[str, int] = {}
    for name, spec in declared(type(state)).items():
        extents = zip(spec.shape, getattr(state, name).shape, strict=True)
        sizes |= {axis: extent for axis, extent in extents if isinstance(axis, str)}
    return sizes


def schema_of(state: State, before: str = "") -> dict[str, ArraySpec]:
    """Return what the arrays of a state like this one must be, named as by ``arrays_of``."""
    if is_tuple(state):
        schema: dict[str, ArraySpec] = {}
        for number, part in parts_of(state).items():
            own = schema_of(part, f"{before}{number}.")
            axes = {axis for spec in own.values() for axis in spec.shape if isinstance(axis, str)}
            sizes = {axis: f"{axis} of {number}" for axis in axes}
            schema |= {name: resized(spec, sizes) for name, spec in own.items()}
        return schema
    schema = {before + name: spec for name, spec in declared(type(state)).items()}
    for name, part in nested(state).items():
        schema |= schema_of(part, f"{before}{name}.")
    return schema


def resized(spec: ArraySpec, sizes: Mapping[Any, Any]) -> ArraySpec:
    """Return the declaration with other names, or numbers, for some of its sizes."""
    shape = tuple(sizes.get(axis, axis) for axis in spec.shape)
    return spec._replace(shape=shape, below=sizes.get(spec.below, spec.below))


def check_arrays(arrays: Arrays, schema: Schema, sizes: dict[str, int]) -> dict[str, int]:
    """Raise ValueError if arrays are not what a schema says; return all sizes, those given and those of the arrays."""
    unknown = sorted(set(arrays) - set(schema))
    if unknown:
        raise ValueError(f"{unknown[0]!r} has no business in it")
    found = dict(sizes)
    for name, expected in schema.items():
        array = arrays[name]
        other = (
            expected.dtype is not None and expected.dtype != array.dtype
        )  # to NumPy, None is float64
        if other or array.ndim != len(expected.shape):
            raise ValueError(f"{name!r} is {array.dtype} of {array.ndim} axes")
        for axis, extent in zip(expected.shape, array.shape, strict=True):
            wanted = axis if isinstance(axis, int) else found.setdefault(axis, extent)
            if extent != wanted:
                raise ValueError(f"{name!r} has an axis of {extent:,}, not {wanted:,}")
    for name, expected in schema.items():
        check_range(name, arrays[name], expected, found)
    return found


def check_range(
    name: str, array: NDArray[Any], expected: ArraySpec, sizes: Mapping[str, int]
) -> None:
    """Raise ValueError if an entry is outside of its range."""
    if not array.size or array.dtype.kind in "US":
        return
    extremes = float(array.min()), float(array.max())
    if (
        expected.finite
        and array.dtype.kind == "f"
        and not all(abs(one) <= MAX_NUMBER for one in extremes)
    ):
        raise ValueError(f"{name!r} has values that are not finite, or far too large")
    limit = MAX_COUNT if expected.below is None and array.dtype.kind == "i" else expected.below
    below = sizes[limit] if isinstance(limit, str) else limit
    if expected.low is not None and not array.min() >= expected.low:
        raise ValueError(f"{name!r} has a value below {expected.low}")
    if below is not None and not array.max() < below:
        raise ValueError(f"{name!r} has a value of {below:,} or more")


# ---- arrays by name


def changed(state: T, /, **arrays: Any) -> T:
    """Return the same state with other arrays under some names."""
    return cast(T, cast(Any, state)._replace(**arrays))


def arrays_of(state: State, before: str = "", **sizes: int) -> Arrays:
    """Return all arrays by name; of those along a named axis, as many entries as ``sizes`` say."""
    arrays: Arrays = {}
    for name, part in parts_of(state).items():
        if isinstance(part, np.ndarray):
            axis = declared(type(state))[name].shape[0] if sizes else ""
            arrays[before + name] = part[: sizes[axis]] if axis in sizes else part
        else:
            arrays |= arrays_of(part, f"{before}{name}.", **sizes)
    return arrays


def with_arrays(state: T, arrays: Arrays, before: str = "") -> T:
    """Return a state like another, of arrays that are named as by ``arrays_of``."""
    parts = {
        name: (
            arrays[before + name]
            if isinstance(part, np.ndarray)
            else with_arrays(part, arrays, f"{before}{name}.")
        )
        for name, part in parts_of(state).items()
    }
    return cast(T, tuple(parts.values())) if is_tuple(state) else changed(state, **parts)


def moved(state: T, old: Any, new: Any, room: int) -> T:
    """Return the state with what it has of features at positions ``old`` at ``new``, in arrays with so much room."""
    parts: dict[str, Any] = {
        name: moved(part, old, new, room) for name, part in nested(state).items()
    }
    for name in names_along(type(state), "features"):
        array = getattr(state, name)
        parts[name] = np.zeros((room, *array.shape[1:]), array.dtype)
        parts[name][new] = array[old]
    return changed(state, **parts)


def copied(state: T) -> T:
    """Return the same state in arrays of its own."""
    return with_arrays(state, {name: array.copy() for name, array in arrays_of(state).items()})


def negate(weights: NDArray[Any]) -> None:
    """Change the sign of all weights, in place, and write to no other entry: that would take memory for it."""
    for start in range(0, len(weights), NEGATED_AT_ONCE):
        part = weights[start : start + NEGATED_AT_ONCE]
        np.negative(part, out=part, where=part != 0)


def nested(state: Any) -> dict[str, Any]:
    """Return the states within a state by name."""
    return {
        name: part for name, part in parts_of(state).items() if not isinstance(part, np.ndarray)
    }


def parts_of(state: Any) -> dict[str, Any]:
    """Return what a state consists of, by name; of a tuple of states, by number."""
    return (
        {str(number): part for number, part in enumerate(state)}
        if is_tuple(state)
        else state._asdict()
    )


def is_tuple(state: Any) -> bool:
    """Return True for a tuple of states, without names."""
    return type(state) is tuple
