"""The functions of ``scipy.special``, imported when one is first called: no other import takes as long."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module("scipy.special"), name)
    return found
