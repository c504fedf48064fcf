"""Numba kernels: plain arrays in, plain arrays out; NumPy and Numba are the only imports."""
