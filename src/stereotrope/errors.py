"""Every error stereotrope raises on purpose.

::

    StereotropeError                exit code
    ├── AuditFileError              2   a mistake in an audit file (file, line, rule, found, fix)
    ├── UsageError                  2   a command or a function called with arguments that do not fit
    ├── InputError                  2   data handed to us that cannot be used
    │   ├── TableError                  a frame or table that breaks its schema
    │   ├── MetadataError               a metadata or label file of a folder of images
    │   └── PictureError                a picture that is refused; carries a short ``reason``
    ├── PluginError                 2   a plug-in that cannot be loaded, fails, or takes another's name
    ├── DefinitionError             2   two definitions of a score set side by side
    ├── RunError                    3   a run folder that cannot be used as it is
    │   ├── RunLocked                   another process writes this run
    │   ├── RunFormatError              a run folder of another format version
    │   └── RunDamaged                  a file in it is torn
    ├── PictureUnavailable          3   a picture that cannot be read just now: tried again
    ├── ModelError                  3   a model server that did not answer as it should
    │   └── ModelUnusable               no request to it can succeed: key, quota, unknown model
    │       └── ModelMisconfigured  2   and the audit file or this shell is at fault
    ├── IncompleteError             3   the audit ended with something missing
    ├── BudgetError                 4   the cap on what calls may cost is reached
    ├── GateError                   5   a run shows what its pipeline asked not to be there
    └── Interrupted                 130 stopped by the user (143 by SIGTERM); the same command continues

A message names the thing, the rule, what was found and what to do.
"""

import contextlib
import difflib
from collections.abc import Iterable
from pathlib import Path

from stereotrope.confusables import lookalikes


class StereotropeError(Exception):
    """The root of the tree; ``exit_code`` is what the command line ends with."""

    exit_code = 1

    def __init_subclass__(cls, exit_code: int | None = None) -> None:
        cls.exit_code = cls.exit_code if exit_code is None else exit_code


class AuditFileError(StereotropeError, exit_code=2):
    """A mistake in an audit file; the message begins with ``file:line:``."""

    def __init__(self, message: str, *, file: Path | str | None = None, line: int | None = None) -> None:
        self.file = str(file) if file is not None else None
        self.line = line
        where = f"{self.file}:{line}: " if file is not None and line else f"{self.file}: " if file else ""
        super().__init__(f"{where}{message}")


class UsageError(StereotropeError, exit_code=2):
    """A command or function called with arguments that do not fit."""


class PluginError(StereotropeError, exit_code=2):
    """A plug-in that cannot be loaded, fails, or takes the name of another."""


class InputError(StereotropeError, exit_code=2):
    """Data handed to stereotrope that cannot be used."""


class TableError(InputError):
    """A frame or table that breaks its schema."""


class MetadataError(InputError):
    """A metadata or label file that cannot be read."""


class PictureError(InputError):
    """A picture that is refused; ``reason`` is the short text kept in the ``images`` table."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class DefinitionError(StereotropeError, exit_code=2):
    """Scores by different definitions set side by side."""


class RunError(StereotropeError, exit_code=3):
    """A run folder that cannot be used as it is."""


class RunLocked(RunError):
    """Another process is writing this run; the message names its pid and host."""


class RunFormatError(RunError):
    """A run folder of a format this version cannot read."""


class RunDamaged(RunError):
    """A file of the run folder is torn or was changed."""


class PictureUnavailable(StereotropeError, exit_code=3):
    """A picture that cannot be read just now, which says nothing about it: nothing of it is kept."""


class ModelError(StereotropeError, exit_code=3):
    """A model server that did not answer one request as it should, after every try it was worth."""


class ModelUnusable(ModelError):
    """A model that no request can reach: the key is refused, the quota used up, the model unknown."""


class ModelMisconfigured(ModelUnusable, exit_code=2):
    """A model that no request can reach as the audit file has it: no key, an unknown name, a wrong option."""


class IncompleteError(StereotropeError, exit_code=3):
    """The audit ended, and something it asked for is missing."""


class BudgetError(StereotropeError, exit_code=4):
    """The cap on what calls may cost is reached; what was paid for is kept."""


class GateError(StereotropeError, exit_code=5):
    """A run shows what its pipeline asked not to be there; nothing failed."""


class Interrupted(StereotropeError, exit_code=130):
    """Stopped by the user; what was finished is kept and the same command continues."""


def said_by(error: BaseException) -> str:
    """What an error says, in one line; nothing of one that cannot say it, as of code of others."""
    with contextlib.suppress(Exception):
        return " ".join(str(error).split())
    return ""


def did_you_mean(found: object, known: Iterable[str], *, otherwise: str = "") -> str:
    """Return a question that names the nearest known name, case aside, or ``otherwise`` where none is near.

    >>> did_you_mean("Color", ["colour", "text"])
    "did you mean 'colour'?"
    >>> did_you_mean("zeppelin", ["colour"], otherwise="known are colour")
    'known are colour'
    """
    by_lower, given = {name.lower(): name for name in known}, str(found).lower()
    for one in lookalikes({str(found): 1}, list(by_lower.values())):
        if one.differs[-1] != "differs in case":
            return f"did you mean {one.written[0][0]!r}? What is written {one.differs[-1]}"
    near = difflib.get_close_matches(given, by_lower, n=5, cutoff=0.5)
    near.sort(key=lambda name: sorted(name) != sorted(given))  # the same letters in another order first
    return f"did you mean {by_lower[near[0]]!r}?" if near else otherwise
