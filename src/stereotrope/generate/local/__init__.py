"""Text-to-image pipelines on this computer, through diffusers."""

from stereotrope.generate.local.generator import DiffusersGenerator

__all__ = ["DiffusersGenerator"]
