"""States of algorithms: NamedTuples of declared arrays (``kernels.arrays``), changed in place.

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
MAX_COUNT = 2**62  # of any kind
MAX_NUMBER = 1e100  # of a state: sums of squares of the largest float32 are far below

Arrays = dict[str, NDArray[Any]]
Schema = Mapping[str, ArraySpec]


class State(Protocol):
    """A NamedTuple of arrays, of other such states, or of tuples of them."""

    def _asdict(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=State)


# ---- declarations


@cache
def declared(state_type: Any) -> dict[str, ArraySpec]:
    """Return the declarations of the arrays of a state by name, with the annotated types."""
    hints, specs = get_type_hints(state_type), state_type._field_defaults
    return {name: spec._replace(dtype=dtype_of(hints[name])) for name, spec in specs.items()}


@cache
def nested_types(state_type: Any) -> dict[str, Any]:
    """Return the types of the states within a state, by name."""
    return {
        name: hint for name, hint in get_type_hints(state_type).items() if hasattr(hint, "_fields")
    }


def dtype_of(hint: Any) -> Any:
    """Return the dtype in an annotation ``NDArray[...]``; None if it may be any."""
    scalar = hint
    # ndarray[..., dtype[scalar]], or from NumPy 2.5 on NDArray[scalar]
    while arguments := get_args(scalar):
        scalar = arguments[-1]
    return None if scalar is Any else np.dtype(scalar)


def names_along(state_type: Any, axis: str) -> list[str]:
    """Return the names of the arrays whose first axis is the given one."""
    return [name for name, spec in declared(state_type).items() if spec.shape[0] == axis]


def names_of_positions(state_type: Any) -> list[str]:
    """Return the names of the arrays that hold positions of features."""
    return [name for name, spec in declared(state_type).items() if spec.positions]


def empty(state_type: type[T], **sizes: int) -> T:
    """Return a new state with axes of the given sizes."""
    parts = {name: empty(part, **sizes) for name, part in nested_types(state_type).items()}
    arrays = {name: new_array(spec, sizes) for name, spec in declared(state_type).items()}
    return cast(T, cast(Any, state_type)(**parts, **arrays))


def new_array(spec: ArraySpec, sizes: Mapping[str, int]) -> NDArray[Any]:
    """Return a new array with axes of the given sizes; zeros take no memory until written to."""
    shape = tuple(sizes[axis] if isinstance(axis, str) else axis for axis in spec.shape)
    if spec.numbered:
        return np.arange(shape[0], dtype=spec.dtype)
    return np.full(shape, spec.start, spec.dtype) if spec.start else np.zeros(shape, spec.dtype)


def grown(state: T, axis: str, size: int) -> T:
    """Return the state with longer arrays along an axis; the given arrays are not changed."""
    parts: dict[str, Any] = {
        name: grown(part, axis, size) for name, part in nested_states(state).items()
    }
    for name, spec in declared(type(state)).items():
        if axis in spec.shape:
            array = getattr(state, name)
            sizes = {**dict(zip(map(str, spec.shape), array.shape, strict=True)), axis: size}
            parts[name] = new_array(spec, sizes)
            parts[name][tuple(map(slice, array.shape))] = array
    return changed(state, **parts)


def sizes_of(state: State) -> dict[str, int]:
    """Return the sizes of the named axes."""
    sizes: dict[str, int] = {}
    for name, spec in declared(type(state)).items():
        extents = zip(spec.shape, getattr(state, name).shape, strict=True)
        sizes |= {axis: extent for axis, extent in extents if isinstance(axis, str)}
    return sizes


def schema_of(state: State, path: str = "") -> dict[str, ArraySpec]:
    """Return the schema of the arrays of a state like this one, named as by ``arrays_of``."""
    if is_tuple(state):
        schema: dict[str, ArraySpec] = {}
        for number, part in parts_of(state).items():
            part_schema = schema_of(part, f"{path}{number}.")
            sizes = {
                axis: f"{axis} of {number}"
                for spec in part_schema.values()
                for axis in spec.shape
                if isinstance(axis, str)
            }
            schema |= {name: resized(spec, sizes) for name, spec in part_schema.items()}
        return schema
    schema = {path + name: spec for name, spec in declared(type(state)).items()}
    for name, part in nested_states(state).items():
        schema |= schema_of(part, f"{path}{name}.")
    return schema


def resized(spec: ArraySpec, sizes: Mapping[Any, Any]) -> ArraySpec:
    """Return the declaration with other names, or numbers, for some of its axes."""
    shape = tuple(sizes.get(axis, axis) for axis in spec.shape)
    return spec._replace(shape=shape, below=sizes.get(spec.below, spec.below))


def check_arrays(arrays: Arrays, schema: Schema, sizes: dict[str, int]) -> dict[str, int]:
    """Raise ValueError if arrays do not conform to a schema.

    Return all sizes, those given and those of the arrays.
    """
    unknown = sorted(set(arrays) - set(schema))
    if unknown:
        raise ValueError(f"it has an unexpected array {unknown[0]!r}")
    all_sizes = dict(sizes)
    for name, expected in schema.items():
        array = arrays[name]
        # to NumPy, a dtype of None is float64
        has_other_type = expected.dtype is not None and expected.dtype != array.dtype
        if has_other_type or array.ndim != len(expected.shape):
            raise ValueError(f"{name!r} is {array.dtype} of {array.ndim} axes")
        for axis, extent in zip(expected.shape, array.shape, strict=True):
            expected_extent = axis if isinstance(axis, int) else all_sizes.setdefault(axis, extent)
            if extent != expected_extent:
                raise ValueError(f"{name!r} has an axis of {extent:,}, not {expected_extent:,}")
    for name, expected in schema.items():
        check_range(name, arrays[name], expected, all_sizes)
    return all_sizes


def check_range(
    name: str, array: NDArray[Any], expected: ArraySpec, sizes: Mapping[str, int]
) -> None:
    """Raise ValueError if an entry of an array is out of range."""
    if not array.size or array.dtype.kind in "US":
        return
    extremes = float(array.min()), float(array.max())
    if (
        expected.finite
        and array.dtype.kind == "f"
        and not all(abs(value) <= MAX_NUMBER for value in extremes)
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


def arrays_of(state: State, path: str = "", **sizes: int) -> Arrays:
    """Return all arrays by name; along a named axis in ``sizes``, only so many entries."""
    arrays: Arrays = {}
    for name, part in parts_of(state).items():
        if isinstance(part, np.ndarray):
            axis = declared(type(state))[name].shape[0] if sizes else ""
            arrays[path + name] = part[: sizes[axis]] if axis in sizes else part
        else:
            arrays |= arrays_of(part, f"{path}{name}.", **sizes)
    return arrays


def with_arrays(state: T, arrays: Arrays, path: str = "") -> T:
    """Return a state like the given one, with arrays that are named as by ``arrays_of``."""
    parts = {
        name: (
            arrays[path + name]
            if isinstance(part, np.ndarray)
            else with_arrays(part, arrays, f"{path}{name}.")
        )
        for name, part in parts_of(state).items()
    }
    return cast(T, tuple(parts.values())) if is_tuple(state) else changed(state, **parts)


def moved(state: T, old: Any, new: Any, room: int) -> T:
    """Return the state with the features at positions ``old`` moved to ``new``.

    The arrays of the result have ``room`` for so many features.
    """
    parts: dict[str, Any] = {
        name: moved(part, old, new, room) for name, part in nested_states(state).items()
    }
    for name in names_along(type(state), "features"):
        array = getattr(state, name)
        parts[name] = np.zeros((room, *array.shape[1:]), array.dtype)
        parts[name][new] = array[old]
    return changed(state, **parts)


def copied(state: T) -> T:
    """Return a copy of the state."""
    return with_arrays(state, {name: array.copy() for name, array in arrays_of(state).items()})


def negate(weights: NDArray[Any]) -> None:
    """Change the sign of all weights in place.

    Zeros are not written to: that would take memory for them.
    """
    for start in range(0, len(weights), NEGATED_AT_ONCE):
        part = weights[start : start + NEGATED_AT_ONCE]
        np.negative(part, out=part, where=part != 0)


def nested_states(state: Any) -> dict[str, Any]:
    """Return the states within a state, by name."""
    return {
        name: part for name, part in parts_of(state).items() if not isinstance(part, np.ndarray)
    }


def parts_of(state: Any) -> dict[str, Any]:
    """Return the parts of a state by name; those of a tuple of states by number."""
    return (
        {str(number): part for number, part in enumerate(state)}
        if is_tuple(state)
        else state._asdict()
    )


def is_tuple(state: Any) -> bool:
    """Return True for a plain tuple of states."""
    return type(state) is tuple
