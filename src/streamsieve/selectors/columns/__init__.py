"""Algorithms that see features one by one, for rows that are all there."""
