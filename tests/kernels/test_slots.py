"""Check that more room for the variables of a blanket keeps the present ones."""

from __future__ import annotations

import numpy as np

from streamsieve.kernels.columns.blankets import Variables, double_rows, double_slots


def test_twice_the_slots_hold_what_the_first_held() -> None:
    random = np.random.default_rng(0)
    original = Variables(
        random.random((3, 3)), random.integers(1, 5, (3, 7)).astype(np.int32), np.array([4, 4, 2])
    )
    doubled = double_slots(original)
    for small, large in zip(original, doubled, strict=True):
        assert large.dtype == small.dtype
        assert large.shape[0] == 2 * small.shape[0]
    np.testing.assert_array_equal(doubled.correlations[:3, :3], original.correlations)
    np.testing.assert_array_equal(doubled.codes[:3], original.codes)
    np.testing.assert_array_equal(doubled.n_levels[:3], original.n_levels)
    assert not doubled.correlations[3:].any()


def test_twice_the_rows_begin_with_the_first() -> None:
    matrix = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(double_rows(matrix), np.vstack([matrix, np.zeros((2, 3))]))
