"""Selectors with the interfaces of other libraries."""
