"""Files of models and the schema of their arrays, without a learner: reading and rejection."""

from __future__ import annotations

import errno
import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

import streamsieve.model as module
from streamsieve.errors import DataError, UsageError
from streamsieve.kernels.arrays import ArraySpec
from streamsieve.model import (
    Model,
    check_classes,
    check_ids,
    check_scores,
    pop_texts,
    refusing_damage,
    texts_to_arrays,
)
from streamsieve.state import check_arrays

ARRAYS = {
    "state.weight": np.linspace(-1.0, 1.0, 20).reshape(4, 5),
    "classes": np.array(["no", "yes"]),
    "empty": np.empty((0, 3), np.int32),
    "one": np.array(7, np.int64),
}


def a_model(**arrays: Any) -> Model:
    return Model(
        "sofs", {"gamma": 1.5}, {"rows": 3}, arrays or ARRAYS, note={"by": "me"}, version="9.9"
    )


def rewritten(data: bytes, changes: dict[str, bytes]) -> bytes:
    """Return an archive with some members replaced or added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            new.writestr(member, changes.pop(member, None) or old.read(member))
        for member, content in changes.items():
            new.writestr(member, content)
    return out.getvalue()


def array_file(array: Any, version: tuple[int, int] | None = None, **fields: Any) -> bytes:
    """Return a file of an array; ``fields`` replace those of its header."""
    out = io.BytesIO()
    if not fields:
        npy.write_array(out, array, version=version)
        return out.getvalue()
    npy.write_array_header_1_0(out, {**npy.header_data_from_array_1_0(array), **fields})
    return out.getvalue() + array.tobytes()


def refused(data: bytes) -> str:
    with pytest.raises(DataError, match="not a streamsieve model, or damaged") as caught:
        Model.from_bytes(data)
    return str(caught.value)


@pytest.mark.parametrize("part_bytes", [1, 7, 160, 1 << 24])
def test_a_model_comes_back_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part_bytes: int
) -> None:
    monkeypatch.setattr(module, "PART_BYTES", part_bytes)
    model = a_model()
    model.save(tmp_path / "model")
    for same in (Model.load(tmp_path / "model"), Model.from_bytes(model.to_bytes()), model.copy()):
        assert (same.method, same.params, same.header) == ("sofs", {"gamma": 1.5}, {"rows": 3})
        assert (same.note, same.version) == ({"by": "me"}, "9.9")
        assert list(same.arrays) == list(ARRAYS)
        for name, array in ARRAYS.items():
            assert (same.arrays[name].dtype, same.arrays[name].shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(same.arrays[name], array)
            assert same.arrays[name].flags.writeable


def test_a_copy_shares_nothing_that_learning_changes() -> None:
    model = a_model(x=np.zeros(3))
    other = model.copy()
    other.arrays["x"][0] = 1.0
    other.params["gamma"] = 2.0
    other.header["rows"] = 4
    assert (model.arrays["x"][0], model.params["gamma"], model.header["rows"]) == (0.0, 1.5, 3)


@pytest.mark.parametrize("number", [0, 3, "2"])
def test_another_format_is_refused_with_what_to_do(number: Any) -> None:
    header = f'{{"streamsieve_format": {number!r}, "version": "7.5"}}'.replace("'", '"')
    with pytest.raises(
        DataError, match=r"model format .*, this version reads 2; install .* \(7.5\) or train again"
    ):
        Model.from_bytes(rewritten(a_model().to_bytes(), {"header.json": header.encode()}))


HEADER = {
    "streamsieve_format": 2,
    "method": "pet",
    "version": "1",
    "params": {},
    "note": None,
    "learned": {},
}


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("method", 1), ("params", []), ("learned", "x"), ("note", 3), ("version", 2)],
)
def test_a_field_of_the_header_that_is_something_else_is_named(field: str, wrong: Any) -> None:
    def with_header(header: dict[str, Any]) -> bytes:
        return rewritten(a_model().to_bytes(), {"header.json": module.to_json(header).encode()})

    assert Model.from_bytes(with_header(HEADER)).method == "pet"
    assert "unexpected value" in refused(with_header({**HEADER, field: wrong}))
    assert field in refused(
        with_header({key: value for key, value in HEADER.items() if key != field})
    )


@pytest.mark.parametrize("name", ["../x.npy", "x.txt", "A.npy", "x y.npy", ".npy", "state.weight"])
def test_members_of_other_names_are_refused(name: str) -> None:
    assert "unexpected member" in refused(
        rewritten(a_model().to_bytes(), {name: array_file(np.zeros(1))})
    )


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_array_that_is_there_twice_is_refused() -> None:
    out = io.BytesIO(a_model().to_bytes())
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("one.npy", array_file(np.zeros(1)))
    assert "unexpected member 'one.npy'" in refused(out.getvalue())


def test_compressed_members_are_refused() -> None:
    out = io.BytesIO(a_model().to_bytes())
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("other.npy", array_file(np.zeros(100)))
    assert "'other.npy' is compressed" in refused(out.getvalue())


def test_members_are_no_larger_than_the_file() -> None:
    with zipfile.ZipFile(io.BytesIO(a_model().to_bytes())) as archive:
        total = sum(member.file_size for member in archive.infolist())
        assert list(module._members(archive, total)) == list(ARRAYS)
        with pytest.raises(
            ValueError, match=f"its members claim {total:,} bytes, but it has {total - 1:,}"
        ):
            module._members(archive, total - 1)
        archive.infolist()[1].file_size += 1
        with pytest.raises(ValueError, match="is compressed"):
            module._members(archive, total)


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_versions_of_arrays_that_can_be_read(version: tuple[int, int]) -> None:
    array = np.arange(5.0)
    data = rewritten(a_model().to_bytes(), {"one.npy": array_file(array, version)})
    np.testing.assert_array_equal(Model.from_bytes(data).arrays["one"], array)


def test_an_array_in_another_order_of_one_axis_is_the_same() -> None:
    data = rewritten(
        a_model().to_bytes(), {"one.npy": array_file(np.arange(5.0), fortran_order=True)}
    )
    np.testing.assert_array_equal(Model.from_bytes(data).arrays["one"], np.arange(5.0))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (array_file(np.zeros(2), (3, 0)), "is an array of version"),
        (array_file(np.zeros(2, complex)), "holds complex128 values"),
        (array_file(np.zeros(2, "M8[s]")), "holds datetime64"),
        (array_file(np.zeros(2, ">f8")), "holds >f8 values"),
        (array_file(np.zeros((2, 2)), fortran_order=True), "holds float64 values"),
        (array_file(np.zeros(2), shape=(3,)), r"does not match its shape \(3,\)"),
        (array_file(np.zeros(3), shape=(2,)), r"does not match its shape \(2,\)"),
        (array_file(np.zeros(4), shape=(-2, -2)), r"does not match its shape \(-2, -2\)"),
        (array_file(np.zeros(4), shape=(2, 4)), r"does not match its shape \(2, 4\)"),
        (array_file(np.zeros(0), shape=(0, -1)), r"does not match its shape \(0, -1\)"),
        (b"rubbish", "one.npy|magic"),
    ],
)
def test_arrays_that_are_not_what_they_say_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Model.from_bytes(rewritten(a_model().to_bytes(), {"one.npy": content}))


def test_a_changed_byte_is_noticed() -> None:
    data = bytearray(a_model().to_bytes())
    at = data.index(struct.pack("<d", 1.0))
    data[at] ^= 1
    assert "Bad CRC-32" in refused(bytes(data))


@pytest.mark.parametrize("data", [b"", b"PK", b"not an archive" * 100])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    refused(data)
    refused(a_model().to_bytes()[: len(data)])


def test_faults_of_the_machine_and_of_the_program_are_not_taken_for_damage(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Model.load(tmp_path / "none")
    program_errors = AttributeError("a"), NameError("n"), AssertionError("f")
    for error in (
        DataError("x"),
        UsageError("y"),
        OSError(errno.EIO, "z"),
        KeyboardInterrupt(),
        *program_errors,
    ):
        with pytest.raises(type(error)) as caught, refusing_damage("there"):
            raise error
        assert caught.value is error
    for error in (OSError(errno.EINVAL, "w"), KeyError("k"), ValueError("v"), struct.error("s")):
        with (
            pytest.raises(DataError, match="there: not a streamsieve model, or damaged"),
            refusing_damage("there"),
        ):
            raise error


# ---- texts


@pytest.mark.parametrize(
    "changes",
    [
        {"t.text": np.zeros(3, np.int8)},
        {"t.offsets": np.array([0, 3], np.int32)},
        {"t.text": np.zeros((3, 1), np.uint8)},
        {"t.offsets": np.array([[0], [3]])},
        {"t.offsets": np.empty(0, np.int64)},
        {"t.offsets": np.array([1, 3])},
        {"t.offsets": np.array([0, 2])},
        {"t.offsets": np.array([0, 4])},
        {"t.offsets": np.array([0, 2, 1, 3])},
    ],
)
def test_texts_that_are_cut_wrongly_are_refused(changes: dict[str, Any]) -> None:
    arrays = texts_to_arrays("t", ["a", "", "bc"])
    with pytest.raises(ValueError, match=r"t (are not texts|have invalid offsets)"):
        pop_texts("t", {**arrays, **changes})
    assert pop_texts("u", arrays) is None
    assert pop_texts("t", arrays).tolist() == ["a", "", "bc"]
    assert not arrays


# ---- the schema


SCHEMA = {
    "a": ArraySpec(("n", 2), dtype=np.float64),
    "b": ArraySpec(("n",), low=0, below="m", dtype=np.int64),
    "c": ArraySpec((), dtype=None),
}


def arrays_of_schema() -> dict[str, Any]:
    return {"a": np.zeros((3, 2)), "b": np.array([0, 1, 4]), "c": np.array("x")}


def test_arrays_as_the_schema_has_them_pass_and_sizes_come_back() -> None:
    given = {"m": 5}
    assert check_arrays(arrays_of_schema(), SCHEMA, given) == {"m": 5, "n": 3}
    assert given == {"m": 5}
    assert check_arrays({}, {}, {}) == {}


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("d", np.zeros(1), "unexpected array 'd'"),
        ("a", np.zeros((3, 2), np.float32), "'a' is float32 of 2 axes"),
        ("a", np.zeros(3), "'a' is float64 of 1 axes"),
        ("a", np.zeros((3, 3)), "'a' has an axis of 3, not 2"),
        ("b", np.zeros(4, np.int64), "'b' has an axis of 4, not 3"),
        ("b", np.array([0, -1, 2]), "'b' has a value below 0"),
        ("b", np.array([0, 5, 2]), "'b' has a value of 5 or more"),
        ("a", np.full((3, 2), np.nan), "'a' has values that are not finite"),
    ],
)
def test_arrays_that_are_not_as_the_schema_has_them_are_named(
    name: str, array: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        check_arrays({**arrays_of_schema(), name: array}, SCHEMA, {"m": 5})


@pytest.mark.parametrize(
    ("array", "field", "passes"),
    [
        (np.array([1e100, -1e100]), {}, True),
        (np.array([1.1e100, 0.0]), {}, False),
        (np.array([-1.1e100, 0.0]), {}, False),
        (np.array([0.0, np.inf]), {}, False),
        (np.array([0.0, np.inf]), {"finite": False}, True),
        (np.array([0.0, np.nan]), {"finite": False}, True),
        (np.array([0.0, np.nan]), {"finite": False, "low": 0.0}, False),
        (np.array([0.0, np.nan]), {"finite": False, "below": 1.0}, False),
        (np.array([2**62 - 1]), {}, True),
        (np.array([2**62]), {}, False),
        (np.array([2**62]), {"below": 2**63}, True),
        (np.array([2**63], np.uint64), {}, True),
        (np.array([2**63], np.uint64), {"low": 0}, True),
        (np.array([-(2**63)]), {}, True),
        (np.array([0.5]), {"low": 0.5, "below": 0.6}, True),
        (np.array([0.5]), {"low": 0.6}, False),
        (np.array([0.5]), {"below": 0.5}, False),
        (np.array([True]), {}, True),
        (np.empty(0), {"low": 1.0}, True),
        (np.array(["x"]), {"low": 1.0}, True),
        (np.array([b"x"]), {"low": 1.0}, True),
    ],
)
def test_ranges_of_numbers(array: Any, field: dict[str, Any], passes: bool) -> None:
    schema = {"x": ArraySpec(("n",), **field, dtype=None)}
    if passes:
        assert check_arrays({"x": array}, schema, {}) == {"n": array.size}
    else:
        with pytest.raises(ValueError, match="'x' has"):
            check_arrays({"x": array}, schema, {})


@pytest.mark.parametrize("classes", [[], [3], [1, 2, 3], ["a", "b"], [0.5, 1.5]])
def test_classes_that_can_be(classes: list[Any]) -> None:
    check_classes(np.array(classes))


@pytest.mark.parametrize(
    "classes", [[[1], [2]], [2, 1], [1, 1], [1.0, np.inf], [-np.inf, 1.0], [np.nan], [1.0, np.nan]]
)
def test_classes_that_cannot_be(classes: list[Any]) -> None:
    with pytest.raises(ValueError, match="class"):
        check_classes(np.array(classes))


def test_ids_and_scores() -> None:
    check_ids(np.empty(0, np.int64), 0)
    check_ids(np.array([4, 0, 2]), 5)
    check_scores(np.array([1.0, -np.inf]))
    for ids, message in (
        ([5], "a feature id outside of its 5"),
        ([-1, 2], "outside"),
        ([2, 3, 2], "appears twice"),
    ):
        with pytest.raises(ValueError, match=message):
            check_ids(np.array(ids), 5)
    with pytest.raises(ValueError, match="not a number"):
        check_scores(np.array([1.0, np.nan]))
