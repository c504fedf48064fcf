"""Hostile input: fuzzers for every reader and for models, and what they have found."""
