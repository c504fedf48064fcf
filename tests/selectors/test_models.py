"""Models: bytes, copies, names, and rejection of damaged or hostile files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

import streamsieve as ss
from streamsieve.blocks import dense_block
from streamsieve.estimators import estimator_class
from streamsieve.model import Model, pop_texts, texts_to_arrays
from streamsieve.registry import METHODS, find_method
from streamsieve.selectors.parameters import parameters_of
from tests.effort import of_every_kind


def saved_data() -> tuple[Any, Any]:
    """Return rows to learn from, and their classes."""
    i, j = np.ogrid[:48, :12]
    X = ((i * (3 * j + 7) + i * i * (j + 2) + 13 * j) % 17 - 8) / 4.0
    X[(i * 5 + j * 3) % 4 == 0] = 0.0
    return X, np.where(X[:, 0] + X[:, 1] - X[:, 4] > 0, 1, -1)


def test_names_of_some_features_are_dropped_when_more_come(tmp_path: Path) -> None:
    X, y = saved_data()
    learner = ss.SOFS(3).start(10, classes=[-1, 1], feature_names=[f"c{k}" for k in range(10)])
    learner.partial_fit_block(dense_block(X[:, :10], y))
    assert learner.selection().names is not None
    learner.partial_fit_block(dense_block(X, y))
    learner.save(tmp_path / "wider.model")
    again = ss.load(tmp_path / "wider.model")
    assert again.n_features_in_ == 12
    assert again.selection().names is None


def train_half(method: str) -> Any:
    """Return an estimator in the middle of its work."""
    X, y = saved_data()
    estimator = estimator_class(method)()
    if estimator.method.reads == "rows":
        seed = {"random_state": 0} if "random_state" in estimator.get_params() else {}
        return estimator.set_params(n_features_to_select=4, **seed).partial_fit(X, y)
    if estimator.method.reads == "columns":
        return estimator.partial_fit_columns(X, y, names=[f"gene {k}" for k in range(X.shape[1])])
    return estimator.fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_a_model_is_the_same_from_bytes_and_as_a_copy(method: str) -> None:
    estimator = train_half(method)
    learner = find_method(method)
    model = estimator.model()
    for copied in (Model.from_bytes(model.to_bytes()), model.copy()):
        again = learner.load(copied)
        assert again.results.selection().indices.tolist() == estimator.selection().indices.tolist()
        assert again.results.selection().scores.tolist() == estimator.selection().scores.tolist()
        assert parameters_of(again.params) == estimator.get_params()
    for name, array in model.copy().arrays.items():
        assert not np.shares_memory(array, model.arrays[name])


def test_bytes_of_a_model_do_not_depend_on_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model = train_half("sofs").model()
    before = model.to_bytes()
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert model.to_bytes() == before


def test_one_long_name_costs_its_own_length_alone(tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(2000)]
    names[7] = "x" * 20_000
    X, y = np.random.default_rng(0).integers(0, 2, (20, 2000)), np.arange(20) % 2
    selector = ss.SOFS(5).partial_fit(X[:, :1], y, classes=[0, 1])
    selector.start(2000, [0, 1], names)
    selector.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 100_000
    assert ss.load(tmp_path / "model").feature_names_in_.tolist() == names


@pytest.mark.parametrize("texts", [[], [""], ["a", "", "\u00e4\u6f22\U0001f600", "\udc80"]])
def test_texts_come_back_as_they_were(texts: list[str]) -> None:
    assert pop_texts("names", texts_to_arrays("names", texts)).tolist() == texts


def repack(data: bytes, name: str, change: Any, compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return an archive with one member changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", compression) as new:
        for member in old.namelist():
            content = old.read(member)
            new.writestr(member, change(content) if member == name else content)
    return out.getvalue()


def array_bytes(array: Any) -> bytes:
    out = io.BytesIO()
    npy.write_array(out, array)
    return out.getvalue()


def test_a_compressed_archive_is_refused() -> None:
    data = repack(train_half("sofs").model().to_bytes(), "", None, zipfile.ZIP_DEFLATED)
    with pytest.raises(ss.DataError, match="compressed"):
        Model.from_bytes(data)


def test_an_array_that_says_it_is_larger_than_it_is_is_refused_before_it_is_made() -> None:
    header = io.BytesIO()
    npy.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**14,)})
    data = repack(
        train_half("sofs").model().to_bytes(),
        "state.weight.npy",
        lambda _: header.getvalue() + bytes(32),
    )
    with pytest.raises(ss.DataError, match=r"does not match its shape"):
        Model.from_bytes(data)


@pytest.mark.parametrize("extra", ["../x.npy", "state.weight.npy.npy", "other.txt", "A.npy"])
def test_a_member_that_does_not_belong_is_refused(extra: str) -> None:
    out = io.BytesIO(train_half("sofs").model().to_bytes())
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(extra, array_bytes(np.zeros(1)))
    with pytest.raises(ss.DataError, match="not a streamsieve model"):
        ss.SOFS.method.load(Model.from_bytes(out.getvalue()))


def mutations(array: Any) -> list[Any]:
    """Return what a file may hold instead of an array."""
    wrong = [
        array[:-1],
        np.concatenate([array, array[:1]]),
        array.astype(np.float32),
        array[..., None],
    ]
    if array.size and array.dtype.kind in "iu":
        for value in (-1, -2, 2**31 - 1, np.iinfo(array.dtype).max, np.iinfo(array.dtype).min):
            for at in (0, array.size // 2, -1):
                changed = array.copy()
                changed.reshape(-1)[at] = np.array(value).astype(array.dtype)
                wrong.append(changed)
        wrong.append(np.full_like(array, array.reshape(-1)[0]))
    if array.size and array.dtype.kind == "f":
        for value in (np.nan, np.inf, -1e300):
            changed = array.copy()
            changed.reshape(-1)[-1] = value
            wrong.append(changed)
    return wrong


def refused_changes(model: Model, X: Any, y: Any) -> int:
    """Change every array of a model in every way and return how many changes are rejected.

    The others must do no harm.
    """
    refusal_of = 0
    for name, array in model.arrays.items():
        for wrong in mutations(array):
            if np.array_equal(wrong, array) and wrong.dtype == array.dtype:
                continue
            hostile = model.copy()
            hostile.arrays[name] = wrong
            try:
                again = find_method(model.method).load(Model.from_bytes(hostile.to_bytes()))
            except ss.DataError:
                refusal_of += 1
                continue
            use(again, X, y)
    return refusal_of


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", of_every_kind(METHODS))  # tests/fuzz changes models of all
def test_a_changed_array_is_refused_or_harmless(method: str) -> None:
    """Every array of a model, changed in every way: no crash, and no invalid id."""
    X, y = saved_data()
    model = train_half(method).model()
    assert refused_changes(model, X, y) > 3 * len(model.arrays)


def use(learner: Any, X: Any, y: Any) -> None:
    """Use a learner in every way that a user can."""
    from streamsieve.estimators import as_estimator

    estimator = as_estimator(learner)
    assert (estimator.selection().indices >= 0).all()
    try:
        if estimator.method.reads == "rows":
            estimator.predict(X)
            estimator.partial_fit(X, y)
        elif estimator.method.reads == "columns":
            estimator.partial_fit_columns(X[:, ::-1], feature_ids=np.arange(100, 112))
    except ValueError:  # data that does not fit the model, in words
        pass
    estimator.selection()


HEADER_VALUES = [None, -1, 0, 1, 10**6, 2**31, 2**63, 1.5, "x", [], {}, True, [[]], {"a": 1}]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", of_every_kind(METHODS))  # tests/fuzz changes models of all
def test_a_changed_header_is_refused_or_harmless(method: str) -> None:
    X, y = saved_data()
    model = train_half(method).model()
    learner = find_method(method)
    for part in ("header", "params"):
        for key in getattr(model, part):
            for value in HEADER_VALUES:
                hostile = model.copy()
                getattr(hostile, part)[key] = value
                try:
                    again = learner.load(Model.from_bytes(hostile.to_bytes()))
                except (ss.DataError, ss.UsageError):
                    continue
                use(again, X, y)


def refusal_of(model: Model) -> str:
    """Return the message for an invalid model."""
    with pytest.raises(ss.DataError) as caught:
        find_method(model.method).load(model)
    return str(caught.value)


@pytest.mark.parametrize("method", ["saola", "osfs", "mrmr", "iamb", "online-substitution"])
def test_ids_beyond_the_width_and_ids_that_appear_twice_are_refused(method: str) -> None:
    model = train_half(method).model().copy()
    name = next(name for name in ("state.ids", "state.slots.ids") if name in model.arrays)
    ids = model.arrays[name]
    model.arrays[name] = np.full_like(ids, ids.max())
    assert "twice" in refusal_of(model)
    model.arrays[name] = ids + 10**6
    assert "feature" in refusal_of(model)


def test_counters_leave_room_to_count_on() -> None:
    model = train_half("pet").model().copy()
    model.arrays["target.label_counts"][0] = 2**63 - 1
    assert "label_counts" in refusal_of(model)


@pytest.mark.parametrize("value", [1e300, -1e300, 5e-324])
def test_numbers_that_learning_cannot_reach_are_refused(value: float) -> None:
    model = train_half("pet").model().copy()
    model.arrays["state.scale"][0] = value
    assert "state.scale" in refusal_of(model)


def test_another_budget_than_that_of_the_parameters_is_refused() -> None:
    model = train_half("sofs").model().copy()
    model.params["n_features_to_select"] = 2
    assert "n_features_to_select=2" in refusal_of(model)


@pytest.mark.parametrize("method", ["sofs", "saola"])
def test_classes_that_are_not_finite_are_refused(method: str) -> None:
    model = train_half(method).model().copy()
    model.arrays["classes"] = np.array([-1.0, np.inf])
    assert "class" in refusal_of(model)


def test_codes_of_a_column_that_left_its_slot_do_no_harm() -> None:
    """In OSFS, a slot keeps the codes of a discrete column after a continuous one replaced it."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    selector = ss.OSFS().partial_fit_columns(X, np.where(X[:, 0] > 0, 1, 0))
    model = selector.model().copy()
    kept = model.arrays["state.order"][1 : 1 + int(model.arrays["state.counts"][0])]
    assert kept.size
    assert not model.arrays["state.n_levels"][kept].any()
    model.arrays["state.codes"][kept] = 5
    again = find_method("osfs").load(Model.from_bytes(model.to_bytes()))
    assert again.results.selection().indices.tolist() == selector.selection().indices.tolist()


def test_a_small_file_of_a_huge_width_takes_little_memory() -> None:
    model = ss.PET(4, normalize="standard").partial_fit(*saved_data()).model().copy()
    model.header["n_features"] = model.header["declared_width"] = 2**31
    assert "dense rows" in refusal_of(model)
