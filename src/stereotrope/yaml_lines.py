"""YAML that people write by hand: its tree, and the line on which everything in it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

__all__ = ["line_of", "read_tree"]

_LONGEST = 200
"""Characters of the reader's own words that a message repeats."""


def read_tree(text: str, error: Callable[[str, int], Exception]) -> Any:
    """Read a YAML text as a tree that knows its lines.

    Parameters
    ----------
    text
        The text. A key that stands twice in one mapping is a mistake.
    error
        Makes what is raised from a message and a line.

    Raises
    ------
    Exception
        What ``error`` makes: the text is not YAML.
    """
    try:
        return YAML(typ="rt", pure=True).load(text)
    except MarkedYAMLError as found:
        mark = found.problem_mark or found.context_mark
        # ruamel repeats the value of a doubled key, which may be anything.
        problem = str(found.problem or found.context).splitlines()[0].partition(" with value ")[0]
        hint = "write each key once" if "duplicate key" in problem else "check indentation, colons and quotes"
        raise error(f"not readable as YAML: {problem}; {hint}", mark.line + 1 if mark else 1) from None
    except RecursionError:
        raise error("not readable as YAML: nested too deeply; write it flatter", 1) from None
    except (YAMLError, ValueError) as found:
        first = (str(found).splitlines() or ["unreadable"])[0].split("; use sys.")[0]
        first = first if len(first) <= _LONGEST else f"{first[:_LONGEST]}… ({len(first)} characters)"
        raise error(f"not readable as YAML: {first}; correct it", 1) from None


def line_of(tree: Any, location: Sequence[Any]) -> int:
    """Line of the innermost key or item of ``location`` that a tree holds; 1 where it holds none.

    Examples
    --------
    >>> line_of(read_tree("a:\\n  b: 1\\n", ValueError), ("a", "b", "c"))
    2
    """
    node, line = tree, 1
    for step in location:
        held = node.lc.data or {} if isinstance(node, CommentedMap | CommentedSeq) else {}
        if step in held:
            line = held[step][0] + 1
            node = node[step]
    return line
