"""What a suite is: a published method as a ready audit, one folder with its data.

The package that is the folder registers it::

    from stereotrope.suites import register

    register(__name__)

``suite.yaml`` gives its ``summary`` and ``source``, and what stands in where an audit file is silent: design,
``annotators``, ``measures``. ``audit.yaml`` is the commented file that ``stereotrope init`` prints.
``published/tables.yaml`` may name tables of the paper (:func:`stereotrope.suites.published.published`).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.plugins import Registry

__all__ = ["SUITES", "Suite", "register", "suite_named"]


@dataclass(frozen=True)
class Suite:
    """A suite; its folder is read when it is called for."""

    name: str
    package: str

    @property
    def folder(self) -> Traversable:
        """Where its data stands."""
        return resources.files(self.package)


SUITES: Registry[Suite] = Registry("suites", "stereotrope.suites", modules="suite")
"""Every suite by its name."""


def register(package: str) -> None:
    """Register the package of this name as a suite, which is called as its last part."""
    name = package.rpartition(".")[2]
    SUITES.add(name, Suite(name, package))


def suite_named(name: str) -> Suite:
    """Return a suite.

    Raises
    ------
    UsageError
        There is none of that name; the message names the nearest.
    """
    if name not in SUITES:
        hint = did_you_mean(name, SUITES, otherwise=f"there is: {', '.join(SUITES)}")
        raise UsageError(f"no suite {name!r}; {hint}")
    return SUITES[name]
