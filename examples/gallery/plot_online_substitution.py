"""
Columns that arrive over time
=============================

Online substitution keeps exactly k columns and replaces one whenever a newcomer improves the
linear model. A second scan corrects what the first one missed.
"""

import matplotlib.pyplot as plt
import numpy as np

import streamsieve as ss

random = np.random.default_rng(0)
X = random.normal(size=(300, 2000))
weights = np.zeros(2000)
informative = random.choice(2000, 20, replace=False)
weights[informative] = random.normal(size=20) + 2
y = X @ weights + random.normal(size=300)

scans = [1, 2, 3]
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for k in (20, 30):
    recall = [
        np.isin(
            informative,
            ss.OnlineSubstitution(k, n_scans=n).fit(X, y).get_support(indices=True),
        ).mean()
        for n in scans
    ]
    axes.plot(scans, recall, marker="o", label=f"{k} columns kept")
axes.set(xlabel="scans", ylabel="share of the 20 true columns", xticks=scans, ylim=(0, 1.05))
axes.legend()
