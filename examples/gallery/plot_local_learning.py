"""
Features that matter only together
==================================

The class of the spiral depends on two features together: neither says anything alone, and no line
separates the classes. Local learning finds both among hundreds of irrelevant features; a test of
single features finds neither.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import f_classif

import streamsieve as ss

source = ss.open_source("synthetic:spiral?features=300")
block = next(iter(source.row_blocks()))
X, y = block.to_dense(np.float64), block.y

weights = ss.LocalLearning().fit(X, y).feature_weights_
scores = f_classif(X, y)[0]

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
left.scatter(X[:, 0], X[:, 1], c=y, s=8, cmap="coolwarm")
left.set_title("the two features that matter")
middle.plot(weights / weights.max())
middle.set_title("weights by local learning")
right.plot(scores / scores.max())
right.set_title("F test of single features")
for axes in (middle, right):
    axes.set_xlabel("feature (the first two matter)")
