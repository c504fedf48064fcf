"""How rows are learned: a rule per algorithm."""
