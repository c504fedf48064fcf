"""Which tests are to notice a change in which module; with the JIT off they take seconds."""

from __future__ import annotations

COLUMNS = "src/streamsieve/kernels/columns"

MODULES: dict[str, tuple[str, list[str]]] = {
    "osfs": (f"{COLUMNS}/osfs.py", ["tests/test_osfs.py"]),
    "independence": (f"{COLUMNS}/independence.py", ["tests/test_osfs.py", "tests/test_filters.py"]),
    "filters": (f"{COLUMNS}/filters.py", ["tests/test_filters.py"]),
    "group_selection": (f"{COLUMNS}/group_selection.py", ["tests/test_ogfs.py"]),
}
