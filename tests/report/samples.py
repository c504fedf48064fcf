"""Runs and comparisons for tests of the report, made by hand: nothing is learned."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from streamsieve.evaluation.comparison import Comparison
from streamsieve.runs import RunRecord
from streamsieve.selection import Selection

HOSTILE = [
    "<script>window.harmed = 1</script>",
    '"><img src=x onerror="window.harmed = 1">',
    "</script><script>window.harmed = 1</script>",
    'it\'s "quoted" & `ticked` ${window.harmed = 1}',
    "\x1b[31mred\x1b[0m\x07",
    "שלום עולם",
    "\u202eevil\u202c",
    "ünïcödé 漢字 🦄",
    "line\nbreak\u2028and another",
    "long " * 200,
    "{{script}}",
    "-->",
]


def make_record(names: list[str] | None = None, n: int = 60, **changes: Any) -> RunRecord:
    """Return the record of an imaginary run, with all parts that the report shows."""
    rng = np.random.default_rng(0)
    n = n if names is None else len(names)
    weights = np.round(rng.normal(size=n), 6)
    details: dict[str, Any] = {
        "weights": weights.tolist(),
        "speaks_for": ["hockey" if weight > 0 else "baseball" for weight in weights],
        "majority": {"class": "hockey", "rate": 0.52},
        "diagnosis": [
            {
                "kind": "no limit",
                "level": "note",
                "message": "n is large",
                "advice": "take a smaller one",
            }
        ],
        "history": {
            "unit": "rows",
            "at": [100, 200, 400],
            "entered": [[0, 1, 2], [3, n + 5], [4]],
            "left": [[], [1], [n + 5]],
        },
        "frequency": rng.random(n).round(2).tolist(),
        "test_balanced_accuracy": 0.9,
        "test_auc": 0.97,
        "first_id": 1,
    }
    trace = [{"rows": rows, "mistakes": int(30 + 0.1 * rows)} for rows in range(100, 1100, 100)]
    fields: dict[str, Any] = {
        "method": "sofs",
        "params": {"n_features_to_select": "auto"},
        "n_rows": 1000,
        "n_features": 10 * n,
        "n_nonzero": 100 * n,
        "selection": Selection(
            np.arange(n),
            np.abs(weights) + 1.0,
            None if names is None else np.array(names, dtype=object),
        ),
        "mistakes": 130,
        "updates": 500,
        "seconds": {"total": 1.5, "read": 0.5, "learn": 0.25, "compile": 0.75},
        "peak_memory_bytes": 123_456_789,
        "test_accuracy": 0.91,
        "curve": {"n_features": [5, 10, 20, 50], "accuracy": [0.7, 0.8, 0.86, 0.87]},
        "trace": trace,
        "data": {"path": "/data/rows.svm", "bytes": 1000, "sha256_of_first_mib": "ab" * 32},
        "details": details,
    }
    return RunRecord(**(fields | changes))


def make_comparison(
    sets: tuple[str, ...] = ("news", "genes", "clicks"),
    methods: tuple[str, ...] = ("sofs", "saola", "chi2", "l1-svm"),
    n_seeds: int = 3,
) -> Comparison:
    """Return an imaginary comparison: the first method is best, the last has one failure."""
    rng = random.Random(0)
    ks, lines = [10, 50, 200], []
    for data in sets:
        for rank, method in enumerate(methods):
            for k in ks:
                for seed in range(n_seeds):
                    bad = rank == len(methods) - 1 and (k, seed, data) == (10, 0, sets[0])
                    accuracy = 0.8 + 0.03 * ks.index(k) - 0.02 * rank + 0.01 * rng.random()
                    lines.append(
                        {
                            "data": data,
                            "method": method,
                            "k": k,
                            "seed": seed,
                            "fold": None,
                            "model": "linear",
                            "n_selected": None if bad else k,
                            "accuracy": None if bad else accuracy,
                            "balanced_accuracy": None if bad else accuracy - 0.01,
                            "auc": None if bad else accuracy + 0.05,
                            "r2": None,
                            "online_mistake_rate": None,
                            "seconds": None if bad else (rank + 1) * (0.1 + rng.random()),
                            "learn_seconds": None if bad else 0.1,
                            "compile_seconds": None if bad else 0.0,
                            "peak_memory_bytes": None if bad else 200_000_000,
                            "selected": None if bad else sorted(rng.sample(range(k * 2), k)),
                            "error": "it did not converge" if bad else None,
                        }
                    )
    request = {
        "data": [
            {"name": name, "features": 1000, "fingerprint": "12" * 20, "kind": "classes"}
            for name in sets
        ],
        "methods": list(methods),
        "ks": ks,
        "seeds": list(range(n_seeds)),
        "models": ["linear"],
    }
    return Comparison.of(lines, request)
