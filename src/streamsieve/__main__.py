"""``python -m streamsieve``."""

from .cli import main

main(prog_name="streamsieve")
