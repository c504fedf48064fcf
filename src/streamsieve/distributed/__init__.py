"""Training in parts, on several processes or machines."""
