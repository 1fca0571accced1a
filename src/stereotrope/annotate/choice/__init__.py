"""Closed questions to a vision-language model on this computer, answered by the likeliest option."""

from stereotrope.annotate.choice.chooser import ChoiceAnnotator

__all__ = ["ChoiceAnnotator"]
