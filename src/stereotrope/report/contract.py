"""One thing in the part of the page that speaks of captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stereotrope.report.panels import Figure

__all__ = ["Block"]


@dataclass(frozen=True)
class Block:
    """What stands in one place of the page, and what it stands for.

    Attributes
    ----------
    kind
        The macro of ``templates/captions.html.j2`` that draws it; ``figures`` where it has figures only.
    figures
        Charts of it: drawn in the page and written as files.
    exported
        Charts that are written as files only, because the page shows the same in another form.
    content
        What its macro needs.
    section
        Section of the page: ``captions``, or ``lexicon`` behind it.
    replaces
        Measures whose own figures are not drawn, because it shows their rows.
    """

    kind: str = "figures"
    figures: Sequence[Figure] = ()
    exported: Sequence[Figure] = ()
    content: Any = None
    section: str = "captions"
    replaces: frozenset[str] = field(default=frozenset())
