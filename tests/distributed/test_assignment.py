"""The assignment of pieces to workers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamsieve.distributed.engine import assign_shards


def test_a_piece_goes_to_the_worker_that_has_least():
    assert assign_shards("abcdef", [5, 1, 1, 1, 4, 1], 2) == [["a", "f"], ["b", "c", "d", "e"]]


def test_equal_pieces_go_round():
    assert assign_shards(range(8), [3] * 8, 3) == [[0, 3, 6], [1, 4, 7], [2, 5]]


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 8))
def test_all_pieces_are_dealt_once_and_nobody_is_idle(sizes, n_workers):
    assignments = assign_shards(range(len(sizes)), sizes, n_workers)
    assert sorted(piece for assignment in assignments for piece in assignment) == list(
        range(len(sizes))
    )
    assert all(assignment == sorted(assignment) for assignment in assignments)
    assert sum(bool(assignment) for assignment in assignments) == min(n_workers, len(sizes))
    loads = [sum(sizes[piece] for piece in assignment) for assignment in assignments]
    assert max(loads) - min(loads) <= max(sizes, default=0)
