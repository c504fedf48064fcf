"""
Attributes that cost money
==========================

``OFSPartial`` measures at most B attributes per row. In a share ``epsilon`` of the rows it
explores: without exploration it never learns of better attributes, with too much it rarely uses
the good ones.
"""

import matplotlib.pyplot as plt
import numpy as np

import streamsieve as ss

random = np.random.default_rng(0)
X = random.normal(size=(8000, 40))
y = np.where(X[:, [4, 9, 17]].sum(axis=1) > 0, 1, -1)

shares = [0.02, 0.1, 0.2, 0.5, 0.9]
accuracy = [
    np.mean(
        [
            ss.OFSPartial(5, epsilon=share, random_state=seed).fit(X, y).score(X, y)
            for seed in range(5)
        ]
    )
    for share in shares
]

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(shares, accuracy, marker="o")
axes.set(xlabel="share of rows that explore (epsilon)", ylabel="accuracy with 5 attributes")
