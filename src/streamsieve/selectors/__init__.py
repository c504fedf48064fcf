"""The algorithms, by how they need to touch the data."""
