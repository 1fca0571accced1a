"""The commands that suites and other packages bring, beside those of :mod:`stereotrope.cli.app`."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from stereotrope.commands import COMMANDS, Command
from stereotrope.errors import PluginError
from stereotrope.plugins import OURS


class CommandGroup(TyperGroup):
    """Looks for registered commands when help lists them, or a name is none of the command line's."""

    _complete = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands."""
        self._add_registered()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name."""
        if cmd_name not in self.commands:
            self._add_registered()
        return super().get_command(ctx, cmd_name)

    def _add_registered(self) -> None:
        if self._complete:
            return
        self._complete = True
        groups: dict[str, list[Command]] = {}
        for command in COMMANDS.values():
            groups.setdefault(command.name.partition(" ")[0], []).append(command)
        app = typer.Typer(rich_markup_mode=self.rich_markup_mode)
        for name, commands in groups.items():
            _refuse_taken(commands, name in self.commands)
            if commands[0].name == name:
                _add(app, commands[0], commands[0].panel)
                continue
            about = next((_from(command.about, command) for command in commands if command.about), "")
            group = typer.Typer(no_args_is_help=True, help=about)
            for command in commands:
                _add(group, command, None)
            app.add_typer(group, name=name, rich_help_panel=commands[0].panel)
        self.commands.update(typer.main.get_group(app).commands)


def _refuse_taken(commands: list[Command], taken: bool) -> None:
    """Refuse a command whose first word is a command of its own already, or a group."""
    alone = [command.name for command in commands if " " not in command.name]
    if taken or (alone and len(commands) > 1):
        name = (alone or [commands[-1].name])[0]
        raise PluginError(
            f"commands: {COMMANDS.origin(name)} brings {name!r}, and {OURS} has {name.partition(' ')[0]!r} "
            "already, by itself or as a group; rename one, or uninstall one of the packages"
        )


def _add(app: typer.Typer, command: Command, panel: str | None) -> None:
    first, *rest = (inspect.getdoc(command.function) or "").split("\n", 1)
    name, about = command.name.rpartition(" ")[2], "\n".join([_from(first, command), *rest])
    app.command(name=name, help=about, rich_help_panel=panel)(_blaming(command))


def _blaming(command: Command) -> Callable[..., None]:
    """The function of a command, of which another package's is blamed for its errors."""

    @functools.wraps(command.function)
    def carried_out(**given: Any) -> None:
        try:
            command.function(**given)
        except Exception as error:  # code of others may raise anything
            if isinstance(error, OSError | MemoryError) or type(error).__module__.startswith("typer."):
                raise
            with COMMANDS.blamed(command.name):
                raise

    return command.function if COMMANDS.origin(command.name) == OURS else carried_out


def _from(text: str, command: Command) -> str:
    """A text with the package that a command comes with, where that is not this one."""
    origin = COMMANDS.origin(command.name)
    return text if origin == OURS else f"{text} (from {origin})"
