"""
What SAOLA keeps
================

SAOLA drops a column that says nothing about the target, and one that is redundant beside a kept
column. Every group of five columns here is one signal with more and more noise: one column of each
group is enough.
"""

import matplotlib.pyplot as plt
import numpy as np

import streamsieve as ss

random = np.random.default_rng(0)
signals = random.normal(size=(500, 6))
noise = random.normal(size=(500, 6, 5)) * np.linspace(0.2, 1.5, 5)
X = (signals[:, :, None] + noise).reshape(500, 30)
y = (signals[:, :3].sum(axis=1) > 0).astype(int)

kept = ss.SAOLA().fit(X, y).get_support()
relevance = np.abs(np.corrcoef(X.T, y)[-1, :-1])

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
colours = np.where(kept, "tab:blue", "lightgrey")
axes.bar(np.arange(30), relevance, color=colours)
axes.set(xlabel="column (five of each signal)", ylabel="correlation with the class")
axes.set_title("blue columns are kept; three of six signals matter")
