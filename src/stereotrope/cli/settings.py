"""What the options before a command say."""

from __future__ import annotations

__all__ = ["Settings", "settings"]


class Settings:
    """What the global options say."""

    quiet = False
    verbose = False
    no_color = False
    seed: int | None = None


settings = Settings()
