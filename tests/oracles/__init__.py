"""One slow, obvious version per algorithm, written from the paper; nothing here imports streamsieve.

``tests/oracles/<method>.py`` offers ``learn(rows, **params)``: rows are pairs of a dictionary id -> value and a sign.
"""
