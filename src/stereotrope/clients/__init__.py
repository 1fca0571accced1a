"""Talking to model servers: where they are, how hard they may be asked, what they cost, what they answer."""

__all__: list[str] = []
