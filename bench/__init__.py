"""Speed of the statistics beside plain reference implementations: ``python -m bench``."""
