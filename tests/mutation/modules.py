"""Which tests are to notice a change in which module."""

from __future__ import annotations

ROWS = "src/streamsieve/kernels/rows"
COLUMNS = "src/streamsieve/kernels/columns"

MODULES: dict[str, tuple[str, list[str]]] = {
    "model": ("src/streamsieve/model.py", ["tests/test_models.py"]),
    "heap": ("src/streamsieve/kernels/heap.py", ["tests/test_sofs.py"]),
}
