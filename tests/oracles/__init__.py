"""Slow, obvious versions of the algorithms, from the papers; none imports streamsieve.

``tests/oracles/<method>.py`` offers ``learn(rows, n_classes, weights, constants, **params)``: rows
are pairs of a dictionary id -> value and the code of a class; ``weights`` are those of the rows,
``constants`` are the inputs of the intercept. Oracles of methods that take columns offer
``select(columns, target, ...)``.
"""
