"""
A stream that changes
=====================

In the middle of the stream other features begin to matter. With ``forget`` old rows lose weight,
and the selection follows.
"""

import matplotlib.pyplot as plt
import numpy as np

import streamsieve as ss

random = np.random.default_rng(0)
X = random.normal(size=(12_000, 200))
informative = np.where(np.arange(12_000)[:, None] < 6_000, [0, 1, 2], [100, 101, 102])
y = (np.take_along_axis(X, informative, axis=1).sum(axis=1) > 0).astype(int)

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name, forget in (("never forgets", None), ("half-life of 1,000 rows", 1000)):
    selector = ss.SOFS(n_features_to_select=3, forget=forget)
    accuracy = []
    for start in range(0, len(X), 500):
        rows = slice(start, start + 500)
        if start:
            accuracy.append(selector.score(X[rows], y[rows]))
        selector.partial_fit(X[rows], y[rows], classes=[0, 1])
    axes.plot(np.arange(500, len(X), 500), accuracy, label=name)
axes.axvline(6_000, color="grey", linestyle=":")
axes.set(xlabel="rows", ylabel="accuracy on the next 500 rows")
axes.legend()
