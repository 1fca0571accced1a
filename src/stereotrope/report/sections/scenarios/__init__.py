"""Ratios over many scenarios: whom models draw where a prompt does not say whom."""
