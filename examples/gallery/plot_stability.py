"""
How stable is a selection?
==========================

Select again from random halves of the samples and count how often each feature comes out. With 72
samples many genes are as good as each other, and few are selected from most halves.
"""

import matplotlib.pyplot as plt

from streamsieve import evaluation as ev

stability = ev.stability_selection(
    "../data/leukemia.svm.xz", "saola", n_resamples=30, fraction=0.5, seed=0
)
frequency = sorted((float(value) for value in stability.frequency), reverse=True)[:60]

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.bar(range(len(frequency)), frequency)
axes.set(xlabel="gene, the most frequent first", ylabel="share of 30 halves that select it")
axes.set_title(f"stability {stability.stability.value:.2f}")
