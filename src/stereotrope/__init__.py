"""stereotrope: audit how text-to-image models stereotype, with honest uncertainty.

Five verbs over five tables::

    design → generate → annotate → measure → report
    prompts   images     labels    estimates   report/

``stereotrope.measure`` works on any plain frame of labels, without a run; :func:`open` reads a run
folder; :class:`Audit` carries an audit file out. Submodules load when first used, so that
``import stereotrope`` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from stereotrope.version import __version__

__all__ = ["Audit", "Run", "__version__", "errors", "measure", "open", "stats", "tables"]

_ROOMS = {"Audit": "audit", "Run": "run", "open": "run"}

if TYPE_CHECKING:
    from stereotrope import errors, measure, stats, tables
    from stereotrope.audit import Audit
    from stereotrope.run import Run, open


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'stereotrope' has no attribute {name!r}")
    module = importlib.import_module(f"stereotrope.{_ROOMS.get(name, name)}")
    return getattr(module, name) if name in _ROOMS else module


def __dir__() -> list[str]:
    return sorted(__all__)
