"""What can be written in a list of an audit file, and what is made of it.

An entry stands as its bare name, ``colour``, or as a mapping that has it as a key, ``{labels: human.csv,
name: rater-1}``. Its model of options has a field by the same name, for what stands there, and one for each
other key::

    class LabelOptions(Options):
        labels: File
        name: Name

    @register(LabelOptions, summary="labels made elsewhere", example="{labels: human.csv, name: rater-1}")
    def labels(options: LabelOptions, context: Context) -> ImportedLabels:
        return ImportedLabels(context.folder / options.labels, name=options.name)

An entry that asks a model derives its options from :class:`~stereotrope.inputs.serving.ModelOptions`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from stereotrope.clients import PROVIDERS, Account, split_model
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.options import Options, options_of, shorten
from stereotrope.plugins import Registry

_T = TypeVar("_T")
Made = TypeVar("Made")
Chosen = TypeVar("Chosen", bound=Options)
Makes = Callable[[Chosen, "Context"], Made]


@dataclass(frozen=True)
class Context:
    """Where relative paths start from, what calls to models are booked on, and what a file is read for.

    counted: Whether rows of label files are counted, and none is kept by itself.
    """

    folder: Path
    account: Account
    counted: bool = False


@dataclass(frozen=True)
class Entry(Generic[_T]):
    """One thing that can be written: ``make`` gets its options, checked, and makes what it stands for."""

    name: str
    summary: str
    options: type[Options]
    make: Callable[[Any, Context], _T]
    example: str
    """How it is written; a message on a mistake ends in it."""


def entries_of(registry: Registry[Entry[_T]]) -> Callable[..., Callable[[Makes[Any, _T]], Makes[Any, _T]]]:
    """Return the decorator of a registry."""

    def register(
        options: type[Chosen], *, summary: str, example: str
    ) -> Callable[[Makes[Chosen, _T]], Makes[Chosen, _T]]:
        """Register a function as the entry of its name; keywords as of :class:`Entry`."""

        def registered(make: Makes[Chosen, _T]) -> Makes[Chosen, _T]:
            name: str = make.__name__
            fields = (
                options.model_fields if isinstance(options, type) and issubclass(options, Options) else {}
            )
            if name not in fields:
                raise ValueError(
                    f"options of {name!r} must be a class of stereotrope.inputs.options.Options with a field "
                    f"{name!r}, for what stands there, found {options!r:.80}"
                )
            registry.add(name, Entry(name, summary, options, make, example))
            return make

        return registered

    return register


def read_entry(
    item: str | Mapping[str, Any], registry: Registry[Entry[_T]], what: str, *, model: str
) -> tuple[Entry[_T], Options]:
    """Return the entry that an item of a list names, and its options.

    item: A bare name, a bare ``name:what stands there`` or ``provider:model``, or a mapping.
    registry: Name → entry.
    what: What an item is, for messages: ``annotator``.
    model: Entry that a bare ``provider:model`` stands for.

    Raises UsageError: No entry has that name (the nearest is named), several are named at once, or an option
        does not fit.
    """
    if isinstance(item, str) and item not in registry and ":" in item:
        name, _, rest = (part.strip() for part in item.partition(":"))
        if name not in registry:
            split_model(item)
        item = {name: rest} if name in registry else {model: item}
    options = {item: None} if isinstance(item, str) else dict(item)
    named = [key for key in options if key in registry]
    # `{captions: FILE, caption: COLUMN}` is one entry: the name of another may be an option of it.
    fitting = [name for name in named if set(named) <= set(registry[name].options.model_fields)]
    if not named:
        hint = next((near for key in options if (near := did_you_mean(key, registry))), None)
        written = (
            shorten(item) if isinstance(item, str) else ", ".join(map(shorten, options)) or "an empty one"
        )
        known = f"known are {', '.join(registry)}, and PROVIDER:MODEL with one of {', '.join(PROVIDERS)}"
        raise UsageError(f"{what} {written} is unknown; {hint or known}")
    if len(fitting) != 1:
        raise UsageError(f"{what}: an entry is one of them, found {' and '.join(named)}; give each its own")
    entry = registry[fitting[0]]
    if options[entry.name] is None:
        del options[entry.name]
    with registry.blamed(entry.name):
        return entry, options_of(entry.options, options, f"{what} {entry.name}", example=entry.example)
