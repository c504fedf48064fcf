"""One slow, obvious version per algorithm, written from the paper; nothing here imports streamsieve.

``tests/oracles/<method>.py`` offers ``learn(rows, n_classes, weights, constants, **params)``: rows
are pairs of a dictionary id -> value and the number of a class; ``weights`` tell how much each row
counts, ``constants`` are the inputs of the intercept. Oracles of methods that take columns offer
``select(columns, target, ...)``.
"""
