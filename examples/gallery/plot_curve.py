"""
How many features are enough?
=============================

``curve=True`` measures, in the same pass, how accurate fewer features would have been. A number
where the curve becomes flat is a good budget; ``n_features_to_select="auto"`` chooses it.
"""

import matplotlib.pyplot as plt

import streamsieve as ss

record = ss.select("../data/baseball_hockey.train.svm.xz", "sofs", 50, curve=True)

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(record.curve["n_features"], record.curve["accuracy"], marker="o")
axes.set(xscale="log", xlabel="number of words", ylabel="accuracy while learning")
axes.set_title("Posts about baseball or hockey")
