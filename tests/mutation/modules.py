"""The tests that must notice a change of each module, as arguments of pytest.

With the JIT off they take seconds.
"""

from __future__ import annotations

COLUMNS, MATRIX = "src/streamsieve/kernels/columns", "src/streamsieve/kernels/matrix"
READING, ROWS = "src/streamsieve/kernels/reading", "src/streamsieve/kernels/rows"


def sofs(streams: str) -> list[str]:
    """Return the tests of SOFS against its oracles, for streams of these names.

    They are longer and shorter streams, streams in fixed memory, and candidates.
    """
    named = f"({streams}) and (longer or candidates_agree and not 300)"
    names = (
        f"{named} or sofs and not longer or forgetting or shared_cells_agree or class_steps or"
        " intercept_of_their_row"
    )
    rows = ("oracles", "max_cells", "curve")
    kernels = ["tests/kernels/test_class_steps.py", "tests/kernels/test_heap.py"]
    return [*kernels, *(f"tests/selectors/rows/test_{name}.py" for name in rows), "-k", names]


PAIRS_OF_COLUMNS = ["tests/selectors/columns/test_saola.py", "-k", "not many_different"]
CENTRING = [
    "tests/selectors/columns/test_far_columns.py",
    "-k",
    "shift or looked_at or sizes_beyond or unit_would or 32_bit_numbers",
]
SVMLIGHT = [
    "tests/sources/test_svmlight.py",
    "tests/sources/test_writers.py",
    "-k",
    (
        "well_formed or ids_past or zeros or nearest or too_large or largest or means_the_same or"
        " odd_entry or named_with or chunk_size or random_file or repeated or zero_based or"
        " float32_survives_svmlight or sparse_rows_come_back"
    ),
]

MODULES: dict[str, tuple[str, list[str]]] = {
    # models
    "model": ("src/streamsieve/model.py", ["tests/test_model.py"]),
    # rows
    "members": (f"{ROWS}/members.py", ["tests/kernels/test_heap.py"]),
    "storing": (
        f"{ROWS}/storing.py",
        [
            "tests/selectors/rows/test_saturation.py",
            "-k",
            "nearest or stored or late_numbers or versions",
        ],
    ),
    "confidence": (f"{ROWS}/confidence.py", sofs("confidence-2")),
    "signal": (f"{ROWS}/signal.py", sofs("snr-2")),
    "second_order": (f"{ROWS}/second_order.py", sofs("not 2-max_score")),
    "class_steps": (f"{ROWS}/class_steps.py", sofs("not 2-max_score")),
    # columns
    "saola": (f"{COLUMNS}/saola.py", PAIRS_OF_COLUMNS),
    "dependence": (
        f"{COLUMNS}/dependence.py",
        ["tests/kernels/test_dependence.py", *PAIRS_OF_COLUMNS],
    ),
    "centring": (f"{COLUMNS}/centring.py", CENTRING),
    "copies": (
        f"{COLUMNS}/contents.py",
        ["tests/selectors/columns/test_duplicates.py", "-k", "fingerprint or lines_are_equal"],
    ),
    "investing": (f"{COLUMNS}/investing.py", ["tests/selectors/columns/test_alpha_investing.py"]),
    "osfs": (f"{COLUMNS}/osfs.py", ["tests/selectors/columns/test_osfs.py"]),
    "independence": (
        f"{COLUMNS}/independence.py",
        ["tests/selectors/columns/test_osfs.py", "tests/selectors/columns/test_filters.py"],
    ),
    "filters": (f"{COLUMNS}/filters.py", ["tests/selectors/columns/test_filters.py"]),
    "group_selection": (f"{COLUMNS}/group_selection.py", ["tests/selectors/columns/test_ogfs.py"]),
    # matrix
    "pairs": (f"{MATRIX}/pairs.py", ["tests/kernels/test_margins.py"]),
    "relief": (f"{MATRIX}/relief.py", ["tests/kernels/test_margins.py"]),
    "local_learning": (f"{MATRIX}/local_learning.py", ["tests/kernels/test_margins.py"]),
    # reading
    "svmlight": (f"{READING}/svmlight.py", SVMLIGHT),
    "decimals": (f"{READING}/decimals.py", SVMLIGHT),
}
