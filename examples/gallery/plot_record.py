"""
The pictures of a run
=====================

``plot()`` of a record returns the pictures of its report: weights, mistakes over the stream, and
when features entered and left.
"""

import matplotlib.pyplot as plt

import streamsieve as ss

record = ss.select("../data/baseball_hockey.train.svm.xz", "sofs", 10)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
pictures = record.plot(left)
pictures["mistakes"].draw(right)
