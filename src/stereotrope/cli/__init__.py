"""The command line: data to stdout, progress to stderr, one clear message for a mistake."""

from stereotrope.cli.app import app, main

__all__ = ["app", "main"]
