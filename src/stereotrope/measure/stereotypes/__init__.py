"""Stereotypes: what a concept's pictures show more often than it is true of the concept."""
