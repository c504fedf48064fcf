"""Files of columns several times larger than the memory that a process may have."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from streamsieve.blocks import ColumnBlock
from streamsieve.sources.base import ColumnSource, SourceFacts
from streamsieve.sources.writers import write_columns

ROWS, AT_ONCE, INFORMATIVE = 2_000, 500, 7

STREAM = """
import resource, sys
from pathlib import Path
from streamsieve.selectors.columns.saola import SAOLA
from streamsieve.sources import open_source
from streamsieve.training import train

def held():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

small, large, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
train(SAOLA.make(measure="fisher_z", alpha=1e-9), open_source(small))  # all code is loaded now
limit = limit if limit > held() else held() + limit
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
learner = SAOLA.make(measure="fisher_z", alpha=1e-9)
train(learner, open_source(large))
print(limit, learner.n_features_seen_, *learner.selection().indices)
"""


class ManyColumns(ColumnSource):
    """Columns of noise, one of which predicts the class."""

    def __init__(self, n_features: int) -> None:
        super().__init__(SourceFacts("noise", ROWS, n_features, value_type=np.float32))

    def targets(self) -> np.ndarray:
        return np.arange(ROWS) % 2

    def column_blocks(self) -> Iterator[ColumnBlock]:
        random = np.random.default_rng(0)
        rows = np.tile(np.arange(ROWS, dtype=np.int32), AT_ONCE)
        for start in range(0, self.n_features or 0, AT_ONCE):
            values = random.standard_normal((AT_ONCE, ROWS), np.float32)
            if start <= INFORMATIVE < start + AT_ONCE:
                values[INFORMATIVE - start] += self.targets()
            indptr = np.arange(0, values.size + 1, ROWS)
            yield ColumnBlock(indptr, rows, values.ravel(), np.arange(start, start + AT_ONCE), ROWS)


def stream_within(tmp_path: Path, n_features: int, limit: int) -> tuple[int, int]:
    """Return the memory limit of a process that read a file, and the size of the file."""
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    write_columns(small, ManyColumns(AT_ONCE))
    write_columns(large, ManyColumns(n_features))
    environment = {
        "MALLOC_ARENA_MAX": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }
    command = [sys.executable, "-c", STREAM, str(small), str(large), str(limit)]
    process = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    limit_kept, n_seen, *selected = map(int, process.stdout.split())
    assert (n_seen, selected) == (n_features, [INFORMATIVE])
    return limit_kept, large.stat().st_size


@pytest.mark.slow
def test_a_file_of_columns_several_times_the_memory_left(tmp_path):
    allowed = 100_000_000
    _, size = stream_within(tmp_path, 50_000, allowed)
    assert size > 3.5 * allowed


@pytest.mark.slow
def test_a_file_of_columns_several_times_all_memory(tmp_path):
    limit, size = stream_within(tmp_path, 400_000, 1_000_000_000)
    assert size > 3 * limit
