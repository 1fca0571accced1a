"""What can be added, and where it is looked for.

A plug-in is registered beside its own code, by the decorator or the call of its contract. Rooms of this
package and packages of others are read the same way: a package is imported with its modules, and what these
register is there; modules whose name begins with ``_`` are left alone. Others name theirs in their
``pyproject.toml``::

    [project.entry-points."stereotrope.measures"]
    mine = "my_package.measures"
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from stereotrope.errors import PluginError, StereotropeError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OURS = "stereotrope"
"""Where what comes with this package is from."""

P = TypeVar("P")


class Registry(Mapping[str, P], Generic[P]):
    """Everything of one kind by its name, read when it is first asked for.

    group: The kind in the plural: entry points of ``stereotrope.<group>`` name packages that add to it.
    room: Our own package that adds to it.
    modules: Name of the modules that are imported, beside the packages they stand in; every module for None.
    always: Every audit uses what is there: a file cannot leave one out.
    """

    _origin = OURS
    """Where what is imported just now is from: a package may add to several registries."""

    def __init__(self, group: str, room: str, *, modules: str | None = None, always: bool = False) -> None:
        self.group, self._room, self._modules, self._always = group, room, modules, always
        self._plugins: dict[str, P] = {}
        self._origins: dict[str, str] = {}
        self._read = False

    def add(self, name: str, plugin: P) -> None:
        """Add a plug-in under its name.

        Raises PluginError: Another one has the name.
        """
        if name in self._plugins:
            raise PluginError(
                f"{self.group}: {self._origin} brings {name!r}, and {self._origins[name]} has it already; "
                "rename one, or uninstall one of the packages"
            )
        self._plugins[name], self._origins[name] = plugin, self._origin

    def origin(self, name: str) -> str:
        """Name of the distribution that a plug-in comes with."""
        self._load()
        return self._origins[name]

    @contextlib.contextmanager
    def blamed(self, name: str) -> Iterator[None]:
        """Carry out code of a plug-in: whatever another package's raises is one message that names it.

        What is done with its result there raises ValueError where that is not what it must be.

        Raises PluginError: It did.
        """
        try:
            yield
        except StereotropeError:
            raise
        except Exception as error:  # code of others may raise anything
            if self.origin(name) == OURS:
                raise
            without = "uninstall it: every audit uses it" if self._always else f"do without {name!r}"
            raise PluginError(
                f"{self.group}: {name!r} of the package {self.origin(name)} fails ({type(error).__name__}: "
                f"{' '.join(str(error).split())}); mend the package, or {without}"
            ) from error

    def __getitem__(self, name: str) -> P:
        self._load()
        return self._plugins[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._plugins))

    def __len__(self) -> int:
        self._load()
        return len(self._plugins)

    def _load(self) -> None:
        if self._read:
            return
        self._read = True
        before = Registry._origin
        try:
            Registry._origin = OURS
            self._import(self._room)
            for point in _entry_points(f"stereotrope.{self.group}"):
                Registry._origin = point.dist.name if point.dist is not None else point.value
                try:
                    self._import(point.value)
                except PluginError:
                    raise
                except Exception as error:  # code of others may raise anything
                    raise PluginError(
                        f"{self.group}: {self._origin} cannot be loaded ({type(error).__name__}: {error}); "
                        f"mend the package {point.value}, or uninstall it"
                    ) from error
        finally:
            Registry._origin = before

    def _import(self, package: str) -> None:
        """Import a package with its modules, but for those whose name begins with ``_``; a module alone."""
        module = importlib.import_module(package)
        for inner in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{package}."):
            last = inner.name.rpartition(".")[2]
            if not last.startswith("_") and (inner.ispkg or self._modules in (None, last)):
                self._import(inner.name)


def _entry_points(group: str) -> Iterable[EntryPoint]:
    """Entry points of a group; what reads them is slow to import, so only where a package declares any."""
    if not any(f"[{group}]".encode() in text for text in _declarations()):
        return ()
    found: Iterable[EntryPoint] = importlib.import_module("importlib.metadata").entry_points(group=group)
    return found


def _declarations() -> Iterator[bytes]:
    """What every installed package declares."""
    for place in filter(os.path.isdir, sys.path):
        for entry in os.scandir(place):
            if entry.name.endswith((".dist-info", ".egg-info")):
                with contextlib.suppress(OSError):
                    yield Path(entry.path, "entry_points.txt").read_bytes()
