"""
Fixed memory for any number of features
=======================================

With ``max_cells`` all features that are not kept share a table of that size. Kept features stay
exact. The picture shows how small the table may be.
"""

import matplotlib.pyplot as plt

import streamsieve as ss

train = "../data/baseball_hockey.train.svm.xz"
test = "../data/baseball_hockey.test.svm.xz"
exact = ss.select(train, "sofs", 20, test=test, normalize="l2").test_accuracy

cells = [2**power for power in range(6, 15)]
accuracy = [ss.select(train, "sofs", 20, test=test, max_cells=n).test_accuracy for n in cells]

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(cells, accuracy, marker="o", label="20 words, shared cells")
axes.axhline(exact, color="grey", linestyle=":", label="20 words, exact (6,268 features)")
axes.set(xscale="log", xlabel="cells", ylabel="accuracy on test posts")
axes.legend()
