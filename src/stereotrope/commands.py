"""Commands: functions that typer reads, registered by the modules ``commands`` of suites and of others::

    from stereotrope.commands import register

    @register("mine check", panel="On an instrument", about="Look at what is mine.")
    def check(file: Annotated[Path, typer.Argument(help="What is looked at.")]) -> None:
        '''Check a file of mine; this line stands in the list of commands.'''
        from my_package.checking import check_file

        check_file(file)

Help imports these modules, so that what they need to do their work is imported inside the functions. A name
of two words is a command of a group. An entry point of ``stereotrope.commands`` names a module, or a package
with such modules.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

from stereotrope.plugins import Registry


class Command(NamedTuple):
    """A command, the panel of the help it stands in, and what its group is about, which one of it says."""

    name: str
    function: Callable[..., None]
    panel: str
    about: str


COMMANDS: Registry[Command] = Registry("commands", "stereotrope.suites", modules="commands")
"""Every command that is registered, by its name."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def register(name: str, *, panel: str, about: str = "") -> Callable[[_Function], _Function]:
    """Register a function as the command of a name; its docstring is the help."""

    def registered(function: _Function) -> _Function:
        COMMANDS.add(name, Command(name, function, panel, about))
        return function

    return registered


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


class Settings:
    """What the options before a command say."""

    quiet = False
    verbose = False
    no_color = False
    seed: int | None = None


settings = Settings()
"""Those of this command line."""
