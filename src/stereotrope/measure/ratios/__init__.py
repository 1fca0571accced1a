"""Over many prompts: how steady female ratios are, how uneven, and how alike between models."""
