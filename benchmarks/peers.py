"""streamsieve, scikit-learn, Vowpal Wabbit and LIBLINEAR: time, memory and accuracy.

    python benchmarks/peers.py [--quick] [--sets x1 ...] [--peers scikit-learn ...] [--data FOLDER]

The peers come with ``pip install "streamsieve[benchmark]"``; one that is not there is omitted and
named. X1 and X2 are generated as text into the system's folder for temporary files, the real sets
decompressed there, and all of it is kept. ``--quick`` takes a few rows of each, to see that
everything works. A whole run writes its section of docs/explanation/performance.md; a quick or
partial one only prints.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np

from contestants import (
    PEERS,
    STREAMSIEVE,
    Peer,
    Problem,
    Result,
    first_use,
    measure_peer,
    measure_streamsieve,
    tune,
)
from report import apart, data_option, installed, load, machine, table, write_section

SYNTHETIC = {
    "x1": (10_000, 100),
    "x2": (20_000, 200),
}  # features; of them informative, and selected
REAL = {"farm-ads": (54_877, 100), "20news_rec_sci": (26_214, 100)}  # features; selected
TEST_ROWS, HEAD_ROWS, QUICK_ROWS = 10_000, 50, 2_000
HEADER = (
    *(
        "",
        "seconds",
        "reading",
        "time ratio",
        "peak MB",
        "memory ratio",
        "non-zero",
        "accuracy",
        "best penalty",
    ),
    "informative",
)
BASE = next(iter(STREAMSIEVE))

NOTES = """
Every line is measured in a process of its own. `seconds` is from the text file to the model, the
best of {repeat} for streamsieve and of {peer_repeat} for the others; `reading` is the part of it
spent in the reader or waiting for it, where it can be measured. `time ratio` and `memory ratio` are
against {base}. `peak MB` is the most memory that the process held, Python and all imports included.
`accuracy` is on the test rows, with k features. Files are in the page cache, imports are done, and
every program has learned {head} rows before the clock starts, so that nothing is compiled under it;
the first use of SOFS on a machine compiles it, {compiling:.0f} s, once. streamsieve reads with as
many threads as there are cores, Vowpal Wabbit with one beside its learner; the others do everything
on one.

- **streamsieve** runs with its defaults, nothing tuned: one pass, the budget is k.
- The others have no budget. Their penalty was set by bisection on the training rows for the fewest
  non-zero weights that are no fewer than k (`non-zero`); the k largest of these and the intercept
  make the predictions. `best penalty` is the accuracy with the k largest weights at that one of the
  penalties tried, and of two up to ten times weaker, at which these do best on the training rows.
  The time of these searches is not in `seconds`.
- **scikit-learn**: `load_svmlight_file`, then `SGDClassifier(loss="hinge", penalty="l1")`. One pass
  is `max_iter=1, tol=None`; until it converges, its defaults. Converting ids to 32 bits, which it
  demands, is counted.
- **Vowpal Wabbit**: `-b 18 --loss_function hinge --l1 ...`, and the same with `--ftrl`, one pass of
  its own driver over a file in its own format; writing that file is not counted. 18 bits hold all
  ids here without collisions.
- **LIBLINEAR**: `-s 5 -B 1`, batch, until it converges. Its own reader, `svm_read_problem(...,
  return_scipy=True)`, is written in Python; `load_svmlight_file` instead is faster.
- x1 and x2 have another 10,000 rows to test on. Of the real sets a fixed random 70 % of the rows
  are learned, the rest tested on; rows were brought to length 1 when the text was written, so that
  all programs read the same numbers.
"""


def folder() -> Path:
    return Path(tempfile.gettempdir())


def synthetic(name: str, quick: bool) -> Problem:
    from streamsieve import workflow

    features, informative = SYNTHETIC[name]
    stem = f"streamsieve-{name}{'-quick' if quick else ''}"
    train, test = folder() / f"{stem}.svm", folder() / f"{stem}-test.svm"
    if not train.exists():
        workflow.convert(f"synthetic:{name}{f'?rows={QUICK_ROWS}' if quick else ''}", train)
    if not test.exists():
        workflow.convert(f"synthetic:{name}?rows={QUICK_ROWS if quick else TEST_ROWS}&seed=1", test)
    return finished(name, train, test, features, informative, informative)


def real(name: str, data: Path, quick: bool) -> Problem | None:
    """Return a real set, or None if the data folder does not have it."""
    if not (data / f"{name}.svm.xz").exists():
        return None
    features, k = REAL[name]
    stem = f"streamsieve-{name}{'-quick' if quick else ''}"
    train, test = folder() / f"{stem}.svm", folder() / f"{stem}-test.svm"
    if not (train.exists() and test.exists()):
        apart(prepare, name, data, train, test, features, QUICK_ROWS if quick else None)
    return finished(name, train, test, features, k, None)


def prepare(
    name: str, data: Path, train: Path, test: Path, features: int, rows: int | None
) -> None:
    """Write rows of length 1 in a fixed random order, 70 % to learn from."""
    from sklearn.preprocessing import normalize

    from streamsieve import workflow

    X, y = load(data, name, features)
    X = normalize(X)
    X.data = X.data.round(6)
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    cut = len(order) * 7 // 10
    for path, part in ((train, order[:cut]), (test, order[cut:])):
        workflow.convert((X[part], y[part]), path)


def finished(
    name: str, train: Path, test: Path, features: int, k: int, informative: int | None
) -> Problem:
    """Write the first rows to a separate file, and both in Vowpal Wabbit's format."""
    from streamsieve.files import replacing

    head = train.with_name(f"{train.stem}-head.svm")
    with open(train) as lines, replacing(head) as path:
        path.write_text("".join(islice(lines, HEAD_ROWS)))
    for source in (train, head):
        target = source.with_suffix(".vw")
        if source == head or not target.exists():
            with open(source) as lines, replacing(target) as path, open(path, "w") as file:
                file.writelines(line.replace(" ", " | ", 1) for line in lines)
    return Problem(name, train, test, head, features, k, informative)


def warm(path: Path) -> None:
    """Read a file once, so that it is in the page cache."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def title(problem: Problem) -> str:
    with open(problem.train) as lines:
        counts = [line.count(":") for line in lines]
    return (
        f"**{problem.name}**: {len(counts):,} rows, {problem.features:,} features,"
        f" {sum(counts) / 1e6:,.1f} M non-zeros, {problem.train.stat().st_size / 1e6:,.0f} MB of"
        f" text; k = {problem.k}"
    )


def best(results: list[Result]) -> Result:
    return min(results, key=lambda result: result.seconds)


def compared(problem: Problem, peers: list[Peer], repeat: int, peer_repeat: int) -> str:
    """Return the table of one set."""
    warm(problem.train)
    results: dict[str, Result] = {}
    for name, params in STREAMSIEVE.items():
        print(f"{problem.name}: {name}", file=sys.stderr)
        apart(measure_streamsieve, params, problem)
        results[name] = best([apart(measure_streamsieve, params, problem) for _ in range(repeat)])
    tuned: dict[str, tuple[float, float]] = {}
    accuracies: dict[str, float] = {}
    for peer in peers:
        print(f"{problem.name}: {peer.name}", file=sys.stderr)
        if peer.solver not in tuned:
            tuned[peer.solver] = apart(tune, peer, problem)
        penalty, accuracies[peer.name] = tuned[peer.solver]
        results[peer.name] = best(
            [apart(measure_peer, peer, problem, penalty) for _ in range(peer_repeat)]
        )
    rows = [
        row(name, result, results[BASE], accuracies.get(name), problem)
        for name, result in results.items()
    ]
    return table(HEADER if problem.informative else HEADER[:-1], rows)


def row(
    name: str, result: Result, base: Result, best_penalty: float | None, problem: Problem
) -> list[str]:
    cells = [
        name,
        f"{result.seconds:.3f}",
        "-" if result.reading is None else f"{result.reading:.3f}",
        f"{result.seconds / base.seconds:.1f}",
        f"{result.peak / 1e6:,.0f}",
        f"{result.peak / base.peak:.1f}",
        "-" if result.nonzero is None else f"{result.nonzero:,}",
        f"{100 * result.accuracy:.2f} %",
        "-" if best_penalty is None else f"{100 * best_penalty:.2f} %",
    ]
    if problem.informative:
        cells.append(
            f"{np.count_nonzero(result.kept < problem.informative)} of {problem.informative}"
        )
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_option(parser)
    parser.add_argument("--sets", nargs="*", choices=(*SYNTHETIC, *REAL), help="only these sets")
    packages = tuple(dict.fromkeys(peer.package for peer in PEERS))
    parser.add_argument("--peers", nargs="*", choices=packages, help="only these peers")
    parser.add_argument(
        "--repeat", type=int, default=5, help="measurements of a line of streamsieve"
    )
    parser.add_argument(
        "--peer-repeat", type=int, default=2, help="measurements of a line of a peer"
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows")
    options = parser.parse_args()

    asked = [peer for peer in PEERS if options.peers is None or peer.package in options.peers]
    peers = [peer for peer in asked if installed(peer.package)]
    missing = sorted({peer.package for peer in asked} - {peer.package for peer in peers})
    parts = [f"{', '.join(missing)}: not installed, omitted"] if missing else []
    head = None
    for name in options.sets or (*SYNTHETIC, *REAL):
        problem = (
            synthetic(name, options.quick)
            if name in SYNTHETIC
            else real(name, options.data, options.quick)
        )
        if problem is None:
            parts.append(f"{name}: not in the folder of data sets, omitted")
            continue
        head = problem.head
        parts += [title(problem), compared(problem, peers, options.repeat, options.peer_repeat)]
        print("\n" + "\n\n".join(parts[-2:]) + "\n", flush=True)
    whole = not (options.quick or options.sets or options.peers is not None)
    if whole and head is not None:
        notes = NOTES.format(
            base=BASE,
            head=HEAD_ROWS,
            repeat=options.repeat,
            peer_repeat=options.peer_repeat,
            compiling=apart(first_use, head),
        )
        write_section("peers", "\n\n".join([machine(*packages), *parts, notes]))
    elif missing:
        print(parts[0])


if __name__ == "__main__":
    main()
