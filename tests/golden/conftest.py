from tests.audit.conftest import undrawn

__all__ = ["undrawn"]
