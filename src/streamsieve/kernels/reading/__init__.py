"""Kernels that parse, check and generate data."""
