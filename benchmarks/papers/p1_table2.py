"""Table II of Wu, Hoi, Mei, Yu (2017): SOFS on the synthetic sets, at full size, beside the paper's figures.

    python benchmarks/papers/p1_table2.py

The paper's form, gamma 1 and no intercept, and ``SOFS`` with its defaults, one pass. The rows are generated, not read,
so the time is that of generating and learning; a first run compiles. The paper draws other random rows; its figures
are from one machine of 2017 and include loading text.
"""

from __future__ import annotations

import time

import streamsieve as ss
from forms import SOFS, Form
from streamsieve.workflow import measure, predictions

PAPER = {"x1": (99.17, 3.51), "x2": (98.62, 7.00)}
INFORMATIVE = {"x1": 100, "x2": 200}
FORMS: dict[str, Form] = {"paper": SOFS, "defaults": {}}


def run(kind: str, form: str) -> None:
    budget = INFORMATIVE[kind]
    start = time.perf_counter()
    selector = ss.SOFS(budget, **FORMS[form])
    selector.fit_source(ss.open_source(f"synthetic:{kind}"))
    seconds = time.perf_counter() - start
    rows = predictions(selector, ss.open_source(f"synthetic:{kind}?rows=10000&seed=1"))
    quality = measure(rows, rows.classes)
    assert quality is not None
    found = sum(feature < budget for feature in selector.selection().indices)
    paper_accuracy, paper_seconds = PAPER[kind]
    print(
        f"{kind}  {form:<8} {found:4d} of {budget:<4d} {100 * quality.accuracy:8.2f} ({paper_accuracy:.2f})"
        f"  {seconds:7.2f} ({paper_seconds:.2f})  {selector.mistakes_:8,}  {selector.updates_:8,}"
    )


def main() -> None:
    print("set form     informative   accuracy, % (paper)  seconds (paper)  mistakes   updates")
    for kind in PAPER:
        for form in FORMS:
            run(kind, form)


if __name__ == "__main__":
    main()
