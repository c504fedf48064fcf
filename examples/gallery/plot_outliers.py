"""
Numbers with outliers
=====================

One row in twenty has a target that is far off. The Huber loss limits what a single row can do to
the weights.
"""

import matplotlib.pyplot as plt
import numpy as np

import streamsieve as ss

random = np.random.default_rng(0)
X = random.normal(size=(3000, 100))
clean = X[:, :5] @ np.array([3.0, -2.0, 1.5, 1.0, -1.0])

shares = [0.0, 0.02, 0.05, 0.1]
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for loss in ("squared", "huber"):
    quality = []
    for share in shares:
        y = clean + random.normal(size=3000) * 0.5
        y[random.random(3000) < share] += 30
        selector = ss.SOFSRegressor(n_features_to_select=5, loss=loss).fit(X, y)
        residuals = selector.predict(X) - clean
        quality.append(1 - np.median(residuals**2) / np.var(clean))
    axes.plot(shares, quality, marker="o", label=f"loss={loss!r}")
axes.set(xlabel="share of outliers", ylabel="1 - median squared error / variance")
axes.legend()
