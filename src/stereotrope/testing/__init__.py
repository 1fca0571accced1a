"""A model server on this computer, for tests of whatever talks to one."""

__all__: list[str] = []
