"""Kernels over all pairs of rows."""
