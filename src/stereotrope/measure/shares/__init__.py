"""How often: shares of values, differences of shares, refusals, violations, agreement."""
