"""From an audit's factors to the prompts that are sent."""

from stereotrope.design.cues import BASE, cued_prompts
from stereotrope.design.prompts import expand, own_prompts, prompts_frame

__all__ = ["BASE", "cued_prompts", "expand", "own_prompts", "prompts_frame"]
