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
import functools
import importlib
import inspect
import os
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from stereotrope.errors import PluginError, StereotropeError, said_by

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OURS = "stereotrope"
"""Where what comes with this package is from."""

_LONGEST = 600
"""Characters of what an error of others says, in a message of ours."""

P = TypeVar("P")
_Made = TypeVar("_Made")
Check = Callable[[Any, str, tuple[Any, ...], Any], Any]
"""``check(made, "process", arguments, result)`` → the result as it goes on; raises where it breaks a rule."""


class Registry(Mapping[str, P], Generic[P]):
    """Everything of one kind by its name, read when it is first asked for.

    group: The kind in the plural: entry points of ``stereotrope.<group>`` name packages that add to it.
    rooms: Our own packages that add to it.
    modules: Name of the modules that are imported, beside the packages they stand in; every module for None.
    always: Every audit uses what is there: a file cannot leave one out.
    """

    _all: ClassVar[dict[str, Registry[Any]]] = {}
    _origin = OURS
    """Where what is imported just now is from: a package may add to several registries."""

    def __init__(self, group: str, *rooms: str, modules: str | None = None, always: bool = False) -> None:
        self.group, self._rooms, self._modules, self._always = group, rooms, modules, always
        self._plugins: dict[str, P] = {}
        self._origins: dict[str, str] = {}
        self._read = False
        self._all.setdefault(group, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _registry, (self.group, self._rooms)

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

    @property
    def importing(self) -> str:
        """Name of the distribution whose code is imported just now."""
        return self._origin

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
        except BaseException as error:  # code of others may raise anything
            if self.origin(name) == OURS or _asks_to_stop(error):
                raise
            without = "uninstall it: every audit uses it" if self._always else f"do without {name!r}"
            raise PluginError(
                f"{self.group}: {name!r} of the package {self.origin(name)} fails ({_words_of(error)}); "
                f"mend the package, or {without}"
            ) from error

    def made(self, name: str, make: Callable[[], _Made], contract: Any, check: Check) -> _Made:
        """What a plug-in makes: another package's is blamed and checked whenever it is used.

        contract: Its class.

        Raises PluginError: It cannot be made, or breaks a rule.
        """
        with self.blamed(name):
            made: Any = make()
            if self.origin(name) != OURS:
                require_result({"make": contract}, "make", (), made)
                check(made, "make", (), made)
                made = _Guarded(made, functools.partial(self.blamed, name), contract, check)
        return made  # type: ignore[no-any-return]

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
            for room in self._rooms:
                self._import(room)
            for point in _entry_points(f"stereotrope.{self.group}"):
                Registry._origin = point.dist.name if point.dist is not None else point.value
                try:
                    self._import(point.value)
                except PluginError:
                    raise
                except BaseException as error:  # code of others may raise anything
                    if _asks_to_stop(error):
                        raise
                    raise PluginError(
                        f"{self.group}: {self._origin} cannot be loaded ({_words_of(error)}); "
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


def _registry(group: str, rooms: tuple[str, ...]) -> Registry[Any]:
    """The registry of a group in another process, read: it knows where what is imported is from."""
    for room in rooms:
        importlib.import_module(room)
    found = Registry._all[group]
    found._load()
    return found


def _asks_to_stop(error: BaseException) -> bool:
    """Whether an error came from outside the code that it ended: Ctrl-C, or an end of what is awaited."""
    asyncio = sys.modules.get("asyncio")  # slow to import, and nothing is awaited before it was
    if asyncio is not None and isinstance(error, asyncio.CancelledError):
        with contextlib.suppress(RuntimeError):  # no event loop here
            task = asyncio.current_task()
            return task is not None and task.cancelling() > 0
        return False
    if isinstance(error, KeyboardInterrupt):
        return threading.current_thread() is threading.main_thread()  # no other one gets signals
    return isinstance(error, GeneratorExit)


def _words_of(error: BaseException) -> str:
    """Kind of an error and what it says, in one line that is not too long."""
    said = said_by(error)
    cut = said if len(said) <= _LONGEST else f"{said[:_LONGEST].rstrip()} …"
    return f"{type(error).__name__}: {cut}" if cut else type(error).__name__


class _Guarded:
    """Stands for what another package's plug-in made, and passes for it; its own calls are left alone."""

    def __init__(self, made: Any, blamed: Callable[[], Any], contract: type, check: Check) -> None:
        self.__dict__.update(_made=made, _blamed=blamed, _contract=contract, _check=check)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._made)

    def __reduce_ex__(self, _: object) -> tuple[Any, ...]:
        return _guarded, (self._blamed, self._made, self._contract, self._check)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._made, name, value)

    def __getattr__(self, name: str) -> Any:
        with self._blamed():
            value: Any = getattr(self._made, name, _Guarded)
        if value is _Guarded:
            raise AttributeError(f"{type(self._made).__name__} has no {name!r}")

        def carried_out(*given: Any, **more: Any) -> Any:
            with self._blamed():
                return self._passed(name, given, value(*given, **more))

        async def awaited(*given: Any, **more: Any) -> Any:
            with self._blamed():
                return self._passed(name, given, await value(*given, **more))

        return (awaited if inspect.iscoroutinefunction(value) else carried_out) if callable(value) else value

    def _passed(self, name: str, given: tuple[Any, ...], result: Any) -> Any:
        passed = self._check(self._made, name, given, result)
        again = isinstance(passed, self._contract)
        return _Guarded(passed, self._blamed, self._contract, self._check) if again else passed


def _guarded(blamed: Callable[[], Any], made: Any, contract: type, check: Check) -> Any:
    """One in another process; whom to blame is read first, before anything of the package is imported."""
    return _Guarded(made, blamed, contract, check)


@functools.cache
def version_of(package: str) -> str | None:
    """Version of an installed distribution, as first asked for; None where there is none of that name."""
    metadata = importlib.import_module("importlib.metadata")  # slow to import
    try:
        return str(metadata.version(package))
    except metadata.PackageNotFoundError:
        return None


def require_facts(made: Any, **facts: type) -> None:
    """Raise ValueError where what a plug-in says of itself is of another type, empty or below 1."""
    for name, kind in facts.items():
        value: Any = getattr(made, name, None)
        if not isinstance(value, kind) or not value or (isinstance(value, int) and value < 1):
            rule = "at least 1" if kind is int else "not empty"
            raise ValueError(f"{name} must be of type {kind.__name__} and {rule}, found {value!r:.80}")


def require_result(kinds: Mapping[str, Any], name: str, given: tuple[Any, ...], result: Any) -> None:
    """Raise TypeError or ValueError where a method gives another kind of thing, or too many or few."""
    kind = Sequence if name == "process_batch" else kinds.get(name, object)
    if not isinstance(result, kind):
        raise TypeError(f"{name} must give {getattr(kind, '__name__', kind)}, found {result!r:.80}")
    if name == "process_batch":
        if len(result) != len(given[0]):
            raise ValueError(f"{name} must give one result for each of {len(given[0])}, found {len(result)}")
        for each in result:
            require_result({"process": kinds["process"] | Exception}, "process", (), each)


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
