"""From an svmlight file to a selection: speed and memory of a library call.

    python benchmarks/text_to_selection.py [FILE] [--repeat N]

Without a file, X1 of P1 (100,000 rows, 30 M non-zeros, about 410 MB of text) is generated into the system's folder for
temporary files and kept there. The file is read once before, so it is in the page cache; kernels are compiled.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHILD = """
import json, sys, time
import streamsieve as ss
from streamsieve.machine import peak_memory
path, repeat = sys.argv[1], int(sys.argv[2])
seconds = []
for _ in range(repeat):
    start = time.perf_counter()
    selector = ss.SOFS(n_features_to_select=100, criterion="confidence").fit_source(ss.open_source(path))
    selection = selector.selection()
    seconds.append(time.perf_counter() - start)
print(json.dumps({"seconds": seconds, "peak": peak_memory(), "selected": len(selection)}))
"""


def measure(path: Path, repeat: int) -> dict[str, object]:
    """In a process of its own, so that peak memory is that of the call and what it imports."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(repeat)], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def x1_file() -> Path:
    path = Path(tempfile.gettempdir()) / "streamsieve-x1.svm"
    if not path.exists():
        from streamsieve import workflow

        workflow.convert("synthetic:x1", path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    path = options.file or x1_file()
    size = path.stat().st_size
    start = time.perf_counter()
    path.read_bytes()
    read = time.perf_counter() - start
    measure(path, 1)  # compiles
    result = measure(path, options.repeat)
    seconds = sorted(result["seconds"])  # type: ignore[arg-type, call-overload]
    print(f"{path.name}: {size / 1e6:,.0f} MB, plain read {size / read / 1e6:,.0f} MB/s")
    print(
        f"file to selection: best {seconds[0]:.3f} s = {size / seconds[0] / 1e6:,.0f} MB/s, "
        f"median {seconds[len(seconds) // 2]:.3f} s, worst {seconds[-1]:.3f} s of {len(seconds)}"
    )
    print(f"peak memory of the process: {result['peak'] / 1e6:,.0f} MB")  # type: ignore[operator]


if __name__ == "__main__":
    main()
