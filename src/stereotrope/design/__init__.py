"""From an audit's factors to the prompts that are sent."""

from stereotrope.design.cues import BASE, Rewording, cued_prompts, varied_prompts
from stereotrope.design.phrases import FORMS
from stereotrope.design.prompts import expand, own_prompts, prompts_frame
from stereotrope.design.scenarios import (
    SCENARIO_FACTORS,
    ScenarioPrompts,
    phrases_to_word,
    scenario_prompts,
    wording_of,
)

__all__ = [
    "BASE",
    "FORMS",
    "SCENARIO_FACTORS",
    "Rewording",
    "ScenarioPrompts",
    "cued_prompts",
    "expand",
    "own_prompts",
    "phrases_to_word",
    "prompts_frame",
    "scenario_prompts",
    "varied_prompts",
    "wording_of",
]
