"""Before and after: scores of the same query without and with a mitigation."""
