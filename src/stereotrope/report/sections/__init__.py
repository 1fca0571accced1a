"""The parts of the page, each with what it needs to know of a run."""
