"""Kernels on columns."""
