"""The published methods as ready audits: one folder each, mostly data."""
