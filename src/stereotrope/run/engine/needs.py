"""What must be there wherever the stages of a run are carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Needs:
    """What work needs of a computer.

    packages: Distribution → its version here: another one may give other results.
    variables: Names of environment variables that hold keys. Their values are looked at where they are used.
    on_disk: Folders and files that are read.
    devices: What is computed on, as entries of an audit file name it.
    """

    packages: Mapping[str, str] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    on_disk: tuple[Path, ...] = ()
    devices: tuple[str, ...] = ()
