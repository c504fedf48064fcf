"""
SOFS in four pictures
=====================

SOFS keeps a fixed number of features while rows arrive. Here 5 of 60 features are kept, and the
first five are those that determine the class. After ten rows chance decides; after a hundred most
of the right ones are in. Features that are not kept go on learning in the background, so that a
good one can enter later.
"""

import matplotlib.pyplot as plt
import numpy as np

import streamsieve as ss

random = np.random.default_rng(3)
X = random.normal(size=(5000, 60))
y = (X[:, :5].sum(axis=1) + random.normal(size=5000) > 0).astype(int)

selector = ss.SOFS(n_features_to_select=5)
figure, panels = plt.subplots(4, 1, figsize=(7, 7), sharex=True, layout="constrained")
start = 0
for panel, stop in zip(panels, (10, 50, 200, 5000), strict=True):
    selector.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
    selection = selector.selection()
    colours = ["tab:blue" if feature < 5 else "tab:orange" for feature in selection.indices]
    panel.bar(selection.indices, selection.scores, color=colours)
    panel.set(title=f"after {stop:,} rows", ylabel="|weight| / uncertainty")
    start = stop
panels[-1].set_xlabel("feature (the first five determine the class)")
