"""Select 100 of 4,862 words that tell baseball from hockey, in one pass over 1,500 newsgroup posts."""

from __future__ import annotations

import shutil
from pathlib import Path

import streamsieve as ss

DATA = Path(__file__).parent / "data"
RUN = Path("demo-run")


def main() -> None:
    shutil.rmtree(RUN, ignore_errors=True)
    record = ss.select(
        DATA / "basehock.train.svm.xz",
        method="sofs",
        n_features_to_select=100,
        test=DATA / "basehock.test.svm.xz",
        output=RUN,
    )
    print(f"{record.n_rows:,} rows, {record.n_features:,} features, {record.n_nonzero:,} non-zeros")
    print(f"kept {len(record.selection)} features; the ten best by score:")
    for line in record.selection.ranked()[:10]:
        print(f"  feature {line['feature']:<6} {line['score']:8.2f}")
    print(f"held-out accuracy with these {len(record.selection)}: {record.test_accuracy:.1%}")
    seconds = record.seconds
    print(f"read in {seconds['read']:.2f} s, learned in {seconds['learn']:.2f} s", end="")
    print(f"; compiled, once, in {seconds['compile']:.1f} s" if seconds["compile"] else "")
    print(f"the run was saved to {RUN}/ (see README: apply, predict)")


if __name__ == "__main__":
    main()
