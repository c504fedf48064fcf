"""The selectors under the interfaces of other libraries."""
