"""Room for more variables of a blanket keeps those that there are."""

from __future__ import annotations

import numpy as np

from streamsieve.kernels.columns.blankets import Variables, with_more_rows, with_more_variables


def test_twice_the_slots_hold_what_the_first_held() -> None:
    random = np.random.default_rng(0)
    few = Variables(
        random.random((3, 3)), random.integers(1, 5, (3, 7)).astype(np.int32), np.array([4, 4, 2])
    )
    more = with_more_variables(few)
    for small, large in zip(few, more, strict=True):
        assert large.dtype == small.dtype
        assert large.shape[0] == 2 * small.shape[0]
    np.testing.assert_array_equal(more.correlations[:3, :3], few.correlations)
    np.testing.assert_array_equal(more.codes[:3], few.codes)
    np.testing.assert_array_equal(more.n_levels[:3], few.n_levels)
    assert not more.correlations[3:].any()


def test_twice_the_rows_begin_with_the_first() -> None:
    matrix = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(with_more_rows(matrix), np.vstack([matrix, np.zeros((2, 3))]))
