"""What a suite is: a published method as a ready audit, one folder with its data.

The package that is the folder registers it::

    from stereotrope.suites import register

    register(__file__)

``suite.yaml`` gives its ``summary`` and ``source``, and what stands in where an audit file is silent: design,
``annotators``, ``measures``. ``audit.yaml`` is the commented file that ``stereotrope init`` prints.
``lexicon.yaml`` of a suite of ours is a built-in lexicon of its name.
``published/tables.yaml`` may name tables of the paper (:func:`stereotrope.suites.published.published`).
"""

from pathlib import Path
from typing import NamedTuple

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.plugins import Registry


class Suite(NamedTuple):
    """A suite, and the folder with its data."""

    name: str
    folder: Path


SUITES: Registry[Suite] = Registry("suites", "stereotrope.suites", modules="suite")
"""Every suite by its name."""


def register(file: str) -> None:
    """Register the folder of a package's ``__init__`` file as a suite of its name."""
    folder = Path(file).parent
    SUITES.add(folder.name, Suite(folder.name, folder))


def suite_named(name: str) -> Suite:
    """Return a suite.

    Raises UsageError: There is none of that name; the message names the nearest.
    """
    if name not in SUITES:
        hint = did_you_mean(name, SUITES, otherwise=f"there is: {', '.join(SUITES)}")
        raise UsageError(f"no suite {name!r}; {hint}")
    return SUITES[name]
