"""
Pixels that tell digits apart
=============================

Ten classes: SOFS keeps one set of features that all classes share. The picture shows which pixels
it keeps.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import streamsieve as ss

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

figure, panels = plt.subplots(1, 4, figsize=(10, 3), layout="constrained")
panels[0].imshow(X_train.mean(axis=0).reshape(8, 8), cmap="Greys")
panels[0].set_title("mean of all digits")
for panel, k in zip(panels[1:], (5, 15, 30), strict=True):
    selector = ss.SOFS(n_features_to_select=k).fit(X_train, y_train)
    panel.imshow(selector.get_support().reshape(8, 8).astype(float), cmap="Blues")
    panel.set_title(f"{k} pixels: accuracy {selector.score(X_test, y_test):.2f}")
for panel in panels:
    panel.set(xticks=np.arange(0), yticks=np.arange(0))
