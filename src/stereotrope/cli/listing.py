"""The commands that list what there is."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from stereotrope.commands import settings


def _named(what: str) -> Any:
    return typer.Argument(help=f"One {what}, for its page.")


def suites(name: Annotated[str | None, _named("suite")] = None) -> None:
    """List the suites, or show one."""
    from stereotrope.cli.catalogue import print_suites

    print_suites(name, settings)


def measures(name: Annotated[str | None, _named("measure")] = None) -> None:
    """List the measures, or show the formula, range and source of one."""
    from stereotrope.cli.catalogue import print_measures

    print_measures(name, settings)


def generators(name: Annotated[str | None, _named("kind or preset")] = None) -> None:
    """List the kinds of generators and presets an audit file can name, or show one."""
    from stereotrope.cli.catalogue import print_generators

    print_generators(name, settings)


def annotators(name: Annotated[str | None, _named("annotator")] = None) -> None:
    """List the annotators an audit file can name, or show one with its keys."""
    from stereotrope.cli.catalogue import print_annotators

    print_annotators(name, settings)


def strategies(name: Annotated[str | None, _named("strategy")] = None) -> None:
    """List the strategies that `stereotrope mitigate` carries out, or show one with its keys."""
    from stereotrope.cli.catalogue import print_strategies

    print_strategies(name, settings)


LISTING: tuple[Callable[..., None], ...] = (suites, measures, generators, annotators, strategies)
"""In the order in which help has them."""
