"""Mutants that do what the code does, or the same but slower, and why: those that no test can notice, or need.

Per module ``function: old -> new``, as they are printed.
"""

from __future__ import annotations

EQUIVALENT: dict[str, dict[str, str]] = {}
