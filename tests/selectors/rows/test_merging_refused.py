"""Models that do not belong together are not merged."""

from __future__ import annotations

from typing import Any

import pytest

import streamsieve as ss
from streamsieve.model import Model
from streamsieve.registry import METHODS, find_method, merge_models
from streamsieve.selectors.rows.baselines import AROW, AROW_REGRESSOR
from streamsieve.selectors.rows.sofs import SOFS, SOFS_REGRESSOR
from tests.selectors.rows.merging_cases import (
    N_FEATURES,
    NUMBERS,
    continue_learning,
    first_rows,
    merge,
    random_rows,
    start_model,
)

MERGED = ("sofs", "sofs-regressor", "arow", "arow-regressor")


def test_methods_that_do_not_merge_are_refused() -> None:
    assert [method for method in METHODS if find_method(method).merges] == list(MERGED)
    for method in METHODS.keys() - set(MERGED):
        with pytest.raises(ss.UsageError, match=f"models of {method} cannot be merged"):
            merge_models(Model(method, {}, {}, {}), [Model(method, {}, {}, {})])
        if find_method(method).reads == "rows":
            with pytest.raises(ss.UsageError, match=f"models of {method} cannot be merged"):
                find_method(method).make().start_shard(2)  # type: ignore[attr-defined]


def half(**params: Any) -> SOFS:
    return SOFS.make(0.5, normalize=False, **params)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            AROW.make(0.5).start(N_FEATURES, [0, 1]),
            "part 2 is a model of arow; sofs merges only its own models",
        ),
        (
            half(gamma=0.25).start(N_FEATURES, [0, 1]),
            "part 2 has gamma=0.25 and the base gamma='auto'",
        ),
        (half().start(N_FEATURES, [0, 2]), r"part 2 has the classes \[0, 2\], not \[0, 1\]"),
        (
            half().start(N_FEATURES, [0, 1, 2]),
            r"part 2 has the classes \[0, 1, 2\], not \[0, 1\]",
        ),
        (half().start(N_FEATURES), "part 2 took its classes from the rows"),
        (half().start(100, [0, 1]), "part 2 has a budget of 50 and the base one of 6"),
        (
            half().start(N_FEATURES, [0, 1], list("abcdefghijkl")),
            "part 2 has feature names that differ",
        ),
        (half().start(N_FEATURES, [0, 1]), "part 2 has learned less than the base"),
        (
            half().start(N_FEATURES, [0, 1]).start_shard(4),
            "the rows of part 2 count 4 times, and those of part 1 1 times",
        ),
    ],
)
def test_a_part_that_does_not_belong_is_refused(other: Any, message: str) -> None:
    base = continue_learning(
        start_model(SOFS, n_features_to_select=0.5), random_rows(20, 0)
    ).model()
    with pytest.raises(ss.UsageError, match=message):
        merge(base, [continue_learning(base, random_rows(20, 1)), other])


def test_what_else_is_refused() -> None:
    base = start_model(SOFS, normalize="standard")
    with pytest.raises(ss.UsageError, match="nothing to merge"):
        merge_models(base, [])
    assert (
        merge(base, [continue_learning(base, []), continue_learning(base, [])]).results.n_rows_ == 0
    )
    parts = [
        continue_learning(base, random_rows(20, 1), dense=dense).model() for dense in (False, True)
    ]
    with pytest.raises(ss.UsageError, match="some parts learned dense rows"):
        merge_models(base, parts)
    parts[1].arrays["state.member"][0] = 5000
    with pytest.raises(ss.DataError, match="part 2: not a streamsieve model"):
        merge_models(base, parts)
    for number in (0, 1.5, True, "8"):
        with pytest.raises(ValueError, match=r"row_multiplier=.*: must be an integer from 1 to"):
            continue_learning(base, []).start_shard(number)
        damaged = base.copy()
        damaged.header["times"] = number
        with pytest.raises(ss.DataError, match="the base: not a streamsieve model"):
            merge_models(damaged, parts[:1])


@pytest.mark.parametrize(("cls", "n_classes"), [(SOFS, 2), (SOFS_REGRESSOR, NUMBERS)])
def test_what_is_chosen_from_the_first_rows_is_chosen_once(cls: Any, n_classes: int) -> None:
    # The default is normalize="auto".
    start = cls.make(5).start(N_FEATURES, range(n_classes) if n_classes else None).model()
    # Without any rows, parts with classes may have made the same choice.
    for rows_before in (1000,) if n_classes else (0, 1000):
        base = continue_learning(start, random_rows(rows_before, 0, n_classes)).model()
        parts = [continue_learning(base, random_rows(1100, seed, n_classes)) for seed in (1, 2)]
        with pytest.raises(
            ss.UsageError, match="same choice; let the base learn 1,024 rows before it is divided"
        ):
            merge(base, parts)
    base = continue_learning(start, random_rows(1024, 0, n_classes)).model()
    parts = [continue_learning(base, random_rows(50, seed, n_classes)) for seed in (1, 2)]
    assert merge(base, parts).results.n_rows_ == 1124


@pytest.mark.parametrize("cls", [SOFS_REGRESSOR, AROW_REGRESSOR])
def test_parts_with_another_centre_are_refused(cls: Any) -> None:
    new_model = cls.make(5, normalize=False).start(N_FEATURES).model()
    for base in (new_model, continue_learning(new_model, random_rows(31, 0, NUMBERS)).model()):
        parts = [continue_learning(base, random_rows(40, seed, NUMBERS)) for seed in (1, 2)]
        with pytest.raises(
            ss.UsageError, match=r"centre of a numeric target.*let the base learn 32 rows before"
        ):
            merge(base, parts)
    base, other = (continue_learning(new_model, random_rows(32, seed, NUMBERS)) for seed in (0, 1))
    with pytest.raises(ss.UsageError, match="did not start with the same choice"):
        merge(base.model(), [continue_learning(base.model(), random_rows(9, 2, NUMBERS)), other])
    alike = [*first_rows(NUMBERS), *random_rows(20, 3, NUMBERS)]
    # Equal first rows give equal centres.
    assert (
        merge(
            new_model, [continue_learning(new_model, alike) for _ in range(2)]
        ).memory.target.centre
        == 5.0
    )
