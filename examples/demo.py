"""Tell posts about baseball from posts about hockey by a few words: a demo of one minute."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import streamsieve as ss
from streamsieve.report import write_report
from streamsieve.report.charts import sparkline

DATA = Path(__file__).parent / "data"
TRAIN, TEST = DATA / "baseball_hockey.train.svm.xz", DATA / "baseball_hockey.test.svm.xz"
NAMES = DATA / "baseball_hockey.names.txt.xz"
OUTPUT = Path("demo-run")
BUDGET, BUDGETS = 50, (10, 50, 200)
SPORTS = {-1: "baseball", 1: "hockey"}
CHECKPOINT, EPOCHS = 5_000, 150  # the passes of a run long enough to be killed


def one_pass() -> ss.RunRecord:
    """Print the words by the class that they predict, and their accuracy on unseen posts."""
    record = ss.select(
        TRAIN, "sofs", BUDGET, test=TEST, names=NAMES, curve=True, output=OUTPUT / "words"
    )
    print(
        f"1. One pass over {record.n_rows:,} posts of {record.n_features:,} words; {BUDGET} words"
        " are kept.\n"
    )
    words = record.ranked()
    for label, sport in SPORTS.items():
        words_of_label = [line["name"] for line in words if line["class"] == label]
        print(f"   {sport:9} {', '.join(words_of_label[:11])}")
    seconds = record.seconds
    compiled = (
        f" (and compiled its kernels, once, in {seconds['compile']:.0f} s)"
        if seconds["compile"] >= 1
        else ""
    )
    print(f"\n   Read in {seconds['read']:.2f} s, learned in {seconds['learn']:.2f} s{compiled}.")
    print(
        f"   On posts of later days these {BUDGET} words are right {record.test_accuracy:.1%} of"
        " the time.\n"
    )
    return record


def how_many(record: ss.RunRecord) -> None:
    """Print accuracy against the number of words, measured in the same pass."""
    curve = record.curve or {}
    budgets, accuracy = curve["n_features"], curve["accuracy"]
    print(
        "2. The same pass also says how many words it takes (accuracy on posts before they were"
        " learned):\n"
    )
    print(f"   {sparkline(accuracy)}")
    for budget, value in zip(budgets, accuracy, strict=True):
        print(f"   {budget:>6,} words {value:6.1%}")
    print()


def beside_others() -> ss.Comparison:
    """Compare with as many words by chi2 and by an L1-SVM.

    These hold all posts in memory and pass over them often.
    """
    comparison = ss.compare(
        TRAIN,
        ["sofs", "chi2", "l1-svm"],
        BUDGETS,
        test=TEST,
        names=NAMES,
        output=OUTPUT / "comparison",
    )
    print(
        "3. Beside methods that may read the posts as often as they like (a linear model on the"
        " words of each):\n"
    )
    lines = [line for line in comparison.table.to_pylist() if line["model"] == "linear"]
    print(
        "   "
        + "".join(
            f"{title:>14}" for title in ("words", *dict.fromkeys(line["method"] for line in lines))
        )
    )
    for budget in BUDGETS:
        print(
            f"   {budget:>14,}"
            + "".join(f"{line['accuracy']:14.1%}" for line in lines if line["k"] == budget)
        )
    print()
    return comparison


def killed_and_resumed() -> None:
    """Kill a run during its work and resume it: it ends with exactly the same words."""
    begin = [
        sys.executable,
        "-m",
        "streamsieve",
        "select",
        str(TRAIN),
        "-k",
        str(BUDGET),
        "--names",
        str(NAMES),
    ]
    begin += ["--n-epochs", str(EPOCHS), "--checkpoint-every", str(CHECKPOINT), "--quiet", "-o"]
    killed, whole = OUTPUT / "killed", OUTPUT / "whole"
    with subprocess.Popen([*begin, str(killed)]) as run:
        while run.poll() is None and not (killed / "checkpoint").exists():
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
    done = "finished before it could be killed" if run.returncode == 0 else "was killed (kill -9)"
    subprocess.run(
        [sys.executable, "-m", "streamsieve", "select", "--resume", str(killed), "--quiet"],
        check=True,
    )
    subprocess.run([*begin, str(whole)], check=True)
    same = [(folder / "selection.csv").read_bytes() for folder in (killed, whole)]
    print(f"4. A run of {EPOCHS} passes {done}, and resumed from its last checkpoint.")
    print(
        f"   Its {BUDGET} words and scores {'are' if same[0] == same[1] else 'ARE NOT'} those of a"
        " run left alone.\n"
    )


def main() -> None:
    shutil.rmtree(OUTPUT, ignore_errors=True)
    record = one_pass()
    how_many(record)
    comparison = beside_others()
    killed_and_resumed()
    page = write_report([OUTPUT / "words", OUTPUT / "comparison"], OUTPUT / "report.html")
    print(f"5. All of it as one page, to open in a browser: {page.resolve()}")
    print(f"   {comparison!r}".replace("\n", "\n   "))


if __name__ == "__main__":
    main()
