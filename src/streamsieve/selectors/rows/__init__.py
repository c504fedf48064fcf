"""Selectors that learn from a stream of rows."""
