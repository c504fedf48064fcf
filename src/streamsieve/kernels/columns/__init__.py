"""Kernels that measure columns."""
