"""Train learners in parts, on several processes or machines."""
