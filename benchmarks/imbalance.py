"""What intercept and class weights do on imbalanced rows: balanced accuracy and AUC, with and without.

    python benchmarks/imbalance.py

Made from the 20news and farm-ads sets by keeping all rows of one class and a tenth as many of the other; 70 % of the
rows to learn from in one pass, the rest to test on, k = 200, rows of length 1; means of 5 seeds.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import streamsieve as ss

sys.path.insert(0, str(Path(__file__).parent / "papers"))
from data import load, parser

FORMS: dict[str, dict[str, Any]] = {
    "neither": {"fit_intercept": False},
    "intercept": {"fit_intercept": True},
    "balanced": {"fit_intercept": False, "class_weight": "balanced"},
    "both": {"fit_intercept": True, "class_weight": "balanced"},
}


def main() -> None:
    options = parser(__doc__ or "").parse_args()
    warnings.simplefilter("ignore")
    print(f"{'set':<18}{'form':<12}{'balanced accuracy':>18}{'AUC':>8}")
    for name in options.sets or ("20news_rec_sci", "20news_comp_sci", "farm-ads"):
        X, y = load(options.data, name)
        for form, params in FORMS.items():
            results = []
            for seed in range(5):
                random = np.random.default_rng(seed)
                negative, positive = np.flatnonzero(y < 0), np.flatnonzero(y > 0)
                rows = np.concatenate([negative, random.choice(positive, len(negative) // 9, replace=False)])
                rows = random.permutation(rows)
                cut = len(rows) * 7 // 10
                selector = ss.SOFS(200, normalize="l2", **params).fit(X[rows[:cut]], y[rows[:cut]])
                test = X[rows[cut:]], y[rows[cut:]]
                scores = selector.decision_function(test[0])
                results.append(
                    (balanced_accuracy_score(test[1], selector.classify(scores)), roc_auc_score(test[1], scores))
                )
            accuracy, auc = np.mean(results, axis=0)
            print(f"{name:<18}{form:<12}{accuracy:>18.3f}{auc:>8.3f}", flush=True)


if __name__ == "__main__":
    main()
