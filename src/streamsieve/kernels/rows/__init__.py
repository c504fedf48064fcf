"""Kernels that learn from rows."""
