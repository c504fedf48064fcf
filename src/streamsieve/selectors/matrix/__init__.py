"""Algorithms that need the whole matrix."""
