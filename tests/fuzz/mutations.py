"""Random changes that a stranger could make to a model; all check sums are right afterwards."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamsieve.model import Model

Random = np.random.Generator
Array = NDArray[Any]
Bases = Mapping[str, Model]

TWICE = 0.25  # of the mutations are two in one
VALUES: tuple[Any, ...] = (  # for JSON
    *(
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        3,
        7,
        10**6,
        2**31 - 1,
        2**31,
        2**62,
        2**63,
        10**29,
        -(2**63),
    ),
    *(0.0, 0.5, 1.5, -0.5, 1e-300, 5e-324, 1e30, 1e300, float("nan"), float("inf"), -float("inf")),
    *(
        "",
        "x",
        "auto",
        "snr",
        "confidence",
        "standard",
        "l2",
        "classes",
        "numbers",
        "\x1b[31m",
        "a" * 1000,
    ),
    *(
        [],
        [[]],
        {},
        [1],
        [1, 2],
        [2**40],
        {"a": 1},
        {"pairs": []},
        {"pairs": [[1, 2.0]]},
        {"pairs": [[1]]},
    ),
)
FLOATS = (
    *(np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 5e-324, 1e-310, 1e-30),
    *(1e30, -1e30, 1e60, -1e60, 1e99, 1e300, -1e300, 1.8e308),
)
INTEGERS = (-1, -2, 0, 1, 2, 3, 127, 2**15, 2**31 - 1, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))


# ---- arrays


def some_place(array: Array, random: Random) -> int:
    return int(random.integers(array.size))


def special(array: Array, random: Random) -> Array:
    """Set one entry, all entries, or all from a position on to an odd value."""
    changed = array.copy()
    flat = changed.reshape(-1)
    at = some_place(array, random)
    span = (slice(at, at + 1), slice(None), slice(at, None))[random.choice(3, p=(0.7, 0.15, 0.15))]
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            flat[span] = array.dtype.type(FLOATS[random.integers(len(FLOATS))])
    else:
        flat[span] = np.array(INTEGERS[random.integers(len(INTEGERS))]).astype(array.dtype)
    return changed


def nudged(array: Array, random: Random) -> Array:
    """Change one entry to the next number up or down."""
    changed = array.copy()
    flat, at = changed.reshape(-1), some_place(array, random)
    up = bool(random.integers(2))
    if array.dtype.kind == "f":
        flat[at] = np.nextafter(flat[at], array.dtype.type(np.inf if up else -np.inf))
    else:
        flat[at] = flat[at] + np.array(1 if up else -1).astype(array.dtype)
    return changed


def flipped(array: Array, random: Random) -> Array:
    """Flip one to three bits."""
    data = bytearray(array.tobytes())
    for _ in range(int(random.integers(1, 4))):
        data[random.integers(len(data))] ^= 1 << int(random.integers(8))
    return np.frombuffer(bytes(data), array.dtype).reshape(array.shape).copy()


def sign_bit(array: Array, random: Random) -> Array:
    """Change the sign of one entry, or of all."""
    changed = array.copy()
    flat = changed.reshape(-1)
    span = slice(None) if random.integers(4) == 0 else some_place(array, random)
    flat[span] = -flat[span]
    return changed


def payload(array: Array, random: Random) -> Array:
    """Set one entry to a NaN with random bits, or to a random denormal number."""
    changed = array.copy()
    bits = changed.reshape(-1).view(np.uint64 if array.itemsize == 8 else np.uint32)
    exponent = 0x7FF << 52 if array.itemsize == 8 else 0xFF << 23
    low = int(random.integers(1, 2**52 if array.itemsize == 8 else 2**23))
    bits[some_place(array, random)] = (exponent if random.integers(2) else 0) | low
    return changed


def scaled(array: Array, random: Random) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return (
            array
            * array.dtype.type(
                (0, 2, 3, 1e-30, 1e30)[random.integers(5 if array.dtype.kind == "f" else 3)]
            )
        ).astype(array.dtype)


def exchanged(array: Array, random: Random) -> Array:
    """Exchange two entries, or copy one over another."""
    changed = array.copy()
    flat = changed.reshape(-1)
    first, second = some_place(array, random), some_place(array, random)
    flat[first], flat[second] = flat[second], flat[first] if random.integers(2) else flat[second]
    return changed


def permuted(array: Array, random: Random) -> Array:
    return random.permutation(array) if random.integers(2) else np.ascontiguousarray(array[::-1])


def random_entries(array: Array, random: Random) -> Array:
    if array.dtype.kind == "f":
        return random.standard_normal(array.shape).astype(array.dtype)
    return random.integers(0, max(2, array.size), array.shape).astype(array.dtype)


def reshaped(array: Array, random: Random) -> Array:
    """Another number of entries, or of axes."""
    ways: tuple[Callable[[], Array], ...] = (
        lambda: array[:-1],
        lambda: array[1:],
        lambda: array[:0],
        lambda: np.concatenate([array, array[-1:]]),
        lambda: np.concatenate([array, array]),
        lambda: np.concatenate(
            [array, np.zeros((int(random.integers(1, 5000)), *array.shape[1:]), array.dtype)]
        ),
        lambda: array[..., None],
        lambda: array.reshape(-1),
        lambda: array.T,
    )
    return np.ascontiguousarray(ways[random.integers(len(ways))]())


def retyped(array: Array, random: Random) -> Array:
    kinds = ("f4", "f8", "i4", "i8", "u1", "i2", "u8", "b1", "U3", "S2")
    kind = kinds[random.integers(len(kinds))]
    with np.errstate(all="ignore"):
        try:
            return array.astype(kind)
        except ValueError:  # text that is no number, after another such mutation
            return np.ones(array.shape, kind)


OF_ANY = (special, special, nudged, flipped, exchanged, permuted, random_entries, reshaped, retyped)
OF_FLOATS = (*OF_ANY, sign_bit, payload, scaled)
OF_INTEGERS = (*OF_ANY, sign_bit, scaled)


def change_array(model: Model, random: Random, bases: Bases) -> str:
    names = [name for name, array in model.arrays.items() if array.size and array.ndim]
    name = names[random.integers(len(names))]
    array = model.arrays[name]
    ways = {"f": OF_FLOATS, "i": OF_INTEGERS}.get(array.dtype.kind, (reshaped, retyped, permuted))
    way = ways[random.integers(len(ways))]
    with np.errstate(all="ignore"):
        model.arrays[name] = np.ascontiguousarray(way(array, random))
    return f"{way.__name__} {name}"


def swap_arrays(model: Model, random: Random, bases: Bases) -> str:
    """Exchange the names of two arrays, of the same type and shape if there are such."""
    names = list(model.arrays)
    first = names[random.integers(len(names))]
    alike = [
        name
        for name in names
        if name != first
        and model.arrays[name].dtype == model.arrays[first].dtype
        and model.arrays[name].shape == model.arrays[first].shape
    ]
    second = (alike or names)[random.integers(len(alike or names))]
    model.arrays[first], model.arrays[second] = model.arrays[second], model.arrays[first]
    return f"swap {first} {second}"


def take_array(model: Model, random: Random, bases: Bases) -> str:
    """Take an array, or all arrays with the same prefix, from another model."""
    donor = one_of(bases, random, model.method if random.integers(3) else None)
    shared = sorted(set(donor.arrays) & set(model.arrays)) or sorted(donor.arrays)
    name = shared[random.integers(len(shared))]
    taken = (
        [name]
        if random.integers(2)
        else [array_name for array_name in shared if array_name.split(".")[0] == name.split(".")[0]]
    )
    for array_name in taken:
        model.arrays[array_name] = donor.arrays[array_name].copy()
    return f"take {' '.join(taken)[:60]}"


def lose_array(model: Model, random: Random, bases: Bases) -> str:
    names = list(model.arrays)
    name = names[random.integers(len(names))]
    array = model.arrays.pop(name)
    if random.integers(2):
        model.arrays[f"{name}x" if random.integers(2) else "other"] = array
    return f"lose {name}"


# ---- headers and parameters


def one_of(bases: Bases, random: Random, method: str | None) -> Model:
    names = [name for name in bases if method is None or bases[name].method == method]
    return bases[names[random.integers(len(names))]]


def paths_in(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all values inside a JSON value."""
    items: Sequence[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [
        path for key, inner in items for path in ((*before, key), *paths_in(inner, (*before, key)))
    ]


def change_header(model: Model, random: Random, bases: Bases) -> str:
    part = "header" if random.integers(2) else "params"
    content = copy.deepcopy(getattr(model, part))
    paths = paths_in(content)
    if not paths:
        return "nothing"
    path = paths[random.integers(len(paths))]
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    old, way = holder[path[-1]], int(random.integers(8))
    donor = getattr(one_of(bases, random, model.method), part)
    if way == 0:
        del holder[path[-1]]
    elif way == 1 and isinstance(old, int | float) and not isinstance(old, bool):
        holder[path[-1]] = old + int(random.integers(-2, 3))
    elif way in (2, 3) and path[0] in donor:
        content[path[0]] = copy.deepcopy(donor[path[0]])
    else:
        holder[path[-1]] = VALUES[random.integers(len(VALUES))]
    setattr(model, part, content)
    return (
        f"{part} {'.'.join(map(str, path))} = {str(holder[path[-1]] if way else 'gone')[:40]}"
        if way
        else f"{part} {path} gone"
    )


def take_headers(model: Model, random: Random, bases: Bases) -> str:
    """Take all parameters, or the whole header, from another model."""
    part = "header" if random.integers(2) else "params"
    setattr(model, part, copy.deepcopy(getattr(one_of(bases, random, model.method), part)))
    return f"take {part}"


def rename_method(model: Model, random: Random, bases: Bases) -> str:
    model.method = one_of(bases, random, None).method
    return f"method {model.method}"


CHANGES: tuple[tuple[float, Callable[[Model, Random, Bases], str]], ...] = (
    (0.60, change_array),
    (0.05, swap_arrays),
    (0.07, take_array),
    (0.02, lose_array),
    (0.22, change_header),
    (0.03, take_headers),
    (0.01, rename_method),
)


def mutated(bases: Bases, seed: int, number: int) -> tuple[str, Model]:
    """Mutation ``number`` of a seed: what it is, and the model. The bases take turns."""
    random = np.random.default_rng([seed, number])
    name = list(bases)[number % len(bases)]
    model = bases[name].copy()
    said = [name]
    for _ in range(1 + int(random.random() < TWICE)):
        change = CHANGES[random.choice(len(CHANGES), p=[weight for weight, _ in CHANGES])][1]
        said.append(change(model, random, bases))
    return " | ".join(said), model
