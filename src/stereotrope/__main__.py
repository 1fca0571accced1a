"""``python -m stereotrope``."""

from stereotrope.cli import main

main()
