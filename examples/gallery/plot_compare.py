"""
Methods beside each other
=========================

``ss.compare`` runs several methods, ours and scikit-learn's, with several numbers of features on
the same folds.
"""

import matplotlib.pyplot as plt

import streamsieve as ss

comparison = ss.compare(
    "../data/splice.svm.xz", methods=["sofs", "saola", "chi2"], ks=[5, 10, 20], folds=3, seeds=[0]
)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
comparison.plot(axes)
print(comparison)
